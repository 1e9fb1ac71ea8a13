// Rounds of devices that have a library for collectives, with a stand-in for device and library: tensors are in host
// memory, and a communicator matches the calls of its ranks by their order alone, as NCCL does.
#include "weir/collective/device_seat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "weir/collective/domain.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// All communicators of a test.
class Library {
 public:
  struct Part {
    DeviceCollectiveCall call;
    std::function<void(Status)> done;
  };
  struct Group {
    int ranks = 0;
    std::map<std::pair<int64_t, int>, Part> parts;  // by number of the call, and rank
    std::map<int, int64_t> calls;                   // by rank
    std::set<int> gone;
  };

  StatusOr<std::string> MakeId() {
    absl::MutexLock lock(&mu_);
    return Cat("group", ++ids_);
  }
  int ids() {
    absl::MutexLock lock(&mu_);
    return ids_;
  }
  // Calls wait even if all ranks have made them.
  void set_is_stuck(bool is_stuck) {
    absl::MutexLock lock(&mu_);
    is_stuck_ = is_stuck;
  }
  void Start(const std::string& id, int ranks, int rank, Part part) {
    std::vector<Part> all;
    {
      absl::MutexLock lock(&mu_);
      Group& group = groups_[id];
      const int64_t number = group.calls[rank]++;
      group.parts[{number, rank}] = std::move(part);
      started_.Signal();
      for (int r = 0; r < ranks; ++r) {
        if (is_stuck_ || !group.parts.contains({number, r})) return;
      }
      for (int r = 0; r < ranks; ++r) all.push_back(std::move(group.parts.extract({number, r}).mapped()));
    }
    Finish(all);
  }
  void Abort(const std::string& id, int rank, const Status& reason) {
    std::vector<Part> lost;
    {
      absl::MutexLock lock(&mu_);
      std::erase_if(groups_[id].parts, [&](auto& entry) {
        if (entry.first.second == rank) lost.push_back(std::move(entry.second));
        return entry.first.second == rank;
      });
    }
    for (Part& part : lost) part.done(reason);
  }
  // Waits until so many calls of a group have been started and not ended.
  void AwaitPending(const std::string& id, size_t count) {
    absl::MutexLock lock(&mu_);
    while (groups_[id].parts.size() < count) started_.Wait(&mu_);
  }

 private:
  // Sums, whatever the call; ranks whose calls differ get an error.
  static void Finish(std::vector<Part>& parts) {
    Status status;
    for (const Part& part : parts) {
      if (part.call.to.num_elements() != parts[0].call.to.num_elements()) status = Internal("The ranks' calls differ");
    }
    std::vector<float> sums(static_cast<size_t>(parts[0].call.to.num_elements()), 0.f);
    for (size_t i = 0; i < sums.size() && status.ok(); ++i) {
      for (const Part& part : parts) sums[i] += part.call.from.data<float>()[i];
    }
    for (Part& part : parts) {
      if (status.ok()) std::memcpy(part.call.to.raw_data(), sums.data(), part.call.to.num_bytes());
      part.done(status);
    }
  }

  absl::Mutex mu_;
  absl::CondVar started_;
  bool is_stuck_ ABSL_GUARDED_BY(mu_) = false;
  int ids_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, Group> groups_ ABSL_GUARDED_BY(mu_);
};

class Communicator : public DeviceCommunicator {
 public:
  Communicator(Library* library, std::string id, int ranks, int rank)
      : library_(library), id_(std::move(id)), ranks_(ranks), rank_(rank) {}
  void Start(DeviceCollectiveCall call, std::function<void(Status)> done) override {
    library_->Start(id_, ranks_, rank_, {std::move(call), std::move(done)});
  }
  void Abort(const Status& reason) override { library_->Abort(id_, rank_, reason); }

 private:
  Library* const library_;
  const std::string id_;
  const int ranks_, rank_;
};

class Moment : public DeviceMoment {
 public:
  explicit Moment(Library* library) : library_(library) {}
  StatusOr<std::string> MakeCommunicatorId() override { return library_->MakeId(); }
  std::shared_ptr<DeviceCommunicator> Join(const std::string& id, int ranks, int rank) override {
    return std::make_shared<Communicator>(library_, id, ranks, rank);
  }

 private:
  Library* const library_;
};

class HostArithmetic : public ChunkArithmetic, public CommunicatorSource {
 public:
  HostArithmetic(Library* library, std::string card) : library_(library), card_(std::move(card)) {}
  StatusOr<std::string> CommunicatorCard() override {
    if (card_.empty()) return Unavailable("the library is not there");
    return card_;
  }
  StatusOr<std::shared_ptr<DeviceMoment>> Mark() override {
    return std::shared_ptr<DeviceMoment>(std::make_shared<Moment>(library_));
  }
  Status Merge(ChunkMerge, const Tensor& own, const Tensor& received, Tensor out) override {
    for (int64_t i = 0; i < out.num_elements(); ++i) {
      out.data<float>()[i] = own.data<float>()[i] + received.data<float>()[i];
    }
    return OkStatus();
  }
  Status Divide(Tensor values, int divisor) override {
    for (float& value : values.span<float>()) value /= static_cast<float>(divisor);
    return OkStatus();
  }
  Status Copy(const Tensor& from, Tensor to) override {
    std::memcpy(to.raw_data(), from.raw_data(), to.num_bytes());
    return OkStatus();
  }

 private:
  Library* const library_;
  const std::string card_;
};

class FakeRun : public DeviceRun {
 public:
  void WhenDone(std::function<void(Status)> done) override { done(OkStatus()); }
};

class FakeDevice : public Device {
 public:
  explicit FakeDevice(DeviceInfo info) : Device(std::move(info), nullptr) {}
  Allocator* allocator() override { return CpuAllocator(); }
  void CopyToHost(const Tensor& tensor, DeviceRun*, CopyDone done) override { done(tensor); }
  void CopyFromHost(const Tensor& tensor, DeviceRun*, CopyDone done) override { done(tensor); }
};

class DeviceSeats : public testing::Test {
 protected:
  void Make(const std::vector<std::string>& cards) {
    cards_ = cards;
    for (size_t i = 0; i < cards.size(); ++i) {
      DeviceInfo info;
      info.name = Cat("/job:worker/replica:0/task:0/device:FAKE:", i);
      info.device_type = "FAKE";
      info.incarnation = 100 + i;
      devices_.push_back(std::make_unique<FakeDevice>(std::move(info)));
    }
  }
  ~DeviceSeats() override { domain_->Close(); }

  struct Options {
    absl::Duration timeout = absl::Seconds(60);
    CancellationManager* cancellation = nullptr;
    bool deterministic = false;
    bool divide = false;
  };
  void Start(int member, int instance, std::vector<float> values, const Options& options, CollectiveDomain::Done done) {
    CollectiveCall call;
    call.name = Cat("node", instance);
    call.device = &devices_[member]->info();
    call.group_key = 1;
    call.group_size = static_cast<int32_t>(devices_.size());
    call.instance_key = instance;
    call.spec.dtype = DType::kFloat;
    call.spec.shape = Shape({static_cast<int64_t>(values.size())});
    call.spec.divide = options.divide;
    call.input = Tensor::Vector<float>(std::span<const float>(values));
    call.timeout = options.timeout;
    call.cancellation = options.cancellation;
    call.deterministic = options.deterministic;
    call.home = devices_[member].get();
    call.device_run = &run_;
    call.arithmetic = std::make_shared<HostArithmetic>(&library_, cards_[member]);
    call.runner = [](const std::function<void()>& work) { work(); };
    domain_->Execute(std::move(call), std::move(done));
  }
  // One call of each member; member i brings i + 1.
  std::vector<StatusOr<Tensor>> RunAll(int instance, const Options& options) {
    std::vector<StatusOr<Tensor>> results(devices_.size(), Unknown("not run"));
    absl::BlockingCounter left(static_cast<int>(devices_.size()));
    for (size_t i = 0; i < devices_.size(); ++i) {
      Start(static_cast<int>(i), instance, {static_cast<float>(i + 1)}, options, [&, i](StatusOr<Tensor> result) {
        results[i] = std::move(result);
        left.DecrementCount();
      });
    }
    left.Wait();
    return results;
  }
  std::vector<StatusOr<Tensor>> RunAll(int instance) { return RunAll(instance, Options()); }
  void ExpectSum(const std::vector<StatusOr<Tensor>>& results, float sum) {
    for (const auto& result : results) {
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->data<float>()[0], sum);
    }
  }

  Library library_;
  std::vector<std::string> cards_;  // by member; empty: the library is not there
  std::vector<std::unique_ptr<FakeDevice>> devices_;
  FakeRun run_;
  std::shared_ptr<CollectiveDomain> domain_ = CollectiveDomain::Make({}, nullptr);
};

TEST_F(DeviceSeats, DevicesOnCardsOfTheirOwnUseOneCommunicator) {
  Make({"a", "b", "c"});
  for (int step = 0; step < 3; ++step) ExpectSum(RunAll(7), 6);
  ExpectSum(RunAll(8, {.divide = true}), 2);
  EXPECT_EQ(library_.ids(), 1);
}

TEST_F(DeviceSeats, MembersThatReachInstancesInDifferentOrdersMakeTheirCallsInOneOrder) {
  Make({"a", "b", "c"});
  constexpr int kInstances = 50;
  std::vector<StatusOr<Tensor>> results(3 * kInstances, Unknown("not run"));
  absl::BlockingCounter left(3 * kInstances);
  std::vector<std::thread> threads;
  for (int member = 0; member < 3; ++member) {
    threads.emplace_back([&, member] {
      std::vector<int> order(kInstances);
      for (int i = 0; i < kInstances; ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(member)));
      for (int i : order) {
        // Calls of different instances have different sizes, which the library compares.
        Start(member, 10 + i, std::vector<float>(static_cast<size_t>(i + 1), 1.f), {},
              [&, at = member * kInstances + i](StatusOr<Tensor> result) {
                results[at] = std::move(result);
                left.DecrementCount();
              });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  left.Wait();
  ExpectSum(results, 3);
  EXPECT_EQ(library_.ids(), 1);
}

TEST_F(DeviceSeats, WithoutALibraryOrWithTwoDevicesOnACardTheAlgorithmsOfTheHostRun) {
  Make({"a", ""});
  ExpectSum(RunAll(7), 3);
  EXPECT_EQ(library_.ids(), 0);
}

TEST_F(DeviceSeats, TwoDevicesOnACardHaveNoCommunicator) {
  Make({"a", "b", "a"});
  ExpectSum(RunAll(7), 6);
  EXPECT_EQ(library_.ids(), 0);
}

TEST_F(DeviceSeats, ADeterministicMemberHasNoCommunicator) {
  Make({"a", "b"});
  ExpectSum(RunAll(7, {.deterministic = true}), 3);
  EXPECT_EQ(library_.ids(), 0);
  ExpectSum(RunAll(7), 3);
  EXPECT_EQ(library_.ids(), 1);
}

TEST_F(DeviceSeats, AMemberThatNeverComesIsNamedAndTheCommunicatorStays) {
  Make({"a", "b"});
  ExpectSum(RunAll(7), 3);
  absl::Notification done;
  StatusOr<Tensor> alone = Unknown("not run");
  Start(0, 7, {1}, {.timeout = absl::Milliseconds(50)}, [&](StatusOr<Tensor> result) {
    alone = std::move(result);
    done.Notify();
  });
  done.WaitForNotification();
  EXPECT_EQ(alone.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(alone.status()), HasSubstr("is not run by /job:worker/replica:0/task:0/device:FAKE:1"));
  ExpectSum(RunAll(7), 3);
  EXPECT_EQ(library_.ids(), 1);
}

TEST_F(DeviceSeats, ACancelledCallEndsTheCommunicatorOfAllAndTheNextRoundHasAnother) {
  Make({"a", "b", "c"});
  library_.set_is_stuck(true);
  CancellationManager cancellation;
  std::vector<Status> ended(3);
  absl::BlockingCounter left(3);
  for (int member = 0; member < 3; ++member) {
    Start(member, 7, {1}, {.cancellation = member == 1 ? &cancellation : nullptr}, [&, member](const auto& result) {
      ended[member] = result.status();
      left.DecrementCount();
    });
  }
  library_.AwaitPending("group1", 3);
  cancellation.StartCancel();
  left.Wait();
  EXPECT_EQ(ended[1].code(), absl::StatusCode::kCancelled);
  for (int member : {0, 2}) {
    EXPECT_EQ(ended[member].code(), absl::StatusCode::kAborted) << ended[member];
    EXPECT_THAT(Message(ended[member]), HasSubstr("was ended by /job:worker/replica:0/task:0/device:FAKE:1"));
  }
  library_.set_is_stuck(false);
  for (int step = 0; step < 2; ++step) ExpectSum(RunAll(7), 6);
  EXPECT_EQ(library_.ids(), 2);
}

TEST_F(DeviceSeats, ACallThatDoesNotEndIsGivenUpAtItsDeadline) {
  Make({"a", "b"});
  library_.set_is_stuck(true);
  for (const auto& result : RunAll(7, {.timeout = absl::Milliseconds(100)})) EXPECT_FALSE(result.ok());
  library_.set_is_stuck(false);
  ExpectSum(RunAll(7), 3);
  EXPECT_EQ(library_.ids(), 2);
}

TEST_F(DeviceSeats, AMemberThatGivesUpAJoinWithoutAnAnswerGetsAnotherCommunicator) {
  Make({"a", "b"});
  ExpectSum(RunAll(7), 3);
  CancellationManager cancellation;
  absl::Notification done;
  Start(0, 7, {1}, {.cancellation = &cancellation}, [&](const auto&) { done.Notify(); });
  cancellation.StartCancel();
  done.WaitForNotification();
  for (int step = 0; step < 2; ++step) ExpectSum(RunAll(7), 3);
  EXPECT_EQ(library_.ids(), 2);
}

TEST_F(DeviceSeats, ClosingEndsCallsThatWait) {
  Make({"a", "b"});
  library_.set_is_stuck(true);
  absl::BlockingCounter left(2);
  std::vector<Status> ended(2);
  for (int member = 0; member < 2; ++member) {
    Start(member, 7, {1}, {}, [&, member](const auto& result) {
      ended[member] = result.status();
      left.DecrementCount();
    });
  }
  library_.AwaitPending("group1", 2);
  domain_->Close();
  left.Wait();
  for (const Status& status : ended) EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
}

}  // namespace
}  // namespace weir
