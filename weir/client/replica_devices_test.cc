#include "weir/client/replica_devices.h"

#include <gtest/gtest.h>

#include "weir/client/environment.h"
#include "weir/client/initializers.h"
#include "weir/client/operators.h"
#include "weir/client/optimizer.h"
#include "weir/client/variable.h"

namespace weir {
namespace {

std::string DeviceOf(const Scope& scope, const std::string& name) {
  const Node* node = scope.graph().Find(name);
  return node != nullptr ? node->requested_device : Cat("no node ", name);
}

Scope ThreeVariables() {
  Scope root = Scope::NewRoot();
  Variable a(root, "a", Shape({100}), init::Zeros());
  Variable b(root, "b", Shape({2}), init::Zeros());
  Variable c(root, "c", Shape({3}), init::Zeros());
  return root;
}

TEST(ReplicaDevices, VariablesGoRoundTheServers) {
  Scope root = ThreeVariables();
  ASSERT_TRUE(SetReplicaDevices(root, {.ps_tasks = 2, .worker_device = "/job:worker/task:3"}).ok());
  EXPECT_EQ(DeviceOf(root, "a"), "/job:ps/task:0");
  EXPECT_EQ(DeviceOf(root, "b"), "/job:ps/task:1");
  EXPECT_EQ(DeviceOf(root, "c"), "/job:ps/task:0");
}

TEST(ReplicaDevices, OrWhereFewestBytesAre) {
  Scope root = ThreeVariables();
  ASSERT_TRUE(SetReplicaDevices(root, {.ps_tasks = 2, .placement = VariablePlacement::kByBytes}).ok());
  EXPECT_EQ(DeviceOf(root, "a"), "/job:ps/task:0");
  EXPECT_EQ(DeviceOf(root, "b"), "/job:ps/task:1");
  EXPECT_EQ(DeviceOf(root, "c"), "/job:ps/task:1");
}

TEST(ReplicaDevices, SlotsStayWithTheirVariable) {
  Scope root = Scope::NewRoot();
  Variable a(root, "a", Shape({2}), init::Zeros());
  Variable b(root, "b", Shape({2}), init::Zeros());
  Output loss = a.value() * 2.0f + b.value();
  optimizer::Adam().Minimize(root, loss);
  ASSERT_TRUE(SetReplicaDevices(root, {.ps_tasks = 2}).ok());
  for (const char* slot : {"a/Adam", "a/Adam_1"}) EXPECT_EQ(DeviceOf(root, slot), DeviceOf(root, "a")) << slot;
  for (const char* slot : {"b/Adam", "b/Adam_1"}) EXPECT_EQ(DeviceOf(root, slot), DeviceOf(root, "b")) << slot;
  EXPECT_EQ(DeviceOf(root, loss.op().name()), "/job:worker/task:0");
}

TEST(ReplicaDevices, AVariableBesideAnotherFollowsIt) {
  Scope root = ThreeVariables();
  Variable d(root, "d", Shape(), init::Zeros());
  Variable beside(root.ColocateWith(d.handle().op()), "beside", Shape(), init::Zeros());
  ASSERT_TRUE(SetReplicaDevices(root, {.ps_tasks = 2}).ok());
  EXPECT_EQ(DeviceOf(root, "beside"), DeviceOf(root, "d"));
  EXPECT_EQ(DeviceOf(root, "d"), "/job:ps/task:1");
}

TEST(ReplicaDevices, RefusesWhatCannotBe) {
  Scope root = ThreeVariables();
  EXPECT_TRUE(absl::IsInvalidArgument(SetReplicaDevices(root, {.ps_tasks = 0})));
  EXPECT_TRUE(absl::IsInvalidArgument(SetReplicaDevices(root, {.worker_device = "/job:/task:x"})));
}

}  // namespace
}  // namespace weir
