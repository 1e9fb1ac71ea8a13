#include "weir/framework/kernel_registry.h"
#include "weir/io/checkpoint_reader.h"
#include "weir/ops/io/register.h"

namespace weir {
namespace {

// One tensor of a checkpoint, or the part of it that a shape_and_slice names.
StatusOr<Tensor> ReadOne(const CheckpointReader& reader, const std::string& name, const std::string& shape_and_slice,
                         DType dtype) {
  WEIR_ASSIGN_OR_RETURN(const CheckpointTensor* tensor, reader.Find(name));
  if (tensor->dtype != dtype) {
    return InvalidArgument("tensor_name = ", name, "; expected dtype ", Name(dtype), " does not equal original dtype ",
                           Name(tensor->dtype));
  }
  if (shape_and_slice.empty()) return reader.Read(name);
  WEIR_ASSIGN_OR_RETURN(ShapeAndSlice part, ParseShapeAndSlice(shape_and_slice));
  if (part.shape != tensor->shape) {
    return InvalidArgument("tensor_name = ", name, "; shape in shape_and_slice spec ", part.shape.ToString(),
                           " does not match the shape stored in checkpoint: ", tensor->shape.ToString());
  }
  return reader.ReadSlice(name, part.slice);
}

class RestoreV2Kernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& prefix = ctx.input(0);
    const Tensor& names = ctx.input(1);
    const Tensor& slices = ctx.input(2);
    if (prefix.num_elements() != 1) {
      return InvalidArgument("Input prefix should be a scalar tensor, got ", prefix.num_elements(), " elements");
    }
    if (!names.shape().IsVector() || !slices.shape().IsVector()) {
      return InvalidArgument("Input tensor_names and shape_and_slices should be 1-D tensors, got ",
                             names.shape().ToString(), " and ", slices.shape().ToString(), " instead.");
    }
    if (names.num_elements() != slices.num_elements() || names.num_elements() != ctx.num_outputs()) {
      return InvalidArgument("tensor_names (", names.num_elements(), "), shape_and_slices (", slices.num_elements(),
                             ") and the outputs (", ctx.num_outputs(), ") should be equally many");
    }
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<CheckpointReader> reader,
                          CheckpointReader::Open(prefix.scalar<std::string>()));
    std::vector<StatusOr<Tensor>> values(static_cast<size_t>(ctx.num_outputs()), Tensor());
    constexpr int64_t kTensorNs = 100'000;  // a guess: most are read in no less, large ones in far more
    ctx.ParallelFor(ctx.num_outputs(), kTensorNs, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        values[i] = ReadOne(*reader, names.data<std::string>()[i], slices.data<std::string>()[i],
                            ctx.output_type(static_cast<int>(i)));
      }
    });
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      WEIR_ASSIGN_OR_RETURN(Tensor value, std::move(values[i]));
      ctx.set_output(i, std::move(value));
    }
    return OkStatus();
  }
};

// The ops of the first format.
class RestoreKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (ctx.input(i).num_elements() != 1) {
        return InvalidArgument("Input ", i, " (",
                               i == 0   ? "file_pattern"
                               : i == 1 ? "tensor_name"
                                        : "shape_and_slice",
                               ") must be a string scalar; got a tensor of ", ctx.input(i).num_elements(), " elements");
      }
    }
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<CheckpointReader> reader,
                          CheckpointReader::Open(ctx.input(0).scalar<std::string>()));
    std::string part = ctx.num_inputs() > 2 ? ctx.input(2).scalar<std::string>() : "";
    WEIR_ASSIGN_OR_RETURN(Tensor value, ReadOne(*reader, ctx.input(1).scalar<std::string>(), part, ctx.output_type(0)));
    ctx.set_output(0, std::move(value));
    return OkStatus();
  }
};

}  // namespace

void RegisterRestoreKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("RestoreV2"), MakeKernel<RestoreV2Kernel>);
  registry.Add(KernelBuilder("Restore"), MakeKernel<RestoreKernel>);
  registry.Add(KernelBuilder("RestoreSlice"), MakeKernel<RestoreKernel>);
}

}  // namespace weir
