// Names of this machine itself.
#ifndef WEIR_DISTRIBUTED_LOOPBACK_H_
#define WEIR_DISTRIBUTED_LOOPBACK_H_

#include <string>
#include <string_view>

namespace weir {

// "localhost", "127.0.0.1", "::1", ...
bool IsLoopback(std::string_view host);

// The host as the system finds it: "localhost" is 127.0.0.1 on a machine whose tables lack the name, as in bare
// containers; everything else is left as it is.
std::string FindableHost(const std::string& host);
// The same of "host:port".
std::string FindableAddress(const std::string& address);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_LOOPBACK_H_
