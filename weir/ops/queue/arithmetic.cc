#include "weir/ops/queue/arithmetic.h"

namespace weir {

bool CanAdd(DType dtype) {
  return DispatchDType(dtype, NumberTypes{}, [](auto) {});
}

StatusOr<PartialShape> MergeElementShapes(const PartialShape& a, const PartialShape& b) {
  if (a.has_rank() && b.has_rank() && a.rank() != b.rank()) {
    return InvalidArgument("PartialTensorShape: Incompatible ranks during merge: ", a.rank(), " vs. ", b.rank());
  }
  if (!a.IsCompatibleWith(b)) {
    return InvalidArgument("PartialTensorShape: Incompatible shapes during merge: ", a.ToString(), " vs. ",
                           b.ToString());
  }
  return a.Merge(b);
}

}  // namespace weir
