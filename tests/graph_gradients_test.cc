// AddGradients on graphs that TensorFlow built, with control flow and functions, against TensorFlow's own gradients
// (tests/fixtures/gradients/make_gradients.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "weir/client/environment.h"
#include "weir/client/gradients.h"
#include "weir/graph/import.h"
#include "weir/runtime/session.h"

namespace weir {
namespace {

using Json = nlohmann::json;

Json ReadCases() {
  std::ifstream file(WEIR_SOURCE_DIR "/tests/fixtures/gradients/gradients.json");
  return Json::parse(file);
}

Tensor ToTensor(const Json& json) {
  std::vector<int64_t> dims = json["shape"];
  std::vector<float> values = json["values"];
  return Tensor::FromSpan<float>(values, Shape::Make(dims).value());
}

StatusOr<Endpoint> Find(const Graph& graph, const std::string& name) {
  std::optional<TensorId> id = ParseTensorName(name);
  const Node* node = id ? graph.Find(id->node) : nullptr;
  if (node == nullptr) return NotFound(name);
  return Endpoint{node->id, id->index};
}

struct Loaded {
  Graph graph{DefaultEnvironment()->ops};
  std::vector<Endpoint> ys, xs;
  std::vector<Feed> feeds;
  std::string init;
};

StatusOr<Loaded> Load(const Json& test) {
  Loaded out;
  std::string bytes;
  if (!absl::Base64Unescape(test["graph"].get<std::string>(), &bytes)) return DataLoss("base64");
  WEIR_RETURN_IF_ERROR(ImportGraphDefBytes(bytes, &out.graph));
  for (const std::string name : test["ys"]) {
    WEIR_ASSIGN_OR_RETURN(Endpoint y, Find(out.graph, name));
    out.ys.push_back(y);
  }
  for (const std::string name : test["xs"]) {
    WEIR_ASSIGN_OR_RETURN(Endpoint x, Find(out.graph, name));
    out.xs.push_back(x);
  }
  for (const auto& [name, value] : test["feeds"].items()) out.feeds.emplace_back(name, ToTensor(value));
  out.init = test["init"];
  return out;
}

// Values of the gradients; a tensor without a value for none.
StatusOr<std::vector<Tensor>> Evaluate(Loaded& loaded, const std::vector<Endpoint>& gradients) {
  SessionOptions options;
  options.isolate_state = true;
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Create(DefaultEnvironment(), options));
  WEIR_RETURN_IF_ERROR(session->Extend(loaded.graph));
  std::vector<std::string> targets = {loaded.init}, fetches;
  WEIR_RETURN_IF_ERROR(session->Run({}, {}, targets, nullptr));
  for (Endpoint gradient : gradients) {
    if (gradient.node != kNoNode) fetches.push_back(loaded.graph.TensorName(gradient));
  }
  std::vector<Tensor> values, out;
  WEIR_RETURN_IF_ERROR(session->Run(loaded.feeds, fetches, {}, &values));
  size_t next = 0;
  for (Endpoint gradient : gradients) out.push_back(gradient.node == kNoNode ? Tensor() : values[next++]);
  return out;
}

void ExpectNear(const Tensor& actual, const Json& expected) {
  if (expected.is_null()) {
    EXPECT_FALSE(actual.has_value()) << actual.ToString();
    return;
  }
  ASSERT_TRUE(actual.has_value());
  Tensor wanted = ToTensor(expected);
  ASSERT_EQ(actual.dtype(), DType::kFloat);
  EXPECT_EQ(actual.shape(), wanted.shape());
  for (int64_t i = 0; i < std::min(actual.num_elements(), wanted.num_elements()); ++i) {
    const float a = actual.data<float>()[i], b = wanted.data<float>()[i];
    EXPECT_NEAR(a, b, 1e-5 * std::max(1.0f, std::abs(b))) << "element " << i;
  }
}

TEST(GraphGradients, AreTensorFlows) {
  for (const Json& test : ReadCases()) {
    SCOPED_TRACE(test["name"].get<std::string>());
    StatusOr<Loaded> loaded = Load(test);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    auto gradients = AddDenseGradients(loaded->graph, BuiltinGradients(), loaded->ys, loaded->xs);
    EXPECT_TRUE(gradients.ok()) << gradients.status();
    if (!gradients.ok()) continue;
    auto values = Evaluate(*loaded, *gradients);
    EXPECT_TRUE(values.ok()) << values.status();
    if (!values.ok()) continue;
    for (size_t i = 0; i < values->size(); ++i) ExpectNear((*values)[i], test["gradients"][i]);
  }
}

// The second derivative of every case with one x, against differences of the first.
TEST(GraphGradients, CanBeDifferentiatedAgain) {
  for (const Json& test : ReadCases()) {
    SCOPED_TRACE(test["name"].get<std::string>());
    StatusOr<Loaded> loaded = Load(test);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    if (loaded->xs.size() != 1 || loaded->feeds.size() != 1) continue;
    // A TensorArray of gradients has none itself; a gradient that is given need not be the derivative.
    if (test["name"] == "loop_over_a_tensor_array" || test["name"] == "function_with_a_gradient_of_its_own") continue;
    auto first = AddDenseGradients(loaded->graph, BuiltinGradients(), loaded->ys, loaded->xs);
    ASSERT_TRUE(first.ok()) << first.status();
    auto second = AddDenseGradients(loaded->graph, BuiltinGradients(), *first, loaded->xs);
    EXPECT_TRUE(second.ok()) << second.status();
    if (!second.ok()) continue;
    auto values = Evaluate(*loaded, *second);
    EXPECT_TRUE(values.ok()) << values.status();
    if (!values.ok() || !(*values)[0].has_value()) continue;

    Tensor x = loaded->feeds[0].second;
    constexpr float kStep = 1e-2f;
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      double sums[2];
      for (int side : {0, 1}) {
        Tensor moved = x.Clone().value();
        moved.data<float>()[i] += side == 0 ? -kStep : kStep;
        loaded->feeds[0].second = moved;
        auto at = Evaluate(*loaded, *first);
        ASSERT_TRUE(at.ok()) << at.status();
        sums[side] = 0;
        for (float value : (*at)[0].span<float>()) sums[side] += value;
      }
      const double expected = (sums[1] - sums[0]) / (2 * kStep), actual = (*values)[0].data<float>()[i];
      EXPECT_NEAR(actual, expected, 2e-2 * std::max(1.0, std::abs(expected))) << "element " << i;
    }
  }
}

Endpoint Add(Graph& graph, const char* op, std::vector<Endpoint> inputs, AttrMap attrs = {}) {
  Graph::NodeSpec spec{.op = op, .attrs = std::move(attrs), .inputs = std::move(inputs)};
  if (spec.attrs.empty()) spec.attrs.Set("T", DType::kFloat);
  auto node = graph.AddNode(std::move(spec));
  EXPECT_TRUE(node.ok()) << node.status();
  return {(*node)->id, 0};
}
Endpoint Input(Graph& graph) {
  AttrMap attrs;
  attrs.Set("dtype", DType::kFloat);
  attrs.Set("shape", Shape({2}));
  return Add(graph, "Placeholder", {}, std::move(attrs));
}

TEST(AddGradients, StopsWhereItIsTold) {
  Graph graph(DefaultEnvironment()->ops);
  Endpoint x = Input(graph), y = Add(graph, "Square", {x}), z = Add(graph, "Mul", {x, y});
  GradientOptions options;
  options.stop_gradients = {y};
  auto gradients = AddGradients(graph, std::vector{z}, std::vector{x, y}, {}, options);
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  EXPECT_EQ(graph.node((*gradients)[0].dense.node)->op(), "Mul");  // one term: y
  EXPECT_FALSE((*gradients)[1].is_none());
}

TEST(AddGradients, UnconnectedIsNoneOrZero) {
  Graph graph(DefaultEnvironment()->ops);
  Endpoint x = Input(graph), w = Input(graph), y = Add(graph, "Square", {x});
  auto none = AddGradients(graph, std::vector{y}, std::vector{w});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_TRUE((*none)[0].is_none());
  GradientOptions options;
  options.unconnected = GradientOptions::Unconnected::kZero;
  auto zero = AddGradients(graph, std::vector{y}, std::vector{w}, {}, options);
  ASSERT_TRUE(zero.ok()) << zero.status();
  EXPECT_FALSE((*zero)[0].is_none());
}

TEST(AddGradients, AddsTermsInPairsWhenAsked) {
  Graph graph(DefaultEnvironment()->ops);
  Endpoint x = Input(graph);
  std::vector<Endpoint> ys;
  for (int i = 0; i < 4; ++i) ys.push_back(Add(graph, "Square", {x}));
  GradientOptions options;
  options.aggregation = GradientOptions::Aggregation::kTree;
  auto gradients = AddGradients(graph, ys, std::vector{x}, {}, options);
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  const Node& sum = *graph.node((*gradients)[0].dense.node);
  EXPECT_EQ(sum.op(), "AddN");
  EXPECT_EQ(sum.inputs.size(), 2u);
}

TEST(AddGradients, NodesCanBeColocatedAndAreScoped) {
  Graph graph(DefaultEnvironment()->ops);
  Endpoint x = Input(graph), y = Add(graph, "Sin", {x});
  GradientOptions options;
  options.colocate = true;
  options.scope = "backward";
  auto gradients = AddGradients(graph, std::vector{y}, std::vector{x}, {}, options);
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  const Node& node = *graph.node((*gradients)[0].dense.node);
  EXPECT_TRUE(node.name.starts_with("backward/")) << node.name;
  EXPECT_EQ(*node.Attr<std::vector<std::string>>("_class"), std::vector<std::string>{"loc:@Sin"});
}

TEST(AddGradients, KeepsRowsSparse) {
  Graph graph(DefaultEnvironment()->ops);
  Endpoint x = Input(graph);
  AttrMap attrs;
  attrs.Set("dtype", DType::kInt32);
  attrs.Set("value", Tensor::Vector<int32_t>({1, 1}));
  Endpoint indices = Add(graph, "Const", {}, std::move(attrs));
  AttrMap types;
  types.Set("Tparams", DType::kFloat);
  types.Set("Tindices", DType::kInt32);
  Endpoint rows = Add(graph, "Gather", {x, indices}, types), more = Add(graph, "Gather", {x, indices}, types);
  auto gradients = AddGradients(graph, std::vector{rows, more}, std::vector{x});
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  ASSERT_TRUE((*gradients)[0].is_sparse());
  EXPECT_EQ(graph.node((*gradients)[0].values.node)->op(), "ConcatV2");
}

TEST(AddGradients, SaysWhatCannotBeDone) {
  Graph graph(DefaultEnvironment()->ops);
  Endpoint x = Input(graph), y = Add(graph, "BesselI0", {x});
  GradientRegistry none;
  auto unknown = AddGradients(graph, none, std::vector{y}, std::vector{x});
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(unknown.status().message().find("BesselI0"), std::string::npos) << unknown.status();
  auto outside = AddGradients(graph, std::vector{Endpoint{99, 0}}, std::vector{x});
  EXPECT_EQ(outside.status().code(), absl::StatusCode::kInvalidArgument);
  auto too_many = AddGradients(graph, std::vector{x}, std::vector{x}, std::vector{x, y});
  EXPECT_EQ(too_many.status().code(), absl::StatusCode::kInvalidArgument);
}

// SymbolicGradient of `function` at (3, 4), with 1 flowing in.
StatusOr<std::vector<Tensor>> RunSymbolicGradient(const FunctionAttr& function, bool inlined) {
  Graph graph(DefaultEnvironment()->ops);
  AttrList floats;
  floats.type = {DType::kFloat, DType::kFloat};
  AttrMap attrs;
  attrs.Set("Tout", Attribute(floats));
  floats.type.push_back(DType::kFloat);
  attrs.Set("Tin", Attribute(floats));
  attrs.Set("f", Attribute(function));
  Endpoint x = Input(graph), y = Input(graph), flow = Input(graph);
  Endpoint gradient = Add(graph, "SymbolicGradient", {x, y, flow}, std::move(attrs));
  SessionOptions options;
  options.rewrites.inline_functions = inlined ? Toggle::kOn : Toggle::kOff;
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Create(DefaultEnvironment(), options));
  WEIR_RETURN_IF_ERROR(session->Extend(graph));
  auto pair = [](float value) { return Tensor::Vector<float>({value, value}); };
  std::vector<Feed> feeds = {
      {graph.TensorName(x), pair(3)}, {graph.TensorName(y), pair(4)}, {graph.TensorName(flow), pair(1)}};
  std::vector<std::string> fetches = {graph.TensorName(gradient), graph.TensorName({gradient.node, 1})};
  std::vector<Tensor> out;
  WEIR_RETURN_IF_ERROR(session->Run(feeds, fetches, {}, &out));
  return out;
}

TEST(SymbolicGradient, OfAnOpInlinedOrCalled) {
  FunctionAttr multiply{"Mul", {}};
  multiply.attrs.Set("T", DType::kFloat);
  for (bool inlined : {true, false}) {
    auto out = RunSymbolicGradient(multiply, inlined);
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ((*out)[0].data<float>()[0], 4.0f);
    EXPECT_EQ((*out)[1].data<float>()[1], 3.0f);
  }
}

TEST(SymbolicGradient, OfAFunctionThatCallsItselfIsAnError) {
  Graph graph(DefaultEnvironment()->ops);
  ASSERT_TRUE(ImportGraphDefBytes(R"(
    node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'y' op: 'f' input: 'x' }
    library { function {
      signature { name: 'f' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'b' type: DT_FLOAT } }
      node_def { name: 'c' op: 'f' input: 'a' }
      node_def { name: 'd' op: 'Square' input: 'c:b:0' attr { key: 'T' value { type: DT_FLOAT } } }
      ret { key: 'b' value: 'd:y:0' }
    } })",
                                  &graph)
                  .ok());
  Endpoint x{graph.Find("x")->id, 0}, y{graph.Find("y")->id, 0};
  auto gradients = AddGradients(graph, std::vector{y}, std::vector{x});
  EXPECT_EQ(gradients.status().code(), absl::StatusCode::kUnimplemented) << gradients.status();
}

TEST(SymbolicGradient, OfWhatIsUnknownIsAnError) {
  for (bool inlined : {true, false}) {
    auto out = RunSymbolicGradient({"nothing", {}}, inlined);
    EXPECT_EQ(out.status().code(), absl::StatusCode::kNotFound) << out.status();
  }
}

}  // namespace
}  // namespace weir
