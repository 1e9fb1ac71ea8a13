#include "weir/framework/kernel.h"

#include "weir/framework/exhaustion_report.h"

namespace weir {

StatusOr<Tensor*> KernelContext::AllocateOutput(int i, const Shape& shape) {
  WEIR_ASSIGN_OR_RETURN(outputs_[i].tensor, AllocateTemp(output_type(i), shape));
  return &outputs_[i].tensor;
}

StatusOr<Tensor> KernelContext::AllocateHost(DType dtype, const Shape& shape) {
  return Tensor::Allocate(dtype, shape, step_->device->host_allocator());
}

StatusOr<Tensor> KernelContext::AllocateTemp(DType dtype, const Shape& shape) {
  // Objects are the host's; what is in them may be the device's.
  Allocator* allocator = IsPlain(dtype) ? nullptr : CpuAllocator();
  if (allocator == nullptr && step_->device_run != nullptr) allocator = step_->device_run->allocator();
  if (allocator == nullptr) allocator = step_->device->allocator();
  StatusOr<Tensor> tensor = Tensor::Allocate(dtype, shape, allocator);
  if (!tensor.ok() && absl::IsResourceExhausted(tensor.status())) [[unlikely]] {
    if (const auto* report = dynamic_cast<const ExhaustionReport*>(allocator)) {
      const size_t bytes = static_cast<size_t>(shape.num_elements()) * SizeOf(dtype);
      return Annotate(tensor.status(), "", Cat(": ", report->DescribeExhaustion(bytes)));
    }
  }
  return tensor;
}

StatusOr<Tensor*> KernelContext::ForwardOrAllocateOutput(std::span<const int> candidates, int output,
                                                         const Shape& shape) {
  DType dtype = output_type(output);
  for (int i : candidates) {
    Slot& slot = inputs_[i];
    if (slot.ref || !slot.tensor.unique()) continue;
    if (slot.tensor.dtype() != dtype || slot.tensor.num_elements() != shape.num_elements()) continue;
    if (!step_->device->is_host() && slot.tensor.in_host_memory()) continue;
    if (slot.tensor.shape() == shape) {
      outputs_[output].tensor = std::move(slot.tensor);
    } else {
      WEIR_ASSIGN_OR_RETURN(outputs_[output].tensor, slot.tensor.Reshaped(shape));
      slot.tensor = Tensor();
    }
    return &outputs_[output].tensor;
  }
  return AllocateOutput(output, shape);
}

StatusOr<const ResourceHandle*> HandleInput(KernelContext& ctx, int i) {
  const Tensor& tensor = ctx.input(i);
  if (tensor.dtype() != DType::kResource || tensor.num_elements() != 1) {
    return InvalidArgument("Input ", i, " must be a scalar resource handle, got ", Name(tensor.dtype()), " ",
                           tensor.shape().ToString());
  }
  return tensor.data<ResourceHandle>();
}

namespace {

// A resource of a device with memory of its own is of no use to kernels of others.
Status CheckHome(const KernelContext& ctx, const ResourceHandle& handle) {
  StatusOr<DeviceName> home = DeviceName::Parse(handle.device);
  if (!home.ok() || home->type == ctx.device().type()) return OkStatus();
  return InvalidArgument("Trying to access resource ", handle.name, " located in device ", handle.device,
                         " from device ", ctx.device().name());
}

StatusOr<std::shared_ptr<Resource>> FindResource(KernelContext& ctx, int i, std::string_view type_name) {
  WEIR_ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleInput(ctx, i));
  if (handle->resource != nullptr) {
    if (handle->device != ctx.device().name() && !handle->device.empty()) WEIR_RETURN_IF_ERROR(CheckHome(ctx, *handle));
    if (handle->resource->type_name() != type_name) {
      return InvalidArgument("Trying to access resource using the wrong type. Expected ", type_name, " got ",
                             handle->resource->type_name());
    }
    return handle->resource;
  }
  return ctx.resources().LookUp(handle->container, type_name, handle->name);
}

}  // namespace

StatusOr<std::shared_ptr<Resource>> LookUpResourceAny(KernelContext& ctx, int i, std::string_view type_name) {
  StatusOr<std::shared_ptr<Resource>> found = FindResource(ctx, i, type_name);
  if (DeviceRun* run = ctx.step().device_run; run != nullptr && found.ok()) run->UseResource(*found, false);
  return found;
}

}  // namespace weir
