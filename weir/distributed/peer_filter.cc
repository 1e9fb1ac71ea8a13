#include "weir/distributed/peer_filter.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>

#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "weir/base/strings.h"
#include "weir/distributed/loopback.h"

namespace weir {
namespace {

constexpr absl::Duration kResolveEvery = absl::Seconds(10);

std::string HostOf(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

}  // namespace

std::vector<std::string> ResolveHostBySystem(const std::string& host) {
  std::vector<std::string> out;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(FindableHost(host).c_str(), nullptr, &hints, &found) != 0) return out;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(each->ai_addr, each->ai_addrlen, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0) {
      out.emplace_back(text);
    }
  }
  freeaddrinfo(found);
  return out;
}

std::string AddressOfPeer(std::string_view peer) {
  const bool v4 = peer.starts_with("ipv4:");
  if (!v4 && !peer.starts_with("ipv6:")) return "";
  std::string address = absl::StrReplaceAll(ToAbsl(peer.substr(5)), {{"%5B", "["}, {"%5D", "]"}});
  address = HostOf(address);
  // A dual-stack socket shows IPv4 callers in this form.
  constexpr std::string_view kMapped = "::ffff:";
  return address.starts_with(kMapped) ? address.substr(kMapped.size()) : address;
}

PeerFilter::PeerFilter(const ClusterSpec& cluster, ResolveHost resolve) : resolve_(std::move(resolve)) {
  for (const ClusterSpec::Task& task : cluster.tasks()) {
    std::string host = HostOf(task.address);
    if (std::find(hosts_.begin(), hosts_.end(), host) == hosts_.end()) hosts_.push_back(std::move(host));
  }
}

void PeerFilter::Resolve() {
  resolved_ = absl::Now();
  for (const std::string& host : hosts_) {
    const std::vector<std::string> found = resolve_(host);
    addresses_.insert(found.begin(), found.end());
  }
}

Status PeerFilter::Check(std::string_view peer) {
  const std::string address = AddressOfPeer(peer);
  absl::MutexLock lock(&mu_);
  if (addresses_.contains(address)) return OkStatus();
  if (!address.empty() && absl::Now() - resolved_ >= kResolveEvery) {
    Resolve();
    if (addresses_.contains(address)) return OkStatus();
  }
  return Status(absl::StatusCode::kPermissionDenied,
                Cat("The caller ", peer, " is no task of this cluster; only those may use its worker service"));
}

}  // namespace weir
