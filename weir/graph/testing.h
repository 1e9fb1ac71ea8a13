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
op Merge(inputs: N*T) -> (output: T, value_index: i32)
  T: type
  N: int >= 1
op Enter(data: T) -> (output: T)
  T: type
  frame_name: string
  is_constant: bool = false
  parallel_iterations: int = 10
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

}  // namespace weir::testing

#endif  // WEIR_GRAPH_TESTING_H_
