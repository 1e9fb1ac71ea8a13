#include "weir/graph/function_library.h"

#include <algorithm>

#include "google/protobuf/text_format.h"
#include "weir/graph/testing.h"
#include "weir/proto/graph.pb.h"

namespace weir {
namespace {

using testing::TestOps;

FunctionDef Function(const std::string& text) {
  FunctionDef def;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &def));
  return def;
}

StatusOr<std::unique_ptr<FunctionBody>> Instantiate(const FunctionDef& def, AttrMap attrs = {}) {
  auto library = std::make_shared<FunctionLibrary>(TestOps());
  WEIR_RETURN_IF_ERROR(library->Add(def));
  return library->Instantiate({def.signature().name(), std::move(attrs)}, library);
}

constexpr char kTwice[] = R"(
  signature { name: 'Twice'
    input_arg { name: 'x' type_attr: 'T' } output_arg { name: 'y' type_attr: 'T' } attr { name: 'T' type: 'type' } }
  node_def { name: 'sum' op: 'AddV2' input: 'x' input: 'x' attr { key: 'T' value { placeholder: 'T' } } }
  ret { key: 'y' value: 'sum:z:0' })";

TEST(FunctionLibrary, InstantiatesWithAttributes) {
  AttrMap attrs;
  attrs.Set("T", DType::kDouble);
  auto body = Instantiate(Function(kTwice), attrs);
  ASSERT_TRUE(body.ok()) << body.status();
  const Graph& graph = (*body)->graph;
  const Node& arg = *graph.node((*body)->args[0]);
  EXPECT_EQ(arg.op(), "_Arg");
  EXPECT_EQ(arg.name, "x");
  EXPECT_EQ(arg.output_type(0), DType::kDouble);
  const Node& sum = *graph.Find("sum");
  EXPECT_EQ(sum.inputs, (std::vector<Endpoint>{{arg.id, 0}, {arg.id, 0}}));
  const Node& ret = *graph.node((*body)->rets[0]);
  EXPECT_EQ(ret.name, "y_RetVal");
  EXPECT_EQ(ret.inputs[0].node, sum.id);
  EXPECT_EQ((*body)->types.outputs[0], DType::kDouble);
  EXPECT_FALSE((*body)->is_stateful);
}

TEST(FunctionLibrary, RemovesAFunctionAndWhatOnlyItCalls) {
  auto calling = [](const std::string& name, const std::string& callee) {
    return Function(Cat("signature { name: '", name,
                        "' } node_def { name: 'call' op: 'PartitionedCall' attr { key: 'f' ", "value { func { name: '",
                        callee, "' } } } }"));
  };
  FunctionLibrary library(TestOps());
  for (const FunctionDef& def : {Function(kTwice), calling("Inner", "Twice"), calling("Kept", "Twice"),
                                 calling("Outer", "Inner"), calling("Other", "Kept")}) {
    ASSERT_TRUE(library.Add(def).ok());
  }
  auto is_kept = [](std::string_view name) { return name == "Kept" || name == "Twice"; };
  EXPECT_EQ(library.Remove("Outer", is_kept), (std::vector<std::string>{"Outer", "Inner"}));
  EXPECT_EQ(library.Remove("Other", is_kept), (std::vector<std::string>{"Other"}));
  EXPECT_TRUE(library.Remove("Other", is_kept).empty());
  std::vector<std::string> left = library.Names();
  std::ranges::sort(left);
  EXPECT_EQ(left, (std::vector<std::string>{"Kept", "Twice"}));
}

TEST(FunctionLibrary, MissingAttributeIsAnError) {
  EXPECT_EQ(Instantiate(Function(kTwice)).status().code(), absl::StatusCode::kNotFound);
}

TEST(FunctionLibrary, ExpandsListsAndArgAttrs) {
  auto body = Instantiate(Function(R"(
    signature { name: 'F' input_arg { name: 'axis' type: DT_INT32 } input_arg { name: 'xs' type: DT_FLOAT number_attr: 'N' }
      output_arg { name: 'y' type: DT_FLOAT number_attr: 'N' } output_arg { name: 'z' type: DT_FLOAT }
      attr { name: 'N' type: 'int' default_value { i: 2 } } }
    node_def { name: 'all' op: 'AddN' input: 'xs' attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'N' value { placeholder: 'N' } } }
    node_def { name: 'one' op: 'AddV2' input: 'xs:1' input: 'split:output:1' attr { key: 'T' value { type: DT_FLOAT } } }
    node_def { name: 'split' op: 'Split' input: 'axis' input: 'all:sum:0' attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'num_split' value { i: 2 } } }
    ret { key: 'y' value: 'split:output' } ret { key: 'z' value: 'one:z:0' }
    arg_attr { key: 1 value { attr { key: '_hint' value { i: 7 } } } })"));
  ASSERT_TRUE(body.ok()) << body.status();
  const Graph& graph = (*body)->graph;
  EXPECT_EQ((*body)->args.size(), 3);
  EXPECT_EQ(graph.node((*body)->args[2])->name, "xs_1");
  EXPECT_EQ(graph.Find("xs_0")->Attr<int64_t>("_hint").value(), 7);
  EXPECT_EQ(graph.Find("all")->inputs.size(), 2);
  EXPECT_EQ(graph.Find("one")->inputs[0].node, graph.Find("xs_1")->id);
  EXPECT_EQ(graph.Find("one")->inputs[1], (Endpoint{graph.Find("split")->id, 1}));
  ASSERT_EQ((*body)->rets.size(), 3);
  EXPECT_EQ(graph.node((*body)->rets[1])->inputs[0], (Endpoint{graph.Find("split")->id, 1}));
}

TEST(FunctionLibrary, SideEffectsAreControlRets) {
  auto body = Instantiate(Function(R"(
    signature { name: 'F' control_output: 'n' }
    node_def { name: 'n' op: 'NoOp' }
    node_def { name: 'pure' op: 'NoOp' }
    node_def { name: 'v' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape {} } } }
    control_ret { key: 'n' value: 'n' })"));
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_TRUE((*body)->is_stateful);
  EXPECT_EQ((*body)->control_rets, (std::vector<NodeId>{0, 2}));
}

TEST(FunctionLibrary, RecursionIsLegalToDefine) {
  auto body = Instantiate(Function(R"(
    signature { name: 'F' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }
    node_def { name: 'again' op: 'F' input: 'x' }
    ret { key: 'y' value: 'again:y:0' })"));
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_EQ((*body)->graph.Find("again")->op(), "F");
}

TEST(FunctionLibrary, NamesWhatIsWrong) {
  constexpr char kSignature[] =
      "signature { name: 'F' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } } ";
  auto message = [&](const std::string& body) { return Message(Instantiate(Function(kSignature + body)).status()); };
  EXPECT_EQ(message(""), "Return y missing.\n\tIn function output y");
  EXPECT_EQ(message("node_def { name: 'n' op: 'Identity' input: 'zzz' attr { key: 'T' value { type: DT_FLOAT } } }"),
            "input zzz is not found: {{node n}}\n\tIn {{node n}}");
  EXPECT_NE(message("node_def { name: 'n' op: 'Nope' }").find("Op type not registered 'Nope'"), std::string::npos);
  EXPECT_EQ(message("ret { key: 'y' value: 'q:out:0' }"), "Return y -> q:out:0 is not found.\n\tIn function output y");
  FunctionLibrary library(TestOps());
  EXPECT_EQ(library.Instantiate({"G", {}}, nullptr).status().code(), absl::StatusCode::kNotFound);
}

TEST(FunctionLibrary, EqualFunctionsMayBeAddedAgain) {
  FunctionLibrary library(TestOps());
  EXPECT_TRUE(library.Add(Function(kTwice)).ok());
  const OpSchema* schema = library.FindSchema("Twice");
  EXPECT_TRUE(library.Add(Function(kTwice)).ok());
  EXPECT_EQ(library.FindSchema("Twice"), schema);
  FunctionDef other = Function(kTwice);
  other.mutable_node_def(0)->set_name("other");
  EXPECT_EQ(Message(library.Add(other)),
            "Cannot add function 'Twice' because a different function with the same name already exists.");
}

TEST(FunctionLibrary, FindsGradients) {
  FunctionLibrary library(TestOps());
  FunctionDefLibrary def;
  *def.add_function() = Function(kTwice);
  def.add_gradient()->set_function_name("Twice");
  def.mutable_gradient(0)->set_gradient_func("TwiceGrad");
  ASSERT_TRUE(library.AddLibrary(def).ok());
  EXPECT_EQ(library.FindGradient("Twice"), "TwiceGrad");
  EXPECT_EQ(library.FindGradient("Thrice"), "");
  FunctionDefLibrary out;
  library.ToProto(&out);
  EXPECT_EQ(out.SerializeAsString(), def.SerializeAsString());
}

}  // namespace
}  // namespace weir
