#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "weir/framework/resource_node.h"
#include "weir/ops/train/register.h"
#include "weir/resources/variable.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

// One step of an optimizer as TensorFlow does it; see optimizer_goldens.py for the inputs.
struct Golden {
  std::string_view op;
  DType dtype;
  std::string_view flag;    // attribute with the value that is not its default
  std::string_view scalar;  // input with a value of its own
  double value;
  std::vector<std::vector<double>> states;
};
const Golden kGoldens[] = {
#include "weir/ops/train/optimizer_goldens.inc"
};

Tensor Numbers(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Tensor out = Tensor::Zeros(dtype, shape).value();
  DispatchDType(dtype, TypeList<Half, BFloat16, float, double>{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (size_t i = 0; i < values.size(); ++i) out.data<T>()[i] = T(values[i]);
  });
  return out;
}

double ScalarValue(const Golden& golden, std::string_view name) {
  static const std::pair<std::string_view, double> kScalars[] = {
      {"lr", .1},        {"alpha", .1},        {"momentum", .9},      {"rho", .9},
      {"epsilon", 1e-3}, {"l1", .05},          {"l2", .02},           {"l2_shrinkage", .01},
      {"lr_power", -.5}, {"beta1_power", .81}, {"beta2_power", .998}, {"beta1", .9},
      {"beta2", .999},   {"sign_decay", .8},   {"logbase", 1},        {"beta", .7}};
  if (name == golden.scalar) return golden.value;
  for (const auto& [key, value] : kScalars) {
    if (key == name) return value;
  }
  ADD_FAILURE() << "no value for " << name;
  return 0;
}

class OptimizerTest : public testing::Test {
 protected:
  Tensor MakeVariable(std::string_view name, Tensor value) {
    auto variable = std::make_shared<VariableResource>(value.dtype());
    {
      absl::MutexLock lock(&variable->mu);
      variable->tensor = std::move(value);
    }
    ResourceKey key{"localhost", std::string(name), false};
    EXPECT_EQ(run.device().resources().Create(key.container, key.name, variable), OkStatus());
    return HandleTensor(MakeResourceHandle(run.device(), key, VariableResource::kTypeName));
  }
  Tensor Read(std::string_view name) {
    return run.device().resources().LookUp<VariableResource>("localhost", name).value()->Read();
  }
  RefPtr<RefCell> MakeCell(std::string_view name, Tensor value) {
    RefPtr<RefCell> cell = MakeRef<RefCell>();
    cell->name = name;
    cell->dtype = value.has_value() ? value.dtype() : DType::kFloat;
    absl::MutexLock lock(&cell->mu);
    cell->tensor = std::move(value);
    return cell;
  }
  static Tensor Value(const RefPtr<RefCell>& cell) {
    absl::MutexLock lock(&cell->mu);
    return cell->tensor;
  }
  Status Momentum(const Tensor& var, const Tensor& accum, Tensor lr, Tensor grad) {
    return run("ResourceApplyMomentum")
        .Inputs({var, accum, std::move(lr), std::move(grad), Tensor::Scalar(0.9f)})
        .Run()
        .status();
  }
  Status SparseAdagrad(const Tensor& var, const Tensor& accum, Tensor grad, Tensor indices) {
    return run("ResourceSparseApplyAdagrad")
        .Inputs({var, accum, Tensor::Scalar(0.1f), std::move(grad), std::move(indices)})
        .Run()
        .status();
  }
  static void ExpectError(const Status& status, absl::StatusCode code, std::string_view text) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(Message(status), testing::HasSubstr(std::string(text)));
  }

  KernelRunner run{RegisterTrainKernels};
};

// Runs a golden row on resource variables, or (where that op exists) on ref variables.
class GoldenTest : public OptimizerTest, public testing::WithParamInterface<bool> {
 protected:
  void Check(const Golden& golden) {
    std::string op(golden.op);
    if (GetParam()) op = op.substr(std::string_view("Resource").size());
    const OpSchema* schema = run.ops().Find(op);
    if (schema == nullptr) return;  // only for resource variables
    SCOPED_TRACE(Cat(op, " ", Name(golden.dtype), " ", golden.flag, " ", golden.scalar));
    const std::vector<std::vector<double>> before = {
        {1, -2, .5, 3}, {.5, .25, 1, 2}, {2, 1.5, 3, .75}, {.1, .2, .3, .4}};
    Shape shape = op.find("Sparse") != std::string::npos ? Shape{2, 2} : Shape{4};
    KernelCall call = run(op);
    std::vector<RefPtr<RefCell>> cells;
    for (size_t i = 0; i < schema->inputs.size(); ++i) {
      const std::string& name = schema->inputs[i].name;
      if (i < golden.states.size()) {
        Tensor value = Numbers(golden.dtype, shape, before[i]);
        if (GetParam()) {
          call.RefInput(cells.emplace_back(MakeCell(name, std::move(value))));
        } else {
          call.Input(MakeVariable(name, std::move(value)));
        }
      } else if (name == "grad" || name == "delta") {
        call.Input(Numbers(golden.dtype, shape, {.5, -1, .25, 2}));
      } else if (name == "indices") {
        call.Input(Tensor::Vector<int32_t>({1, 0}));
      } else if (name == "global_step") {
        call.Input(Tensor::Scalar<int64_t>(3));
      } else {
        call.Input(Numbers(golden.dtype, Shape(), {ScalarValue(golden, name)}));
      }
    }
    if (!golden.flag.empty()) call.Attr(golden.flag, Attribute(golden.flag != "update_slots"));
    std::vector<Slot> outputs;
    ASSERT_EQ(call.RunSlots(outputs), OkStatus());
    for (size_t i = 0; i < golden.states.size(); ++i) {
      Tensor after = GetParam() ? Value(cells[i]) : Read(schema->inputs[i].name);
      double tolerance = golden.dtype == DType::kHalf ? 2e-3 : 2e-6;
      ExpectTensorNear(after, Numbers(golden.dtype, shape, golden.states[i]), tolerance, tolerance);
    }
    run.device().resources().ClearAll();
  }
};

TEST_P(GoldenTest, StepsAreTensorFlows) {
  for (const Golden& golden : kGoldens) Check(golden);
}

INSTANTIATE_TEST_SUITE_P(Variables, GoldenTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Ref" : "Resource"; });

TEST_F(OptimizerTest, ReadersKeepTheirSnapshot) {
  Tensor var = MakeVariable("var", TensorOf<float>({2}, {1, 2}));
  Tensor snapshot = Read("var");
  ASSERT_EQ(run("ResourceApplyGradientDescent")
                .Inputs({var, Tensor::Scalar(0.5f), TensorOf<float>({2}, {2, 4})})
                .Run()
                .status(),
            OkStatus());
  ExpectTensorEqual(snapshot, TensorOf<float>({2}, {1, 2}));
  ExpectTensorEqual(Read("var"), TensorOf<float>({2}, {0, 0}));
}

TEST_F(OptimizerTest, RefVariableIsUpdatedInPlaceAndForwarded) {
  RefPtr<RefCell> var = MakeCell("var", TensorOf<float>({2}, {1, 2}));
  Tensor reader = Value(var);
  std::vector<Slot> outputs;
  ASSERT_EQ(run("ApplyGradientDescent")
                .RefInput(var)
                .Input(Tensor::Scalar(0.5f))
                .Input(TensorOf<float>({2}, {2, 4}))
                .RunSlots(outputs),
            OkStatus());
  EXPECT_EQ(outputs[0].ref.get(), var.get());
  ExpectTensorEqual(reader, TensorOf<float>({2}, {0, 0}));
}

TEST_F(OptimizerTest, ComplexNumbers) {
  using C = std::complex<float>;
  Tensor var = MakeVariable("var", TensorOf<C>({1}, {C(1, 1)}));
  Tensor accum = MakeVariable("accum", TensorOf<C>({1}, {C(0, 1)}));
  ASSERT_EQ(run("ResourceApplyMomentum")
                .Inputs({var, accum, Tensor::Scalar(C(0.5f, 0)), TensorOf<C>({1}, {C(2, 0)}), Tensor::Scalar(C(0, 1))})
                .Run()
                .status(),
            OkStatus());
  ExpectTensorNear(Read("accum"), TensorOf<C>({1}, {C(1, 0)}));
  ExpectTensorNear(Read("var"), TensorOf<C>({1}, {C(0.5f, 1)}));
}

TEST_F(OptimizerTest, RowNamedTwiceIsUpdatedTwice) {
  Tensor var = MakeVariable("var", TensorOf<float>({2}, {0, 0}));
  Tensor accum = MakeVariable("accum", TensorOf<float>({2}, {0, 1}));
  ASSERT_EQ(run("ResourceSparseApplyMomentum")
                .Inputs({var, accum, Tensor::Scalar(1.f), TensorOf<float>({2}, {1, 1}), Tensor::Vector<int64_t>({1, 1}),
                         Tensor::Scalar(1.f)})
                .Run()
                .status(),
            OkStatus());
  ExpectTensorEqual(Read("accum"), TensorOf<float>({2}, {0, 3}));
  ExpectTensorEqual(Read("var"), TensorOf<float>({2}, {0, -5}));
}

TEST_F(OptimizerTest, EmptyTensors) {
  Tensor var = MakeVariable("var", Tensor::Zeros(DType::kFloat, {0, 3}).value());
  Tensor accum = MakeVariable("accum", Tensor::Zeros(DType::kFloat, {0, 3}).value());
  EXPECT_EQ(SparseAdagrad(var, accum, Tensor::Zeros(DType::kFloat, {0, 3}).value(), Tensor::Vector<int32_t>({})),
            OkStatus());
  EXPECT_EQ(Momentum(var, accum, Tensor::Scalar(1.f), Tensor::Zeros(DType::kFloat, {0, 3}).value()), OkStatus());
}

TEST_F(OptimizerTest, RowsInFrontOfABadIndexAreUpdatedByAllButTheAdagradsAndRmsProps) {
  Tensor var = MakeVariable("var", TensorOf<float>({2}, {1, 2}));
  ExpectError(run("ResourceSparseApplyProximalGradientDescent")
                  .Inputs({var, Tensor::Scalar(0.5f), Tensor::Scalar(0.f), Tensor::Scalar(0.f),
                           TensorOf<float>({3}, {1, 1, 1}), Tensor::Vector<int32_t>({1, 7, 0})})
                  .Run()
                  .status(),
              absl::StatusCode::kInvalidArgument, "Index 7 at offset 1 in indices is out of range");
  ExpectTensorEqual(Read("var"), TensorOf<float>({2}, {1, 1.5}));
}

TEST_F(OptimizerTest, BadInputsAreNamed) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  Tensor var = MakeVariable("var", TensorOf<float>({2}, {1, 2}));
  Tensor accum = MakeVariable("accum", TensorOf<float>({2}, {1, 1}));
  Tensor longer = MakeVariable("longer", TensorOf<float>({3}, {1, 1, 1}));
  Tensor number = MakeVariable("number", Tensor::Scalar(1.f));
  Tensor other_type = MakeVariable("other_type", TensorOf<double>({2}, {1, 1}));
  Tensor lr = Tensor::Scalar(0.1f);
  Tensor grad = TensorOf<float>({2}, {1, 1});
  ExpectError(Momentum(var, longer, lr, grad), kInvalid, "var and accum do not have the same shape[2] [3]");
  ExpectError(Momentum(var, accum, lr, TensorOf<float>({1}, {1})), kInvalid,
              "var and grad do not have the same shape[2] [1]");
  ExpectError(Momentum(var, accum, TensorOf<float>({1}, {1}), grad), kInvalid, "lr is not a scalar: [1]");
  ExpectError(Momentum(var, other_type, lr, grad), kInvalid, "type");
  ExpectError(SparseAdagrad(var, accum, grad, Tensor::Vector<int32_t>({0, 7})), kInvalid,
              "Index 7 at offset 1 in indices is out of range");
  ExpectError(SparseAdagrad(var, accum, grad, Tensor::Vector<int32_t>({0, -1})), kInvalid, "Index -1 at offset 1");
  ExpectError(SparseAdagrad(var, accum, grad, Tensor::Vector<int32_t>({0})), kInvalid, "the same size as indices");
  ExpectError(SparseAdagrad(var, accum, grad, Tensor::Scalar(0)), kInvalid, "indices must be one-dimensional");
  ExpectError(SparseAdagrad(number, number, grad, Tensor::Vector<int32_t>({0, 1})), kInvalid,
              "var must be at least 1 dimensional");
  ExpectTensorEqual(Read("var"), TensorOf<float>({2}, {1, 2}));
  ExpectTensorEqual(Read("accum"), TensorOf<float>({2}, {1, 1}));
}

TEST_F(OptimizerTest, RegularizersMustNotBeNegative) {
  Tensor var = MakeVariable("var", TensorOf<float>({2}, {1, 2}));
  Tensor accum = MakeVariable("accum", TensorOf<float>({2}, {1, 1}));
  auto proximal = [&](float lr, float l1, float l2) {
    return run("ResourceApplyProximalAdagrad")
        .Inputs({var, accum, Tensor::Scalar(lr), Tensor::Scalar(l1), Tensor::Scalar(l2), TensorOf<float>({2}, {1, 1})})
        .Run()
        .status();
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  ExpectError(proximal(0, 0, 0), kInvalid, "lr is not a positive scalar: []");
  ExpectError(proximal(1, -1, 0), kInvalid, "l1 regularization strength is not a non-negative scalar: []");
  ExpectError(proximal(1, 0, -1), kInvalid, "l2 regularization strength is not a non-negative scalar: []");
}

TEST_F(OptimizerTest, UninitializedVariables) {
  constexpr auto kCode = absl::StatusCode::kFailedPrecondition;
  Tensor var = MakeVariable("var", TensorOf<float>({2}, {1, 2}));
  Tensor missing =
      HandleTensor(MakeResourceHandle(run.device(), {"localhost", "missing", false}, VariableResource::kTypeName));
  ExpectError(Momentum(var, missing, Tensor::Scalar(0.1f), TensorOf<float>({2}, {1, 1})), kCode,
              "Attempting to use uninitialized variables: missing");
  std::vector<Slot> outputs;
  ExpectError(run("ApplyGradientDescent")
                  .RefInput(MakeCell("weights", Tensor()))
                  .Input(Tensor::Scalar(0.5f))
                  .Input(TensorOf<float>({2}, {2, 4}))
                  .RunSlots(outputs),
              kCode, "Attempting to use uninitialized variables: weights");
}

}  // namespace
}  // namespace weir
