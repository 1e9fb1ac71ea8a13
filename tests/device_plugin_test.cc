// A device with memory of its own, loaded from a library at run time: placement, copies, partitions, errors that come
// late. Its memory cannot be read by the host (examples/device_plugin), so a missing copy would end this program.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <thread>

#include "absl/synchronization/notification.h"
#include "weir/client/environment.h"
#include "weir/client/load_library.h"
#include "weir/graph/graph.h"
#include "weir/graph/import.h"
#include "weir/passes/cost_table.h"
#include "weir/proto/graph.pb.h"
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
    return NewRewritingSession(options);
  }
  Session& NewRewritingSession(const SessionOptions& options = {}) {
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

// The names of the operations of a step's graphs.
std::vector<std::string> OpsOf(const StepReport& report) {
  std::vector<std::string> ops;
  for (const std::string& bytes : report.partition_graphs) {
    Graph graph(FarEnvironment()->ops);
    GraphDef def;
    EXPECT_TRUE(def.ParseFromString(bytes));
    EXPECT_EQ(ImportGraphDef(def, &graph, {.allow_internal_names = true}), OkStatus());
    for (const auto& node : graph.nodes()) {
      if (node != nullptr) ops.push_back(node->op());
    }
  }
  return ops;
}

// The host rewrites its part of the step as if it were alone.
TEST_F(FarDeviceTest, AStepWithOneFarNodeKeepsTheHostsFusions) {
  const Attribute f(DType::kFloat);
  Endpoint x = Add("x", "Placeholder", {}, {{"dtype", f}, {"shape", Shape({4, 8})}});
  const std::string host = "/device:CPU:0";
  Endpoint w = Constant("w", Tensor::Zeros(DType::kFloat, Shape({8, 8})).value());
  Endpoint b = Constant("b", Tensor::Zeros(DType::kFloat, Shape({8})).value());
  Endpoint product = Add("product", "MatMul", {x, w}, {{"T", f}, {"transpose_a", false}, {"transpose_b", false}}, host);
  Endpoint bias = Add("bias", "BiasAdd", {product, b}, {{"T", f}}, host);
  Endpoint relu = Add("relu", "Relu", {bias}, {{"T", f}}, host);
  Endpoint far = Add("far", "Square", {relu}, {{"T", f}}, "/device:FAR:0");
  // Behind the far node: a value that two others take, and a softmax along rows that are known only through it.
  Endpoint sum = Add("sum", "AddV2", {far, relu}, {{"T", f}}, host);
  Endpoint root = Add("root", "Sqrt", {sum}, {{"T", f}}, host);
  Endpoint both = Add("both", "Mul", {sum, root}, {{"T", f}}, host);
  Add("softmax", "Softmax", {both}, {{"T", f}}, host);
  Add("far2", "Neg", {sum}, {{"T", f}}, "/device:FAR:1");
  NewRewritingSession();
  StepOptions options;
  options.partition_graphs = true;
  std::vector<Tensor> out;
  std::vector<Feed> feeds = {{"x:0", Tensor::Zeros(DType::kFloat, Shape({4, 8})).value()}};
  std::vector<std::string> fetches = {"softmax:0", "far2:0"};
  ASSERT_EQ(session_->Run(options, feeds, fetches, {}, &out, &report_), OkStatus());
  EXPECT_EQ(out[0].data<float>()[0], 0.125f);
  const std::vector<std::string> ops = OpsOf(report_);
  auto count = [&](const std::string& op) { return std::count(ops.begin(), ops.end(), op); };
  EXPECT_EQ(count("_FusedMatMul"), 1);
  EXPECT_EQ(count("_FusedElementwise"), 1);  // sum, root, both and softmax
  EXPECT_EQ(count("Softmax") + count("Sqrt") + count("AddV2") + count("BiasAdd"), 0);
  EXPECT_EQ(count("Square"), 1);
}

TEST_F(FarDeviceTest, BodiesOfCalledFunctionsRunOnTheDevice) {
  const Attribute f(DType::kFloat);
  FunctionDef def;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    signature { name: 'Twice' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }
    node_def { name: 'far' op: 'Square' input: 'x' device: '/device:FAR:0' attr { key: 'T' value { type: DT_FLOAT } } }
    node_def { name: 'near' op: 'Sqrt' input: 'far:y:0' attr { key: 'T' value { type: DT_FLOAT } } }
    ret { key: 'y' value: 'near:y:0' })",
                                                            &def));
  ASSERT_EQ(graph_.functions()->Add(def), OkStatus());
  Add("call", "PartitionedCall", {Placeholder("x")},
      {{"Tin", AttrList{.type = {DType::kFloat}}},
       {"Tout", AttrList{.type = {DType::kFloat}}},
       {"f", FunctionAttr{"Twice", {}}}});
  SessionOptions options;
  options.rewrites.inline_functions = Toggle::kOff;
  NewRewritingSession(options);
  for (float value : {3.0f, -4.0f}) {
    EXPECT_EQ(RunScalar({{"x:0", Tensor::Scalar(value)}}, "call:0"), std::abs(value));
  }
}

TEST_F(FarDeviceTest, ValuesGoStraightToAnotherDeviceOfItsKind) {
  Device* first = FarEnvironment()->devices.Find(kFar);
  Device* second = FarEnvironment()->devices.Find("/job:localhost/replica:0/task:0/device:FAR:1");
  ASSERT_NE(second, nullptr);
  absl::Notification done;
  StatusOr<Tensor> back = Internal("not copied");
  first->CopyFromHost(Tensor::Vector<float>({1, 2}), nullptr, [&](StatusOr<Tensor> on_first) {
    EXPECT_TRUE(first->CopyToDevice(*on_first, *second, nullptr, [&](StatusOr<Tensor> on_second) {
      second->CopyToHost(*on_second, nullptr, [&](StatusOr<Tensor> host) {
        back = std::move(host);
        done.Notify();
      });
    }));
  });
  done.WaitForNotification();
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->data<float>()[1], 2);
  EXPECT_FALSE(first->CopyToDevice(Tensor(), *FarEnvironment()->devices.host(), nullptr, [](StatusOr<Tensor>) {}));

  Endpoint on_first = Add("on_first", "Square", {Placeholder("x")}, {{"T", DType::kFloat}}, "/device:FAR:0");
  Add("on_second", "Neg", {on_first}, {{"T", DType::kFloat}}, "/device:FAR:1");
  EXPECT_EQ(RunScalar({{"x:0", Tensor::Scalar(3.0f)}}, "on_second:0"), -9);
}

// An error that shows up late belongs to the step whose work failed, though another step runs beside it.
TEST_F(FarDeviceTest, ErrorsBelongToTheStepThatCausedThem) {
  Add("check", "CheckNumerics", {Placeholder("x")}, {{"T", DType::kFloat}, {"message", "over there"}});
  NewSession();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, bad = t % 2 == 0] {
      const float value = bad ? std::numeric_limits<float>::infinity() : 1.0f;
      for (int i = 0; i < 100; ++i) {
        std::vector<Tensor> out;
        std::vector<Feed> feeds = {{"x:0", Tensor::Scalar(value)}};
        std::vector<std::string> targets = {"check"};
        ASSERT_EQ(session_->Run(feeds, {}, targets, &out).ok(), !bad);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A trace tells the device's own time: giving it a large product takes no longer than giving it a small one.
TEST_F(FarDeviceTest, TracesMeasureTheDevice) {
  const std::vector<std::pair<std::string, int64_t>> products = {{"small", 2}, {"large", 200}};
  std::vector<Feed> feeds;
  for (const auto& [name, size] : products) {
    Endpoint x = Placeholder(name + "_x");
    Add(name, "MatMul", {x, x}, {{"T", DType::kFloat}, {"transpose_a", false}, {"transpose_b", false}});
    feeds.emplace_back(name + "_x:0", Tensor::Zeros(DType::kFloat, Shape({size, size})).value());
  }
  NewSession();
  StepOptions options;
  options.trace = TraceLevel::kFull;
  std::map<std::string, int64_t> shortest_ns;
  for (int i = 0; i < 5; ++i) {
    std::vector<Tensor> out;
    std::vector<std::string> fetches = {"small:0", "large:0"};
    StepReport report;
    ASSERT_EQ(session_->Run(options, feeds, fetches, {}, &out, &report), OkStatus());
    for (const DeviceStats& device : report.devices) {
      for (const NodeStats& node : device.nodes) {
        auto [found, is_new] = shortest_ns.try_emplace(node.node, node.op_end_rel_ns);
        if (!is_new) found->second = std::min(found->second, node.op_end_rel_ns);
      }
    }
  }
  ASSERT_TRUE(shortest_ns.contains("small") && shortest_ns.contains("large"));
  EXPECT_GT(shortest_ns["large"], 10 * shortest_ns["small"]);
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
