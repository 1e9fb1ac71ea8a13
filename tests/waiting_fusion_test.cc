// Rewriting beside operations that wait: queues and accumulators join nodes of a step by no edge of the graph, so a
// node that was fused too boldly would wait for itself.
#include <gtest/gtest.h>

#include <random>

#include "tests/fusion_fixture.h"
#include "weir/device/cpu/rewrites/fuse_elementwise.h"

namespace weir {
namespace {

class WaitingFusionTest : public FusionTest {
 protected:
  // The fetches' values, or the error; a step that hangs ends at the deadline and says what it waited for.
  StatusOr<std::vector<Tensor>> RunWith(bool rewrites, const std::vector<Value>& fetches,
                                        const std::vector<NodeId>& targets = {}) {
    SessionOptions options;
    options.rewrites.disable_all = !rewrites;
    options.isolate_state = true;
    auto session = Session::Create(environment_, options).value();
    WEIR_RETURN_IF_ERROR(session->Extend(graph_));
    std::vector<std::string> names, target_names;
    for (Value fetch : fetches) names.push_back(graph_.TensorName({fetch.node(), fetch.index()}));
    for (NodeId target : targets) target_names.push_back(graph_.node(target)->name);
    std::vector<Tensor> out;
    StepOptions step;
    step.timeout = absl::Seconds(20);
    WEIR_RETURN_IF_ERROR(session->Run(step, feeds_, names, target_names, &out, nullptr));
    return out;
  }
  void ExpectSameWithRewriting(const std::vector<Value>& fetches, const std::vector<NodeId>& targets = {}) {
    ASSERT_TRUE(emit_.status().ok()) << emit_.status();
    auto plain = RunWith(false, fetches, targets), rewritten = RunWith(true, fetches, targets);
    ASSERT_TRUE(plain.ok()) << plain.status();
    ASSERT_TRUE(rewritten.ok()) << rewritten.status();
    for (size_t i = 0; i < fetches.size(); ++i) ExpectTensorNear((*rewritten)[i], (*plain)[i], 1e-4, 1e-4);
  }

  Value Queue() {
    return emit_.Op("FIFOQueueV2", {}, {{"component_types", AttrList{.type = {DType::kFloat}}}, {"capacity", -1}});
  }
  // The node that puts a value into a queue.
  NodeId Enqueue(Value queue, Value value) {
    emit_.Outputs("QueueEnqueueV2", {queue, std::vector<Value>{value}},
                  {{"Tcomponents", AttrList{.type = {DType::kFloat}}}});
    return graph_.num_node_ids() - 1;
  }
  Value Dequeue(Value queue, const Shape& shape) {
    Value taken = emit_.Op("QueueDequeueV2", {queue}, {{"component_types", AttrList{.type = {DType::kFloat}}}});
    return emit_.Op("EnsureShape", {taken}, {{"shape", shape}});
  }
};

// The mean of one gradient is taken from an accumulator that gets it in the same step.
TEST_F(WaitingFusionTest, AnAccumulatorBetweenTwoProducts) {
  Value x = Feed(Wave({4}, 0.7));
  Value a = Binary("Mul", x, Number(2));
  Value accumulator = emit_.Op("ResourceConditionalAccumulator", {}, {{"dtype", DType::kFloat}, {"shape", Shape({4})}});
  emit_.Outputs("ResourceAccumulatorApplyGradient", {accumulator, emit_.Constant(Tensor::Scalar<int64_t>(0)), a},
                {{"dtype", DType::kFloat}});
  const NodeId apply = graph_.num_node_ids() - 1;
  Value taken = emit_.Op("ResourceAccumulatorTakeGradient", {accumulator, emit_.Constant(Tensor::Scalar<int32_t>(1))},
                         {{"dtype", DType::kFloat}});
  ExpectSameWithRewriting({Binary("Mul", a, taken)}, {apply});
}

TEST_F(WaitingFusionTest, AQueueBetweenTwoProducts) {
  Value x = Feed(Wave({4}, 0.7));
  Value a = Binary("Mul", x, Number(2));
  Value queue = Queue();
  const NodeId put = Enqueue(queue, a);
  ExpectSameWithRewriting({Binary("Mul", a, Dequeue(queue, {4}))}, {put});
}

// What waits for nothing new is still fused, though the graph has waits.
TEST_F(WaitingFusionTest, WaitsElsewhereDoNotKeepNodesApart) {
  Value x = Feed(Wave({4, 4}, 0.7));
  Value queue = Queue();
  Enqueue(queue, Unary("Identity", x));
  Dequeue(queue, {4, 4});
  Value sum = Binary("AddV2", x, x);
  Value last = Unary("Tanh", sum);
  Binary("MatMul", sum, last);
  ASSERT_TRUE(Apply(FuseElementwise).ok());
  EXPECT_EQ(OpsOf(last), (std::vector<std::string>{"AddV2", "Tanh"}));
}

// Values that come from a queue and go to another one, as in the part of a step between Recv and Send.
TEST_F(WaitingFusionTest, AChainBetweenTwoQueuesIsFused) {
  Value from = Queue(), to = Queue();
  Enqueue(from, Feed(Wave({4, 4}, 0.7)));
  Value x = Dequeue(from, {4, 4});
  Value sum = Binary("AddV2", x, x);
  Value last = Unary("Tanh", sum);
  Enqueue(to, sum);
  Enqueue(to, last);
  ASSERT_TRUE(Apply(FuseElementwise).ok());
  EXPECT_EQ(OpsOf(last), (std::vector<std::string>{"AddV2", "Tanh"}));
}

// Dead values anywhere in the graph do not keep live ones apart.
TEST_F(WaitingFusionTest, ASwitchElsewhereDoesNotKeepNodesApart) {
  Value x = Feed(Wave({4, 4}, 0.7));
  Value branches = emit_.Outputs("Switch", {x, Feed(Tensor::Scalar(true))})[1];
  Unary("Neg", branches);
  Value sum = Binary("AddV2", x, x);
  Value last = Unary("Tanh", sum);
  Binary("MatMul", sum, last);
  ASSERT_TRUE(Apply(FuseElementwise).ok());
  EXPECT_EQ(OpsOf(last), (std::vector<std::string>{"AddV2", "Tanh"}));
}

class RandomWaitingTest : public WaitingFusionTest, public ::testing::WithParamInterface<int> {};

// Random elementwise graphs whose values also travel through queues: each queue gets one value and gives it back, so
// every step ends, unless a rewrite lets a value wait for itself.
TEST_P(RandomWaitingTest, RewritingChangesNothing) {
  std::mt19937 random(static_cast<uint32_t>(GetParam()));
  auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  std::vector<Value> values = {Feed(Wave({3, 5}, 0.7)), Feed(Wave({5}, 0.3))};
  std::vector<NodeId> puts;
  const std::vector<std::string> unary = {"Tanh", "Neg", "Abs", "Sigmoid", "Square", "Relu"};
  const std::vector<std::string> binary = {"AddV2", "Sub", "Mul", "Maximum", "Minimum"};
  for (int i = 0; i < 40; ++i) {
    Value x = values[below(values.size())], y = values[below(values.size())];
    switch (below(5)) {
      case 0:
        values.push_back(Unary(unary[below(unary.size())], x));
        break;
      case 1: {
        Value queue = Queue();
        Value wide = Unary("Tanh", Binary("AddV2", x, values[0]));
        puts.push_back(Enqueue(queue, wide));
        values.push_back(Dequeue(queue, {3, 5}));
        break;
      }
      case 2:
        values.push_back(Reduced("Sum", Binary("AddV2", x, values[0]), -1));
        break;
      default:
        values.push_back(Unary("Tanh", Binary(binary[below(binary.size())], x, y)));
    }
  }
  std::vector<Value> fetches(values.end() - 5, values.end());
  ExpectSameWithRewriting(fetches, puts);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomWaitingTest, ::testing::Range(0, 40));

}  // namespace
}  // namespace weir
