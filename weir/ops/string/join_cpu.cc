// Joining strings: elementwise, along dimensions, by segment, and into a template.
#include <algorithm>

#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/string/register.h"

namespace weir {
namespace {

class StringJoinKernel : public Kernel {
 public:
  explicit StringJoinKernel(std::string separator) : separator_(std::move(separator)) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(std::string separator, init.Attr<std::string>("separator"));
    return std::unique_ptr<Kernel>(std::make_unique<StringJoinKernel>(std::move(separator)));
  }
  Status Compute(KernelContext& ctx) override {
    // Scalars go with every element of the others, which are of one shape.
    Shape shape;
    std::vector<Tensor> inputs;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      inputs.push_back(ctx.input(i));
      const Shape& given = inputs[i].shape();
      if (given.IsScalar()) continue;
      if (!shape.IsScalar() && !(shape == given)) {
        return InvalidArgument("Input shapes do not match: ", shape.ToString(), " vs. ", given.ToString());
      }
      shape = given;
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    std::string* to = out->data<std::string>();
    ctx.ParallelFor(shape.num_elements(), 50.0 * static_cast<double>(inputs.size()), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (size_t k = 0; k < inputs.size(); ++k) {
          if (k > 0) to[i] += separator_;
          to[i] += inputs[k].data<std::string>()[inputs[k].rank() == 0 ? 0 : i];
        }
      }
    });
    return OkStatus();
  }

 private:
  const std::string separator_;
};

// Visits the elements of a box in row-major order: body(offset).
template <typename Body>
void ForBox(std::span<const int64_t> dims, std::span<const int64_t> strides, int64_t offset, Body&& body) {
  int64_t total = 1;
  for (int64_t dim : dims) total *= dim;
  Dims at(dims.size(), 0);
  for (int64_t n = 0; n < total; ++n) {
    body(offset);
    for (size_t d = dims.size(); d-- > 0;) {
      offset += strides[d];
      if (++at[d] < dims[d]) break;
      offset -= strides[d] * dims[d];
      at[d] = 0;
    }
  }
}

class ReduceJoinKernel : public Kernel {
 public:
  ReduceJoinKernel(bool keep_dims, std::string separator) : keep_dims_(keep_dims), separator_(std::move(separator)) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(bool keep_dims, init.Attr<bool>("keep_dims"));
    WEIR_ASSIGN_OR_RETURN(std::string separator, init.Attr<std::string>("separator"));
    return std::unique_ptr<Kernel>(std::make_unique<ReduceJoinKernel>(keep_dims, std::move(separator)));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Dims axes, IntElements(ctx.input(1), "reduction_indices"));
    if (axes.empty()) {
      ctx.set_output(0, input);
      return OkStatus();
    }
    const int rank = input.rank();
    const Dims strides = DenseStrides(input.shape().dims());
    std::vector<bool> joined(rank, false);
    Dims joined_dims, joined_strides;  // against the order given: the first one runs fastest
    for (int64_t axis : axes) {
      const int64_t given = axis;
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank) {
        return OutOfRange("Invalid reduction dimension ", given, " for input with ", rank, " dimension(s)");
      }
      if (joined[axis]) return InvalidArgument("Duplicate reduction dimension ", given);
      joined[axis] = true;
      joined_dims.insert(joined_dims.begin(), input.dim(static_cast<int>(axis)));
      joined_strides.insert(joined_strides.begin(), strides[axis]);
    }
    Shape shape;
    Dims kept_dims, kept_strides;
    for (int d = 0; d < rank; ++d) {
      if (!joined[d]) {
        kept_dims.push_back(input.dim(d));
        kept_strides.push_back(strides[d]);
        WEIR_RETURN_IF_ERROR(shape.AddDim(input.dim(d)));
      } else if (keep_dims_) {
        WEIR_RETURN_IF_ERROR(shape.AddDim(1));
      }
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const std::string* from = input.data<std::string>();
    std::string* to = out->data<std::string>();
    ForBox(kept_dims, kept_strides, 0, [&](int64_t start) {
      bool first = true;
      ForBox(joined_dims, joined_strides, start, [&](int64_t offset) {
        if (!first) *to += separator_;
        first = false;
        *to += from[offset];
      });
      ++to;
    });
    return OkStatus();
  }

 private:
  const bool keep_dims_;
  const std::string separator_;
};

class UnsortedSegmentJoinKernel : public Kernel {
 public:
  explicit UnsortedSegmentJoinKernel(std::string separator) : separator_(std::move(separator)) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(std::string separator, init.Attr<std::string>("separator"));
    return std::unique_ptr<Kernel>(std::make_unique<UnsortedSegmentJoinKernel>(std::move(separator)));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    const Shape& ids_shape = ctx.input(1).shape();
    WEIR_ASSIGN_OR_RETURN(Dims ids, IntElements(ctx.input(1), "segment_ids"));
    if (ctx.input(2).rank() != 0) return InvalidArgument("Number of segments must be a scalar");
    WEIR_ASSIGN_OR_RETURN(int64_t num_segments, IntScalar(ctx.input(2), "num_segments"));
    if (num_segments < 0) return InvalidArgument("Number of segments must be non-negative but got ", num_segments);
    if (ids_shape.rank() == 0) return InvalidArgument("Segment_id cannot have rank 0");
    if (ids_shape.rank() > input.rank()) {
      return InvalidArgument("Segment_ids cannot have rank ", ids_shape.rank(), " that exceeds the inputs' rank ",
                             input.rank());
    }
    for (int d = 0; d < ids_shape.rank(); ++d) {
      if (ids_shape.dim(d) != input.dim(d)) {
        return InvalidArgument("Segment dimension is ", ids_shape.dim(d), " while input dimension is ", input.dim(d),
                               " in rank ", d);
      }
    }
    Shape shape = input.shape().Slice(ids_shape.rank(), input.rank());
    const int64_t row = shape.num_elements();
    WEIR_RETURN_IF_ERROR(shape.InsertDim(0, num_segments));
    for (int64_t id : ids) {
      if (id < 0 || id >= num_segments) {
        return InvalidArgument("segment_ids are not allowed to exceed num_segments or to have negative values.");
      }
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    std::vector<bool> begun(num_segments, false);
    for (size_t i = 0; i < ids.size(); ++i) {
      std::string* to = out->data<std::string>() + ids[i] * row;
      const std::string* from = input.data<std::string>() + static_cast<int64_t>(i) * row;
      for (int64_t k = 0; k < row; ++k) {
        if (begun[ids[i]]) to[k] += separator_;
        to[k] += from[k];
      }
      begun[ids[i]] = true;
    }
    return OkStatus();
  }

 private:
  const std::string separator_;
};

class StringFormatKernel : public Kernel {
 public:
  StringFormatKernel(std::vector<std::string> pieces, int64_t summarize)
      : pieces_(std::move(pieces)), summarize_(summarize) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(std::string text, init.Attr<std::string>("template"));
    WEIR_ASSIGN_OR_RETURN(std::string placeholder, init.Attr<std::string>("placeholder"));
    WEIR_ASSIGN_OR_RETURN(int64_t summarize, init.Attr<int64_t>("summarize"));
    std::vector<std::string> pieces;
    size_t at = 0;
    if (placeholder.empty()) return InvalidArgument("The placeholder of a template must not be empty");
    for (size_t next; (next = text.find(placeholder, at)) != std::string::npos; at = next + placeholder.size()) {
      pieces.push_back(text.substr(at, next - at));
    }
    pieces.push_back(text.substr(at));
    if (static_cast<int>(pieces.size()) - 1 != init.num_inputs()) {
      return InvalidArgument("num placeholders in template and num inputs must match: ", pieces.size() - 1, " vs. ",
                             init.num_inputs());
    }
    return std::unique_ptr<Kernel>(std::make_unique<StringFormatKernel>(std::move(pieces), summarize));
  }
  Status Compute(KernelContext& ctx) override {
    std::string text = pieces_[0];
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      text += ctx.input(i).SummarizeValues(summarize_, true);
      text += pieces_[i + 1];
    }
    ctx.set_output(0, Tensor::Scalar(std::move(text)));
    return OkStatus();
  }

 private:
  const std::vector<std::string> pieces_;
  const int64_t summarize_;
};

}  // namespace

void RegisterJoinKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("StringJoin"), MakeKernel<StringJoinKernel>);
  registry.Add(KernelBuilder("ReduceJoin"), MakeKernel<ReduceJoinKernel>);
  registry.Add(KernelBuilder("UnsortedSegmentJoin"), MakeKernel<UnsortedSegmentJoinKernel>);
  registry.Add(KernelBuilder("StringFormat"), MakeKernel<StringFormatKernel>);
}

}  // namespace weir
