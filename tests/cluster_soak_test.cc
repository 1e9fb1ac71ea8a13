// A cluster under a mixed load for a long time: its memory must stay flat. `make soak` runs it for an hour, the daily
// tests for a few seconds (WEIR_SOAK_SECONDS).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "tests/process_cluster.h"

namespace weir {
namespace {

constexpr int64_t kLargeFloats = 1 << 20;  // 4 MiB: through the machine's memory
constexpr int64_t kSmallFloats = 1 << 14;  // 64 KiB: through the network

// The training graph, a large and a small tensor to fetch from ps 0, and a variable that never gets a value.
GraphDef SoakGraph() {
  GraphDef def = TrainingGraph();
  GraphText more;
  for (auto& [name, floats] : {std::pair("large", kLargeFloats), std::pair("small", kSmallFloats)}) {
    more.Const(Cat(name, "/shape"), Tensor::Vector<int32_t>({static_cast<int32_t>(floats)}), kPs0);
    more.Add(name, "RandomUniform", {Cat(name, "/shape")}, kPs0).Type("dtype", DT_FLOAT).Type("T", DT_INT32);
    more.Add(Cat(name, "/rank"), "Rank", {Cat(name, "/here")}, kWorker0).Type("T", DT_FLOAT);
    more.Identity(Cat(name, "/here"), name, kWorker0);
  }
  more.Variable("never", "grad", kPs1);
  def.MergeFrom(more.def());
  return def;
}

// One client's mixture: steps, transfers, errors, deadlines, sessions that come and go.
class SoakClient {
 public:
  SoakClient(ProcessCluster& cluster, int worker) : client_(cluster.target("worker", worker)) {}

  void Cycle(bool first) {
    ConfigProto config;
    config.set_operation_timeout_in_ms(30'000);
    StatusOr<std::string> session = client_.CreateSession(SoakGraph(), config);
    ASSERT_TRUE(session.ok()) << session.status();
    if (first) {
      ASSERT_TRUE(client_.Run(*session, {}, "", {"v/init", "w/init"}).ok());
    }
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(Train(client_, *session).ok());
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(client_.Run(*session, {}, "", {"large/rank", "small/rank"}).ok());
    for (int i = 0; i < 20; ++i) ASSERT_FALSE(client_.Run(*session, {}, "never/read:0").ok());
    WaitInVain(*session);
    ASSERT_EQ(client_.Close(*session), OkStatus());
  }

 private:
  // A step that waits for an empty queue until its caller gives up.
  void WaitInVain(const std::string& session) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(20));
    ASSERT_FALSE(client_.Run(session, {}, "taken:0", {}, &context).ok());
  }
  MasterClient client_;
};

// Kilobytes that each task holds.
std::vector<int64_t> Memory(ProcessCluster& cluster) {
  std::vector<int64_t> out;
  for (const char* job : {"ps", "worker"}) {
    for (int i = 0; i < 2; ++i) out.push_back(cluster.process(job, i).Figure("VmRSS"));
  }
  return out;
}

TEST(ClusterSoak, MemoryStaysFlat) {
  double seconds = 5;
  if (const char* text = std::getenv("WEIR_SOAK_SECONDS")) {
    ASSERT_TRUE(absl::SimpleAtod(text, &seconds));
  }
  ProcessCluster cluster;
  SoakClient chief(cluster, 0), other(cluster, 1);
  chief.Cycle(/*first=*/true);
  std::vector<std::vector<int64_t>> samples;
  const absl::Time begin = absl::Now(), end = begin + absl::Seconds(seconds);
  absl::Time next_line = begin;
  while ((absl::Now() < end || samples.size() < 3) && !HasFatalFailure()) {
    std::thread beside([&] { other.Cycle(false); });
    chief.Cycle(false);
    beside.join();
    samples.push_back(Memory(cluster));
    if (absl::Now() < next_line) continue;
    next_line = absl::Now() + absl::Minutes(1);
    std::printf("after %s: %zu cycles, kB of ps 0, ps 1, worker 0, worker 1: %s\n",
                absl::FormatDuration(absl::Trunc(absl::Now() - begin, absl::Seconds(1))).c_str(), samples.size(),
                absl::StrJoin(samples.back(), " ").c_str());
    std::fflush(stdout);
  }
  // The first third warms up pools and caches; the most of the last third is held against the most of the second.
  for (size_t task = 0; task < 4; ++task) {
    int64_t before = 0, after = 0;
    for (size_t i = samples.size() / 3; i < samples.size(); ++i) {
      int64_t& most = i < samples.size() * 2 / 3 ? before : after;
      most = std::max(most, samples[i][task]);
    }
    if (before > 0) {
      EXPECT_LE(after, before + before / 20 + kSlackKilobytes) << "task " << task;
    }
  }
  std::printf("%zu cycles\n", samples.size());
}

}  // namespace
}  // namespace weir
