// Lists of tensors, TensorArrays and stacks in a GPU's memory, and loops that use them.
#include <gtest/gtest.h>

#include <map>

#include "tests/cuda/gpu_fixture.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir::gpu_testing {
namespace {

std::shared_ptr<Environment> HostAlone() {
  static auto* environment = [] {
    ChooseDriver();
    EnvironmentOptions options;
    options.gpu.enabled = false;
    return new std::shared_ptr<Environment>(MakeEnvironment(options).value());
  }();
  return *environment;
}

// So that constants, too, are worked on by the device.
SessionOptions Unfolded() {
  SessionOptions options;
  options.rewrites.constant_folding = Toggle::kOff;
  return options;
}

struct LoopResult {
  std::vector<Tensor> values;
  std::map<std::string, int64_t> received;  // how often each tensor came from another memory
};

// A recurrent network over `steps` rows: the sum of its last state, and the gradients of its weights and inputs.
StatusOr<LoopResult> TrainLoop(const std::shared_ptr<Environment>& environment, int64_t steps) {
  Scope root = Scope::NewRoot(environment);
  Output rows = ops::Placeholder(root, DType::kFloat, {.shape = {-1, 2, 4}});
  Output weights = ops::Const(root, Random(DType::kFloat, {4, 4}, 7), DType::kFloat);
  Output start = ops::Const(root, Tensor::Zeros(DType::kFloat, Shape({2, 4})).value(), DType::kFloat);
  Output states = Scan(root, rows, start, [&](const Scope& scope, const Output& state, const Output& row) {
    return ops::Tanh(scope, ops::MatMul(scope, state, weights) + row);
  });
  Output loss = ops::Sum(root, ops::Square(root, states), Tensor::Vector<int32_t>({0, 1, 2}));
  std::vector<Output> gradients = ops::Gradients(root, {loss}, {weights, rows});
  WEIR_ASSIGN_OR_RETURN(auto session, ClientSession::Create(root));
  const Tensor input = Random(DType::kFloat, {steps, 2, 4}, 3);
  WEIR_RETURN_IF_ERROR(session->Run({{rows, input}}, {loss, gradients[0], gradients[1]}).status());
  StepOptions options;
  options.trace = TraceLevel::kFull;
  StepReport report;
  LoopResult result;
  const std::vector<Feed> feeds = {{rows.name(), input}};
  const std::vector<std::string> fetches = {loss.name(), gradients[0].name(), gradients[1].name()};
  WEIR_RETURN_IF_ERROR(session->session().Run(options, feeds, fetches, {}, &result.values, &report));
  for (const DeviceStats& device : report.devices) {
    for (const NodeStats& node : device.nodes) {
      const bool is_index = !node.outputs.empty() && node.outputs[0].dtype == DType::kInt32;  // for a Gather
      if (!is_index && node.label.find("Recv(") != std::string::npos) ++result.received[node.node];
    }
  }
  return result;
}

TEST(GpuContainers, LoopsAndTheirGradientsKeepElementsOnTheGpu) {
  auto host = TrainLoop(HostAlone(), 5), gpu = TrainLoop(GpuEnvironment(), 5), longer = TrainLoop(GpuEnvironment(), 12);
  ASSERT_TRUE(host.ok()) << host.status();
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  ASSERT_TRUE(longer.ok()) << longer.status();
  for (size_t i = 0; i < host->values.size(); ++i) ExpectTensorNear(gpu->values[i], host->values[i], 1e-4, 1e-4);
  EXPECT_FALSE(gpu->received.empty());
  for (const auto& [node, count] : longer->received) {
    EXPECT_EQ(count, gpu->received[node]) << node;
  }
}

// Elements that are on the GPU come along when a list goes to the host and back.
TEST(GpuContainers, ListsTravelBetweenDevices) {
  Scope root = Scope::NewRoot(GpuEnvironment());
  Scope gpu = root.WithDevice("/device:GPU:0"), cpu = root.WithDevice("/device:CPU:0");
  const Tensor any = Tensor::Scalar<int32_t>(-1), rows = Random(DType::kFloat, {3, 5});
  Output list = ops::TensorListFromTensor(gpu, rows, Tensor::Vector<int32_t>({5}));
  Output longer = ops::TensorListPushBack(cpu, list, Random(DType::kFloat, {5}, 9));
  Output doubled = ops::AddN(gpu, {longer, longer});
  Output zeros = ops::ZerosLike(gpu, longer);
  Output third =
      ops::TensorListGetItem(root.WithDevice("/device:GPU:1"), doubled, Tensor::Scalar<int32_t>(2), any, DType::kFloat);
  Output all = ops::TensorListStack(gpu, doubled, any, DType::kFloat);
  Output none = ops::TensorListStack(cpu, zeros, any, DType::kFloat);
  auto session = ClientSession::Create(root, Unfolded());
  ASSERT_TRUE(session.ok()) << session.status();
  auto out = (*session)->Run({third, all, none});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[1].shape(), Shape({4, 5}));
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ((*out)[0].data<float>()[i], 2 * rows.data<float>()[10 + i]);
    EXPECT_EQ((*out)[1].data<float>()[10 + i], 2 * rows.data<float>()[10 + i]);
    EXPECT_EQ((*out)[2].data<float>()[10 + i], 0);
  }
}

TEST(GpuContainers, ListOpsAgreeWithTheHost) {
  for (const char* device : {"/device:CPU:0", "/device:GPU:0"}) {
    Scope root = Scope::NewRoot(GpuEnvironment()).WithDevice(device);
    const Tensor any = Tensor::Scalar<int32_t>(-1), shape = Tensor::Vector<int32_t>({2});
    Output list = ops::TensorListReserve(root, shape, Tensor::Scalar<int32_t>(4), DType::kFloat);
    list = ops::TensorListSetItem(root, list, Tensor::Scalar<int32_t>(1), Tensor::Vector<float>({1, 2}));
    list = ops::TensorListSetItem(root, list, Tensor::Scalar<int32_t>(3), Tensor::Vector<float>({3, 4}));
    Output stacked = ops::TensorListStack(root, list, any, DType::kFloat);
    Output unset = ops::TensorListGetItem(root, list, Tensor::Scalar<int32_t>(0), any, DType::kFloat);
    Output picked = ops::TensorListGather(root, list, Tensor::Vector<int32_t>({3, 1}), any, DType::kFloat);
    auto joined = ops::TensorListConcatV2(root, list, any, Tensor::Vector<int64_t>({}), DType::kFloat);
    Output split = ops::TensorListSplit(root, joined.tensor, any, Tensor::Vector<int64_t>({3, 5}));
    Output second = ops::TensorListGetItem(root, split, Tensor::Scalar<int32_t>(1), any, DType::kFloat);
    Output length = ops::TensorListLength(root, split);
    auto session = ClientSession::Create(root, Unfolded());
    ASSERT_TRUE(session.ok()) << session.status();
    auto out = (*session)->Run({stacked, unset, picked, joined.lengths, second, length});
    ASSERT_TRUE(out.ok()) << device << out.status();
    ExpectTensorEqual((*out)[0].Reshaped(Shape({8})).value(), Tensor::Vector<float>({0, 0, 1, 2, 0, 0, 3, 4}));
    ExpectTensorEqual((*out)[1], Tensor::Vector<float>({0, 0}));
    ExpectTensorEqual((*out)[2].Reshaped(Shape({4})).value(), Tensor::Vector<float>({3, 4, 1, 2}));
    ExpectTensorEqual((*out)[3], Tensor::Vector<int64_t>({2, 2, 2, 2}));
    ExpectTensorEqual((*out)[4], Tensor::Vector<float>({2, 0, 0, 3, 4}));
    ExpectTensorEqual((*out)[5], Tensor::Scalar<int32_t>(2));
  }
}

// Written, read, packed and split, and a gradient that adds up what is written twice.
TEST(GpuContainers, TensorArraysAgreeWithTheHost) {
  for (const char* device : {"/device:CPU:0", "/device:GPU:0"}) {
    Scope root = Scope::NewRoot(GpuEnvironment()).WithDevice(device);
    auto array = ops::TensorArrayV3(root, Tensor::Scalar<int32_t>(3), DType::kFloat, {.clear_after_read = false});
    const Tensor rows = Tensor::FromSpan<float>(std::vector<float>{1, 2, 3, 4, 5, 6}, Shape({3, 2}));
    Output flow = ops::TensorArrayScatterV3(root, array.handle, Tensor::Vector<int32_t>({2, 0, 1}), rows, array.flow);
    Output read = ops::TensorArrayReadV3(root, array.handle, Tensor::Scalar<int32_t>(0), flow, DType::kFloat);
    auto concat = ops::TensorArrayConcatV3(root, array.handle, flow, DType::kFloat);
    auto grad = ops::TensorArrayGradV3(root, array.handle, flow, "g");
    Output once = ops::TensorArrayWriteV3(root, grad.grad_handle, Tensor::Scalar<int32_t>(1),
                                          Tensor::Vector<float>({1, 1}), grad.flow_out);
    Output twice = ops::TensorArrayWriteV3(root, grad.grad_handle, Tensor::Scalar<int32_t>(1),
                                           Tensor::Vector<float>({2, 5}), once);
    Output sums =
        ops::TensorArrayGatherV3(root, grad.grad_handle, Tensor::Vector<int32_t>({0, 1, 2}), twice, DType::kFloat);
    auto session = ClientSession::Create(root, Unfolded());
    ASSERT_TRUE(session.ok()) << session.status();
    auto out = (*session)->Run({read, concat.value, concat.lengths, sums});
    ASSERT_TRUE(out.ok()) << device << out.status();
    ExpectTensorEqual((*out)[0], Tensor::Vector<float>({3, 4}));
    ExpectTensorEqual((*out)[1], Tensor::Vector<float>({3, 4, 5, 6, 1, 2}));
    ExpectTensorEqual((*out)[2], Tensor::Vector<int64_t>({2, 2, 2}));
    ExpectTensorEqual((*out)[3].Reshaped(Shape({6})).value(), Tensor::Vector<float>({0, 0, 3, 6, 0, 0}));
  }
}

TEST(GpuContainers, StacksHandTensorsOn) {
  Scope root = Scope::NewRoot(GpuEnvironment()).WithDevice("/device:GPU:0");
  Output stack = ops::StackV2(root, Tensor::Scalar<int32_t>(4), DType::kFloat);
  Output pushed = ops::StackPushV2(root, stack, ops::Exp(root, Tensor::Vector<float>({0, 1})));
  Output popped = ops::StackPopV2(root.WithControlDependencies({pushed.op()}), stack, DType::kFloat);
  auto session = ClientSession::Create(root, Unfolded());
  ASSERT_TRUE(session.ok()) << session.status();
  auto out = (*session)->Run({popped});
  ASSERT_TRUE(out.ok()) << out.status();
  ExpectTensorNear((*out)[0], Tensor::Vector<float>({1, 2.7182817f}), 1e-5, 1e-5);
}

}  // namespace
}  // namespace weir::gpu_testing
