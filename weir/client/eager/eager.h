// Eager execution, tapes and compiled functions in one include.
#ifndef WEIR_CLIENT_EAGER_EAGER_H_
#define WEIR_CLIENT_EAGER_EAGER_H_

#include "weir/client/eager/compile.h"
#include "weir/client/eager/gradient_tape.h"
#include "weir/client/eager/ops/all_ops.h"
#include "weir/client/eager/optimizer.h"
#include "weir/client/eager/variable.h"
#include "weir/client/eager_execute.h"

#endif  // WEIR_CLIENT_EAGER_EAGER_H_
