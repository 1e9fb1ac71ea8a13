// Updates of many small variables become few nodes.
#include "weir/passes/merge_updates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/emitted_graph.h"
#include "weir/framework/fused_nodes.h"

namespace weir {
namespace {

class MergeUpdatesTest : public EmittedGraphTest {
 protected:
  Value Handle(const std::string& name, const Shape& shape = {4}) {
    return emit_.Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", shape}, {"shared_name", name}});
  }
  Value Gradient(const Shape& shape = {4}) { return Feed(Tensor::Zeros(DType::kFloat, shape).value()); }

  NodeId Momentum(Value variable, Value slot, Value gradient, std::vector<NodeId> after = {}) {
    AttrMap attrs;
    attrs.Set("T", DType::kFloat);
    std::vector<Endpoint> inputs;
    for (Value input : {variable, slot, rate_, gradient, momentum_}) inputs.push_back(emit_.ToEndpoint(input));
    auto node = emit_.AddNode("ResourceApplyMomentum", std::move(inputs), std::move(attrs), std::move(after));
    EXPECT_TRUE(node.ok()) << node.status();
    return (*node)->id;
  }
  NodeId Momentum(const std::string& name, const Shape& shape = {4}, std::vector<NodeId> after = {}) {
    return Momentum(Handle(name, shape), Handle(name + "/slot", shape), Gradient(shape), std::move(after));
  }

  void Merge() {
    ASSERT_TRUE(emit_.status().ok()) << emit_.status();
    RewriteContext context(&graph_);
    const Status status = MergeUpdates(
        context, {.has_rule = [](std::string_view op) { return op == "ResourceApplyMomentum"; }, .most_elements = 100});
    ASSERT_TRUE(status.ok()) << status;
    context.EndPass();
  }
  int Count(std::string_view op) const {
    return static_cast<int>(
        std::ranges::count_if(graph_.nodes(), [&](const auto& node) { return node != nullptr && node->op() == op; }));
  }

  Value rate_ = emit_.Constant(Tensor::Scalar(0.1f)), momentum_ = emit_.Constant(Tensor::Scalar(0.9f));
};

TEST_F(MergeUpdatesTest, OneNodeHasTheInputsOfAll) {
  const NodeId first = Momentum("a"), second = Momentum("b", {2, 3});
  const std::vector<Endpoint> a = graph_.node(first)->inputs, b = graph_.node(second)->inputs;
  const std::string names[] = {graph_.node(first)->name, graph_.node(second)->name};
  auto end = emit_.AddNode("NoOp", {}, {}, {first, second});
  ASSERT_TRUE(end.ok());
  Merge();
  const Node& node = *graph_.node(first);
  EXPECT_EQ(node.op(), "_ResourceApplyMany");
  EXPECT_EQ(graph_.node(second), nullptr);
  EXPECT_EQ(node.inputs, (std::vector<Endpoint>{a[0], a[1], b[0], b[1], a[2], a[4], a[3], b[3]}));
  EXPECT_EQ(node.Attr<std::string>("rule").value(), "ResourceApplyMomentum");
  EXPECT_EQ(node.Attr<std::vector<std::string>>(kFusedNodes).value(), std::vector<std::string>(names, names + 2));
  EXPECT_EQ((*end)->control_inputs, std::vector<NodeId>{first});
}

TEST_F(MergeUpdatesTest, LargeVariablesStayAlone) {
  Momentum("a");
  Momentum("b", {101});
  Merge();
  EXPECT_EQ(Count("ResourceApplyMomentum"), 2);
}

TEST_F(MergeUpdatesTest, OtherNumbersAreAnotherNode) {
  Momentum("a");
  Momentum("b");
  rate_ = emit_.Constant(Tensor::Scalar(0.2f));
  Momentum("c");
  Momentum("d");
  Merge();
  EXPECT_EQ(Count("_ResourceApplyMany"), 2);
}

TEST_F(MergeUpdatesTest, UpdatesThatFollowOthersAreNotMergedWithThem) {
  const NodeId first = Momentum("a"), second = Momentum("b");
  auto between = emit_.AddNode("NoOp", {}, {}, {first});
  ASSERT_TRUE(between.ok());
  const NodeId third = Momentum("c", {4}, {(*between)->id});
  Merge();
  EXPECT_EQ(graph_.node(first)->op(), "_ResourceApplyMany");
  EXPECT_EQ(graph_.node(second), nullptr);
  EXPECT_EQ(graph_.node(third)->op(), "ResourceApplyMomentum");
  EXPECT_TRUE(TopologicalOrder(graph_).ok());
}

TEST_F(MergeUpdatesTest, AVariableIsUpdatedOnceInANode) {
  Value variable = Handle("a"), slot = Handle("slot");
  Momentum(variable, slot, Gradient());
  Momentum(variable, slot, Gradient());
  Merge();
  EXPECT_EQ(Count("ResourceApplyMomentum"), 2);
}

TEST_F(MergeUpdatesTest, GradientsAreTakenAsTheyWereBeforeACast) {
  std::vector<Value> small;
  std::vector<NodeId> updates;
  for (const auto& [name, size] : {std::pair("a", 4), std::pair("b", 4), std::pair("large", 200)}) {
    const Shape shape{size};
    small.push_back(Feed(Tensor::Zeros(DType::kBFloat16, shape).value()));
    Value cast = emit::Cast(small.back(), DType::kFloat);
    updates.push_back(Momentum(Handle(name, shape), Handle(std::string(name) + "/slot", shape), cast));
  }
  Momentum("c");
  Merge();
  EXPECT_EQ(Count("Cast"), 0);
  EXPECT_EQ(Count("_ResourceApplyMany"), 2);
  const Node& merged = *graph_.node(updates[0]);
  EXPECT_EQ(merged.inputs[6], emit_.ToEndpoint(small[0]));
  EXPECT_EQ(merged.inputs[7], emit_.ToEndpoint(small[1]));
  EXPECT_EQ(graph_.node(updates[2])->Attr<DType>("G").value(), DType::kBFloat16);
}

TEST_F(MergeUpdatesTest, ACastThatOthersNeedStays) {
  Value cast = emit::Cast(Feed(Tensor::Zeros(DType::kBFloat16, {4}).value()), DType::kFloat);
  Momentum(Handle("a"), Handle("a/slot"), cast);
  emit::Unary("Exp", cast);
  Merge();
  EXPECT_EQ(Count("ResourceApplyMomentum"), 1);
}

TEST_F(MergeUpdatesTest, WhatIsDeadAtOtherTimesStaysApart) {
  Value one = Feed(Tensor::Scalar(true)), other = Feed(Tensor::Scalar(true));
  auto update = [&](const std::string& name, Value condition, int output) {
    Values parts = emit_.Outputs("Switch", {Gradient(), condition});
    return Momentum(Handle(name), Handle(name + "/slot"), parts[output]);
  };
  const NodeId first = update("a", one, 1), second = update("b", one, 1);
  update("c", one, 0);
  update("d", other, 1);
  Momentum("e");
  Merge();
  EXPECT_EQ(graph_.node(first)->Attr<int64_t>("N").value(), 2);
  EXPECT_EQ(graph_.node(second), nullptr);
  EXPECT_EQ(Count("ResourceApplyMomentum"), 3);
}

TEST_F(MergeUpdatesTest, WhatAMergeDecidesIsLeftAlone) {
  Value condition = Feed(Tensor::Scalar(true));
  for (const char* name : {"a", "b"}) {
    Values parts = emit_.Outputs("Switch", {Gradient(), condition}),
           outer = emit_.Outputs("Switch", {parts[1], condition});
    Values merged = emit_.Outputs("Merge", {std::vector<Value>{outer[0], outer[1]}});
    Momentum(Handle(name), Handle(std::string(name) + "/slot"), merged[0]);
  }
  Merge();
  EXPECT_EQ(Count("ResourceApplyMomentum"), 2);
}

}  // namespace
}  // namespace weir
