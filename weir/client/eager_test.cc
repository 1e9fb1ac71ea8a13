// The numbers are TensorFlow's (tests/fixtures/client/make_eager_goldens.py).
#include "weir/client/eager/eager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "weir/client/control_flow.h"
#include "weir/client/environment.h"
#include "weir/client/operators.h"
#include "weir/client/ops/all_ops.h"
#include "weir/runtime/eager_runtime.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

using testing::HasSubstr;

Tensor Floats(std::initializer_list<int64_t> dims, std::initializer_list<float> values) {
  return Tensor::Vector<float>(values).Reshaped(Shape(dims)).value();
}

// The sine of 0, step, 2 step ...
EagerTensor Waves(std::initializer_list<int64_t> dims, float step) {
  Tensor out = Tensor::Allocate(DType::kFloat, Shape(dims)).value();
  for (int64_t i = 0; i < out.num_elements(); ++i) out.data<float>()[i] = std::sin(static_cast<float>(i) * step);
  return out;
}

void ExpectNear(const EagerTensor& actual, const Tensor& expected, double tolerance = 1e-5) {
  StatusOr<Tensor> value = actual.value();
  ASSERT_TRUE(value.ok()) << value.status();
  ExpectTensorNear(*value, expected, tolerance);
}

void ExpectError(const EagerTensor& actual, absl::StatusCode code, const std::string& text) {
  EXPECT_EQ(actual.status().code(), code) << actual.status();
  EXPECT_THAT(Message(actual.status()), HasSubstr(text));
}

TEST(EagerTest, OperationsRunAtOnce) {
  EagerTensor a = Floats({2, 2}, {1, 2, 3, 4});
  EagerTensor b = eager::MatMul(a, a, {.transpose_b = true}) + 1;
  ExpectNear(b, Floats({2, 2}, {6, 12, 12, 26}));
  ExpectNear(2 * a - a / 2, Floats({2, 2}, {1.5, 3, 4.5, 6}));
  EXPECT_EQ(eager::Shape(a).scalar<int32_t>(), 2);
  ExpectTensorEqual(eager::Cast(a > 2, DType::kInt32).tensor(),
                    Tensor::Vector<int32_t>({0, 0, 1, 1}).Reshaped(Shape({2, 2})).value());
  auto unique = eager::Unique(eager::Constant({5, 7, 5}, DType::kInt64));
  ExpectTensorEqual(unique.y.tensor(), Tensor::Vector<int64_t>({5, 7}));
  ExpectTensorEqual(unique.idx.tensor(), Tensor::Vector<int32_t>({0, 1, 0}));
  std::vector<EagerTensor> parts = eager::Split(0, a, 2);
  ASSERT_EQ(parts.size(), 2u);
  ExpectNear(parts[1], Floats({1, 2}, {3, 4}));
  ExpectNear(eager::ConcatV2({parts[1], parts[0]}, 0), Floats({2, 2}, {3, 4, 1, 2}));
  EXPECT_TRUE(eager::NoOp().ok());
}

TEST(EagerTest, OperationsByName) {
  EagerTensor a = Floats({2}, {1, 2}), b = Floats({2}, {10, 20});
  std::vector<EagerTensor> packed = eager::Execute("Pack", {a, b});
  ASSERT_EQ(packed.size(), 1u);
  ExpectNear(packed[0], Floats({2, 2}, {1, 2, 10, 20}));
  AttrMap attrs;
  attrs.Set("transpose_a", true);
  ExpectNear(eager::Execute("MatMul", {packed[0], packed[0]}, attrs)[0], Floats({2, 2}, {101, 202, 202, 404}));
  ExpectError(eager::Execute("NoSuchOp", {a})[0], absl::StatusCode::kNotFound, "NoSuchOp");
  ExpectError(eager::Execute("Neg", {a, b})[0], absl::StatusCode::kInvalidArgument, "2 tensors");
}

TEST(EagerTest, PreparedOperationsRunWithoutLookingAnythingUp) {
  EagerRuntime& runtime = eager::Runtime();
  const OpSchema* schema = runtime.environment()->ops.Find("AddV2");
  ASSERT_NE(schema, nullptr);
  AttrMap attrs;
  attrs.Set("T", DType::kFloat);
  StatusOr<std::shared_ptr<const EagerRuntime::Prepared>> prepared = runtime.Prepare(*schema, attrs);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_TRUE((*prepared)->is_prompt());
  EXPECT_EQ((*prepared)->types().outputs, std::vector<DType>{DType::kFloat});
  const int kernels = runtime.num_kernels();
  for (float x : {1.0f, 2.0f}) {
    std::vector<Tensor> inputs = {Tensor::Scalar(x), Floats({2}, {10, 20})};
    EagerRuntime::Outputs outputs;
    const Status status = runtime.RunCached(**prepared, inputs, &outputs);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(outputs.size(), 1);
    EXPECT_EQ(outputs[0].data<float>()[1], 20 + x);
  }
  EXPECT_EQ(runtime.num_kernels(), kernels);

  std::vector<Tensor> wrong = {Floats({2}, {1, 2}), Floats({3}, {1, 2, 3})};
  EagerRuntime::Outputs outputs;
  const Status status = runtime.RunCached(**prepared, wrong, &outputs);
  EXPECT_THAT(std::string(status.message()), HasSubstr("[Op:AddV2]"));
  attrs.Set("T", std::string("no type"));
  EXPECT_FALSE(runtime.Prepare(*schema, attrs).ok());
}

TEST(EagerTest, ErrorsStickToTensors) {
  EagerTensor a = Floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EagerTensor bad = eager::MatMul(a, a);
  ExpectError(bad, absl::StatusCode::kInvalidArgument, "[Op:MatMul]");
  ExpectError(eager::Relu(bad + 1), absl::StatusCode::kInvalidArgument, "[Op:MatMul]");
  ExpectError(eager::Split(0, bad, 2)[0], absl::StatusCode::kInvalidArgument, "[Op:MatMul]");
  EXPECT_FALSE(eager::Assert(eager::Constant(true), {bad}).ok());
  ExpectError(eager::AddV2(a, eager::Constant({1, 2, 3}, DType::kInt32)), absl::StatusCode::kInvalidArgument, "int32");
  ExpectError(eager::Neg(EagerTensor()), absl::StatusCode::kInvalidArgument, "no value");
  ExpectError(eager::Constant(1.5, DType::kInt32), absl::StatusCode::kInvalidArgument, "1.5");
  ExpectError(eager::Reshape(a, {4}), absl::StatusCode::kInvalidArgument, "Reshape");
  ExpectError(eager::Switch(a, true).output_true, absl::StatusCode::kUnimplemented, "graphs");
  EXPECT_EQ(EagerTensor().value().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(EagerTest, KernelsAreKeptByAttributesAndTheirStateGoesOn) {
  EagerTensor first = eager::RandomUniform({4}, DType::kFloat, {.seed = 7, .seed2 = 11});
  const int kernels = eager::Runtime().num_kernels();
  EagerTensor second = eager::RandomUniform({4}, DType::kFloat, {.seed = 7, .seed2 = 11});
  EXPECT_EQ(eager::Runtime().num_kernels(), kernels);
  EXPECT_NE(first.tensor().data<float>()[0], second.tensor().data<float>()[0]);
}

TEST(EagerTest, WaitingOperationsEndAtTheDeadline) {
  EagerTensor queue = eager::FIFOQueueV2({DType::kFloat}, {.shared_name = "eager_test_queue"});
  ASSERT_TRUE(queue.ok()) << queue.status();
  EXPECT_TRUE(eager::QueueEnqueueV2(queue, {eager::Constant(3.0f)}).ok());
  ExpectNear(eager::QueueDequeueV2(queue, {DType::kFloat})[0], Tensor::Scalar(3.0f));
  eager::WithinTime limit(absl::Milliseconds(5));
  ExpectError(eager::QueueDequeueV2(queue, {DType::kFloat})[0], absl::StatusCode::kDeadlineExceeded, "QueueDequeueV2");
}

class HungryKernel : public Kernel {
 public:
  Status Compute(KernelContext&) override { throw std::bad_alloc(); }
};
class HungryWaitingKernel : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext&, Completion) override { throw std::bad_alloc(); }
};

TEST(EagerTest, KernelsWithoutMemoryEndInAnError) {
  std::shared_ptr<Environment> environment = MakeEnvironment().value();
  for (const char* op : {"Hungry", "HungryWaiting"}) {
    ASSERT_EQ(environment->ops.Register(OpSchema{.name = op}), OkStatus());
  }
  environment->kernels.Add(KernelBuilder("Hungry"), MakeKernel<HungryKernel>);
  environment->kernels.Add(KernelBuilder("HungryWaiting"), MakeKernel<HungryWaitingKernel>);
  EagerRuntime runtime(environment);
  auto run = [&](const char* op) { return runtime.Run(*environment->ops.Find(op), {}, {}, {}).status(); };
  EXPECT_EQ(run("Hungry").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(run("HungryWaiting").ok());
}

TEST(EagerTest, DevicesAreChosenByName) {
  EagerTensor a = Floats({2}, {1, 2});
  {
    eager::OnDevice cpu("/device:CPU:0");
    EXPECT_TRUE(cpu.status().ok());
    ExpectNear(a + a, Floats({2}, {2, 4}));
  }
  eager::OnDevice none("/device:GPU:17");
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  ExpectNear(a + a, Floats({2}, {2, 4}));
}

TEST(EagerTest, VariablesChange) {
  eager::Variable v({1.0f, 2.0f}, {.name = "v"});
  ASSERT_TRUE(v.status().ok()) << v.status();
  EXPECT_TRUE(v.AssignAdd({1, 1}).ok());
  EXPECT_TRUE(v.AssignSub(eager::Constant({0.5f, 0.0f})).ok());
  ExpectNear(v, Floats({2}, {1.5, 3}));
  ExpectNear(v * 2 + v, Floats({2}, {4.5, 9}));
  ExpectNear(eager::Sum(v, 0), Tensor::Scalar(4.5f));
  EXPECT_EQ(v.Assign(eager::Constant({1.0f})).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(v.Assign(eager::Constant({1, 2}, DType::kInt32)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(eager::Variable(EagerTensor()).status().ok());
  EXPECT_FALSE(eager::Variable().Assign(1).ok());
}

TEST(EagerTest, ManyThreadsRunAtOnce) {
  eager::Variable total(0.0f);
  auto squares = eager::Compile([](EagerTensor x) { return eager::Sum(x * x, 0); });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        GradientTape tape;
        EagerTensor x = eager::Fill({t + 2}, static_cast<float>(i));
        tape.Watch(x);
        EagerTensor y = squares(x);
        EagerTensor slope = tape.Gradient(y, x);
        EXPECT_TRUE(slope.ok()) << slope.status();
        EXPECT_EQ(slope.tensor().data<float>()[0], 2.0f * static_cast<float>(i));
        EXPECT_TRUE(total.AssignAdd(1).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ExpectNear(total, Tensor::Scalar(200.0f));
}

struct Layers {
  EagerTensor x = Waves({4, 3}, 0.7f), y = Waves({4, 2}, 0.3f);
  eager::Variable w1{Waves({3, 5}, 0.9f)}, b1{Waves({5}, 1.3f)}, w2{Waves({5, 2}, 0.5f)};
  EagerTensor Loss() const { return Loss(x, y); }
  EagerTensor Loss(const EagerTensor& in, const EagerTensor& out) const {
    EagerTensor hidden = eager::Tanh(eager::MatMul(in, w1) + b1);
    return eager::Mean(eager::Square(eager::MatMul(hidden, w2) - out), {0, 1});
  }
  void ExpectGradients(const std::vector<EagerTensor>& gradients) const {
    ASSERT_EQ(gradients.size(), 3u);
    ExpectNear(gradients[0], Floats({3, 5}, {-0.007089487f, -0.02362067f, -0.2400856f, -0.01099726f, -0.1421139f,
                                             -0.1423288f, -0.446061f, -0.5747316f, 0.01952557f, 0.3215234f, -0.2106287f,
                                             -0.6587117f, -0.6390723f, 0.04086522f, 0.6339431f}));
    ExpectNear(gradients[1], Floats({5}, {0.1217423f, -0.323718f, -0.006286383f, -0.05359086f, 0.1336761f}));
    ExpectNear(gradients[2], Floats({5, 2}, {-0.001498669f, 0.1545103f, 0.4981396f, 0.5798436f, 0.5821061f, 0.4528302f,
                                             0.2388499f, -0.1082975f, -0.3535885f, -0.4982223f}));
  }
};

TEST(GradientTapeTest, VariablesAreWatched) {
  Layers layers;
  GradientTape tape;
  EagerTensor loss = layers.Loss();
  ExpectNear(loss, Tensor::Scalar(1.104611f));
  layers.ExpectGradients(tape.Gradients({loss}, {layers.w1, layers.b1, layers.w2}));
}

TEST(GradientTapeTest, ConvolutionsAndPools) {
  EagerTensor image = Waves({1, 4, 4, 2}, 0.37f), kernel = Waves({3, 3, 2, 3}, 0.11f);
  GradientTape tape;
  tape.Watch(image);
  tape.Watch(kernel);
  EagerTensor y = eager::MaxPool(eager::Relu(eager::Conv2D(image, kernel, {1, 1, 1, 1}, "SAME")), {1, 2, 2, 1},
                                 {1, 2, 2, 1}, "VALID");
  EagerTensor loss = eager::Sum(y * y, {0, 1, 2, 3});
  ExpectNear(loss, Tensor::Scalar(196.1132f), 1e-3);
  std::vector<EagerTensor> gradients = tape.Gradients({loss}, {image, kernel});
  ExpectNear(eager::Sum(gradients[0], {0, 1, 2}), Floats({2}, {36.89289f, -5.247173f}), 1e-4);
  ExpectNear(eager::Sum(gradients[1], {0, 1}),
             Floats({2, 3}, {-8.38461f, -6.679117f, 11.55378f, -11.01f, -9.105122f, 11.98937f}), 1e-4);
}

TEST(GradientTapeTest, NestedTapesGiveSecondDerivatives) {
  EagerTensor x = Floats({3}, {0.5, -1, 2});
  GradientTape outer;
  outer.Watch(x);
  EagerTensor first;
  {
    GradientTape inner;
    inner.Watch(x);
    EagerTensor y = x * x * x * eager::Sin(x);
    first = inner.Gradient(y, x);
  }
  ExpectNear(first, Floats({3}, {0.469267f, -3.064715f, 7.582394f}));
  ExpectNear(outer.Gradient(first, x), Floats({3}, {2.694722f, 7.449168f, -6.350335f}));
}

TEST(GradientTapeTest, Jacobians) {
  EagerTensor x = Floats({3, 1}, {0.5, -1, 2});
  GradientTape tape;
  tape.Watch(x);
  EagerTensor y = eager::Squeeze(eager::Tanh(eager::MatMul(Waves({2, 3}, 0.9f), x)));
  EagerTensor jacobian = tape.Jacobian(y, x);
  ExpectNear(jacobian, Floats({2, 3, 1}, {0, 0.253455f, 0.3151003f, 0.1102401f, -0.1141454f, -0.252148f}));
}

TEST(GradientTapeTest, GatheredRowsStaySparse) {
  eager::Variable table(Waves({5, 2}, 0.4f));
  GradientTape tape({.persistent = true});
  tape.Watch(table);
  EagerTensor picked = eager::ResourceGather(table.handle(), eager::Constant({3, 1, 3}, DType::kInt32), DType::kFloat);
  EagerTensor one = eager::ResourceGather(table.handle(), eager::Constant({0}, DType::kInt32), DType::kFloat);
  EagerTensor loss = eager::Sum(picked * picked, {0, 1}) + eager::Sum(one, {0, 1});
  EagerGradient sparse = tape.SparseGradients({loss}, {table})[0];
  ASSERT_TRUE(sparse.is_sparse()) << sparse.dense.status();
  EXPECT_EQ(sparse.values.shape(), PartialShape(Shape({4, 2})));
  ExpectNear(sparse.ToDense(), Floats({5, 2}, {1, 1, 1.434712f, 1.864078f, 0, 0, 2.701853f, 1.339953f, 0, 0}));
  ExpectNear(tape.Gradient(loss, table), sparse.ToDense().tensor());
}

TEST(GradientTapeTest, UnconnectedSourcesGetNothingOrZeros) {
  EagerTensor x = Floats({2}, {1, 2}), z = Floats({3}, {1, 2, 3});
  eager::Variable unused(eager::Constant({1.0f}));
  GradientTape tape({.persistent = true});
  tape.Watch(x);
  tape.Watch(z);
  EagerTensor y = x * 3;
  std::vector<EagerTensor> none = tape.Gradients({y}, {z, unused});
  EXPECT_TRUE(none[0].ok() && !none[0].has_value());
  EXPECT_TRUE(none[1].ok() && !none[1].has_value());
  std::vector<EagerTensor> zeros = tape.Gradients({y}, {z, unused, x}, {.zeros_if_unconnected = true});
  ExpectNear(zeros[0], Floats({3}, {0, 0, 0}));
  ExpectNear(zeros[1], Floats({1}, {0}));
  ExpectNear(zeros[2], Floats({2}, {3, 3}));
  // Weights of the targets.
  ExpectNear(tape.Gradients({y}, {x}, {.target_gradients = {Floats({2}, {1, 10})}})[0], Floats({2}, {3, 30}));
  ExpectError(tape.Gradients({y}, {x}, {.target_gradients = {Floats({3}, {1, 2, 3})}})[0],
              absl::StatusCode::kInvalidArgument, "shape");
  // Nothing flows from integers.
  EXPECT_FALSE(tape.Gradient(eager::Cast(y, DType::kInt32), x).has_value());
}

TEST(GradientTapeTest, RecordingEnds) {
  EagerTensor x = Tensor::Scalar(3.0f);
  GradientTape tape({.persistent = true});
  tape.Watch(x);
  EagerTensor a = x * x;
  EagerTensor b;
  {
    GradientTape::Pause pause(tape);
    b = x * x;
  }
  EagerTensor c = a * x;
  tape.Stop();
  EagerTensor d = c * x;
  ExpectNear(tape.Gradient(a, x), Tensor::Scalar(6.0f));
  EXPECT_FALSE(tape.Gradient(b, x).has_value());
  ExpectNear(tape.Gradient(c, x), Tensor::Scalar(27.0f));
  EXPECT_FALSE(tape.Gradient(d, x).has_value());
}

TEST(GradientTapeTest, OneGradientUnlessPersistent) {
  EagerTensor x = Tensor::Scalar(3.0f);
  GradientTape tape;
  tape.Watch(x);
  EagerTensor y = x * x;
  ExpectNear(tape.Gradient(y, x), Tensor::Scalar(6.0f));
  ExpectError(tape.Gradient(y, x), absl::StatusCode::kFailedPrecondition, "one set of gradients");
  EXPECT_FALSE(GradientTape().Gradient(EagerTensor(), x).ok());
}

TEST(GradientTapeTest, CustomGradients) {
  EagerTensor x = Tensor::Scalar(100.0f);
  GradientTape tape;
  tape.Watch(x);
  // log(1 + exp(x)), whose plain gradient is not a number here.
  EagerTensor y = eager::CustomGradient(
      {x},
      [](const std::vector<EagerTensor>& in) { return std::vector<EagerTensor>{eager::Log(1 + eager::Exp(in[0]))}; },
      [](const std::vector<EagerTensor>& in, const std::vector<EagerTensor>&, const std::vector<EagerTensor>& flow) {
        return std::vector<EagerTensor>{flow[0] * (1 - 1 / (1 + eager::Exp(in[0])))};
      })[0];
  ExpectNear(tape.Gradient(y, x), Tensor::Scalar(1.0f));
}

TEST(CompileTest, TracesOnceForAShape) {
  int traced = 0;
  auto scale = eager::Compile([&](EagerTensor x, EagerTensor y) {
    ++traced;
    return eager::Relu(x * y + 1);
  });
  for (int i = 0; i < 3; ++i) {
    ExpectNear(scale(EagerTensor(Floats({2}, {1, -2})), static_cast<float>(i)),
               Floats({2}, {1.0f + i, std::max(0.0f, 1.0f - 2 * i)}));
  }
  EXPECT_EQ(traced, 1);
  for (int64_t n = 1; n < 30; ++n) EXPECT_TRUE(scale(eager::Fill({n}, 1.0f), 2.0f).ok());
  EXPECT_LT(traced, 12);
  EXPECT_EQ(scale.trace_count(), traced);
}

TEST(CompileTest, IsDifferentiatedByTapes) {
  Layers layers;
  auto loss = eager::Compile([&](EagerTensor x, EagerTensor y) { return layers.Loss(x, y); });
  for (int i = 0; i < 2; ++i) {
    GradientTape tape;
    EagerTensor value = loss(layers.x, layers.y);
    ExpectNear(value, Tensor::Scalar(1.104611f));
    layers.ExpectGradients(tape.Gradients({value}, {layers.w1, layers.b1, layers.w2}));
  }
  // Twice.
  auto cube = eager::Compile([](EagerTensor x) { return x * x * x * eager::Sin(x); });
  EagerTensor x = Floats({3}, {0.5, -1, 2});
  GradientTape outer;
  outer.Watch(x);
  EagerTensor first;
  {
    GradientTape inner;
    inner.Watch(x);
    first = inner.Gradient(cube(x), x);
  }
  ExpectNear(outer.Gradient(first, x), Floats({3}, {2.694722f, 7.449168f, -6.350335f}));
}

TEST(CompileTest, TrainsInside) {
  Layers layers;
  auto step = eager::Compile([&](EagerTensor x, EagerTensor y) {
    GradientTape tape;
    EagerTensor loss = layers.Loss(x, y);
    std::vector<EagerTensor> gradients = tape.Gradients({loss}, {layers.w1, layers.b1, layers.w2});
    layers.w1.AssignSub(0.1f * gradients[0]).IgnoreError();
    layers.b1.AssignSub(0.1f * gradients[1]).IgnoreError();
    layers.w2.AssignSub(0.1f * gradients[2]).IgnoreError();
    return std::vector<EagerTensor>{loss, layers.Loss(x, y), gradients[0], gradients[1], gradients[2]};
  });
  std::vector<EagerTensor> out = step(layers.x, layers.y);
  ASSERT_EQ(out.size(), 5u) << out[0].status();
  ExpectNear(out[0], Tensor::Scalar(1.104611f));
  layers.ExpectGradients({out[2], out[3], out[4]});
  // Effects happen in order: the second loss is that after the update, and the next step begins with it.
  EXPECT_LT(out[1].scalar<float>(), out[0].scalar<float>());
  ExpectNear(step(layers.x, layers.y)[0], out[1].tensor());
}

TEST(CompileTest, SeesWhatIsAround) {
  eager::Variable v(2.0f);
  EagerTensor outside = Floats({2}, {1, 2});
  auto inner = eager::Compile([&](EagerTensor x) { return x * v; });
  auto outer = eager::Compile([&](EagerTensor x) { return inner(x) + outside; });
  ExpectNear(outer(outside), Floats({2}, {3, 6}));
  ASSERT_TRUE(v.Assign(10).ok());
  ExpectNear(outer(outside), Floats({2}, {11, 22}));
  GradientTape tape;
  tape.Watch(outside);
  std::vector<EagerTensor> gradients = tape.Gradients({outer(outside)}, {outside, v});
  ExpectNear(gradients[0], Floats({2}, {11, 11}));
  ExpectNear(gradients[1], Tensor::Scalar(3.0f));
}

TEST(CompileTest, ControlFlowOfGraphsInside) {
  auto absolute = eager::Compile([](EagerTensor x) {
    const Scope& scope = eager::TraceScope();
    return EagerTensor(Cond(
        scope, (eager::Sum(x, 0) > 0).traced(), [&](const Scope&) { return std::vector<Output>{(x * 2).traced()}; },
        [&](const Scope&) { return std::vector<Output>{(-x).traced()}; })[0]);
  });
  EXPECT_FALSE(eager::IsTracing());
  ExpectNear(absolute(EagerTensor(Floats({2}, {1, 2}))), Floats({2}, {2, 4}));
  ExpectNear(absolute(EagerTensor(Floats({2}, {-1, -2}))), Floats({2}, {1, 2}));
}

TEST(CompileTest, ErrorsAreGiven) {
  auto bad = eager::Compile([](EagerTensor x) { return eager::MatMul(x, x); });
  ExpectError(bad(EagerTensor(Floats({2, 3}, {1, 2, 3, 4, 5, 6}))), absl::StatusCode::kInvalidArgument, "MatMul");
  ExpectNear(bad(EagerTensor(Floats({1, 1}, {3}))), Floats({1, 1}, {9}));
  EagerTensor kept;
  auto leaks = eager::Compile([&](EagerTensor x) { return kept = x + 1; });
  EXPECT_TRUE(leaks(1.0f).ok());
  EXPECT_EQ(kept.value().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE((kept + 1).ok());
  auto makes = eager::Compile([](EagerTensor x) { return eager::Variable(1.0f) * x; });
  ExpectError(makes(1.0f), absl::StatusCode::kFailedPrecondition, "traced");
  ExpectError(makes(EagerTensor()), absl::StatusCode::kInvalidArgument, "no value");
  auto at_runtime = eager::Compile([](EagerTensor x) { return eager::CheckNumerics(x, "found it"); });
  ExpectError(at_runtime(std::numeric_limits<float>::infinity()), absl::StatusCode::kInvalidArgument, "found it");
}

}  // namespace
}  // namespace weir
