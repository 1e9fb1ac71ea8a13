// TensorArray ops that handle one element, or none. All three generations of ops share these kernels.
#include <atomic>

#include "weir/device/cpu/kernel_arithmetic.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/queue/register.h"
#include "weir/ops/queue/step_resource.h"
#include "weir/ops/queue/tensor_array.h"
#include "weir/ops/queue/tensor_array_input.h"

namespace weir {
namespace {

// The flow of an array that nothing was done to.
Status SetFlow(KernelContext& ctx, int output) {
  WEIR_ASSIGN_OR_RETURN(Tensor zero, KernelArithmetic(ctx).Zeros(DType::kFloat, Shape()));
  ctx.set_output(output, std::move(zero));
  return OkStatus();
}

class TensorArrayKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<TensorArrayKernel>();
    TensorArray::Options& options = kernel->options_;
    WEIR_ASSIGN_OR_RETURN(options.dtype, init.Attr<DType>("dtype"));
    WEIR_ASSIGN_OR_RETURN(options.element_shape, init.Attr<PartialShape>("element_shape"));
    WEIR_ASSIGN_OR_RETURN(options.dynamic_size, init.Attr<bool>("dynamic_size"));
    WEIR_ASSIGN_OR_RETURN(options.clear_after_read, init.Attr<bool>("clear_after_read"));
    if (init.HasAttr("identical_element_shapes")) {
      WEIR_ASSIGN_OR_RETURN(options.identical_element_shapes, init.Attr<bool>("identical_element_shapes"));
    }
    WEIR_ASSIGN_OR_RETURN(kernel->name_, init.Attr<std::string>("tensor_array_name"));
    if (kernel->name_.empty()) kernel->name_ = init.node_name();
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    static std::atomic<int64_t> counter{0};
    if (ctx.input(0).rank() != 0) {
      return InvalidArgument("TensorArray size must be scalar, but had shape: ", ctx.input(0).shape().ToString());
    }
    int32_t size = ctx.input(0).scalar<int32_t>();
    if (size < 0) return InvalidArgument("Size should be >= 0.");
    if (size > TensorArray::kMaxSize) {
      return ResourceExhausted("A TensorArray has at most ", TensorArray::kMaxSize, " elements, not ", size);
    }
    std::string name = Cat(name_, "_", counter.fetch_add(1));
    WEIR_RETURN_IF_ERROR(
        PutStepResource(ctx, name, TensorArray::kContainer, std::make_shared<TensorArray>(name, options_, size)));
    if (ctx.num_outputs() > 1) WEIR_RETURN_IF_ERROR(SetFlow(ctx, 1));
    return OkStatus();
  }

 private:
  TensorArray::Options options_;
  std::string name_;
};

// TensorArrayGrad and TensorArrayGradWithShape: the gradient array named `source`, made by whoever asks first.
class TensorArrayGradKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<TensorArrayGradKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->source_, init.Attr<std::string>("source"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<TensorArray> array, TensorArrayInput(ctx));
    if (array->is_gradient()) {
      return InvalidArgument("Wrong input container. ", TensorArray::kGradContainer, array->name());
    }
    Shape prepend;
    if (ctx.num_inputs() > 2) {
      if (ctx.input(2).rank() > 1) {
        return InvalidArgument("shape_to_prepend must be a vector, got shape ", ctx.input(2).shape().ToString());
      }
      std::vector<int64_t> dims;
      for (int32_t size : ctx.input(2).span<int32_t>()) dims.push_back(size);
      WEIR_ASSIGN_OR_RETURN(prepend, Shape::Make(dims));
    }
    std::string name = Cat(array->name(), "@", source_);
    std::function<StatusOr<std::shared_ptr<TensorArray>>()> make = [&] {
      return TensorArray::MakeGradient(name, *array, prepend);
    };
    WEIR_ASSIGN_OR_RETURN(auto gradient, ctx.step().step_resources->LookUpOrCreate<TensorArray>(
                                             "", Cat(TensorArray::kGradContainer, name), make));
    WEIR_RETURN_IF_ERROR(SetStepHandle(ctx, name, TensorArray::kGradContainer, gradient));
    if (ctx.num_outputs() > 1) WEIR_RETURN_IF_ERROR(SetFlow(ctx, 1));
    return OkStatus();
  }

 private:
  std::string source_;
};

StatusOr<int32_t> IndexInput(KernelContext& ctx) {
  if (ctx.input(1).rank() != 0) {
    return InvalidArgument("TensorArray index must be scalar, but had shape: ", ctx.input(1).shape().ToString());
  }
  return ctx.input(1).scalar<int32_t>();
}

class TensorArrayWriteKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<TensorArray> array, TensorArrayInput(ctx));
    WEIR_ASSIGN_OR_RETURN(int32_t index, IndexInput(ctx));
    WEIR_RETURN_IF_ERROR(CheckWriteType(*array, ctx.input(2).dtype()));
    KernelArithmetic arithmetic(ctx);
    WEIR_RETURN_IF_ERROR(array->Write(index, ctx.input(2), arithmetic));
    ctx.set_output(0, ctx.input(3));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

class TensorArrayReadKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<TensorArray> array, TensorArrayInput(ctx));
    WEIR_ASSIGN_OR_RETURN(int32_t index, IndexInput(ctx));
    WEIR_RETURN_IF_ERROR(CheckReadType(*array, ctx.output_type(0)));
    KernelArithmetic arithmetic(ctx);
    WEIR_ASSIGN_OR_RETURN(Tensor value, array->Read(index, arithmetic));
    ctx.set_output(0, std::move(value));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

class TensorArraySizeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<TensorArray> array, TensorArrayInput(ctx));
    WEIR_ASSIGN_OR_RETURN(int64_t size, array->Size());
    ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(size)));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

class TensorArrayCloseKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<TensorArray> array, TensorArrayInput(ctx));
    array->Close();
    return OkStatus();
  }
};

}  // namespace

StatusOr<std::shared_ptr<TensorArray>> TensorArrayInput(KernelContext& ctx) {
  return FindStepResource<TensorArray>(ctx, 0);
}

Status CheckWriteType(const TensorArray& array, DType dtype) {
  if (array.dtype() == dtype) return OkStatus();
  return InvalidArgument("TensorArray dtype is ", Name(array.dtype()), " but Op is trying to write dtype ", Name(dtype),
                         ".");
}

Status CheckReadType(const TensorArray& array, DType dtype) {
  if (array.dtype() == dtype) return OkStatus();
  return InvalidArgument("TensorArray dtype is ", Name(array.dtype()), " but Op requested dtype ", Name(dtype), ".");
}

void RegisterTensorArrayKernels(KernelRegistry& registry) {
  for (std::string version : {"", "V2", "V3"}) {
    registry.Add(KernelBuilder("TensorArray" + version), MakeKernel<TensorArrayKernel>);
    registry.Add(KernelBuilder("TensorArrayGrad" + version), MakeKernel<TensorArrayGradKernel>);
    registry.Add(KernelBuilder("TensorArrayWrite" + version), MakeKernel<TensorArrayWriteKernel>);
    registry.Add(KernelBuilder("TensorArrayRead" + version), MakeKernel<TensorArrayReadKernel>);
    registry.Add(KernelBuilder("TensorArraySize" + version), MakeKernel<TensorArraySizeKernel>);
    registry.Add(KernelBuilder("TensorArrayClose" + version), MakeKernel<TensorArrayCloseKernel>);
  }
  registry.Add(KernelBuilder("TensorArrayGradWithShape"), MakeKernel<TensorArrayGradKernel>);
}

}  // namespace weir
