#include "weir/distributed/peer_filter.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(PeerFilter, FindsTheAddressOfACaller) {
  const std::pair<const char*, const char*> cases[] = {
      {"ipv4:10.0.0.7:40022", "10.0.0.7"},      {"ipv6:%5B::1%5D:4711", "::1"}, {"ipv6:[fe80::2]:1", "fe80::2"},
      {"ipv6:[::ffff:10.0.0.7]:9", "10.0.0.7"}, {"unix:/tmp/socket", ""},       {"", ""},
  };
  for (const auto& [peer, address] : cases) EXPECT_EQ(AddressOfPeer(peer), address) << peer;
}

TEST(PeerFilter, LetsInTheHostsOfTheCluster) {
  ClusterSpec cluster;
  ASSERT_TRUE(cluster.Add("ps", 0, "ps0:2222").ok());
  ASSERT_TRUE(cluster.Add("worker", 0, "w0:2222").ok());
  int lookups = 0;
  PeerFilter filter(cluster, [&](const std::string& host) -> std::vector<std::string> {
    ++lookups;
    if (host == "ps0") return {"10.0.0.1", "fe80::1"};
    return {};
  });
  EXPECT_TRUE(filter.Check("ipv4:10.0.0.1:1").ok());
  EXPECT_TRUE(filter.Check("ipv6:%5Bfe80::1%5D:7").ok());
  EXPECT_EQ(filter.Check("ipv4:10.0.0.2:1").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(filter.Check("unix:/tmp/x").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(lookups, 2);  // a stranger does not make it look again at once
}

TEST(PeerFilter, KnowsTheLoopback) {
  ClusterSpec cluster;
  ASSERT_TRUE(cluster.Add("worker", 0, "127.0.0.1:2222").ok());
  PeerFilter filter(cluster);
  EXPECT_TRUE(filter.Check("ipv4:127.0.0.1:40000").ok());
  EXPECT_FALSE(filter.Check("ipv4:192.0.2.1:40000").ok());
}

}  // namespace
}  // namespace weir
