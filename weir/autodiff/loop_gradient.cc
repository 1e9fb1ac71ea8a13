#include "weir/autodiff/sweep.h"

namespace weir {

Status Sweep::DifferentiateLoop(const RegionUnit& loop) {
  return Unimplemented("The gradient of the loop '", frames_.frames[loop.frame].name, "'");
}

}  // namespace weir
