// Kernels that make one element of each string.
#ifndef WEIR_OPS_STRING_MAP_STRINGS_H_
#define WEIR_OPS_STRING_MAP_STRINGS_H_

#include <string>

#include "weir/framework/kernel.h"

namespace weir {

// output 0 [i] = body(input 0 [i]), where body takes a const std::string& and gives a T.
template <typename T, typename Body>
Status MapStrings(KernelContext& ctx, Body&& body) {
  const Tensor input = ctx.input(0);
  WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
  const std::string* from = input.data<std::string>();
  T* to = out->data<T>();
  ctx.ParallelFor(input.num_elements(), 100, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = body(from[i]);
  });
  return OkStatus();
}

}  // namespace weir

#endif  // WEIR_OPS_STRING_MAP_STRINGS_H_
