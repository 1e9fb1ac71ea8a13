#include "weir/graph/import.h"

#include "weir/graph/function_library.h"
#include "weir/graph/testing.h"

namespace weir {
namespace {

using testing::Float;
using testing::FloatPlaceholder;
using testing::Import;
using testing::TestOps;

TEST(ImportGraphDef, TakesNodesInAnyOrder) {
  Graph graph(TestOps());
  Status status = Import(Float("x", "AddV2", "input: 'a' input: 'b:0' input: '^n'") + FloatPlaceholder("a") +
                             FloatPlaceholder("b") + "node { name: 'n' op: 'NoOp' device: '/cpu:0' }",
                         &graph);
  ASSERT_TRUE(status.ok()) << status;
  const Node& x = *graph.Find("x");
  EXPECT_EQ(x.id, 0);
  EXPECT_EQ(x.inputs, (std::vector<Endpoint>{{1, 0}, {2, 0}}));
  EXPECT_EQ(x.control_inputs, std::vector<NodeId>{3});
  EXPECT_EQ(graph.Find("n")->requested_device, "/cpu:0");
}

TEST(ImportGraphDef, ExtendsAGraph) {
  Graph graph(TestOps());
  ASSERT_TRUE(Import(FloatPlaceholder("a"), &graph).ok());
  ASSERT_TRUE(Import(Float("x", "Identity", "input: 'a'"), &graph).ok());
  EXPECT_EQ(graph.Find("x")->inputs[0].node, graph.Find("a")->id);
  EXPECT_FALSE(Import(FloatPlaceholder("a"), &graph).ok());
}

TEST(ImportGraphDef, KeepsAttributesOfNewerProducers) {
  Graph graph(TestOps());
  ASSERT_TRUE(Import(FloatPlaceholder("a") +
                         "node { name: 'x' op: 'Identity' input: 'a' attr { key: 'T' value { type: DT_FLOAT } } "
                         "attr { key: 'later' value { i: 3 } } attr { key: '_own' value { b: true } } }",
                     &graph)
                  .ok());
  EXPECT_EQ(graph.Find("x")->Attr<int64_t>("later").value(), 3);
  EXPECT_TRUE(graph.Find("x")->Attr<bool>("_own").value());
}

struct BadGraph {
  std::string text;
  std::string message;
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;
};

TEST(ImportGraphDef, ExplainsWhatIsWrongAndAddsNothing) {
  const std::string a = FloatPlaceholder("a");
  const std::string i = "node { name: 'i' op: 'Placeholder' attr { key: 'dtype' value { type: DT_INT32 } } }";
  const BadGraph cases[] = {
      {"node { name: 'x' op: 'Nope' }", "Op type not registered 'Nope' in binary running on ",
       absl::StatusCode::kNotFound},
      {a + "node { name: 'x' op: 'Identity' input: 'a' }",
       "NodeDef missing attr 'T' from Op<name=Identity; signature=input:T -> output:T; attr=T:type>; NodeDef: {{node "
       "x}}"},
      {a + a, "Node 'a' is not unique"},
      {a + Float("x", "Identity", "input: 'a:3'"),
       "Node 'x': Connecting to invalid output 3 of source node a which has 1 outputs."},
      {a + Float("x", "Identity", "input: 'a:-3'"), "Node 'x': Unknown input node 'a:-3'"},
      {Float("x", "Identity", "input: 'nope'"), "Node 'x': Unknown input node 'nope'"},
      {"node { name: 'x' op: 'NoOp' input: '^nope' }", "Node 'x': Unknown input node '^nope'"},
      {a + i + Float("x", "AddV2", "input: 'a' input: 'i'"),
       "Input 1 of node x was passed int32 from i:0 incompatible with expected float."},
      {a + Float("x", "AddV2", "input: 'a'"),
       "NodeDef expected inputs 'float, float' do not match 1 inputs specified; "},
      {a + Float("x", "Identity", "input: 'a' input: 'a'"),
       "NodeDef expected inputs 'float' do not match 2 inputs specified; "},
      {Float("x", "Identity", "input: 'y'") + Float("y", "Identity", "input: 'x'"), "2 nodes in a cycle: "},
      {Float("x", "Identity", "input: 'x'"), "1 nodes in a cycle: x"},
      {"node { name: 'x' op: 'NoOp' input: '^x' }", "1 nodes in a cycle: x"},
      {"node { name: '' op: 'NoOp' }", "Node '': Node name contains invalid characters"},
      {"node { name: '_x' op: 'NoOp' }", "Node '_x': Node name contains invalid characters"},
      {"node { name: 'a b' op: 'NoOp' }", "Node 'a b': Node name contains invalid characters"},
      {a + Float("x", "Identity", "input: '^a' input: 'a'"),
       "Node 'x': Control dependencies must come after regular dependencies"},
      {a + "node { name: 'x' op: 'Identity' input: 'a' attr { key: 'T' value { placeholder: 'T' } } }", ""},
      {a + "node { name: 'x' op: 'Identity' input: 'a' attr { key: 'T' value { i: 3 } } }",
       "AttrValue had value with type 'int' when 'type' expected\n\t for attr 'T'\n\t; NodeDef: {{node x}}; Op<"},
      {Float("x", "AddN", "attr { key: 'N' value { i: 0 } }"),
       "Value for attr 'N' of 0 must be at least minimum 1\n\t; NodeDef: {{node x}}; Op<name=AddN;"},
      {"versions { producer: 99999 min_consumer: 99999 }",
       "GraphDef min consumer version 99999 above current version "},
      {"versions { producer: 2474 bad_consumers: 2474 }", "GraphDef disallows consumer version 2474."},
      {"versions { producer: -1 }", "GraphDef producer version -1 below min producer 0 "},
      {"versions { producer: 9 } node { name: 'x' op: 'Old' }",
       "Op Old is not available in GraphDef version 9. It has been removed in version 9. Use NoOp.",
       absl::StatusCode::kUnimplemented},
      {"node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { tensor "
       "{ "
       "dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }",
       "Type mismatch between value (float) and dtype (int32)\n\t [[{{node c}}]]"},
      {"node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor "
       "{ "
       "dtype: DT_FLOAT tensor_shape { dim { size: 2 } } tensor_content: 'abc' } } } }",
       ""},
      {a + Float("x", "Assign", "input: 'a' input: 'a'"),
       "Input 0 of node x was passed float from a:0 incompatible with expected float_ref."},
      {"library { function { signature { name: 'AddV2' } } }" + a,
       "Cannot add function 'AddV2' because an op with the same name already exists."},
      {"library { function { signature { name: 'F' } } }" + a + a, "Node 'a' is not unique"},
      {"garbage", "Not a GraphDef, neither binary nor text"},
  };
  for (const BadGraph& bad : cases) {
    Graph graph(TestOps());
    Status status = Import(bad.text, &graph);
    EXPECT_EQ(status.code(), bad.code) << bad.text << "\n" << status;
    EXPECT_EQ(Message(status).substr(0, bad.message.size()), bad.message) << bad.text;
    EXPECT_EQ(graph.num_node_ids(), 0);
    EXPECT_TRUE(graph.functions()->Names().empty());
  }
}

TEST(ImportGraphDef, RefFeedsPlainInput) {
  Graph graph(TestOps());
  Status status = Import(
      "node { name: 'v' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } } "
      "attr { key: 'shape' value { shape {} } } }" +
          Float("x", "Assign", "input: 'v' input: 'v'"),
      &graph);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(graph.Find("x")->output_type(0), RefType(DType::kFloat));
}

TEST(ImportGraphDef, DeprecatedOpsOfOldGraphsStillLoad) {
  Graph graph(TestOps());
  EXPECT_TRUE(Import("versions { producer: 8 } node { name: 'x' op: 'Old' }", &graph).ok());
  EXPECT_EQ(graph.versions().producer, 8);
}

TEST(ExportGraphDef, GivesBackWhatWasImported) {
  Graph graph(TestOps());
  ASSERT_TRUE(Import("versions { producer: 21 min_consumer: 12 } "
                     "library { function { signature { name: 'F' } node_def { name: 'n' op: 'NoOp' } } }" +
                         Float("x", "Identity", "input: 'a' input: '^n'") + FloatPlaceholder("a") +
                         "node { name: 'n' op: 'NoOp' device: '/cpu:0' }",
                     &graph)
                  .ok());
  std::string bytes = ExportGraphDefBytes(graph).value();
  Graph again(TestOps());
  ASSERT_TRUE(ImportGraphDefBytes(bytes, &again).ok());
  EXPECT_EQ(again.num_nodes(), 3);
  EXPECT_EQ(again.node(0)->name, "x");
  EXPECT_EQ(again.node(0)->control_inputs, graph.node(0)->control_inputs);
  EXPECT_EQ(again.node(0)->attrs, graph.node(0)->attrs);
  EXPECT_EQ(again.versions().min_consumer, 12);
  EXPECT_EQ(again.functions()->Names(), std::vector<std::string>{"F"});
}

TEST(ImportGraphDef, LimitsTheNumberOfNodes) {
  Graph graph(TestOps());
  EXPECT_EQ(Import(FloatPlaceholder("a") + FloatPlaceholder("b"), &graph, {.max_nodes = 1}).code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace weir
