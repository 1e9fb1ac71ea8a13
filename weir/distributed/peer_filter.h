// PeerFilter: which callers are tasks of the cluster, by the addresses of its hosts. It keeps strangers of the network
// away from the worker service, where TLS is not wanted; who can forge addresses, or use one of these hosts, gets past
// it.
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

// The numeric addresses of a host, none if it is not known.
using ResolveHost = std::function<std::vector<std::string>(const std::string& host)>;
std::vector<std::string> ResolveHostBySystem(const std::string& host);

// Thread-safe.
class PeerFilter {
 public:
  explicit PeerFilter(const ClusterSpec& cluster, ResolveHost resolve = ResolveHostBySystem);

  // `peer` is gRPC's name of a caller: "ipv4:10.0.0.7:40022", "ipv6:%5B::1%5D:4711", "unix:...". PERMISSION_DENIED if
  // it is no host of the cluster. Hosts may get other addresses: they are looked up again, now and then, when a caller
  // is not known.
  Status Check(std::string_view peer);

 private:
  void Resolve() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::vector<std::string> hosts_;
  const ResolveHost resolve_;
  absl::Mutex mu_;
  absl::flat_hash_set<std::string> addresses_ ABSL_GUARDED_BY(mu_);
  absl::Time resolved_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

// "10.0.0.7" of "ipv4:10.0.0.7:40022"; empty if the caller has no address of the network.
std::string AddressOfPeer(std::string_view peer);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_PEER_FILTER_H_
