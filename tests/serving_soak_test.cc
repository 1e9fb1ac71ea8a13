// `weir serve` under load while its models change, clients send nonsense and others are slow: no good request fails,
// and memory stays flat. `make soak` runs it for an hour, the daily tests for a few seconds (WEIR_SOAK_SECONDS).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <thread>

#include "absl/strings/numbers.h"
#include "tests/serving_fixture.h"

namespace weir {
namespace {

constexpr int kFewestChanges = 20;

class ServingSoak : public ServingTest {
 protected:
  // Sends good requests, by gRPC or by HTTP, until told to stop.
  void Load(ServeProcess& server, bool by_http) {
    MasterClient client = server.Predictions();
    while (!stop_) {
      bool good = false;
      if (by_http) {
        const std::string answer = server.Post("/v1/models/toy:predict", R"({"instances": [[1.0]]})");
        good = answer.find("200 OK") != answer.npos;
      } else {
        good = Y(client, Ask("toy", 1)).ok();
      }
      ++(good ? answered_ : failed_);
    }
  }
  // Sends what is almost a request.
  void Attack(ServeProcess& server, uint32_t seed) {
    MasterClient client = server.Predictions();
    std::mt19937 random(seed);
    const std::string good = Ask("toy", 1).SerializeAsString();
    const std::string http =
        "POST /v1/models/toy:predict HTTP/1.1\r\nContent-Length: 22\r\n\r\n"
        R"({"instances": [[1.0]]})";
    auto damaged = [&](std::string bytes) {
      for (int flips = 0; flips < 3; ++flips) bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
      return bytes.substr(0, random() % (bytes.size() + 1));
    };
    while (!stop_) {
      std::string response;
      (void)client.CallBytes("Predict", damaged(good), &response);
      server.Exchange(damaged(http));
    }
  }
  // Keeps connections open that never send a whole request.
  void BeSlow(ServeProcess& server) {
    std::vector<int> connections;
    while (!stop_) {
      if (connections.size() >= 20) {
        close(connections.front());
        connections.erase(connections.begin());
      }
      const int fd = server.Connect();
      if (fd < 0) continue;
      connections.push_back(fd);
      (void)!send(fd, "POST /v1", 8, MSG_NOSIGNAL);
      server.Get("/v1/models/toy");  // no faster than it answers
    }
    for (int fd : connections) close(fd);
  }

  std::atomic<bool> stop_{false};
  std::atomic<int64_t> answered_{0}, failed_{0};
};

TEST_F(ServingSoak, NoRequestFailsAndMemoryStaysFlat) {
  double seconds = 3;
  if (const char* text = std::getenv("WEIR_SOAK_SECONDS")) {
    ASSERT_TRUE(absl::SimpleAtod(text, &seconds));
  }
  Add("toy/1", "toy/1");
  ServeProcess server(
      {"--model_name", "toy", "--model_base_path", Path("toy"), "--file_system_poll_wait_seconds", "0.02"});
  std::vector<std::thread> clients;
  for (bool by_http : {false, false, true}) clients.emplace_back([&, by_http] { Load(server, by_http); });
  clients.emplace_back([&] { Attack(server, 1); });
  clients.emplace_back([&] { BeSlow(server); });

  MasterClient client = server.Predictions();
  auto change_to = [&](int64_t version) {
    Add(version % 2 == 0 ? "toy/2" : "toy/1", Cat("toy/", version));
    return Until([&] {
      serving::PredictResponse response;
      return client.Call("Predict", Ask("toy", 1), &response).ok() &&
             response.model_spec().version().value() == version;
    });
  };
  int64_t version = 1, memory = 0;
  const absl::Time end = absl::Now() + absl::Seconds(seconds);
  while (version <= kFewestChanges || absl::Now() < end) {
    ASSERT_TRUE(change_to(++version)) << "version " << version;
    fs::remove_all(Path(Cat("toy/", version - 1)));
    // Heaps have their working size after some changes.
    if (version == 1 + kFewestChanges / 2) memory = server.Figure("VmRSS");
  }
  stop_ = true;
  for (std::thread& thread : clients) thread.join();
  EXPECT_EQ(failed_, 0);
  EXPECT_GT(answered_, 0);
  EXPECT_LE(server.Figure("VmRSS"), memory + kSlackKilobytes);
  std::printf("%ld changes, %ld requests, %ld failed, %ld MiB after 10 changes, %ld MiB at the end\n",
              static_cast<long>(version - 1), static_cast<long>(answered_), static_cast<long>(failed_),
              static_cast<long>(memory >> 10), static_cast<long>(server.Figure("VmRSS") >> 10));
}

}  // namespace
}  // namespace weir
