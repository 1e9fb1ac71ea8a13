// TensorArray ops that move many elements: gather and pack, scatter and unpack, concat, split.
#include <numeric>

#include "weir/device/cpu/kernel_arithmetic.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/queue/register.h"
#include "weir/ops/queue/tensor_array_input.h"

namespace weir {
namespace {

using ArrayPtr = std::shared_ptr<TensorArray>;

std::vector<int32_t> FirstIndices(int64_t count) {
  std::vector<int32_t> out(static_cast<size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

StatusOr<std::vector<int32_t>> IndicesInput(KernelContext& ctx) {
  const Tensor& indices = ctx.input(1);
  if (indices.rank() != 1) {
    return InvalidArgument("Expected indices to be a vector, but received shape: ", indices.shape().ToString());
  }
  std::span<const int32_t> span = indices.span<int32_t>();
  return std::vector<int32_t>(span.begin(), span.end());
}

// Gather takes the indices from its input; the older Pack takes all.
template <bool kPack>
class TensorArrayGatherKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<TensorArrayGatherKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->element_shape_, init.Attr<PartialShape>("element_shape"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(ArrayPtr array, TensorArrayInput(ctx));
    WEIR_RETURN_IF_ERROR(CheckReadType(*array, ctx.output_type(0)));
    WEIR_RETURN_IF_ERROR(array->MergeElementShape(element_shape_));
    std::vector<int32_t> indices;
    if constexpr (kPack) {
      WEIR_ASSIGN_OR_RETURN(int64_t size, array->PackSize());
      array->MarkSize(size);
      indices = FirstIndices(size);
    } else {
      WEIR_ASSIGN_OR_RETURN(indices, IndicesInput(ctx));
    }
    if (indices.empty()) {
      std::optional<Shape> shape = element_shape_.ToShape();
      if (!shape.has_value()) {
        return Unimplemented("TensorArray has size zero, but element shape ", element_shape_.ToString(),
                             " is not fully defined. Currently only static shapes are supported when packing "
                             "zero-size TensorArrays.");
      }
      WEIR_RETURN_IF_ERROR(shape->InsertDim(0, 0));
      return ctx.AllocateOutput(0, *shape).status();
    }
    KernelArithmetic arithmetic(ctx);
    WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> values, array->ReadMany(indices, arithmetic));
    if (!element_shape_.IsCompatibleWith(values[0].shape())) {
      return InvalidArgument("TensorArray was passed element_shape ", element_shape_.ToString(),
                             " which does not match the Tensor at index 0: ", values[0].shape().ToString());
    }
    if (values[0].num_elements() == 0) {  // the others are not looked at
      Shape shape = values[0].shape();
      WEIR_RETURN_IF_ERROR(shape.InsertDim(0, static_cast<int64_t>(values.size())));
      return ctx.AllocateOutput(0, shape).status();
    }
    std::vector<const Tensor*> rows;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].shape() != values[0].shape()) {
        return InvalidArgument(
            "TensorArray has inconsistent shapes.  Index 0 has shape: ", values[0].shape().ToString(), " but index ", i,
            " has shape: ", values[i].shape().ToString());
      }
      rows.push_back(&values[i]);
    }
    WEIR_ASSIGN_OR_RETURN(Tensor out, StackTensors(ctx, rows));
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }

 private:
  PartialShape element_shape_;
};

class TensorArrayConcatKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<TensorArrayConcatKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->row_shape_, init.Attr<PartialShape>("element_shape_except0"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(ArrayPtr array, TensorArrayInput(ctx));
    WEIR_RETURN_IF_ERROR(CheckReadType(*array, ctx.output_type(0)));
    WEIR_ASSIGN_OR_RETURN(int64_t size, array->PackSize());
    array->MarkSize(size);
    WEIR_ASSIGN_OR_RETURN(Tensor lengths, ctx.AllocateHost(DType::kInt64, Shape({size})));
    ctx.set_output(1, lengths);
    if (size == 0) {
      std::optional<Shape> shape = row_shape_.ToShape();
      if (!shape.has_value()) {
        return Unimplemented("TensorArray has size zero, but element_shape_except0 ", row_shape_.ToString(),
                             " is not fully defined. Currently only static shapes are supported when concatenating "
                             "zero-size TensorArrays.");
      }
      WEIR_RETURN_IF_ERROR(shape->InsertDim(0, 0));
      return ctx.AllocateOutput(0, *shape).status();
    }
    KernelArithmetic arithmetic(ctx);
    WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> values, array->ReadMany(FirstIndices(size), arithmetic));
    Shape rows;
    int64_t total = 0;
    for (int64_t i = 0; i < size; ++i) {
      const Shape& shape = values[i].shape();
      if (shape.rank() == 0) {
        return InvalidArgument("Concat saw a scalar shape at index ", i,
                               " but requires at least vectors.  Did you mean to call pack?");
      }
      Shape row = shape.Slice(1, shape.rank());
      if (i == 0) {
        rows = row;
        if (!row_shape_.IsCompatibleWith(row)) {
          return InvalidArgument("TensorArray was passed element_shape_except0 ", row_shape_.ToString(),
                                 " but index 0 has (excepting dimension 0) shape: ", row.ToString(),
                                 " which does not match.");
        }
      } else if (row != rows) {
        return InvalidArgument(
            "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: ", rows.ToString(),
            " but index ", i, " has (excepting dimension 0) shape: ", row.ToString());
      }
      lengths.data<int64_t>()[i] = shape.dim(0);
      std::optional<int64_t> sum = CheckedAdd(total, shape.dim(0));
      if (!sum.has_value()) return InvalidArgument("Concat of too many rows");
      total = *sum;
    }
    Shape shape = rows;
    WEIR_RETURN_IF_ERROR(shape.InsertDim(0, total));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    std::vector<PlacedPart> parts;
    int64_t offset = 0;
    for (const Tensor& value : values) {
      parts.push_back({&value, offset});
      offset += value.num_elements();
    }
    return PlaceParts(ctx, parts, *out);
  }

 private:
  PartialShape row_shape_;
};

StatusOr<std::vector<Tensor>> TakeRows(KernelContext& ctx, const Tensor& value, std::span<const int64_t> lengths,
                                       bool keep_dim) {
  std::vector<Tensor> out;
  out.reserve(lengths.size());
  int64_t row = 0;
  for (int64_t length : lengths) {
    Tensor part = keep_dim ? value.Slice(row, row + length) : value.SubTensor(row);
    WEIR_ASSIGN_OR_RETURN(out.emplace_back(), OwnSlice(ctx, std::move(part)));
    row += length;
  }
  return out;
}

// Scatter takes the indices from its input; the older Unpack writes all.
template <bool kUnpack>
class TensorArrayScatterKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(ArrayPtr array, TensorArrayInput(ctx));
    const Tensor& value = ctx.input(kUnpack ? 1 : 2);
    WEIR_RETURN_IF_ERROR(CheckWriteType(*array, value.dtype()));
    if (value.rank() == 0)
      return InvalidArgument("Input value for unpack must be at least a vector but received shape: []");
    WEIR_ASSIGN_OR_RETURN(int64_t size, array->Size());
    std::vector<int32_t> indices;
    int64_t needed = 0;
    if constexpr (kUnpack) {
      needed = value.dim(0);
      if (needed > TensorArray::kMaxSize) return ResourceExhausted("Too many rows for a TensorArray: ", needed);
      indices = FirstIndices(needed);
    } else {
      WEIR_ASSIGN_OR_RETURN(indices, IndicesInput(ctx));
      if (static_cast<int64_t>(indices.size()) != value.dim(0)) {
        return InvalidArgument("Expected len(indices) == values.shape[0], but saw: ", indices.size(), " vs. ",
                               value.dim(0));
      }
      for (int32_t index : indices) needed = std::max<int64_t>(needed, int64_t{index} + 1);
    }
    if (!array->dynamic_size()) {
      if (kUnpack && needed != size) {
        return InvalidArgument("TensorArray's size is not equal to the input's number of rows: ", size, " vs. ",
                               needed);
      }
      if (needed > size) {
        return InvalidArgument("Max scatter index must be < array size (", needed - 1, " vs. ", size, ")");
      }
    }
    array->MarkSize(std::max(size, needed));
    WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> rows,
                          TakeRows(ctx, value, std::vector<int64_t>(indices.size(), 1), /*keep_dim=*/false));
    KernelArithmetic arithmetic(ctx);
    WEIR_RETURN_IF_ERROR(array->WriteMany(indices, rows, arithmetic));
    ctx.set_output(0, ctx.input(ctx.num_inputs() - 1));
    return OkStatus();
  }
};

class TensorArraySplitKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(ArrayPtr array, TensorArrayInput(ctx));
    const Tensor& value = ctx.input(1);
    const Tensor& lengths = ctx.input(2);
    WEIR_RETURN_IF_ERROR(CheckWriteType(*array, value.dtype()));
    if (lengths.rank() != 1) {
      return InvalidArgument("Expected lengths to be a vector, received shape: ", lengths.shape().ToString());
    }
    if (value.rank() == 0) {
      return InvalidArgument("Expected value to be at least a vector, but received shape: ", value.shape().ToString());
    }
    int64_t total = 0;
    for (int64_t length : lengths.span<int64_t>()) {
      if (length < 0) return InvalidArgument("Invalid value in lengths: ", length);
      std::optional<int64_t> sum = CheckedAdd(total, length);
      if (!sum.has_value()) return InvalidArgument("Sum of lengths is too large");
      total = *sum;
    }
    if (total != value.dim(0)) {
      return InvalidArgument("Expected sum of lengths to be equal to values.shape[0], but sum of lengths is ", total,
                             " and value's shape is: ", value.shape().ToString());
    }
    int64_t count = lengths.num_elements();
    WEIR_ASSIGN_OR_RETURN(int64_t size, array->Size());
    if (count > TensorArray::kMaxSize) return ResourceExhausted("Too many lengths for a TensorArray: ", count);
    if (count != size && !(array->dynamic_size() && count > size)) {
      return InvalidArgument("TensorArray's size is not equal to the size of lengths (", size, " vs. ", count,
                             "), and the TensorArray is not marked as dynamically resizeable");
    }
    array->MarkSize(count);
    WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> parts, TakeRows(ctx, value, lengths.span<int64_t>(), /*keep_dim=*/true));
    KernelArithmetic arithmetic(ctx);
    WEIR_RETURN_IF_ERROR(array->WriteMany(FirstIndices(count), parts, arithmetic));
    ctx.set_output(0, ctx.input(3));
    return OkStatus();
  }
};

}  // namespace

void RegisterTensorArrayBatchKernels(KernelRegistry& registry) {
  for (std::string version : {"", "V2", "V3"}) {
    registry.Add(KernelBuilder("TensorArrayGather" + version), MakeKernel<TensorArrayGatherKernel<false>>);
    registry.Add(KernelBuilder("TensorArrayScatter" + version), MakeKernel<TensorArrayScatterKernel<false>>);
    registry.Add(KernelBuilder("TensorArrayConcat" + version), MakeKernel<TensorArrayConcatKernel>);
    registry.Add(KernelBuilder("TensorArraySplit" + version), MakeKernel<TensorArraySplitKernel>);
  }
  registry.Add(KernelBuilder("TensorArrayPack"), MakeKernel<TensorArrayGatherKernel<true>>);
  registry.Add(KernelBuilder("TensorArrayUnpack"), MakeKernel<TensorArrayScatterKernel<true>>);
}

}  // namespace weir
