// Tensors that a session keeps between steps (GetSessionHandle): resources of a device.
#ifndef WEIR_FRAMEWORK_SESSION_TENSORS_H_
#define WEIR_FRAMEWORK_SESSION_TENSORS_H_

#include <string>
#include <string_view>

#include "weir/base/strings.h"

namespace weir {

// The container for them on every device of the session. The owner of the session clears it at the end.
inline std::string SessionTensorContainer(std::string_view session_handle) {
  return session_handle.empty() ? std::string("_session_tensors") : Cat("_session_tensors/", session_handle);
}

}  // namespace weir

#endif  // WEIR_FRAMEWORK_SESSION_TENSORS_H_
