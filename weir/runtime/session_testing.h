// For tests of the runtime: an environment with a few test kernels.
#ifndef WEIR_RUNTIME_SESSION_TESTING_H_
#define WEIR_RUNTIME_SESSION_TESTING_H_

#include <memory>
#include <string>

#include "weir/runtime/session.h"

namespace weir {

// All op schemas, `cpus` host devices, and kernels for AddV2, Sub and Less (float and int32 scalars), "Block" (an
// asynchronous kernel that waits until it is cancelled or released), "Deaf" (the same, but ignores cancellation) and
// "Fail".
std::shared_ptr<Environment> TestEnvironment(int cpus = 1);

// Releases every waiting Block and Deaf kernel of the process.
void ReleaseBlocked();
// Blocks until `count` of these kernels wait.
void AwaitBlocked(int count);

}  // namespace weir

#endif  // WEIR_RUNTIME_SESSION_TESTING_H_
