#include <limits>

#include "weir/ops/math/cast_value.h"

namespace weir {

CastLoop FindCastFromInteger(DType from, DType to) {
  CastLoop loop = nullptr;
  DispatchDType(from, IntegerTypes{} + TypeList<bool>{},
                [&](auto tag) { loop = cast_internal::FindCastTo<typename decltype(tag)::type>(to); });
  return loop;
}

}  // namespace weir
