#include "weir/graph/shape_inference.h"

#include "weir/graph/function_library.h"
#include "weir/graph/testing.h"

namespace weir {
namespace {

// The test ops with the shape functions they need here.
const OpRegistry& Ops() {
  static OpRegistry* ops = [] {
    auto* registry = new OpRegistry;
    RegisterCommonShapeFunctions(*registry);
    EXPECT_TRUE(registry
                    ->RegisterTable(R"(
op Placeholder() -> (output: dtype)
  dtype: type
  shape: shape = ?
  shape attr_shape
op AddV2(x: T, y: T) -> (z: T)
  T: type
  shape broadcast
op Enter(data: T) -> (output: T)
  T: type
  frame_name: string
  shape unchanged
op NextIteration(data: T) -> (output: T)
  T: type
  shape unchanged
op Merge(inputs: N*T) -> (output: T, value_index: i32)
  T: type
  N: int >= 1
op PartitionedCall(args: @Tin) -> (output: @Tout)
  Tin: list(type)
  Tout: list(type)
  f: func
op _Arg() -> (output: T)
  T: type
  index: int >= 0
op _Retval(input: T) -> ()
  T: type
  index: int >= 0
)",
                                    "test")
                    .ok());
    return registry;
  }();
  return *ops;
}

std::string Input(std::string_view name, std::string_view dims) {
  return Cat("node { name: '", name, "' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } ",
             "attr { key: 'shape' value { shape { ", dims, " } } } }\n");
}

TEST(InferShapes, FollowsEdges) {
  Graph graph(Ops());
  ASSERT_TRUE(testing::Import(testing::Float("x", "AddV2", "input: 'a' input: 'b'") +
                                  Input("a", "dim { size: 2 } dim { size: -1 }") + Input("b", "dim { size: 3 }"),
                              &graph)
                  .ok());
  EXPECT_EQ(InferShapes(graph)->of({graph.Find("x")->id, 0}).shape, (PartialShape{2, 3}));
}

TEST(InferShapes, NamesTheNodeOfAContradiction) {
  Graph graph(Ops());
  ASSERT_TRUE(testing::Import(Input("a", "dim { size: 2 }") + Input("b", "dim { size: 3 }") +
                                  testing::Float("x", "AddV2", "input: 'a' input: 'b'"),
                              &graph)
                  .ok());
  EXPECT_EQ(Message(InferShapes(graph).status()),
            "Dimensions must be equal, but are 2 and 3 for '{{node x}} = AddV2[T=DT_FLOAT](a, b)' with input shapes: "
            "[2], [3].");
}

// x -> x + b until further notice.
Status ImportLoop(Graph* graph, std::string_view b) {
  std::string type = "attr { key: 'T' value { type: DT_FLOAT } }";
  return testing::Import(
      Input("a", "dim { size: 1 } dim { size: 5 }") + Input("b", b) +
          Cat("node { name: 'enter' op: 'Enter' input: 'a' ", type, " attr { key: 'frame_name' value { s: 'f' } } }") +
          Cat("node { name: 'merge' op: 'Merge' input: 'enter' input: 'next' ", type,
              " attr { key: 'N' value { i: 2 } } }") +
          testing::Float("sum", "AddV2", "input: 'merge' input: 'b'") +
          testing::Float("next", "NextIteration", "input: 'sum'"),
      graph);
}

TEST(InferShapes, KeepsWhatALoopKeeps) {
  Graph graph(Ops());
  ASSERT_TRUE(ImportLoop(&graph, "dim { size: 5 }").ok());
  EXPECT_EQ(InferShapes(graph)->of({graph.Find("merge")->id, 0}).shape, (PartialShape{1, 5}));
}

TEST(InferShapes, GivesUpWhatALoopChanges) {
  Graph graph(Ops());
  ASSERT_TRUE(ImportLoop(&graph, "dim { size: 3 } dim { size: 1 }").ok());
  auto shapes = InferShapes(graph);
  ASSERT_TRUE(shapes.ok()) << shapes.status();
  EXPECT_EQ(shapes->of({graph.Find("merge")->id, 0}).shape, (PartialShape{-1, 5}));
}

TEST(InferShapes, LooksIntoFunctions) {
  Graph graph(Ops());
  Status status = testing::Import(
      R"(library { function {
        signature { name: 'F' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }
        node_def { name: 's' op: 'AddV2' input: 'x' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }
        ret { key: 'y' value: 's:z:0' } } }
      node { name: 'direct' op: 'F' input: 'a' }
      node { name: 'call' op: 'PartitionedCall' input: 'a' attr { key: 'f' value { func { name: 'F' } } }
        attr { key: 'Tin' value { list { type: DT_FLOAT } } } attr { key: 'Tout' value { list { type: DT_FLOAT } } } })" +
          Input("a", "dim { size: 4 }"),
      &graph);
  ASSERT_TRUE(status.ok()) << status;
  auto shapes = InferShapes(graph);
  ASSERT_TRUE(shapes.ok()) << shapes.status();
  EXPECT_EQ(shapes->of({graph.Find("direct")->id, 0}).shape, PartialShape{4});
  EXPECT_EQ(shapes->of({graph.Find("call")->id, 0}).shape, PartialShape{4});
}

TEST(InferShapes, EndsOnRecursion) {
  Graph graph(Ops());
  Status status = testing::Import(
      R"(library { function {
        signature { name: 'F' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }
        node_def { name: 's' op: 'F' input: 'x' } ret { key: 'y' value: 's:y:0' } } }
      node { name: 'direct' op: 'F' input: 'a' })" +
          Input("a", "dim { size: 4 }"),
      &graph);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_FALSE(InferShapes(graph)->of({graph.Find("direct")->id, 0}).shape.has_rank());
}

}  // namespace
}  // namespace weir
