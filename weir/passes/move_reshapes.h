// Reshapes between operations that could be one program move to where they keep nothing apart.
#ifndef WEIR_PASSES_MOVE_RESHAPES_H_
#define WEIR_PASSES_MOVE_RESHAPES_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// For devices where casts, and biases along rows, are part of fused programs:
//
// - A Reshape of a cast or bias that it alone takes moves before them: reshape(cast(x w) + b) + y becomes
//   (cast(reshape(x w)) + b) + y, all of it elementwise behind the product. The last dimension stays as it was.
// - A cast of a Reshape of an elementwise result moves before that: the value is cast where it is made.
Status MoveReshapes(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_PASSES_MOVE_RESHAPES_H_
