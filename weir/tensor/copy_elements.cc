#include "weir/tensor/copy_elements.h"

#include <algorithm>
#include <cstring>

#include "weir/tensor/resource_handle.h"
#include "weir/tensor/variant.h"

namespace weir {

void CopyElements(DType dtype, const void* from, void* to, int64_t count) {
  if (count <= 0 || from == to) return;
  if (IsPlain(dtype)) {
    std::memcpy(to, from, static_cast<size_t>(count) * SizeOf(dtype));
    return;
  }
  DispatchDType(dtype, TypeList<std::string, ResourceHandle, Variant>{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::copy_n(static_cast<const T*>(from), count, static_cast<T*>(to));
  });
}

}  // namespace weir
