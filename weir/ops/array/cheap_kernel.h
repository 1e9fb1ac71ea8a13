// Kernels that only pass tensors on or look at their shapes: not worth another thread.
#ifndef WEIR_OPS_ARRAY_CHEAP_KERNEL_H_
#define WEIR_OPS_ARRAY_CHEAP_KERNEL_H_

#include "weir/framework/kernel.h"

namespace weir {

class CheapKernel : public Kernel {
 public:
  bool is_expensive() const override { return false; }
};

}  // namespace weir

#endif  // WEIR_OPS_ARRAY_CHEAP_KERNEL_H_
