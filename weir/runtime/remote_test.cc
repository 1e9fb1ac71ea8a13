#include "weir/runtime/remote.h"

#include <gtest/gtest.h>

#include "weir/graph/graph.h"
#include "weir/runtime/local_rendezvous.h"
#include "weir/runtime/session_testing.h"

namespace weir {
namespace {

constexpr char kRemoteDevice[] = "/job:ps/replica:0/task:0/device:CPU:0";
constexpr int kManySteps = 10'000;  // what depends on measured times is tried so often

// Another task, whose part does nothing but look what was sent to it before it began.
class FakeTasks final : public RemoteTasks {
 public:
  FakeTasks() {
    DeviceInfo info;
    info.name = kRemoteDevice;
    info.device_type = "CPU";
    info.incarnation = 1;
    devices_.push_back(std::make_shared<RemoteDevice>(info));
  }
  const std::vector<std::shared_ptr<Device>>& devices() const override { return devices_; }
  StatusOr<std::shared_ptr<RemotePart>> AddPart(const Device&, const Graph&) override {
    return std::make_shared<Part>(this);
  }
  int64_t NewStepId() override { return next_step_++; }
  std::shared_ptr<Rendezvous> BeginStep(int64_t) override { return rendezvous_ = std::make_shared<LocalRendezvous>(); }
  void EndStep(int64_t, std::span<const std::shared_ptr<RemotePart>> parts) override { told_ = parts.size(); }

  bool forgets_ = false;
  bool was_only_part_ = false;
  size_t brought_ = 0;  // values that the last step could have taken along
  size_t told_ = 0;     // tasks that heard of its end

 private:
  struct Part final : RemotePart {
    explicit Part(FakeTasks* tasks) : tasks(tasks) {}
    const std::string& task() const override { return name; }
    void Run(const RemoteStep& step, CancellationManager*, Done done) override {
      tasks->was_only_part_ = step.only_part;
      tasks->brought_ = tasks->rendezvous_->TakeSmall(kRemoteDevice).size();
      done({OkStatus(), "", tasks->forgets_});
    }
    FakeTasks* const tasks;
    const std::string name = "/job:ps/replica:0/task:0";
  };
  std::vector<std::shared_ptr<Device>> devices_;
  std::shared_ptr<LocalRendezvous> rendezvous_;
  int64_t next_step_ = 1;
};

class RemoteTest : public testing::Test {
 protected:
  // x + x here, and the sum of that there.
  RemoteTest() {
    auto environment = TestEnvironment();
    Graph graph(environment->ops);
    AttrMap dtype, type;
    dtype.Set("dtype", DType::kFloat);
    type.Set("T", DType::kFloat);
    auto add = [&](const char* name, const char* op, const AttrMap& attrs, std::vector<Endpoint> inputs,
                   const char* device) {
      return Endpoint{(*graph.AddNode({name, op, attrs, inputs, {}, device}))->id, 0};
    };
    Endpoint x = add("x", "Placeholder", dtype, {}, "");
    Endpoint here = add("here", "AddV2", type, {x, x}, "/job:localhost");
    add("there", "AddV2", type, {here, here}, kRemoteDevice);
    session_ = Session::Create(environment, {}, tasks_).value();
    EXPECT_TRUE(session_->Extend(std::move(graph)).ok());
  }
  void Run() {
    const Feed feeds[] = {{"x", Tensor::Scalar(1.0f)}};
    const std::string targets[] = {"there"};
    Status status = session_->Run({}, feeds, {}, targets, nullptr, nullptr);
    ASSERT_TRUE(status.ok()) << status;
  }

  std::shared_ptr<FakeTasks> tasks_ = std::make_shared<FakeTasks>();
  std::unique_ptr<Session> session_;
};

TEST_F(RemoteTest, WhatIsSoonSentTravelsWithTheRequest) {
  Run();
  EXPECT_EQ(tasks_->brought_, 0u);  // how long this task keeps its thread is not known yet
  for (int i = 0; i < kManySteps && tasks_->brought_ == 0; ++i) Run();
  EXPECT_EQ(tasks_->brought_, 1u);
}

TEST_F(RemoteTest, TasksThatForgotAStepAreNotToldOfItsEnd) {
  Run();
  EXPECT_TRUE(tasks_->was_only_part_);
  EXPECT_EQ(tasks_->told_, 1u);
  tasks_->forgets_ = true;
  Run();
  EXPECT_EQ(tasks_->told_, 0u);
}

}  // namespace
}  // namespace weir
