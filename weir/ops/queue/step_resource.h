// Resources of one step (stacks, tensor arrays) and their handles, in either form.
#ifndef WEIR_OPS_QUEUE_STEP_RESOURCE_H_
#define WEIR_OPS_QUEUE_STEP_RESOURCE_H_

#include <memory>
#include <string>
#include <string_view>

#include "weir/framework/kernel.h"

namespace weir {

// A ref cell that holds the string pair [container, name].
RefPtr<RefCell> MakeRefHandle(std::string container, std::string name);

// Keeps `resource` in the step under (container, name) and sets output 0 to its handle: a resource, a ref or a plain
// string pair, as the op declares.
Status PutStepResource(KernelContext& ctx, const std::string& name, std::string_view container,
                       std::shared_ptr<Resource> resource);
// Sets output 0 to the handle of a resource that the step has already.
Status SetStepHandle(KernelContext& ctx, const std::string& name, std::string_view container,
                     std::shared_ptr<Resource> resource);
StatusOr<std::shared_ptr<Resource>> FindStepResource(KernelContext& ctx, int i, std::string_view container,
                                                     std::string_view type_name);
// T has kContainer and kTypeName.
template <typename T>
StatusOr<std::shared_ptr<T>> FindStepResource(KernelContext& ctx, int i) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Resource> found, FindStepResource(ctx, i, T::kContainer, T::kTypeName));
  return std::static_pointer_cast<T>(std::move(found));
}

}  // namespace weir

#endif  // WEIR_OPS_QUEUE_STEP_RESOURCE_H_
