#include <limits>

#include "weir/ops/math/cast_value.h"

namespace weir {

CastLoop FindCastFromFloat(DType from, DType to) {
  CastLoop loop = nullptr;
  DispatchDType(from, FloatTypes{} + ComplexTypes{},
                [&](auto tag) { loop = cast_internal::FindCastTo<typename decltype(tag)::type>(to); });
  return loop;
}

}  // namespace weir
