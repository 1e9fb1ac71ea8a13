// Copies variants between devices, with the tensors in them.
#ifndef WEIR_FRAMEWORK_VARIANT_COPY_H_
#define WEIR_FRAMEWORK_VARIANT_COPY_H_

#include <functional>

#include "weir/framework/device.h"

namespace weir {

// Calls `done` with a copy of the variants. `copy` is called for each tensor in them that can be in a device's memory:
// tensors of plain types other than int32, and nested variants. The first error wins.
void CopyVariants(const Tensor& variants, const std::function<void(const Tensor&, Device::CopyDone)>& copy,
                  Device::CopyDone done);

}  // namespace weir

#endif  // WEIR_FRAMEWORK_VARIANT_COPY_H_
