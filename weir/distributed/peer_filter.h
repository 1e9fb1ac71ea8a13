// PeerFilter: decides by address which callers are hosts of the cluster. It keeps other machines on the network from
// calling the worker service where TLS is not used. It does not stop an attacker who can forge addresses or run
// programs on one of these hosts.
#ifndef WEIR_DISTRIBUTED_PEER_FILTER_H_
#define WEIR_DISTRIBUTED_PEER_FILTER_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "weir/distributed/cluster_spec.h"

namespace weir {

// The numeric addresses of a host; none if the host is unknown.
using ResolveHost = std::function<std::vector<std::string>(const std::string& host)>;
std::vector<std::string> ResolveHostBySystem(const std::string& host);

// Thread-safe.
class PeerFilter {
 public:
  explicit PeerFilter(const ClusterSpec& cluster, ResolveHost resolve = ResolveHostBySystem);

  // `peer` is gRPC's name of a caller: "ipv4:10.0.0.7:40022", "ipv6:%5B::1%5D:4711", "unix:...". PERMISSION_DENIED if
  // it is not a host of the cluster. Since the addresses of hosts may change, they are occasionally resolved again when
  // a caller is unknown.
  Status Check(std::string_view peer);

 private:
  void Resolve() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::vector<std::string> hosts_;
  const ResolveHost resolve_;
  absl::Mutex mu_;
  absl::flat_hash_set<std::string> addresses_ ABSL_GUARDED_BY(mu_);
  absl::Time resolved_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

// "10.0.0.7" for "ipv4:10.0.0.7:40022"; empty if the caller has no network address.
std::string AddressOfPeer(std::string_view peer);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_PEER_FILTER_H_
