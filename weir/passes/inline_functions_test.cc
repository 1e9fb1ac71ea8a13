#include "weir/passes/inline_functions.h"

#include "weir/graph/testing.h"
#include "weir/passes/rewrite.h"

namespace weir {
namespace {

using namespace weir::testing;

constexpr char kLibrary[] = R"(library {
  function {
    signature { name: 'Twice' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }
    node_def { name: 's' op: 'AddV2' input: 'x' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }
    ret { key: 'y' value: 's:z:0' } }
  function {
    signature { name: 'Shout' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } control_output: 'p' is_stateful: true }
    node_def { name: 'p' op: 'Print' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }
    node_def { name: 't' op: 'Twice' input: 'x' }
    ret { key: 'y' value: 't:y:0' } control_ret { key: 'p' value: 'p' } }
  function {
    signature { name: 'Again' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }
    node_def { name: 'a' op: 'Again' input: 'x' }
    ret { key: 'y' value: 'a:y:0' } }
  function {
    signature { name: 'Kept' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }
    ret { key: 'y' value: 'x' } attr { key: '_noinline' value { b: true } } }
  function {
    signature { name: 'Less' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_BOOL } }
    node_def { name: 'e' op: 'Equal' input: 'x' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }
    ret { key: 'y' value: 'e:z:0' } }
}
)";

std::string Call(std::string_view name, std::string_view function, std::string_view inputs) {
  return Cat("node { name: '", name, "' op: 'StatefulPartitionedCall' ", inputs,
             " attr { key: 'f' value { func { name: '", function,
             "' } } } attr { key: 'Tin' value { list { type: DT_FLOAT } } } ",
             "attr { key: 'Tout' value { list { type: DT_FLOAT } } } }\n");
}

Graph Inlined(const std::string& text) {
  Graph graph = MakeGraph(kLibrary + text);
  Status status = InlineFunctions(&graph);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(TopologicalOrder(graph).ok());
  return graph;
}

TEST(InlineFunctions, PutsTheBodyInPlace) {
  Graph graph = Inlined(FloatPlaceholder("a") + Call("c", "Twice", "input: 'a'") + Float("n", "Neg", "input: 'c'"));
  EXPECT_EQ(Lines(graph),
            (std::vector<std::string>{"a = Placeholder()", "c = NoOp(^c/s)", "n = Neg(c/s)", "c/s = AddV2(a, a)"}));
}

TEST(InlineFunctions, FollowsNestedAndChainedCalls) {
  Graph graph = Inlined(FloatPlaceholder("a") + Call("c", "Shout", "input: 'a'") + Call("d", "Twice", "input: 'c'") +
                        Float("n", "Neg", "input: 'd'"));
  EXPECT_EQ(Lines(graph)[3], "n = Neg(d/s)");
  EXPECT_EQ(graph.node(graph.Find("d/s")->inputs[0].node)->name, "c/t/s");
}

TEST(InlineFunctions, KeepsTheOrderOfEffects) {
  Graph graph =
      Inlined(FloatPlaceholder("a") + Float("before", "Print", "input: 'a'") +
              Call("c", "Shout", "input: 'a' input: '^before'") + Float("after", "Print", "input: 'a' input: '^c'"));
  std::vector<std::string> lines = Lines(graph);
  EXPECT_EQ(lines[2], "c = NoOp(^c/t, ^c/p, ^c/start)");
  EXPECT_EQ(lines[3], "after = Print(a, ^c)");
  EXPECT_EQ(Lines(graph)[4], "c/start = NoOp(^before)");
  EXPECT_EQ(Lines(graph)[5], "c/p = Print(a, ^c/start)");
}

TEST(InlineFunctions, StopsAtRecursionAndNoinline) {
  Graph graph = Inlined(FloatPlaceholder("a") + Call("c", "Again", "input: 'a'") + Call("d", "Kept", "input: 'a'"));
  EXPECT_EQ(graph.Find("c/a")->op(), "Again");
  EXPECT_EQ(graph.Find("d")->op(), "StatefulPartitionedCall");
}

TEST(LowerControlFlow, BranchesRunOnTheTakenSide) {
  Graph graph = Inlined(
      FloatPlaceholder("a") + "node { name: 'c' op: 'Placeholder' attr { key: 'dtype' value { type: DT_BOOL } } }" +
      "node { name: 'if' op: 'If' input: 'c' input: 'a' attr { key: 'Tcond' value { type: DT_BOOL } } "
      "attr { key: 'Tin' value { list { type: DT_FLOAT } } } attr { key: 'Tout' value { list { type: DT_FLOAT } } } "
      "attr { key: 'then_branch' value { func { name: 'Shout' } } } attr { key: 'else_branch' value { func { name: "
      "'Twice' } } } }" +
      Float("n", "Neg", "input: 'if'"));
  const Node& merge = *graph.node(graph.Find("n")->inputs[0].node);
  EXPECT_TRUE(IsMerge(merge));
  // The effect reads the true side of the Switch.
  const Node& print = *graph.Find("if/Shout/p");
  EXPECT_TRUE(IsSwitch(*graph.node(print.inputs[0].node)));
  EXPECT_EQ(print.inputs[0].index, 1);
  const Node& twice = *graph.Find("if/Twice/s");
  EXPECT_EQ(twice.inputs[0].index, 0);
  EXPECT_EQ(graph.Find("if")->op(), "NoOp");
}

TEST(LowerControlFlow, CaseTakesTheLastBranchOtherwise) {
  Graph graph = Inlined(
      FloatPlaceholder("a") + "node { name: 'k' op: 'Placeholder' attr { key: 'dtype' value { type: DT_INT32 } } }" +
      "node { name: 'case' op: 'StatelessCase' input: 'k' input: 'a' "
      "attr { key: 'Tin' value { list { type: DT_FLOAT } } } attr { key: 'Tout' value { list { type: DT_FLOAT } } } "
      "attr { key: 'branches' value { list { func { name: 'Twice' } func { name: 'Kept' } func { name: 'Twice' } } } } "
      "}" +
      Float("n", "Neg", "input: 'case'"));
  EXPECT_EQ(graph.node(graph.Find("n")->inputs[0].node)->inputs.size(), 3);
  EXPECT_NE(graph.Find("case/is_branch_1"), nullptr);
  EXPECT_EQ(graph.Find("case/is_branch_2"), nullptr);
}

TEST(LowerControlFlow, LoopsTurn) {
  Graph graph = Inlined(
      FloatPlaceholder("a") +
      "node { name: 'w' op: 'While' input: 'a' attr { key: 'T' value { list { type: DT_FLOAT } } } "
      "attr { key: 'cond' value { func { name: 'Less' } } } attr { key: 'body' value { func { name: 'Shout' } } } }" +
      Float("n", "Neg", "input: 'w'"));
  const Node& exit = *graph.node(graph.Find("n")->inputs[0].node);
  EXPECT_TRUE(IsExit(exit));
  EXPECT_EQ(graph.Find("w/loop_cond")->inputs[0].node, graph.Find("w/Less/e")->id);
  const Node& next = *graph.Find("w/next");
  EXPECT_EQ(graph.node(next.inputs[0].node)->name, "w/Shout/t/s");
  EXPECT_EQ(graph.node(next.control_inputs[0])->name, "w/Shout");
}

}  // namespace
}  // namespace weir
