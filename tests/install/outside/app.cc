// Adds 40 and 2 with the installed library.
#include <cstdio>

#include "weir/client/environment.h"
#include "weir/graph/graph.h"
#include "weir/runtime/session.h"

namespace {

weir::StatusOr<float> Add(float a, float b) {
  auto environment = weir::DefaultEnvironment();
  weir::Graph graph(environment->ops);
  weir::AttrMap placeholder;
  placeholder.Set("dtype", weir::DType::kFloat);
  weir::AttrMap addition;
  addition.Set("T", weir::DType::kFloat);
  WEIR_ASSIGN_OR_RETURN(weir::Node * x, graph.AddNode({.name = "x", .op = "Placeholder", .attrs = placeholder}));
  WEIR_ASSIGN_OR_RETURN(weir::Node * y, graph.AddNode({.name = "y", .op = "Placeholder", .attrs = placeholder}));
  weir::Graph::NodeSpec sum{.name = "sum", .op = "AddV2", .attrs = addition, .inputs = {{x->id, 0}, {y->id, 0}}};
  WEIR_RETURN_IF_ERROR(graph.AddNode(sum).status());

  WEIR_ASSIGN_OR_RETURN(auto session, weir::Session::Create(environment));
  WEIR_RETURN_IF_ERROR(session->Extend(graph));
  const weir::Feed feeds[] = {{"x:0", weir::Tensor::Scalar(a)}, {"y:0", weir::Tensor::Scalar(b)}};
  const std::string fetches[] = {"sum:0"};
  std::vector<weir::Tensor> outputs;
  WEIR_RETURN_IF_ERROR(session->Run(feeds, fetches, {}, &outputs));
  return outputs[0].scalar<float>();
}

}  // namespace

int main() {
  auto sum = Add(40, 2);
  if (!sum.ok()) {
    std::fprintf(stderr, "%s\n", sum.status().ToString().c_str());
    return 1;
  }
  std::printf("%g\n", *sum);
  return *sum == 42 ? 0 : 1;
}
