// Memory that kernels use in addition to tensors.
#ifndef WEIR_FRAMEWORK_SCRATCH_H_
#define WEIR_FRAMEWORK_SCRATCH_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>

#include "weir/base/status.h"

namespace weir {

// RESOURCE_EXHAUSTED if `count` elements do not fit into the host's memory, or would exceed the limit for tensors. Must
// be called before a container is sized by a number from outside.
Status CheckScratch(int64_t count, size_t bytes_each);

// Returns the result of `body`, a Status or StatusOr; RESOURCE_EXHAUSTED if a container in it ran out of memory.
template <typename Body>
auto WithinMemory(Body&& body) -> decltype(body()) {
#if defined(__cpp_exceptions)
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("OOM: there is no memory for what the operation needs beside its outputs");
  } catch (const std::length_error&) {
    return ResourceExhausted("OOM: more elements than memory can hold");
  }
#else  // a build for devices, where a container without memory ends the program
  return body();
#endif
}

}  // namespace weir

#endif  // WEIR_FRAMEWORK_SCRATCH_H_
