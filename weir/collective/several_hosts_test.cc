// Groups whose ranks are on several hosts. Here hosts are names: their ranks are threads that share memory with those
// of the same name only, and talk to the others through the loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <thread>

#include "weir/base/free_ports.h"
#include "weir/base/strings.h"
#include "weir/collective/host_list.h"
#include "weir/collective/process_group.h"
#include "weir/collective/secret.h"
#include "weir/collective/socket.h"

namespace weir::collective {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The places of a job whose hosts have so many ranks.
std::vector<Place> PlacesOf(const std::vector<int>& hosts) {
  static int count = 0;
  const std::string job = Cat("hosts_test_", getpid(), "_", ++count);
  const std::string address = Cat("127.0.0.1:", FreePorts(1)[0]);
  std::vector<Place> out;
  for (size_t h = 0; h < hosts.size(); ++h) {
    for (int l = 0; l < hosts[h]; ++l) {
      out.push_back({static_cast<int>(out.size()), 0, l, hosts[h], job, "test", Cat("host", h), address, "secret"});
    }
  }
  for (Place& place : out) place.size = static_cast<int>(out.size());
  return out;
}

void ForPlaces(const std::vector<Place>& places, const std::function<void(ProcessGroup&)>& body) {
  std::vector<std::thread> threads;
  for (const Place& place : places) {
    threads.emplace_back([&] {
      auto group = ProcessGroup::Init(place, {.timeout = absl::Seconds(60)});
      ASSERT_TRUE(group.ok()) << group.status();
      body(**group);
      EXPECT_EQ((*group)->Barrier(), OkStatus());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void ForHosts(const std::vector<int>& hosts, const std::function<void(ProcessGroup&)>& body) {
  ForPlaces(PlacesOf(hosts), body);
}

// Pairs, uneven hosts, a power of two (halving and doubling), and more hosts than talk to each other directly.
const std::vector<std::vector<int>> kLayouts = {{1, 1},    {2, 1},       {2, 2},
                                                {3, 1, 2}, {1, 1, 1, 1}, std::vector<int>(9, 1)};

TEST(SeveralHostsTest, SumsOfEverySizeAreTheSameOnAllRanks) {
  for (const auto& layout : kLayouts) {
    ForHosts(layout, [&layout](ProcessGroup& group) {
      ASSERT_EQ(group.num_hosts(), layout.size());
      const int size = group.size();
      for (int64_t count : {0, 1, 5, 8192, 8193, 100'003, 1'000'001}) {
        Tensor value = *Tensor::Allocate(DType::kFloat, Shape({count}));
        for (int64_t i = 0; i < count; ++i) value.data<float>()[i] = static_cast<float>(i % 1000 + group.rank());
        StatusOr<Tensor> sum = group.AllReduce(value, {.op = ReduceOp::kSum});
        ASSERT_TRUE(sum.ok()) << sum.status();
        for (int64_t i = 0; i < count; ++i) {
          const float expected = static_cast<float>(size * (i % 1000) + size * (size - 1) / 2);
          ASSERT_EQ(sum->data<float>()[i], expected) << size << " " << count << " " << i;
        }
      }
    });
  }
}

TEST(SeveralHostsTest, RoundedSumsHaveTheSameBitsOnAllRanks) {
  for (const auto& layout : kLayouts) {
    for (const int64_t count : {1000, 30'000, 700'000}) {
      std::vector<Tensor> sums(16);
      ForHosts(layout, [&](ProcessGroup& group) {
        Tensor value = *Tensor::Allocate(DType::kFloat, Shape({count}));
        for (int64_t i = 0; i < count; ++i) {
          value.data<float>()[i] = 1.0f / static_cast<float>(3 + i * 7 % 1009 + group.rank());
        }
        sums[group.rank()] = *group.AllReduce(value);
      });
      for (int r = 1; sums[r].num_elements() > 1; ++r) {
        ASSERT_EQ(std::memcmp(sums[0].raw_data(), sums[r].raw_data(), sums[0].num_bytes()), 0) << r << " " << count;
      }
    }
  }
}

TEST(SeveralHostsTest, GatherBroadcastAndExchange) {
  for (const auto& layout : kLayouts) {
    ForHosts(layout, [](ProcessGroup& group) {
      const int32_t r = group.rank(), n = group.size();
      // Rank r gives r rows, long enough for several pieces.
      const int64_t width = 100'000;
      Tensor rows = *Tensor::Allocate(DType::kInt32, Shape({r, width}));
      std::fill_n(rows.data<int32_t>(), r * width, r);
      auto all = group.AllGather(rows);
      ASSERT_TRUE(all.ok()) << all.status();
      ASSERT_EQ(all->shape(), Shape({n * (n - 1) / 2, width}));
      int64_t at = 0;
      for (int from = 0; from < n; ++from) {
        for (int64_t i = 0; i < from * width; ++i) ASSERT_EQ(all->data<int32_t>()[at++], from);
      }
      for (int root = 0; root < n; ++root) {
        Tensor value = *Tensor::Allocate(DType::kInt32, Shape({width}));
        std::fill_n(value.data<int32_t>(), width, r);
        auto sent = group.Broadcast(value, root);
        ASSERT_TRUE(sent.ok()) << sent.status();
        ASSERT_EQ(sent->data<int32_t>()[0], root);
        ASSERT_EQ(sent->data<int32_t>()[width - 1], root);
      }
      // Rank r sends one row to rank 0, two to rank 1, ...
      std::vector<int64_t> splits;
      std::vector<int32_t> values;
      for (int to = 0; to < n; ++to) {
        splits.push_back(to + 1);
        values.insert(values.end(), to + 1, 100 * r + to);
      }
      std::vector<int64_t> received;
      auto swapped = group.AllToAll(Tensor::Vector<int32_t>(std::span<const int32_t>(values)), splits, &received);
      ASSERT_TRUE(swapped.ok()) << swapped.status();
      ASSERT_EQ(swapped->num_elements(), n * (r + 1));
      for (int from = 0; from < n; ++from) {
        EXPECT_EQ(received[from], r + 1);
        EXPECT_EQ(swapped->data<int32_t>()[from * (r + 1)], 100 * from + r);
      }
      auto part = group.ReduceScatter(Tensor::Vector<int32_t>(std::span<const int32_t>(std::vector<int32_t>(n + 1, r))),
                                      {.op = ReduceOp::kSum});
      ASSERT_TRUE(part.ok()) << part.status();
      EXPECT_EQ(part->num_elements(), r == 0 ? 2 : 1);
      EXPECT_EQ(part->data<int32_t>()[0], n * (n - 1) / 2);
    });
  }
}

TEST(SeveralHostsTest, DisagreementIsAnErrorOnAllRanksAndTheNextCallWorks) {
  for (const int odd : {1, 2, 3}) {
    ForHosts({2, 2}, [odd](ProcessGroup& group) {
      for (const int64_t count : {2, 50'000}) {
        Tensor value = *Tensor::Zeros(DType::kFloat, Shape({group.rank() == odd ? count + 1 : count}));
        const Status status = group.AllReduce(value).status();
        EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
        EXPECT_THAT(Message(status), HasSubstr(Cat("rank ", odd, " a AllReduce of float with ", count + 1)));
        EXPECT_THAT(group.AllReduce(Tensor::Vector<float>({1}), {.op = ReduceOp::kSum})->span<float>(), ElementsAre(4));
      }
    });
  }
}

TEST(SeveralHostsTest, RanksOfAHostNeedNotFollowEachOther) {
  std::vector<Place> places = PlacesOf({2, 2});
  std::swap(places[1].host, places[2].host);  // cyclic, as of srun
  places[1].local_rank = 0;
  places[2].local_rank = 1;
  ForPlaces(places, [](ProcessGroup& group) {
    EXPECT_EQ(group.host(), group.rank() % 2);
    EXPECT_EQ(group.local_rank(), group.rank() / 2);
    Tensor gathered = *group.AllGather(Tensor::Vector<int32_t>({group.rank()}));
    EXPECT_THAT(gathered.span<int32_t>(), ElementsAre(0, 1, 2, 3));
  });
}

TEST(SeveralHostsTest, PartsWorkBesideEachOther) {
  for (const auto& layout : std::vector<std::vector<int>>{{4}, {2, 2}, {1, 1, 1, 1}}) {
    std::vector<Place> places = PlacesOf(layout);
    ForPlaces(places, [](ProcessGroup& group) {
      auto even = group.Part({0, 2});
      auto others = group.Part({3, 1});
      ASSERT_TRUE(even.ok() && others.ok()) << even.status() << others.status();
      ProcessGroup* part = group.rank() % 2 == 0 ? even->get() : others->get();
      EXPECT_EQ(*even == nullptr, group.rank() % 2 == 1);
      ASSERT_NE(part, nullptr);
      EXPECT_EQ(part->size(), 2);
      EXPECT_EQ(part->rank(), std::vector<int>({0, 1, 1, 0})[group.rank()]);
      Tensor ranks = *part->AllGather(Tensor::Vector<int32_t>({group.rank()}));
      EXPECT_THAT(ranks.span<int32_t>(), group.rank() % 2 == 0 ? ElementsAre(0, 2) : ElementsAre(3, 1));
      EXPECT_EQ(group.AllReduce(Tensor::Scalar(1.0f), {.op = ReduceOp::kSum})->scalar<float>(), 4);
      EXPECT_FALSE(group.Part({0, 0}).ok());
      EXPECT_FALSE(group.Part({4}).ok());
    });
  }
}

TEST(SeveralHostsTest, AdasumCountsWhatIsSharedOnce) {
  for (const auto& layout : std::vector<std::vector<int>>{{2}, {1, 1}, {4}, {2, 2}}) {
    ForPlaces(PlacesOf(layout), [](ProcessGroup& group) {
      // Equal vectors: the same again. Orthogonal ones: their sum.
      Tensor same = *group.AllReduce(Tensor::Vector<float>({1, 2, 3}), {.op = ReduceOp::kAdasum});
      EXPECT_THAT(same.span<float>(), ElementsAre(1, 2, 3));
      Tensor axis = *Tensor::Zeros(DType::kFloat, Shape({group.size()}));
      axis.data<float>()[group.rank()] = 2;
      Tensor sum = *group.AllReduce(axis, {.op = ReduceOp::kAdasum});
      for (float each : sum.span<float>()) EXPECT_EQ(each, 2);
      EXPECT_FALSE(group.AllReduce(Tensor::Scalar<int32_t>(1), {.op = ReduceOp::kAdasum}).ok());
    });
  }
}

// What a rank is told when another one gets into trouble, which may be before it has left the barrier itself.
Status BarrierAndSum(ProcessGroup& group) {
  WEIR_RETURN_IF_ERROR(group.Barrier());
  return group.AllReduce(Tensor::Scalar(1.0f)).status();
}

// Forks ranks, of which one does something else once all have met; gives what the first rank is told.
Status AfterTrouble(const std::vector<int>& layout, int troubled, const std::function<void()>& trouble,
                    absl::Duration timeout = absl::Seconds(60)) {
  const std::vector<Place> places = PlacesOf(layout);
  std::vector<pid_t> children;
  for (size_t r = 1; r < places.size(); ++r) {
    const pid_t child = fork();
    if (child == 0) {
      auto group = ProcessGroup::Init(places[r], {.timeout = timeout});
      if (!group.ok()) _exit(1);
      if (static_cast<int>(r) == troubled) {
        (void)(*group)->Barrier();
        trouble();
      }
      const std::string told(Message(BarrierAndSum(**group)));
      const bool names = told.find(Cat("ank ", troubled)) != told.npos || told.ends_with(Cat(": ", troubled));
      if (!names) std::fprintf(stderr, "rank %d was told: %s\n", static_cast<int>(r), told.c_str());
      _exit(names ? 0 : 2);
    }
    children.push_back(child);
  }
  auto group = ProcessGroup::Init(places[0], {.timeout = timeout});
  EXPECT_TRUE(group.ok()) << group.status();
  const Status status = BarrierAndSum(**group);
  for (size_t i = 0; i < children.size(); ++i) {
    int code = 0;
    const bool is_troubled = static_cast<int>(i) + 1 == troubled;
    if (is_troubled) kill(children[i], SIGKILL);
    waitpid(children[i], &code, 0);
    EXPECT_TRUE(is_troubled || code == 0) << i + 1;
  }
  EXPECT_EQ((*group)->Barrier(), status);
  return status;
}

TEST(SeveralHostsTest, RankThatDiesIsNamedToAll) {
  for (const int victim : {1, 2, 3}) {
    const Status status = AfterTrouble({2, 2}, victim, [] { _exit(3); });
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(Message(status), HasSubstr(Cat("Rank ", victim)));
  }
}

TEST(SeveralHostsTest, RankThatIsLateIsNamedToAll) {
  for (const int victim : {1, 2}) {
    const Status status = AfterTrouble(
        {2, 2}, victim, [] { pause(); }, absl::Seconds(3));
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
    EXPECT_THAT(Message(status), HasSubstr(Cat("have not come to the collective: ", victim)));
  }
}

TEST(SeveralHostsTest, RanksThatDoNotComeAtAllAreNamed) {
  std::vector<Place> places = PlacesOf({1, 1, 1});
  Status told;
  std::thread other([&] { told = ProcessGroup::Init(places[1], {.timeout = absl::Seconds(10)}).status(); });
  auto group = ProcessGroup::Init(places[0], {.timeout = absl::Seconds(1)});
  other.join();
  EXPECT_EQ(group.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(group.status()), HasSubstr("have not come: 2"));
  EXPECT_EQ(told, group.status());
}

TEST(SeveralHostsTest, RankThatDiesWhileOthersAreAwaitedIsNamed) {
  std::vector<Place> places = PlacesOf({1, 1, 1});
  std::thread other([&] {
    // What rank 1 says of itself; then it is gone.
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    auto socket = ConnectTo(*ParseEndpoint(places[0].address), deadline);
    ASSERT_TRUE(socket.ok()) << socket.status();
    ASSERT_EQ(ProveAsCaller(*socket, {"secret", {}}, "weir meeting 1", deadline), OkStatus());
    ASSERT_EQ(SendText(*socket, "1\n3\n12345\nhost1\n127.0.0.1", deadline), OkStatus());
  });
  const Status status = ProcessGroup::Init(places[0], {.timeout = absl::Seconds(60)}).status();
  other.join();
  EXPECT_EQ(status, Unavailable("Rank 1 has died while the ranks met"));
}

TEST(SeveralHostsTest, StrangersAreTurnedAway) {
  std::vector<Place> places = PlacesOf({1, 1});
  Place stranger = places[1];
  stranger.secret = "another";
  std::thread first([&] {
    auto group = ProcessGroup::Init(places[0]);
    ASSERT_TRUE(group.ok()) << group.status();
    EXPECT_EQ((*group)->AllReduce(Tensor::Scalar(1.0f), {.op = ReduceOp::kSum})->scalar<float>(), 2);
    EXPECT_EQ((*group)->Barrier(), OkStatus());
  });
  EXPECT_EQ(ProcessGroup::Init(stranger).status().code(), absl::StatusCode::kPermissionDenied);
  {
    // One that says nothing sensible at all.
    auto socket = ConnectTo(*ParseEndpoint(places[0].address), absl::Now() + absl::Seconds(10));
    ASSERT_TRUE(socket.ok()) << socket.status();
    EXPECT_EQ(SendBytes(*socket, std::string(48, 'x'), absl::Now() + absl::Seconds(10)), OkStatus());
  }
  auto group = ProcessGroup::Init(places[1]);
  ASSERT_TRUE(group.ok()) << group.status();
  EXPECT_EQ((*group)->AllReduce(Tensor::Scalar(1.0f), {.op = ReduceOp::kSum})->scalar<float>(), 2);
  EXPECT_EQ((*group)->Barrier(), OkStatus());
  first.join();
}

TEST(SecretTest, DigestsAreTheStandards) {
  auto hex = [](const Digest& digest) {
    std::string out;
    for (uint8_t byte : digest) out += Cat(absl::Hex(byte, absl::kZeroPad2));
    return out;
  };
  EXPECT_EQ(hex(Sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(Sha256(std::string(200, 'a'))), "c2a908d98f5df987ade41b5fce213067efbcc21ef2240212a41e54b5e7c28ae5");
  EXPECT_EQ(hex(Proof("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(HostListTest, SlurmsListsKeepTheirOrder) {
  auto hosts = [](std::string_view list) {
    return ParseSlurmHosts(list).value_or(std::vector<std::string>{"refused"});
  };
  EXPECT_THAT(hosts("n1"), ElementsAre("n1"));
  EXPECT_THAT(hosts("n[1-2],m5,o[3-4,6,7-9]"), ElementsAre("n1", "n2", "m5", "o3", "o4", "o6", "o7", "o8", "o9"));
  EXPECT_THAT(hosts("node[001-003,010]"), ElementsAre("node001", "node002", "node003", "node010"));
  EXPECT_THAT(hosts("node[08-11]"), ElementsAre("node08", "node09", "node10", "node11"));
  EXPECT_THAT(hosts("x[099-101]"), ElementsAre("x099", "x100", "x101"));
  EXPECT_THAT(hosts("a[5,1]"), ElementsAre("a5", "a1"));
  EXPECT_THAT(hosts("[1-3]"), ElementsAre("1", "2", "3"));
  EXPECT_THAT(hosts("n1,n1"), ElementsAre("n1", "n1"));
  EXPECT_THAT(hosts("rack[1-2]n[1-2]"), ElementsAre("rack1n1", "rack1n2", "rack2n1", "rack2n2"));
  EXPECT_THAT(hosts("n1,"), ElementsAre("n1"));
  EXPECT_THAT(hosts(",n1"), ElementsAre("n1"));
  EXPECT_THAT(hosts("n1,,n2"), ElementsAre("n1", "n2"));
  EXPECT_THAT(hosts(""), ElementsAre());
  for (const char* bad : {"node[0-2]-ib", "n[3-1]", "n[]", "n[a-b]", "n[1--2]", "n[1-[2]]", "x[0-100/25]", "n[1-2",
                          "n[1-", "n1-2]", "n[1-2]]"}) {
    EXPECT_THAT(hosts(bad), ElementsAre("refused")) << bad;
  }
  EXPECT_THAT(*ParseSlurmTasks("3(x2),2,1"), ElementsAre(3, 3, 2, 1));
  for (const char* bad : {"(x2)", "2(x)", "2(3)", "a", "2(x3", ""}) EXPECT_FALSE(ParseSlurmTasks(bad).ok()) << bad;
}

TEST(HostListTest, HostsAndHostFiles) {
  auto hosts = ParseHosts("a:4,b,[fe80::1]:2");
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  EXPECT_EQ((*hosts)[0].slots, 4);
  EXPECT_EQ((*hosts)[1].slots, 1);
  EXPECT_EQ((*hosts)[2].host, "fe80::1");
  EXPECT_FALSE(ParseHosts("a:x").ok());
  EXPECT_FALSE(ParseHosts("").ok());
  EXPECT_FALSE(ParseHosts("-oProxyCommand=x:1").ok());
  auto file = ParseHostFile("# all\na slots=4  # the first\n\nb:2\nc\n");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->size(), 3);
  EXPECT_EQ((*file)[0].slots, 4);
  EXPECT_EQ((*file)[1].slots, 2);
  EXPECT_FALSE(ParseHostFile("a slots=none").ok());
}

}  // namespace
}  // namespace weir::collective
