// Reversing and rolling along dimensions.
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

Status ReverseInto(KernelContext& ctx, const Tensor& x, const absl::InlinedVector<bool, 8>& reversed) {
  WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
  if (x.num_elements() == 0) return OkStatus();
  Dims strides = DenseStrides(x.shape().dims());
  const Dims dense = strides;
  int64_t offset = 0;
  for (int d = 0; d < x.rank(); ++d) {
    if (!reversed[d]) continue;
    offset += (x.dim(d) - 1) * strides[d];
    strides[d] = -strides[d];
  }
  const char* from = static_cast<const char*>(x.raw_data()) + offset * static_cast<int64_t>(SizeOf(x.dtype()));
  WEIR_RETURN_IF_ERROR(StridedCopy(ctx, x.dtype(), x.shape().dims(), from, strides, out->raw_data(), dense));
  return OkStatus();
}

// The dimensions are marked by a vector of bools.
class ReverseKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    const Tensor& dims = ctx.input(1);
    if (x.rank() == 0) return ReverseInto(ctx, x, {});
    if (!dims.shape().IsVector() || dims.num_elements() != x.rank()) {
      return InvalidArgument("'dims' must have the same number of values as 'input' has dimensions. 'input' has ",
                             x.rank(), "'dims' has ", dims.num_elements(), " values");
    }
    absl::InlinedVector<bool, 8> reversed(dims.data<bool>(), dims.data<bool>() + dims.num_elements());
    return ReverseInto(ctx, x, reversed);
  }
};

class ReverseV2Kernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    if (x.rank() == 0) return ReverseInto(ctx, x, {});  // whatever the axes are
    if (!ctx.input(1).shape().IsVector()) {
      return InvalidArgument("'dims' must be 1-dimension, not ", ctx.input(1).rank());
    }
    WEIR_ASSIGN_OR_RETURN(Dims axes, IntElements(ctx.input(1), "axis"));
    const int rank = x.rank();
    absl::InlinedVector<bool, 8> reversed(rank, false);
    for (size_t i = 0; i < axes.size(); ++i) {
      int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
      if (axis < 0 || axis >= rank) {
        return InvalidArgument("'axis'[", i, "] = ", axes[i], " is out of valid range [0, ", rank - 1);
      }
      if (reversed[axis]) return InvalidArgument("axis ", axis, " specified more than once.");
      reversed[axis] = true;
    }
    return ReverseInto(ctx, x, reversed);
  }
};

// The first seq_lengths[b] entries along seq_dim of each batch b.
class ReverseSequenceKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ReverseSequenceKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->seq_dim_, init.Attr<int64_t>("seq_dim"));
    WEIR_ASSIGN_OR_RETURN(kernel->batch_dim_, init.Attr<int64_t>("batch_dim"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    const int rank = x.rank();
    const int64_t seq = seq_dim_ < 0 ? seq_dim_ + rank : seq_dim_;
    const int64_t batch = batch_dim_ < 0 ? batch_dim_ + rank : batch_dim_;
    if (seq == batch) return InvalidArgument("batch_dim == seq_dim == ", seq);
    if (seq < 0 || seq >= rank) return InvalidArgument("seq_dim must be < input rank ( ", seq_dim_, " vs. ", rank, ")");
    if (batch < 0 || batch >= rank) {
      return InvalidArgument("batch_dim must be < input rank ( ", batch_dim_, " vs. ", rank, ")");
    }
    const Tensor& lengths_input = ctx.input(1);
    if (!lengths_input.shape().IsVector()) {
      return InvalidArgument("seq_lens input must be 1-dim, not ", lengths_input.rank());
    }
    if (lengths_input.num_elements() != x.dim(batch)) {
      return InvalidArgument("Length of seq_lengths != input.dims(", batch, "), (", lengths_input.num_elements(),
                             " vs. ", x.dim(batch), ")");
    }
    WEIR_ASSIGN_OR_RETURN(Dims lengths, IntElements(lengths_input, "seq_lengths"));
    for (size_t b = 0; b < lengths.size(); ++b) {
      if (lengths[b] < 0) return InvalidArgument("seq_lens(", b, ") < 0");
      if (lengths[b] > x.dim(seq)) return InvalidArgument("seq_lens(", b, ") > input.dims(", seq, ")");
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    if (x.num_elements() == 0) return OkStatus();
    const Dims dense = DenseStrides(x.shape().dims());
    Dims dims(x.shape().dims().begin(), x.shape().dims().end());
    dims[batch] = 1;
    const int64_t size = static_cast<int64_t>(SizeOf(x.dtype()));
    const char* from = static_cast<const char*>(x.raw_data());
    char* to = static_cast<char*>(out->raw_data());
    for (size_t b = 0; b < lengths.size(); ++b) {
      const int64_t base = static_cast<int64_t>(b) * dense[batch], length = lengths[b];
      Dims part = dims, strides = dense;
      if (length > 0) {
        part[seq] = length;
        strides[seq] = -dense[seq];
        WEIR_RETURN_IF_ERROR(StridedCopy(ctx, x.dtype(), part, from + (base + (length - 1) * dense[seq]) * size,
                                         strides, to + base * size, dense));
      }
      part[seq] = x.dim(seq) - length;
      const int64_t rest = base + length * dense[seq];
      WEIR_RETURN_IF_ERROR(StridedCopy(ctx, x.dtype(), part, from + rest * size, dense, to + rest * size, dense));
    }
    return OkStatus();
  }

 private:
  int64_t seq_dim_ = 0;
  int64_t batch_dim_ = 0;
};

class RollKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    Tensor x = ctx.input(0);
    if (x.rank() < 1) return InvalidArgument("input must be 1-D or higher");
    if (ctx.input(1).rank() > 1)
      return InvalidArgument("shift must be a scalar or a 1-D vector. Found: ", ctx.input(1).shape().ToString());
    if (ctx.input(2).rank() > 1)
      return InvalidArgument("axis must be a scalar or a 1-D vector. Found: ", ctx.input(2).shape().ToString());
    WEIR_ASSIGN_OR_RETURN(Dims shifts, IntElements(ctx.input(1), "shift"));
    WEIR_ASSIGN_OR_RETURN(Dims axes, IntElements(ctx.input(2), "axis"));
    if (!(ctx.input(1).shape() == ctx.input(2).shape())) {
      return InvalidArgument("shift and axis must have the same size");
    }
    Dims shift(x.rank(), 0);  // how far each dimension's elements move, in [0, size)
    for (size_t i = 0; i < axes.size(); ++i) {
      int64_t axis = axes[i] < 0 ? axes[i] + x.rank() : axes[i];
      if (axis < 0 || axis >= x.rank()) return InvalidArgument("axis ", axis, " is out of range");
      const int64_t size = std::max<int64_t>(1, x.dim(axis));
      shift[axis] = ((shift[axis] + shifts[i] % size) % size + size) % size;
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    if (x.num_elements() == 0) return OkStatus();
    // Each rolled dimension is two blocks that change places; every choice of blocks is one copy.
    const Dims dense = DenseStrides(x.shape().dims());
    const int64_t size = static_cast<int64_t>(SizeOf(x.dtype()));
    absl::InlinedVector<int, 8> rolled;
    for (int d = 0; d < x.rank(); ++d) {
      if (shift[d] != 0) rolled.push_back(d);
    }
    if (rolled.size() > 20) return Unimplemented("Roll along more than 20 dimensions");
    for (uint32_t choice = 0; choice < (1u << rolled.size()); ++choice) {
      Dims dims(x.shape().dims().begin(), x.shape().dims().end());
      int64_t from = 0, to = 0;
      for (size_t k = 0; k < rolled.size(); ++k) {
        const int d = rolled[k];
        if ((choice >> k) & 1) {  // the tail goes to the front
          dims[d] = shift[d];
          from += (x.dim(d) - shift[d]) * dense[d];
        } else {
          dims[d] = x.dim(d) - shift[d];
          to += shift[d] * dense[d];
        }
      }
      WEIR_RETURN_IF_ERROR(StridedCopy(ctx, x.dtype(), dims, static_cast<const char*>(x.raw_data()) + from * size,
                                       dense, static_cast<char*>(out->raw_data()) + to * size, dense));
    }
    return OkStatus();
  }
};

}  // namespace

void RegisterReverseKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Reverse"), MakeKernel<ReverseKernel>);
  registry.Add(KernelBuilder("ReverseV2"), MakeKernel<ReverseV2Kernel>);
  registry.Add(KernelBuilder("ReverseSequence"), MakeKernel<ReverseSequenceKernel>);
  registry.Add(KernelBuilder("Roll"), MakeKernel<RollKernel>);
}

}  // namespace weir
