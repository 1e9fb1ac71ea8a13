#include "weir/ops/queue/step_resource.h"

#include <utility>

namespace weir {
namespace {

// The [container, name] in input `i`, behind a ref or not.
StatusOr<std::pair<std::string, std::string>> StringHandleInput(KernelContext& ctx, int i) {
  Tensor pair = ctx.input(i);
  if (ctx.is_ref_input(i)) {
    RefCell& cell = ctx.ref_input(i);
    absl::ReaderMutexLock lock(&cell.mu);
    pair = cell.tensor;
  }
  if (pair.dtype() != DType::kString || pair.num_elements() != 2) {
    return InvalidArgument("Resource handle must have two elements, but had shape: ", pair.shape().ToString());
  }
  const std::string* text = pair.data<std::string>();
  return std::make_pair(text[0], text[1]);
}

}  // namespace

RefPtr<RefCell> MakeRefHandle(std::string container, std::string name) {
  RefPtr<RefCell> cell = MakeRef<RefCell>();
  absl::MutexLock lock(&cell->mu);
  cell->dtype = DType::kString;
  cell->tensor = Tensor::Vector<std::string>({std::move(container), std::move(name)});
  return cell;
}

Status SetStepHandle(KernelContext& ctx, const std::string& name, std::string_view container,
                     std::shared_ptr<Resource> resource) {
  DType declared = ctx.node().types->outputs[0];
  if (IsRef(declared)) {
    ctx.set_output_ref(0, MakeRefHandle(std::string(container), name));
  } else if (declared == DType::kString) {
    ctx.set_output(0, Tensor::Vector<std::string>({std::string(container), name}));
  } else {
    ResourceHandle handle;
    handle.device = ctx.device().name();
    handle.container = Cat("__per_step_", ctx.step().step_id);
    handle.name = Cat(container, name);
    handle.type_name = resource->type_name();
    handle.resource = std::move(resource);
    ctx.set_output(0, Tensor::Scalar(std::move(handle)));
  }
  return OkStatus();
}

Status PutStepResource(KernelContext& ctx, const std::string& name, std::string_view container,
                       std::shared_ptr<Resource> resource) {
  if (ctx.step().step_resources == nullptr) return Internal("Step has no place for ", container, name);
  WEIR_RETURN_IF_ERROR(ctx.step().step_resources->Create("", Cat(container, name), resource));
  return SetStepHandle(ctx, name, container, std::move(resource));
}

StatusOr<std::shared_ptr<Resource>> FindStepResource(KernelContext& ctx, int i, std::string_view container,
                                                     std::string_view type_name) {
  if (ctx.step().step_resources == nullptr) return Internal("Step has no place for ", container);
  if (!ctx.is_ref_input(i) && ctx.input(i).dtype() == DType::kResource) {
    WEIR_ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleInput(ctx, i));
    if (handle->resource != nullptr) return LookUpResourceAny(ctx, i, type_name);
    return ctx.step().step_resources->LookUp("", type_name, handle->name);
  }
  WEIR_ASSIGN_OR_RETURN(auto place, StringHandleInput(ctx, i));
  return ctx.step().step_resources->LookUp("", type_name, Cat(place.first, place.second));
}

}  // namespace weir
