// RunElastic without a launcher, and a worker's side of the rendezvous. Jobs with several workers:
// tests/elastic_test.py.
#include "weir/collective/elastic.h"

#include <gtest/gtest.h>

#include <thread>

#include "absl/time/clock.h"
#include "weir/collective/rendezvous.h"

namespace weir::collective {
namespace {

TEST(Elastic, WithoutALauncherThereIsOneRound) {
  TensorState state({{"step", Tensor::Scalar<int64_t>(0)}, {"w", Tensor::Vector<float>({1, 2})}});
  const Status status = RunElastic(state, [&]() -> Status {
    EXPECT_EQ(Size(), 1);
    state.set_number("step", 5);
    state.set("w", Tensor::Vector<float>({3, 4, 5}));
    WEIR_RETURN_IF_ERROR(state.Commit());
    state.set_number("step", 6);
    return state.Restore();
  });
  EXPECT_EQ(status, OkStatus());
  EXPECT_FALSE(IsInitialized());
  EXPECT_EQ(state.number("step"), 5);
  EXPECT_EQ(state.get("w").num_elements(), 3);
}

TEST(Elastic, AnErrorOfTheProgramIsTheProgramsOwn) {
  TensorState state({});
  int calls = 0;
  const Status status = RunElastic(state, [&] { return ++calls, NotFound("no such file"); });
  EXPECT_EQ(status, NotFound("no such file"));
  EXPECT_EQ(calls, 1);
}

// A launcher that says what the test wants.
class Rendezvouses : public ::testing::Test {
 protected:
  void SetUp() override { listener_ = Listen(0).value(); }
  std::string Variable(const char* name) const {
    if (std::string_view(name) == kRendezvousVariable) return Cat("127.0.0.1:", PortOf(listener_));
    if (std::string_view(name) == kWorkerVariable) return "3";
    if (std::string_view(name) == "WEIR_SECRET") return "secret";
    return std::string_view(name) == "WEIR_JOB" ? "job" : "";
  }
  // The worker's side; the launcher's is connection_.
  StatusOr<std::unique_ptr<Rendezvous>> Connect(const std::string& secret = "secret") {
    std::thread launcher([&] {
      while (!connection_.is_open()) connection_ = Accept(listener_).value();
      if (!ProveAsListener(connection_, {secret, {}}, kRendezvousTopic, Soon()).ok()) return connection_.Close();
      EXPECT_EQ(ReceiveText(connection_, Soon()).value(), "3");
    });
    auto worker = Rendezvous::Connect(absl::Seconds(20), [&](const char* name) { return Variable(name); });
    launcher.join();
    return worker;
  }
  void Say(const std::string& text) { ASSERT_EQ(SendText(connection_, text, Soon()), OkStatus()); }
  static absl::Time Soon() { return absl::Now() + absl::Seconds(20); }

  Socket listener_, connection_;
};

TEST_F(Rendezvouses, GivePlaces) {
  auto worker = Connect().value();
  Say("news");  // of an earlier round
  Say("place 4 1 3 1 2 198.51.100.1:2222");
  const Place place = worker->Join(absl::Seconds(20)).value().value();
  EXPECT_TRUE(ReceiveText(connection_, Soon()).value().starts_with("join "));
  EXPECT_EQ(place.rank, 1);
  EXPECT_EQ(place.size, 3);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.local_size, 2);
  EXPECT_EQ(place.address, "198.51.100.1:2222");
  EXPECT_EQ(place.job, "job_round_4");
  EXPECT_FALSE(worker->HasNews().value());
  Say("news");
  while (!worker->HasNews().value()) {
  }
  EXPECT_EQ(worker->CheckWorkers(), OkStatus());
  Say("lost");
  while (worker->CheckWorkers().ok()) {
  }
  EXPECT_TRUE(absl::IsUnavailable(worker->CheckWorkers()));
  Say("leave");
  EXPECT_FALSE(worker->Join(absl::Seconds(20)).value().has_value());
  EXPECT_EQ(worker->Finish(), OkStatus());
}

TEST_F(Rendezvouses, RefuseNonsenseAndStrangers) {
  auto worker = Connect().value();
  for (const char* text : {"place", "place 1", "place 1 3 3 0 1 a:1", "place 1 0 1 2 1 a:1", "hello you"}) {
    Say(text);
    EXPECT_TRUE(absl::IsInternal(worker->Join(absl::Seconds(20)).status())) << text;
  }
  connection_.Close();
  EXPECT_TRUE(absl::IsUnavailable(worker->Join(absl::Seconds(20)).status()));
  EXPECT_FALSE(Connect("another secret").ok());
}

TEST_F(Rendezvouses, HaveADeadline) {
  auto worker = Connect().value();
  const Status status = worker->Join(absl::Milliseconds(1)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

}  // namespace
}  // namespace weir::collective
