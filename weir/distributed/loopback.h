// Names for the loopback interface.
#ifndef WEIR_DISTRIBUTED_LOOPBACK_H_
#define WEIR_DISTRIBUTED_LOOPBACK_H_

#include <string>
#include <string_view>

namespace weir {

// "localhost", "127.0.0.1", "::1", ...
bool IsLoopback(std::string_view host);

// A host name that the system can resolve: "localhost" becomes 127.0.0.1 on machines that cannot resolve it, such as
// minimal containers; other names are returned unchanged.
std::string FindableHost(const std::string& host);
// The same for "host:port".
std::string FindableAddress(const std::string& address);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_LOOPBACK_H_
