// For tests: a registry with a few ops, and graphs from text.
#ifndef WEIR_GRAPH_TESTING_H_
#define WEIR_GRAPH_TESTING_H_

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "weir/graph/graph.h"
#include "weir/graph/import.h"

namespace weir::testing {

inline constexpr std::string_view kTestOps = R"(
op NoOp() -> ()
op Const() -> (output: dtype)
  value: tensor
  dtype: type
op Placeholder() -> (output: dtype)
  dtype: type
  shape: shape = ?
op Identity(input: T) -> (output: T)
  T: type
  view
op AddV2(x: T, y: T) -> (z: T)
  T: {f32 f64 i32 i64}
op AddN(inputs: N*T) -> (sum: T)
  N: int >= 1
  T: type
op Split(axis: i32, value: T) -> (output: num_split*T)
  num_split: int >= 1
  T: type
op Switch(data: T, pred: bool) -> (output_false: T, output_true: T)
  T: type
  view
op Merge(inputs: N*T) -> (output: T, value_index: i32)
  T: type
  N: int >= 1
op Enter(data: T) -> (output: T)
  T: type
  frame_name: string
  is_constant: bool = false
  parallel_iterations: int = 10
  view
op Exit(data: T) -> (output: T)
  T: type
op NextIteration(data: T) -> (output: T)
  T: type
op LoopCond(input: bool) -> (output: bool)
op VariableV2() -> (ref: &dtype)
  shape: shape
  dtype: type
  container: string = ""
  shared_name: string = ""
  stateful
op Assign(ref: &T, value: T) -> (output_ref: &T)
  T: type
  validate_shape: bool = true
  use_locking: bool = true
op PartitionedCall(args: @Tin) -> (output: @Tout)
  Tin: list(type)
  Tout: list(type)
  f: func
op StatefulPartitionedCall(args: @Tin) -> (output: @Tout)
  Tin: list(type)
  Tout: list(type)
  f: func
  stateful
op If(cond: Tcond, input: @Tin) -> (output: @Tout)
  Tcond: type
  Tin: list(type)
  Tout: list(type)
  then_branch: func
  else_branch: func
  stateful
op StatelessCase(branch_index: i32, input: @Tin) -> (output: @Tout)
  Tin: list(type)
  Tout: list(type)
  branches: list(func) >= 1
op While(input: @T) -> (output: @T)
  T: list(type)
  cond: func
  body: func
  parallel_iterations: int = 10
  stateful
op Mul(x: T, y: T) -> (z: T)
  T: type
  commutative
op RealDiv(x: T, y: T) -> (z: T)
  T: type
op Sub(x: T, y: T) -> (z: T)
  T: type
op Neg(x: T) -> (y: T)
  T: type
op Cast(x: SrcT) -> (y: DstT)
  SrcT: type
  DstT: type
  Truncate: bool = false
op Equal(x: T, y: T) -> (z: bool)
  T: type
op Shape(input: T) -> (output: out_type)
  T: type
  out_type: {i32 i64} = i32
op Print(input: T) -> (output: T)
  T: type
  stateful
op _Send(tensor: T) -> ()
  T: type
  tensor_name: string
  send_device: string
  send_device_incarnation: int
  recv_device: string
  client_terminated: bool = false
  stateful
op _HostSend(tensor: T) -> ()
  T: type
  tensor_name: string
  send_device: string
  send_device_incarnation: int
  recv_device: string
  client_terminated: bool = false
  stateful
op _Recv() -> (tensor: tensor_type)
  tensor_type: type
  tensor_name: string
  send_device: string
  send_device_incarnation: int
  recv_device: string
  client_terminated: bool = false
  stateful
op _HostRecv() -> (tensor: tensor_type)
  tensor_type: type
  tensor_name: string
  send_device: string
  send_device_incarnation: int
  recv_device: string
  client_terminated: bool = false
  stateful
op Old() -> ()
  deprecated 9 "Use NoOp"
op _Arg() -> (output: T)
  T: type
  index: int >= 0
  stateful
op _Retval(input: T) -> ()
  T: type
  index: int >= 0
  stateful
)";

inline const OpRegistry& TestOps() {
  static OpRegistry* ops = [] {
    auto* registry = new OpRegistry;
    Status status = registry->RegisterTable(kTestOps, "test");
    EXPECT_TRUE(status.ok()) << status;
    return registry;
  }();
  return *ops;
}

// "node { ... }" of a GraphDef's text format.
inline Status Import(std::string_view text, Graph* graph, const ImportLimits& limits = {}) {
  return ImportGraphDefBytes(text, graph, limits);
}

inline std::string Float(std::string_view name, std::string_view op, std::string_view inputs = "") {
  return Cat("node { name: '", name, "' op: '", op, "' ", inputs, " attr { key: 'T' value { type: DT_FLOAT } } }\n");
}
inline std::string FloatPlaceholder(std::string_view name) {
  return Cat("node { name: '", name, "' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }\n");
}

// A loop "f" over the placeholder "a", with the result "exit". `body` reads 'switch:1' and ends with the node "next".
inline std::string FloatLoop(std::string_view body) {
  const std::string type = "attr { key: 'T' value { type: DT_FLOAT } }";
  return Cat(FloatPlaceholder("a"), "node { name: 'enter' op: 'Enter' input: 'a' ", type,
             " attr { key: 'frame_name' value { s: 'f' } } }",
             "node { name: 'merge' op: 'Merge' input: 'enter' input: 'next' ", type,
             " attr { key: 'N' value { i: 2 } } }", Float("test", "Equal", "input: 'merge' input: 'merge'"),
             "node { name: 'cond' op: 'LoopCond' input: 'test' }",
             Float("switch", "Switch", "input: 'merge' input: 'cond'"), Float("exit", "Exit", "input: 'switch'"), body);
}

// A scalar float constant.
inline std::string FloatConst(std::string_view name, float value) {
  return Cat("node { name: '", name, "' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } ",
             "attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: ", value, " } } } }\n");
}

// The graph with this text; the test fails if it cannot be imported.
inline Graph MakeGraph(std::string_view text) {
  Graph graph(TestOps());
  Status status = Import(text, &graph, {.allow_internal_names = true});
  EXPECT_TRUE(status.ok()) << status;
  return graph;
}

// "x = AddV2(a, b:1, ^n)" for every node, in order.
inline std::vector<std::string> Lines(const Graph& graph) {
  std::vector<std::string> lines;
  for (const auto& node : graph.nodes()) {
    if (!node) continue;
    std::string inputs;
    for (Endpoint input : node->inputs) {
      inputs +=
          Cat(inputs.empty() ? "" : ", ", graph.node(input.node)->name, input.index > 0 ? Cat(":", input.index) : "");
    }
    for (NodeId input : node->control_inputs) inputs += Cat(inputs.empty() ? "" : ", ", "^", graph.node(input)->name);
    lines.push_back(Cat(node->name, " = ", node->op(), "(", inputs, ")"));
  }
  return lines;
}

}  // namespace weir::testing

#endif  // WEIR_GRAPH_TESTING_H_
