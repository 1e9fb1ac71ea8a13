#include "weir/distributed/loopback.h"

#include <netdb.h>

#include "weir/base/strings.h"

namespace weir {
namespace {

constexpr char kName[] = "localhost";

bool HasName() {
  static const bool found = [] {
    addrinfo* addresses = nullptr;
    if (getaddrinfo(kName, nullptr, nullptr, &addresses) != 0) return false;
    freeaddrinfo(addresses);
    return true;
  }();
  return found;
}

}  // namespace

bool IsLoopback(std::string_view host) {
  return host == kName || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

std::string FindableHost(const std::string& host) { return host == kName && !HasName() ? "127.0.0.1" : host; }

std::string FindableAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == address.npos) return address;
  return Cat(FindableHost(address.substr(0, colon)), address.substr(colon));
}

}  // namespace weir
