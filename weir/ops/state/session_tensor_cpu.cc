// GetSessionHandle and its like: tensors kept on the device between steps, named by a text handle.
#include "weir/framework/resource_node.h"
#include "weir/framework/session_tensors.h"
#include "weir/ops/state/register.h"

namespace weir {
namespace {

class SessionTensor : public Resource {
 public:
  static constexpr std::string_view kTypeName = "N10tensorflow6TensorE";
  explicit SessionTensor(Tensor value) : value_(std::move(value)) {}
  std::string_view type_name() const override { return kTypeName; }
  int64_t MemoryUsed() const override { return static_cast<int64_t>(value_.total_bytes()); }
  const Tensor& value() const { return value_; }

 private:
  const Tensor value_;
};

class GetSessionHandleKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    std::string handle = Cat(ctx.node_name(), ";", ResourceManager::NextUniqueId(), ";", ctx.device().name());
    WEIR_RETURN_IF_ERROR(ctx.resources().Create(SessionTensorContainer(ctx.step().session_handle), handle,
                                                std::make_shared<SessionTensor>(ctx.input(0))));
    if (ctx.output_type(0) == DType::kString) {
      ctx.set_output(0, Tensor::Scalar(std::move(handle)));
    } else {
      ResourceKey key{"TensorHandle", std::move(handle)};
      ctx.set_output(0, HandleTensor(MakeResourceHandle(ctx.device(), key, SessionTensor::kTypeName)));
    }
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

StatusOr<std::string> TextHandle(KernelContext& ctx) {
  const Tensor& handle = ctx.input(0);
  if (handle.dtype() != DType::kString || handle.num_elements() != 1) {
    return InvalidArgument("handle must be one string, got ", Name(handle.dtype()), " ", handle.shape().ToString());
  }
  return handle.scalar<std::string>();
}

class GetSessionTensorKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::string handle, TextHandle(ctx));
    auto found = ctx.resources().LookUp<SessionTensor>(SessionTensorContainer(ctx.step().session_handle), handle);
    if (!found.ok()) return InvalidArgument("The tensor with handle '", handle, "' is not in the session store.");
    const Tensor& value = (*found)->value();
    if (value.dtype() != ctx.output_type(0)) {
      return Internal("Output 0 of type ", Name(value.dtype()), " does not match declared output type ",
                      Name(ctx.output_type(0)), " for node ", ctx.node_name());
    }
    ctx.set_output(0, value);
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

class DeleteSessionTensorKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::string handle, TextHandle(ctx));
    Status status =
        ctx.resources().Delete(SessionTensorContainer(ctx.step().session_handle), SessionTensor::kTypeName, handle);
    if (!status.ok()) {
      return InvalidArgument("Failed to delete a tensor with handle '", handle, "' in the session store.");
    }
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

}  // namespace

void RegisterSessionTensorKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("GetSessionHandle"), MakeKernel<GetSessionHandleKernel>);
  registry.Add(KernelBuilder("GetSessionHandleV2"), MakeKernel<GetSessionHandleKernel>);
  registry.Add(KernelBuilder("GetSessionTensor"), MakeKernel<GetSessionTensorKernel>);
  registry.Add(KernelBuilder("DeleteSessionTensor"), MakeKernel<DeleteSessionTensorKernel>);
}

}  // namespace weir
