// Copies of variants between the memory of devices: of the tensors in them.
#ifndef WEIR_FRAMEWORK_VARIANT_COPY_H_
#define WEIR_FRAMEWORK_VARIANT_COPY_H_

#include <functional>

#include "weir/framework/device.h"

namespace weir {

// Calls `done` with a tensor of equal variants whose tensors are copies made by `copy`, which is called for those that
// a device has in its memory: plain ones other than int32, and variants in turn. The first error wins.
void CopyVariants(const Tensor& variants, const std::function<void(const Tensor&, Device::CopyDone)>& copy,
                  Device::CopyDone done);

}  // namespace weir

#endif  // WEIR_FRAMEWORK_VARIANT_COPY_H_
