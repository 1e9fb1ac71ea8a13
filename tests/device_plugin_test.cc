// A device with memory of its own, loaded from a library at run time: placement, copies, partitions, errors that come
// late. Its memory cannot be read by the host (examples/device_plugin), so a missing copy would end this program.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "weir/client/environment.h"
#include "weir/client/load_library.h"
#include "weir/graph/graph.h"
#include "weir/passes/cost_table.h"
#include "weir/runtime/session.h"

namespace weir {
namespace {

constexpr char kFar[] = "/job:localhost/replica:0/task:0/device:FAR:0";

std::shared_ptr<Environment> FarEnvironment() {
  static auto* environment =
      new std::shared_ptr<Environment>(MakeEnvironment({.libraries = {WEIR_FAR_LIBRARY}}).value());
  return *environment;
}

class FarDeviceTest : public ::testing::Test {
 protected:
  FarDeviceTest() : graph_(FarEnvironment()->ops) {}

  using Attrs = std::vector<AttrMap::Entry>;
  Endpoint Add(std::string name, std::string op, std::vector<Endpoint> inputs, Attrs attrs = {{"T", DType::kFloat}},
               std::string device = "") {
    AttrMap map;
    for (auto& [key, value] : attrs) map.Set(key, std::move(value));
    auto node = graph_.AddNode(
        {.name = std::move(name), .op = std::move(op), .attrs = std::move(map), .inputs = std::move(inputs)});
    EXPECT_TRUE(node.ok()) << node.status();
    (*node)->requested_device = std::move(device);
    return {(*node)->id, 0};
  }
  Endpoint Constant(std::string name, Tensor value) {
    return Add(std::move(name), "Const", {}, {{"dtype", value.dtype()}, {"value", value}});
  }
  Endpoint Placeholder(std::string name, DType dtype = DType::kFloat) {
    return Add(std::move(name), "Placeholder", {}, {{"dtype", dtype}});
  }

  Session& NewSession(SessionOptions options = {}) {
    // It is the devices that are tested: nothing is folded away.
    options.rewrites.disable_all = true;
    session_ = Session::Create(FarEnvironment(), options).value();
    EXPECT_EQ(session_->Extend(graph_), OkStatus());
    return *session_;
  }
  StatusOr<std::vector<Tensor>> Run(std::vector<Feed> feeds, std::vector<std::string> fetches,
                                    std::vector<std::string> targets = {}) {
    if (session_ == nullptr) NewSession();
    std::vector<Tensor> out;
    StepOptions options;
    options.timeout = absl::Seconds(60);
    WEIR_RETURN_IF_ERROR(session_->Run(options, feeds, fetches, targets, &out, &report_));
    return out;
  }
  float RunScalar(std::vector<Feed> feeds, std::string fetch) {
    auto out = Run(std::move(feeds), {std::move(fetch)});
    EXPECT_TRUE(out.ok()) << out.status();
    return out.ok() ? (*out)[0].scalar<float>() : -1;
  }

  Graph graph_;
  std::unique_ptr<Session> session_;
  StepReport report_;
};

TEST_F(FarDeviceTest, TakesWhatItHasKernelsFor) {
  Endpoint x = Placeholder("x");
  Endpoint sum = Add("sum", "AddV2", {x, x});
  Add("root", "Sqrt", {sum});
  NewSession();
  std::vector<Tensor> out;
  std::vector<Feed> feeds = {{"x:0", Tensor::Vector<float>({2, 8})}};
  std::vector<std::string> fetches = {"root:0"};
  StepOptions options;
  options.trace = TraceLevel::kFull;
  ASSERT_EQ(session_->Run(options, feeds, fetches, {}, &out, &report_), OkStatus());
  EXPECT_EQ(out[0].data<float>()[0], 2);
  EXPECT_EQ(out[0].data<float>()[1], 4);
  std::map<std::string, std::vector<std::string>> ran;
  for (const DeviceStats& device : report_.devices) {
    for (const NodeStats& node : device.nodes) ran[device.device].push_back(node.node);
  }
  auto has = [&](const std::string& device, const std::string& node) {
    return std::find(ran[device].begin(), ran[device].end(), node) != ran[device].end();
  };
  EXPECT_TRUE(has(kFar, "sum"));
  EXPECT_TRUE(has("/job:localhost/replica:0/task:0/device:CPU:0", "root"));
}

TEST_F(FarDeviceTest, ComputesWithMatricesAndConstants) {
  Endpoint x = Placeholder("x");
  Endpoint w = Constant("w", Tensor::FromSpan<float>(std::vector<float>{1, -2, 3, -4}, Shape({2, 2})));
  Endpoint product =
      Add("product", "MatMul", {x, w}, {{"T", DType::kFloat}, {"transpose_a", false}, {"transpose_b", true}});
  Endpoint relu = Add("relu", "Relu", {product});
  Endpoint axes = Constant("axes", Tensor::Vector<int32_t>({0, -1}));
  Add("total", "Sum", {relu, axes}, {{"T", DType::kFloat}, {"Tidx", DType::kInt32}, {"keep_dims", false}});
  // [1 2; 3 4] times the transpose of [1 -2; 3 -4] is [-3 -5; -5 -7] and all is cut off; with the signs turned,
  // nothing.
  EXPECT_EQ(RunScalar({{"x:0", Tensor::FromSpan<float>(std::vector<float>{1, 2, 3, 4}, Shape({2, 2}))}}, "total:0"), 0);
  EXPECT_EQ(RunScalar({{"x:0", Tensor::FromSpan<float>(std::vector<float>{-1, -2, -3, -4}, Shape({2, 2}))}}, "total:0"),
            20);
}

TEST_F(FarDeviceTest, EveryPlacerComputesTheSame) {
  Endpoint x = Placeholder("x");
  Endpoint w = Constant("w", Tensor::FromSpan<float>(std::vector<float>{1, -2, 3, -4}, Shape({2, 2})));
  Endpoint product =
      Add("product", "MatMul", {x, w}, {{"T", DType::kFloat}, {"transpose_a", false}, {"transpose_b", true}});
  Endpoint near = Add("near", "Sqrt", {Add("twice", "AddV2", {product, product})}, {{"T", DType::kFloat}}, "/cpu:0");
  Add("far", "Mul", {near, product}, {{"T", DType::kFloat}}, "/device:FAR:0");
  const std::vector<Feed> feeds = {{"x:0", Tensor::FromSpan<float>(std::vector<float>{-1, -2, -3, -4}, Shape({2, 2}))}};
  // A far device that takes no time for a product, and one that takes forever.
  for (double far_time : {1.0, 1e9}) {
    auto costs = std::make_shared<CostTable>();
    costs->AddTime(kFar, "MatMul", "float[2,2];float[2,2]->float[2,2]", far_time);
    costs->SetShape("_Arg_x_0:0", DType::kFloat, Shape({2, 2}));
    for (PlacerKind kind : {PlacerKind::kDefault, PlacerKind::kGreedy, PlacerKind::kHeft}) {
      SessionOptions options;
      options.placer = kind;
      options.costs = costs;
      NewSession(options);
      auto out = Run(feeds, {"far:0", "near:0"});
      ASSERT_TRUE(out.ok()) << out.status();
      const std::vector<float> products = {3, 5, 5, 7};
      for (int i = 0; i < 4; ++i) {
        EXPECT_FLOAT_EQ((*out)[1].data<float>()[i], std::sqrt(2 * products[i]));
        EXPECT_FLOAT_EQ((*out)[0].data<float>()[i], products[i] * std::sqrt(2 * products[i]));
      }
    }
  }
}

TEST_F(FarDeviceTest, GivesShapesInHostMemory) {
  Endpoint x = Placeholder("x");
  Endpoint far = Add("far", "Neg", {x});
  Endpoint shape = Add("shape", "Shape", {far}, {{"T", DType::kFloat}, {"out_type", DType::kInt32}}, "/device:FAR:0");
  Add("size", "Prod", {shape, Constant("axis", Tensor::Scalar<int32_t>(0))},
      {{"T", DType::kInt32}, {"Tidx", DType::kInt32}, {"keep_dims", false}});
  auto out = Run({{"x:0", Tensor::Zeros(DType::kFloat, Shape({3, 5})).value()}}, {"size:0", "shape:0"});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[0].scalar<int32_t>(), 15);
  EXPECT_EQ((*out)[1].data<int32_t>()[1], 5);
}

TEST_F(FarDeviceTest, EmptyTensorsTravelToo) {
  Add("far", "Neg", {Placeholder("x")});
  auto out = Run({{"x:0", Tensor::Zeros(DType::kFloat, Shape({0, 4})).value()}}, {"far:0"});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[0].shape(), Shape({0, 4}));
}

class FarLoopTest : public FarDeviceTest, public ::testing::WithParamInterface<std::tuple<const char*, const char*>> {};

// while (value < limit) value += value
TEST_P(FarLoopTest, RunsALoopWhereverItsPartsAre) {
  auto [test_device, body_device] = GetParam();
  const Attribute f(DType::kFloat);
  Endpoint enter = Add("enter", "Enter", {Placeholder("x")},
                       {{"T", f}, {"frame_name", "loop"}, {"is_constant", false}, {"parallel_iterations", 10}});
  Endpoint merge = Add("merge", "Merge", {enter, enter}, {{"T", f}, {"N", 2}});
  Endpoint limit = Add("limit", "Enter", {Placeholder("y")},
                       {{"T", f}, {"frame_name", "loop"}, {"is_constant", true}, {"parallel_iterations", 10}});
  Endpoint less = Add("less", "Less", {merge, limit}, {{"T", f}}, test_device);
  Endpoint cond = Add("cond", "LoopCond", {less}, {});
  Endpoint turn = Add("switch", "Switch", {merge, cond});
  Endpoint twice = Add("twice", "AddV2", {{turn.node, 1}, {turn.node, 1}}, {{"T", f}}, body_device);
  Endpoint next = Add("next", "NextIteration", {twice});
  graph_.node(merge.node)->inputs[1] = next;
  Add("exit", "Exit", {turn});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(RunScalar({{"x:0", Tensor::Scalar(1.0f)}, {"y:0", Tensor::Scalar(1000.0f)}}, "exit:0"), 1024);
    EXPECT_EQ(RunScalar({{"x:0", Tensor::Scalar(7.0f)}, {"y:0", Tensor::Scalar(1.0f)}}, "exit:0"), 7);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, FarLoopTest,
                         ::testing::Combine(::testing::Values("/device:CPU:0", "/device:FAR:0"),
                                            ::testing::Values("/device:CPU:0", "/device:FAR:0")));

TEST_F(FarDeviceTest, DeadTensorsCross) {
  Endpoint turn = Add("switch", "Switch", {Placeholder("x"), Placeholder("p", DType::kBool)});
  Endpoint yes = Add("yes", "Square", {{turn.node, 1}}, {{"T", DType::kFloat}}, "/device:FAR:0");
  Endpoint no = Add("no", "Neg", {{turn.node, 0}}, {{"T", DType::kFloat}}, "/device:CPU:0");
  Add("merge", "Merge", {yes, no}, {{"T", DType::kFloat}, {"N", 2}});
  EXPECT_EQ(RunScalar({{"x:0", Tensor::Scalar(3.0f)}, {"p:0", Tensor::Scalar(true)}}, "merge:0"), 9);
  EXPECT_EQ(RunScalar({{"x:0", Tensor::Scalar(3.0f)}, {"p:0", Tensor::Scalar(false)}}, "merge:0"), -3);
}

TEST_F(FarDeviceTest, ControlEdgesCross) {
  Endpoint x = Placeholder("x");
  Endpoint v = Add("v", "VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", Shape()}, {"shared_name", "crossed"}});
  Endpoint far = Add("far", "Square", {x});
  Endpoint set = Add("set", "AssignVariableOp", {v, far}, {{"dtype", DType::kFloat}});
  Endpoint after = Add("after", "Neg", {x});
  graph_.node(after.node)->control_inputs = {set.node};
  Endpoint read = Add("read", "ReadVariableOp", {v}, {{"dtype", DType::kFloat}});
  graph_.node(read.node)->control_inputs = {after.node};
  EXPECT_EQ(RunScalar({{"x:0", Tensor::Scalar(5.0f)}}, "read:0"), 25);
}

TEST_F(FarDeviceTest, ReportsWhatFailedOverThere) {
  Add("check", "CheckNumerics", {Placeholder("x")}, {{"T", DType::kFloat}, {"message", "over there"}});
  Tensor bad = Tensor::Vector<float>({1, std::numeric_limits<float>::infinity()});
  // Nothing comes back from the device here: the end of the step asks.
  Status status = Run({{"x:0", bad}}, {}, {"check"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("over there"), std::string::npos) << status;
  EXPECT_EQ(Run({{"x:0", bad}}, {"check:0"}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Run({{"x:0", Tensor::Scalar(1.0f)}}, {"check:0"}).ok());
}

TEST_F(FarDeviceTest, RunsOutOfMemoryWithoutHarm) {
  Add("far", "Neg", {Placeholder("x")});
  NewSession();
  Device* device = FarEnvironment()->devices.Find(kFar);
  const int64_t before = device->allocator()->Stats().bytes_in_use;
  Status status = Run({{"x:0", Tensor::Zeros(DType::kFloat, Shape({40 << 20})).value()}}, {"far:0"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("far"), std::string::npos) << status;
  EXPECT_EQ(RunScalar({{"x:0", Tensor::Scalar(2.0f)}}, "far:0"), -2);
  EXPECT_EQ(device->Synchronize(), OkStatus());
  session_.reset();
  EXPECT_EQ(device->allocator()->Stats().bytes_in_use, before);
}

TEST_F(FarDeviceTest, AsksForSoftPlacementWhereItHasNoKernel) {
  Add("root", "Sqrt", {Placeholder("x")}, {{"T", DType::kFloat}}, "/device:FAR:0");
  Status status = Run({{"x:0", Tensor::Scalar(4.0f)}}, {"root:0"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("FAR"), std::string::npos) << status;
  SessionOptions soft;
  soft.allow_soft_placement = true;
  NewSession(soft);
  EXPECT_EQ(RunScalar({{"x:0", Tensor::Scalar(4.0f)}}, "root:0"), 2);
}

TEST_F(FarDeviceTest, IsolatedSessionsAndCallerThreadsWork) {
  Add("far", "Square", {Placeholder("x")});
  SessionOptions options;
  options.isolate_state = true;
  options.inter_op_threads = -1;
  NewSession(options);
  EXPECT_EQ(RunScalar({{"x:0", Tensor::Scalar(4.0f)}}, "far:0"), 16);
}

TEST_F(FarDeviceTest, SessionsMayLeaveTheDeviceOut) {
  Add("sum", "AddV2", {Placeholder("x"), Placeholder("y")});
  SessionOptions options;
  options.device_count = {{"FAR", 0}};
  NewSession(options);
  EXPECT_EQ(RunScalar({{"x:0", Tensor::Scalar(4.0f)}, {"y:0", Tensor::Scalar(5.0f)}}, "sum:0"), 9);
}

TEST_F(FarDeviceTest, ManyStepsAtOnce) {
  Endpoint x = Placeholder("x");
  Endpoint far = Add("far", "Square", {x}, {{"T", DType::kFloat}}, "/device:FAR:0");
  Endpoint near = Add("near", "Neg", {far}, {{"T", DType::kFloat}}, "/device:CPU:0");
  Add("sum", "AddV2", {near, x}, {{"T", DType::kFloat}}, "/device:FAR:0");
  NewSession();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 100; ++i) {
        float value = static_cast<float>(t * 100 + i);
        std::vector<Tensor> out;
        std::vector<Feed> feeds = {{"x:0", Tensor::Scalar(value)}};
        std::vector<std::string> fetches = {"sum:0"};
        ASSERT_EQ(session_->Run(feeds, fetches, {}, &out), OkStatus());
        ASSERT_EQ(out[0].scalar<float>(), value - value * value);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(LoadLibrary, SaysWhatIsWrong) {
  Environment environment;
  EXPECT_EQ(LoadLibrary("/no/such/library.so", &environment).code(), absl::StatusCode::kNotFound);
  const std::string text = ::testing::TempDir() + "/library.txt";
  std::ofstream(text) << "not a library";
  EXPECT_EQ(LoadLibrary(text, &environment).code(), absl::StatusCode::kInvalidArgument);
  Status other = LoadLibrary(WEIR_OTHER_LIBRARY, &environment);
  EXPECT_EQ(other.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(other.message().find("WEIR_LIBRARY"), std::string::npos) << other;
}

}  // namespace
}  // namespace weir
