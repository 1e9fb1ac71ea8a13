// Fits a line to a few points, and counts in a loop: two small graphs, built in C++ and run in a session.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "weir/client/environment.h"
#include "weir/graph/graph.h"
#include "weir/runtime/session.h"

namespace {

using weir::DType;
using weir::Endpoint;
using weir::Tensor;

// Ends the program at the first error; a real program would hand it on.
void Check(const weir::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

// Adds nodes in a line each.
class Builder {
 public:
  explicit Builder(const weir::OpRegistry& ops) : graph_(ops) {}

  struct Attr {
    const char* name;
    weir::Attribute value;
  };
  Endpoint Add(const char* op, std::string name, std::vector<Endpoint> inputs, std::vector<Attr> attrs = {}) {
    weir::AttrMap map;
    for (Attr& attr : attrs) map.Set(attr.name, std::move(attr.value));
    auto node =
        graph_.AddNode({.name = std::move(name), .op = op, .attrs = std::move(map), .inputs = std::move(inputs)});
    Check(node.status());
    return {(*node)->id, 0};
  }
  Endpoint Constant(std::string name, Tensor value) {
    const DType dtype = value.dtype();
    return Add("Const", std::move(name), {}, {{"value", std::move(value)}, {"dtype", dtype}});
  }
  // An elementwise operation on floats.
  Endpoint Float(const char* op, Endpoint a, Endpoint b) { return Add(op, "", {a, b}, {{"T", DType::kFloat}}); }
  // A variable with the operation `<name>/initialize`.
  Endpoint Variable(const std::string& name, float initial) {
    Endpoint variable = Add("VariableV2", name, {}, {{"dtype", DType::kFloat}, {"shape", weir::Shape()}});
    Add("Assign", name + "/initialize", {variable, Constant(name + "/initial", Tensor::Scalar(initial))},
        {{"T", DType::kFloat}});
    return variable;
  }

  weir::Graph& graph() { return graph_; }

 private:
  weir::Graph graph_;
};

// y = w x + b, and one step of gradient descent on the squared error of the point that is fed:
// w -= rate * error * x, b -= rate * error.
void BuildLine(Builder& build) {
  Endpoint x = build.Add("Placeholder", "x", {}, {{"dtype", DType::kFloat}});
  Endpoint y = build.Add("Placeholder", "y", {}, {{"dtype", DType::kFloat}});
  Endpoint w = build.Variable("w", 0);
  Endpoint b = build.Variable("b", 0);
  Endpoint error = build.Float("Sub", build.Float("AddV2", build.Float("Mul", w, x), b), y);
  Endpoint step = build.Float("Mul", build.Constant("rate", Tensor::Scalar(0.1f)), error);
  build.Add("AssignSub", "train/w", {w, build.Float("Mul", step, x)}, {{"T", DType::kFloat}});
  build.Add("AssignSub", "train/b", {b, step}, {{"T", DType::kFloat}});
}

// A counter in a while loop, of the graph's own primitives: it goes round until it reaches `limit`.
void BuildLoop(Builder& build, int limit) {
  const std::vector<Builder::Attr> of_int = {{"T", DType::kInt32}};
  const std::vector<Builder::Attr> frame = {{"T", DType::kInt32}, {"frame_name", "count"}};
  std::vector<Builder::Attr> invariant = frame;
  invariant.push_back({"is_constant", true});

  Endpoint start = build.Add("Enter", "start", {build.Constant("zero", Tensor::Scalar<int32_t>(0))}, frame);
  Endpoint end = build.Add("Enter", "end", {build.Constant("limit", Tensor::Scalar<int32_t>(limit))}, invariant);
  Endpoint one = build.Add("Enter", "one", {build.Constant("step", Tensor::Scalar<int32_t>(1))}, invariant);
  Endpoint merge = build.Add("Merge", "merge", {start, start}, {{"T", DType::kInt32}, {"N", 2}});
  Endpoint go_on = build.Add("LoopCond", "go_on", {build.Add("Less", "less", {merge, end}, of_int)});
  Endpoint split = build.Add("Switch", "switch", {merge, go_on}, of_int);  // 0: leave, 1: go on
  Endpoint next = build.Add("AddV2", "next", {{split.node, 1}, one}, of_int);
  Endpoint back = build.Add("NextIteration", "back", {next}, of_int);
  build.Add("Exit", "count", {split}, of_int);
  build.graph().node(merge.node)->inputs[1] = back;  // closes the loop
}

float Value(weir::Session& session, const std::string& name) {
  std::vector<Tensor> outputs;
  const std::string fetches[] = {name};
  Check(session.Run({}, fetches, {}, &outputs));
  return outputs[0].scalar<float>();
}

void Train(weir::Session& session) {
  const std::string initializers[] = {"w/initialize", "b/initialize"};
  Check(session.Run({}, {}, initializers, nullptr));
  const float points[][2] = {{-1, -4}, {0, -1}, {1, 2}, {2, 5}};  // on y = 3 x - 1
  const std::string targets[] = {"train/w", "train/b"};
  for (int epoch = 0; epoch <= 20; ++epoch) {
    if (epoch % 5 == 0)
      std::printf("epoch %2d: w = %.2f, b = %.2f\n", epoch, Value(session, "w:0"), Value(session, "b:0"));
    for (const auto& [x, y] : points) {
      const weir::Feed feeds[] = {{"x:0", Tensor::Scalar(x)}, {"y:0", Tensor::Scalar(y)}};
      Check(session.Run(feeds, {}, targets, nullptr));
    }
  }
}

}  // namespace

int main() {
  auto environment = weir::DefaultEnvironment();
  Builder build(environment->ops);
  BuildLine(build);
  BuildLoop(build, 10000);
  auto session = weir::Session::Create(environment);
  Check(session.status());
  Check((*session)->Extend(build.graph()));
  std::printf("A graph of %d nodes on %s.\n\n", build.graph().num_nodes(), (*session)->ListDevices()[0].name.c_str());

  std::printf("Fitting y = w x + b to four points of y = 3 x - 1, a point a step:\n");
  Train(**session);

  std::vector<Tensor> outputs;
  const std::string fetches[] = {"count:0"};
  Check((*session)->Run({}, fetches, {}, &outputs));
  std::printf("\nA loop inside the graph counted to %d in one step.\n", outputs[0].scalar<int32_t>());
}
