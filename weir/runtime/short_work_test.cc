#include "weir/runtime/short_work.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "absl/synchronization/notification.h"
#include "weir/proto/graph.pb.h"
#include "weir/runtime/local_rendezvous.h"
#include "weir/runtime/session_testing.h"

namespace weir {
namespace {

constexpr char kSender[] = "/job:ps/replica:0/task:0/device:CPU:0";

// A part that receives a value and adds it to itself.
class ShortWorkTest : public testing::Test {
 protected:
  ShortWorkTest() : session_(Session::Create(TestEnvironment(), {}).value()) {
    GraphDef def;
    NodeDef* recv = def.add_node();
    recv->set_name("recv");
    recv->set_op("_Recv");
    (*recv->mutable_attr())["tensor_type"].set_type(DT_FLOAT);
    (*recv->mutable_attr())["tensor_name"].set_s("t");
    (*recv->mutable_attr())["send_device"].set_s(kSender);
    (*recv->mutable_attr())["send_device_incarnation"].set_i(1);
    (*recv->mutable_attr())["recv_device"].set_s(kOwnDevice);
    NodeDef* sum = def.add_node();
    sum->set_name("sum");
    sum->set_op("AddV2");
    sum->add_input("recv");
    sum->add_input("recv");
    (*sum->mutable_attr())["T"].set_type(DT_FLOAT);
    part_ = session_->AddPart(def).value();
  }
  // Runs it and brings the value; whether it ended in this thread.
  bool EndsHere(bool allowed) {
    auto rendezvous = std::make_shared<LocalRendezvous>();
    std::thread::id ended_in;
    absl::Notification ended;
    session_->RunPart(part_, 1, rendezvous, {}, nullptr, [&](const Status& status) {
      EXPECT_TRUE(status.ok()) << status;
      ended_in = std::this_thread::get_id();
      ended.Notify();
    });
    const std::string key = Cat(kSender, ";0000000000000001;", kOwnDevice, ";t;0:0");
    {
      std::optional<AllowShortWork> allow;
      if (allowed) allow.emplace();
      EXPECT_TRUE(rendezvous->Send(key, Tensor::Scalar(1.0f), false).ok());
    }
    ended.WaitForNotification();
    return ended_in == std::this_thread::get_id();
  }

  static constexpr char kOwnDevice[] = "/job:localhost/replica:0/task:0/device:CPU:0";
  std::unique_ptr<Session> session_;
  Session::Part part_;
};

TEST_F(ShortWorkTest, IsDoneByTheThreadThatBringsTheValueWhereThatIsAllowed) {
  bool here = false;  // how long the work takes has to be known first
  for (int i = 0; i < 10'000 && !here; ++i) here = EndsHere(/*allowed=*/true);
  EXPECT_TRUE(here);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(EndsHere(/*allowed=*/false));
}

}  // namespace
}  // namespace weir
