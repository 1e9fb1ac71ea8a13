// Tensors that a session keeps between its steps (GetSessionHandle): resources of a device.
#ifndef WEIR_FRAMEWORK_SESSION_TENSORS_H_
#define WEIR_FRAMEWORK_SESSION_TENSORS_H_

#include <string>
#include <string_view>

#include "weir/base/strings.h"

namespace weir {

// The container that holds them on every device of the session; whoever ends the session clears it.
inline std::string SessionTensorContainer(std::string_view session_handle) {
  return session_handle.empty() ? std::string("_session_tensors") : Cat("_session_tensors/", session_handle);
}

}  // namespace weir

#endif  // WEIR_FRAMEWORK_SESSION_TENSORS_H_
