#include "weir/graph/graph.h"

#include "weir/graph/testing.h"

namespace weir {
namespace {

using testing::TestOps;

Node* Placeholder(Graph& graph, std::string name, DType dtype = DType::kFloat) {
  Graph::NodeSpec spec{.name = std::move(name), .op = "Placeholder"};
  spec.attrs.Set("dtype", dtype);
  return graph.AddNode(std::move(spec)).value();
}

StatusOr<Node*> Add(Graph& graph, std::string name, Endpoint x, Endpoint y, std::vector<NodeId> control = {}) {
  Graph::NodeSpec spec{.name = std::move(name), .op = "AddV2", .inputs = {x, y}, .control_inputs = std::move(control)};
  spec.attrs.Set("T", DType::kFloat);
  return graph.AddNode(std::move(spec));
}

TEST(Graph, FillsDefaultsAndResolvesTypes) {
  Graph graph(TestOps());
  Node* a = Placeholder(graph, "a");
  EXPECT_FALSE(a->Attr<PartialShape>("shape").value().has_rank());
  Node* sum = Add(graph, "sum", {a->id, 0}, {a->id, 0}).value();
  EXPECT_EQ(sum->input_type(1), DType::kFloat);
  EXPECT_EQ(sum->num_outputs(), 1);
  EXPECT_EQ(graph.Find("sum"), sum);
  EXPECT_EQ(graph.TensorName({sum->id, 0}), "sum:0");
}

TEST(Graph, EqualTypesAreShared) {
  Graph graph(TestOps());
  Node* a = Placeholder(graph, "a");
  Node* x = Add(graph, "x", {a->id, 0}, {a->id, 0}).value();
  Node* y = Add(graph, "y", {a->id, 0}, {x->id, 0}).value();
  EXPECT_EQ(x->types, y->types);
}

TEST(Graph, RefusesWrongInputs) {
  Graph graph(TestOps());
  Node* a = Placeholder(graph, "a");
  Node* i = Placeholder(graph, "i", DType::kInt32);
  EXPECT_EQ(Message(Add(graph, "x", {a->id, 0}, {i->id, 0}).status()),
            "Input 1 of node x was passed int32 from i:0 incompatible with expected float.");
  EXPECT_EQ(Message(Add(graph, "x", {a->id, 0}, {a->id, 3}).status()),
            "Node 'x': Connecting to invalid output 3 of source node a which has 1 outputs.");
  EXPECT_FALSE(Add(graph, "x", {a->id, 0}, {77, 0}).ok());
  EXPECT_FALSE(Add(graph, "x", {a->id, 0}, {a->id, 0}, {-1}).ok());
  EXPECT_EQ(Message(Add(graph, "a", {a->id, 0}, {a->id, 0}).status()), "Node 'a' is not unique");
  EXPECT_EQ(graph.AddNode({.name = "x", .op = "Nope"}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(graph.num_nodes(), 2);
}

TEST(Graph, MakesUniqueNames) {
  Graph graph(TestOps());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(graph.AddNode({.op = "NoOp"}).value()->name, i == 0 ? "NoOp" : Cat("NoOp_", i));
  }
}

TEST(Graph, RemovedNodesLeaveHoles) {
  Graph graph(TestOps());
  Node* a = Placeholder(graph, "a");
  NodeId id = a->id;
  Placeholder(graph, "b");
  graph.RemoveNode(id);
  EXPECT_EQ(graph.Find("a"), nullptr);
  EXPECT_EQ(graph.nodes()[id], nullptr);
  EXPECT_EQ(graph.num_nodes(), 1);
  EXPECT_NE(Placeholder(graph, "a")->id, id);
}

TEST(Graph, CloneIsIndependent) {
  Graph graph(TestOps());
  Placeholder(graph, "a");
  Graph copy = graph.Clone();
  ASSERT_TRUE(copy.Rename(copy.Find("a"), "b").ok());
  EXPECT_NE(graph.Find("a"), nullptr);
  EXPECT_EQ(graph.Find("b"), nullptr);
  EXPECT_EQ(copy.Find("b")->id, 0);
  EXPECT_EQ(copy.functions(), graph.functions());
}

TEST(Consumers, ListsDataAndControlUses) {
  Graph graph(TestOps());
  Node* a = Placeholder(graph, "a");
  Node* x = Add(graph, "x", {a->id, 0}, {a->id, 0}).value();
  Add(graph, "y", {x->id, 0}, {x->id, 0}, {a->id}).value();
  Consumers consumers(graph);
  ASSERT_EQ(consumers.of(a->id).size(), 3);
  EXPECT_EQ(consumers.of(a->id)[1].input, 1);
  EXPECT_EQ(consumers.of(a->id)[2].input, -1);
  EXPECT_TRUE(consumers.of(2).empty());
}

TEST(TopologicalOrder, PrefersLowIdsAndAllowsLoops) {
  Graph graph(TestOps());
  Status status = testing::Import(
      testing::Float("next", "NextIteration", "input: 'merge'") + testing::FloatPlaceholder("a") +
          "node { name: 'enter' op: 'Enter' input: 'a' attr { key: 'T' value { type: DT_FLOAT } } "
          "attr { key: 'frame_name' value { s: 'f' } } }"
          "node { name: 'merge' op: 'Merge' input: 'enter' input: 'next' attr { key: 'T' value { type: DT_FLOAT } } "
          "attr { key: 'N' value { i: 2 } } }",
      &graph);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(TopologicalOrder(graph).value(), (std::vector<NodeId>{1, 2, 3, 0}));
}

TEST(ParseTensorName, AcceptsTheThreeForms) {
  EXPECT_EQ(ParseTensorName("a/b:12")->index, 12);
  EXPECT_EQ(ParseTensorName("a/b:12")->node, "a/b");
  EXPECT_EQ(ParseTensorName("a")->index, 0);
  EXPECT_EQ(ParseTensorName("^a")->index, -1);
  for (std::string_view bad : {"", "^", ":0", "a:", "a:b", "a:-1", "a:1:2", "^a:0", "a:99999999999"}) {
    EXPECT_FALSE(ParseTensorName(bad)) << bad;
  }
}

}  // namespace
}  // namespace weir
