// Ragged tensors as variants: what maps and batches of ragged tensors pass along.
#include "weir/framework/kernel_registry.h"
#include "weir/ops/sparse/register.h"
#include "weir/tensor/copy_elements.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

class RaggedVariant : public VariantValue {
 public:
  static constexpr std::string_view kTypeName = "RaggedTensorVariant";
  RaggedVariant(std::vector<Tensor> splits, Tensor values) : splits(std::move(splits)), values(std::move(values)) {}

  std::string_view type_name() const override { return kTypeName; }
  StatusOr<VariantData> Encode() const override {
    VariantData data{.type_name = std::string(kTypeName), .metadata = "", .tensors = splits};
    data.tensors.push_back(values);
    return data;
  }
  static StatusOr<std::shared_ptr<VariantValue>> Decode(VariantData data) {
    if (data.tensors.empty()) return InvalidArgument("A ragged tensor without values");
    Tensor values = std::move(data.tensors.back());
    data.tensors.pop_back();
    return std::shared_ptr<VariantValue>(std::make_shared<RaggedVariant>(std::move(data.tensors), std::move(values)));
  }
  StatusOr<std::shared_ptr<VariantValue>> ZerosLike(TensorArithmetic& arithmetic) const override {
    WEIR_ASSIGN_OR_RETURN(Tensor zeros, arithmetic.ZerosOf(values));
    return std::shared_ptr<VariantValue>(std::make_shared<RaggedVariant>(splits, std::move(zeros)));
  }

  // The values of both; their rows are the same.
  StatusOr<std::shared_ptr<VariantValue>> Add(const VariantValue& other, TensorArithmetic& arithmetic) const override {
    const auto* term = dynamic_cast<const RaggedVariant*>(&other);
    if (term == nullptr || term->values.shape() != values.shape() || term->values.dtype() != values.dtype()) {
      return InvalidArgument("Ragged tensors of different values cannot be added");
    }
    WEIR_ASSIGN_OR_RETURN(Tensor sum, arithmetic.Sum(values, term->values));
    return std::shared_ptr<VariantValue>(std::make_shared<RaggedVariant>(splits, std::move(sum)));
  }

  std::vector<Tensor> LocalTensors() const override { return {values}; }
  std::shared_ptr<VariantValue> WithLocalTensors(std::vector<Tensor> copies) const override {
    return std::make_shared<RaggedVariant>(splits, std::move(copies[0]));
  }

  // Elements of the outermost dimension.
  int64_t rows() const { return splits.empty() ? (values.rank() > 0 ? values.dim(0) : 0) : splits[0].dim(0) - 1; }

  std::vector<Tensor> splits;
  Tensor values;
};

int64_t SplitAt(const Tensor& splits, int64_t i) {
  return splits.dtype() == DType::kInt32 ? splits.data<int32_t>()[i] : splits.data<int64_t>()[i];
}

// Vectors that begin with 0, do not fall and end at the number of rows of the level below.
Status CheckSplits(const std::vector<Tensor>& splits, const Tensor& values) {
  if (values.rank() < 1) return InvalidArgument("values must be at least 1-D, got ", values.shape().ToString());
  for (size_t level = 0; level < splits.size(); ++level) {
    const Tensor& split = splits[level];
    if (!split.shape().IsVector() || split.num_elements() < 1) {
      return InvalidArgument("Splits must have rank 1 and at least one element, got ", split.shape().ToString());
    }
    const int64_t below = level + 1 < splits.size() ? splits[level + 1].num_elements() - 1 : values.dim(0);
    const int64_t last = split.num_elements() - 1;
    if (SplitAt(split, 0) != 0) return InvalidArgument("First value of ragged splits must be 0");
    for (int64_t i = 0; i < last; ++i) {
      if (SplitAt(split, i) > SplitAt(split, i + 1)) return InvalidArgument("Ragged splits must not decrease");
    }
    if (SplitAt(split, last) != below) {
      return InvalidArgument("Ragged splits end at ", SplitAt(split, last), " but should end at ", below);
    }
  }
  return OkStatus();
}

StatusOr<Tensor> MakeSplits(const std::vector<int64_t>& numbers, DType dtype) {
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(dtype, Shape({static_cast<int64_t>(numbers.size())})));
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (dtype == DType::kInt64) {
      out.data<int64_t>()[i] = numbers[i];
    } else if (numbers[i] <= INT32_MAX) {
      out.data<int32_t>()[i] = static_cast<int32_t>(numbers[i]);
    } else {
      return InvalidArgument("Too many values for row splits of type int32");
    }
  }
  return out;
}

// Row `row` of a ragged tensor with at least one level of splits.
StatusOr<std::shared_ptr<RaggedVariant>> TakeRow(const std::vector<Tensor>& splits, const Tensor& values, int64_t row) {
  int64_t begin = SplitAt(splits[0], row), end = SplitAt(splits[0], row + 1);
  std::vector<Tensor> inner;
  for (size_t level = 1; level < splits.size(); ++level) {
    std::vector<int64_t> numbers;
    const int64_t base = SplitAt(splits[level], begin);
    for (int64_t i = begin; i <= end; ++i) numbers.push_back(SplitAt(splits[level], i) - base);
    WEIR_ASSIGN_OR_RETURN(inner.emplace_back(), MakeSplits(numbers, splits[level].dtype()));
    end = SplitAt(splits[level], end);
    begin = base;
  }
  WEIR_ASSIGN_OR_RETURN(Tensor part, values.Slice(begin, end).Clone());
  return std::make_shared<RaggedVariant>(std::move(inner), std::move(part));
}

class RaggedToVariantKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<RaggedToVariantKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->batched_, init.Attr<bool>("batched_input"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    std::vector<Tensor> splits;
    for (int i = 0; i + 1 < ctx.num_inputs(); ++i) splits.push_back(ctx.input(i));
    const Tensor values = ctx.input(ctx.num_inputs() - 1);
    if (!splits.empty() && values.rank() < 1) {
      return InvalidArgument("Requires flat_values to have rank>=1 when nested_row_splits is not empty, but is 0.");
    }
    if (!batched_) {
      ctx.set_output(0, Tensor::Scalar(Variant(std::make_shared<RaggedVariant>(std::move(splits), values))));
      return OkStatus();
    }
    WEIR_RETURN_IF_ERROR(CheckSplits(splits, values));
    const int64_t rows = splits.empty() ? values.dim(0) : splits[0].num_elements() - 1;
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({rows})));
    for (int64_t row = 0; row < rows; ++row) {
      if (splits.empty()) {
        WEIR_ASSIGN_OR_RETURN(Tensor part, values.SubTensor(row).Clone());
        out->data<Variant>()[row] = Variant(std::make_shared<RaggedVariant>(std::vector<Tensor>(), std::move(part)));
        continue;
      }
      WEIR_ASSIGN_OR_RETURN(std::shared_ptr<RaggedVariant> part, TakeRow(splits, values, row));
      out->data<Variant>()[row] = Variant(std::move(part));
    }
    return OkStatus();
  }

 private:
  bool batched_ = false;
};

// Values of all components one after the other.
StatusOr<Tensor> JoinValues(const std::vector<const RaggedVariant*>& parts, DType dtype) {
  Shape shape({0});
  if (!parts.empty()) {
    shape = parts[0]->values.shape();
    WEIR_RETURN_IF_ERROR(shape.SetDim(0, 0));
  }
  int64_t rows = 0;
  for (const RaggedVariant* part : parts) {
    Shape inner = part->values.shape();
    const int64_t count = inner.dim(0);
    WEIR_RETURN_IF_ERROR(inner.SetDim(0, 0));
    if (inner != shape) return InvalidArgument("All flat_values must have compatible shapes");
    rows += count;
  }
  WEIR_RETURN_IF_ERROR(shape.SetDim(0, rows));
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(dtype, shape));
  int64_t at = 0;
  for (const RaggedVariant* part : parts) {
    CopyElements(part->values, 0, out, at, part->values.num_elements());
    at += part->values.num_elements();
  }
  return out;
}

class RaggedFromVariantKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<RaggedFromVariantKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->input_rank_, init.Attr<int64_t>("input_ragged_rank"));
    WEIR_ASSIGN_OR_RETURN(kernel->output_rank_, init.Attr<int64_t>("output_ragged_rank"));
    WEIR_ASSIGN_OR_RETURN(kernel->splits_type_, init.Attr<DType>("Tsplits"));
    WEIR_ASSIGN_OR_RETURN(kernel->values_type_, init.Attr<DType>("Tvalues"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor encoded = ctx.input(0);
    const int64_t dims = encoded.rank();
    int64_t input_rank = input_rank_;
    if (input_rank == -1) {
      input_rank = output_rank_ - dims;
      if (input_rank < 0) {
        return InvalidArgument("Inferred input_ragged_rank (output_ragged_rank - encoded_ragged.dims()) must be >= 0, ",
                               "found output_ragged_rank: ", output_rank_, ", encoded_ragged.dims(): ", dims,
                               ", inferred input_ragged_rank: ", input_rank);
      }
    }
    if (output_rank_ - dims != input_rank) {
      return InvalidArgument("output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); ",
                             "output_ragged_rank: ", output_rank_, ", input_ragged_rank: ", input_rank,
                             ", encoded_ragged.dims(): ", dims, ".");
    }
    WEIR_ASSIGN_OR_RETURN(std::vector<const RaggedVariant*> parts, Parts(encoded, input_rank));
    if (dims == 0) {
      for (int64_t i = 0; i < input_rank; ++i) ctx.set_output(static_cast<int>(i), parts[0]->splits[i]);
      ctx.set_output(static_cast<int>(output_rank_), parts[0]->values);
      return OkStatus();
    }
    return Stack(ctx, encoded.shape(), parts, input_rank);
  }

 private:
  StatusOr<std::vector<const RaggedVariant*>> Parts(const Tensor& encoded, int64_t input_rank) const {
    std::vector<const RaggedVariant*> parts;
    for (int64_t i = 0; i < encoded.num_elements(); ++i) {
      const auto* part = encoded.data<Variant>()[i].get_if<RaggedVariant>();
      if (part == nullptr) {
        return InvalidArgument("Input Variant element at index ", i, " doesn't hold a RaggedTensorVariant");
      }
      if (static_cast<int64_t>(part->splits.size()) != input_rank) {
        return InvalidArgument("Encoded input RaggedTensorVariant has ragged_rank=", part->splits.size(),
                               ".  Expected ragged_rank=", input_rank, ".");
      }
      if (part->values.dtype() != values_type_) {
        return InvalidArgument("Expected values Tensor dtype: ", Name(values_type_),
                               ", found: ", Name(part->values.dtype()));
      }
      for (const Tensor& splits : part->splits) {
        if (splits.dtype() != splits_type_) {
          return InvalidArgument("Expected row_splits Tensor dtype: ", Name(splits_type_),
                                 ", found: ", Name(splits.dtype()));
        }
      }
      if (encoded.rank() > 0) {
        if (part->values.rank() < 1) return InvalidArgument("Ragged values must not be scalars");
        WEIR_RETURN_IF_ERROR(CheckSplits(part->splits, part->values));
      }
      parts.push_back(part);
    }
    return parts;
  }

  Status Stack(KernelContext& ctx, const Shape& outer, const std::vector<const RaggedVariant*>& parts,
               int64_t input_rank) const {
    int output = 0;
    auto put = [&](const std::vector<int64_t>& numbers) -> Status {
      WEIR_ASSIGN_OR_RETURN(Tensor splits, MakeSplits(numbers, splits_type_));
      ctx.set_output(output++, std::move(splits));
      return OkStatus();
    };
    // All but the last dimension of the variants are uniform.
    int64_t rows = 1;
    for (int d = 0; d + 1 < outer.rank(); ++d) {
      rows *= outer.dim(d);
      std::vector<int64_t> numbers;
      for (int64_t i = 0; i <= rows; ++i) numbers.push_back(i * outer.dim(d + 1));
      WEIR_RETURN_IF_ERROR(put(numbers));
    }
    std::vector<int64_t> lengths = {0};
    for (const RaggedVariant* part : parts) lengths.push_back(lengths.back() + part->rows());
    WEIR_RETURN_IF_ERROR(put(lengths));
    for (int64_t level = 0; level < input_rank; ++level) {
      std::vector<int64_t> numbers = {0};
      for (const RaggedVariant* part : parts) {
        const Tensor& splits = part->splits[level];
        const int64_t base = numbers.back();
        for (int64_t i = 1; i < splits.num_elements(); ++i) numbers.push_back(base + SplitAt(splits, i));
      }
      WEIR_RETURN_IF_ERROR(put(numbers));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor values, JoinValues(parts, values_type_));
    ctx.set_output(output, std::move(values));
    return OkStatus();
  }

  int64_t input_rank_ = -1, output_rank_ = 0;
  DType splits_type_ = DType::kInt64, values_type_ = DType::kInvalid;
};

// The rows' gradients put where their values were; a row without one gets zeros.
class RaggedToVariantGradientKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor encoded = ctx.input(0), splits = ctx.input(1), dims = ctx.input(2);
    if (!dims.shape().IsVector()) return InvalidArgument("dense_values_shape must be a vector");
    std::vector<int64_t> sizes(dims.span<int32_t>().begin(), dims.span<int32_t>().end());
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(sizes));
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(ctx.output_type(0), shape));
    if (encoded.rank() == 0) {
      WEIR_RETURN_IF_ERROR(Put(encoded.data<Variant>()[0], 0, out.num_elements(), out));
    } else {
      if (!splits.shape().IsVector() || splits.num_elements() != encoded.num_elements() + 1 || shape.rank() < 1) {
        return InvalidArgument("row_splits ", splits.shape().ToString(), " do not fit ", encoded.num_elements(),
                               " gradients of values ", shape.ToString());
      }
      const int64_t stride = shape.dim(0) > 0 ? out.num_elements() / shape.dim(0) : 0;
      for (int64_t i = 0; i < encoded.num_elements(); ++i) {
        const int64_t begin = SplitAt(splits, i), end = SplitAt(splits, i + 1);
        if (begin < 0 || begin > end || end > shape.dim(0)) {
          return InvalidArgument("row_splits must rise within the values");
        }
        WEIR_RETURN_IF_ERROR(Put(encoded.data<Variant>()[i], begin * stride, (end - begin) * stride, out));
      }
    }
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }

 private:
  static Status Put(const Variant& variant, int64_t begin, int64_t count, Tensor& out) {
    const auto* part = variant.get_if<RaggedVariant>();
    if (part == nullptr) return OkStatus();
    if (part->values.dtype() != out.dtype() || part->values.num_elements() != count) {
      return InvalidArgument("A gradient of ", part->values.num_elements(), " values of type ",
                             Name(part->values.dtype()), " does not fit ", count, " of ", Name(out.dtype()));
    }
    CopyElements(part->values, 0, out, begin, count);
    return OkStatus();
  }
};

}  // namespace

void RegisterRaggedVariantKernels(KernelRegistry& registry) {
  RegisterVariantDecoder(RaggedVariant::kTypeName, RaggedVariant::Decode);
  registry.Add(KernelBuilder("RaggedTensorToVariant"), MakeKernel<RaggedToVariantKernel>);
  registry.Add(KernelBuilder("RaggedTensorFromVariant"), MakeKernel<RaggedFromVariantKernel>);
  registry.Add(KernelBuilder("RaggedTensorToVariantGradient"), MakeKernel<RaggedToVariantGradientKernel>);
}

}  // namespace weir
