// For tests of the runtime: an environment with a few kernels of its own, and graphs written in lines.
#ifndef WEIR_RUNTIME_SESSION_TESTING_H_
#define WEIR_RUNTIME_SESSION_TESTING_H_

#include <memory>
#include <string>

#include "weir/runtime/session.h"

namespace weir {

// All op schemas, `cpus` host devices, and kernels for AddV2, Sub and Less (float and int32 scalars), "Block" (an
// asynchronous kernel that waits until it is cancelled or released), "Deaf" (the same, but for cancellation) and
// "Fail".
std::shared_ptr<Environment> TestEnvironment(int cpus = 1);

// Lets every waiting Block kernel of the process go on.
void ReleaseBlocked();
// Waits until `count` Block kernels wait.
void AwaitBlocked(int count);

}  // namespace weir

#endif  // WEIR_RUNTIME_SESSION_TESTING_H_
