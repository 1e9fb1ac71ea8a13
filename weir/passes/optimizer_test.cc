#include "weir/passes/optimizer.h"

#include "weir/graph/testing.h"
#include "weir/passes/arithmetic.h"
#include "weir/passes/common_subexpression.h"
#include "weir/passes/constant_folding.h"
#include "weir/passes/dependency.h"

namespace weir {
namespace {

using namespace weir::testing;

// A fresh context for one pass.
RewriteContext& On(Graph& graph) {
  static std::optional<RewriteContext> context;
  return context.emplace(&graph);
}

// Knows AddV2 and Neg of float scalars.
StatusOr<std::vector<Tensor>> Evaluate(const Node& node, std::span<const Tensor> inputs) {
  if (node.op() == "AddV2") {
    return std::vector<Tensor>{Tensor::Scalar(inputs[0].scalar<float>() + inputs[1].scalar<float>())};
  }
  if (node.op() == "Neg") return std::vector<Tensor>{Tensor::Scalar(-inputs[0].scalar<float>())};
  return Unimplemented(node.op());
}

TEST(FoldConstants, ComputesOnceAndKeepsWaits) {
  Graph graph =
      MakeGraph("node { name: 'n' op: 'NoOp' }" + FloatConst("a", 1) + FloatConst("b", 2) +
                Float("sum", "AddV2", "input: 'a' input: 'b' input: '^n'") + Float("neg", "Neg", "input: 'sum'") +
                Float("r", "_Retval", "input: 'neg' attr { key: 'index' value { i: 0 } }"));
  ASSERT_TRUE(FoldConstants(On(graph), Evaluate).ok());
  EXPECT_EQ(Lines(graph)[4], "neg = Const(^n)");
  EXPECT_EQ(graph.Find("neg")->Attr<Tensor>("value")->scalar<float>(), -3);
}

TEST(FoldConstants, LeavesWhatMustRun) {
  Graph graph =
      MakeGraph(FloatConst("a", 1) + Float("p", "Print", "input: 'a'") + Float("x", "Mul", "input: 'a' input: 'a'") +
                "node { name: 'd' op: 'Neg' input: 'a' device: '/gpu:0' attr { key: 'T' value { type: DT_FLOAT } } }");
  std::vector<std::string> before = Lines(graph);
  ASSERT_TRUE(FoldConstants(On(graph), Evaluate).ok());
  EXPECT_EQ(Lines(graph), before);
}

TEST(FoldConstants, RespectsTheLimit) {
  Graph graph = MakeGraph(FloatConst("a", 1) + Float("x", "Neg", "input: 'a'"));
  ASSERT_TRUE(FoldConstants(On(graph), Evaluate, {.max_bytes = 3}).ok());
  EXPECT_EQ(graph.Find("x")->op(), "Neg");
}

TEST(EliminateCommonSubexpressions, MergesEqualComputations) {
  Graph graph = MakeGraph(FloatPlaceholder("a") + FloatPlaceholder("b") + Float("x", "Mul", "input: 'a' input: 'b'") +
                          Float("y", "Mul", "input: 'b' input: 'a'") + Float("z", "Sub", "input: 'x' input: 'y'") +
                          Float("p", "Print", "input: 'x'") + Float("q", "Print", "input: 'x'"));
  ASSERT_TRUE(EliminateCommonSubexpressions(On(graph)).ok());
  EXPECT_EQ(Lines(graph)[4], "z = Sub(x, x)");
  EXPECT_EQ(Lines(graph)[6], "q = Print(x)");
}

TEST(SimplifyArithmetic, DropsNeutralOperands) {
  Graph graph = MakeGraph(FloatPlaceholder("a") + FloatConst("one", 1) + FloatConst("zero", 0) +
                          Float("m", "Mul", "input: 'one' input: 'a'") + Float("s", "Sub", "input: 'a' input: 'zero'") +
                          Float("p", "AddV2", "input: 'a' input: 'zero'") + Float("n", "Neg", "input: 'a'") +
                          Float("nn", "Neg", "input: 'n'"));
  ASSERT_TRUE(SimplifyArithmetic(On(graph)).ok());
  EXPECT_EQ(Lines(graph)[3], "m = Identity(a)");
  EXPECT_EQ(Lines(graph)[4], "s = Identity(a)");
  EXPECT_EQ(Lines(graph)[5], "p = AddV2(a, zero)");  // -0 + 0 is 0
  EXPECT_EQ(Lines(graph)[7], "nn = Identity(a)");
}

TEST(MultiplyByReciprocals, OfConstantDivisors) {
  const std::string quotient =
      FloatPlaceholder("a") + FloatConst("c", 4) + Float("d", "RealDiv", "input: 'a' input: 'c'");
  Graph small = MakeGraph(quotient);
  ASSERT_TRUE(MultiplyByReciprocals(On(small)).ok());
  EXPECT_EQ(Lines(small)[2], "d = RealDiv(a, c)");
  Graph graph = MakeGraph(quotient + Float("e", "RealDiv", "input: 'c' input: 'd'"));
  ASSERT_TRUE(MultiplyByReciprocals(On(graph)).ok());
  EXPECT_EQ(Lines(graph)[2], "d = Mul(a, d/Const)");
  EXPECT_EQ(Lines(graph)[3], "e = RealDiv(c, d)");
  EXPECT_EQ(graph.Find("d/Const")->Attr<Tensor>("value")->scalar<float>(), 0.25f);
}

TEST(SimplifyDependencies, BypassesNoOpsAndIdentities) {
  Graph graph =
      MakeGraph(FloatPlaceholder("a") + Float("i", "Identity", "input: 'a'") + Float("p", "Print", "input: 'i'") +
                "node { name: 'n' op: 'NoOp' input: '^p' }" + Float("q", "Print", "input: 'p' input: '^n'"));
  ASSERT_TRUE(SimplifyDependencies(On(graph)).ok());
  EXPECT_EQ(Lines(graph)[2], "p = Print(a)");
  EXPECT_EQ(Lines(graph)[4], "q = Print(p)");
}

TEST(SimplifyDependencies, KeepsPivotsOfBranchesAndReadsOfReferences) {
  Graph graph = MakeGraph(FloatPlaceholder("a") +
                          "node { name: 'c' op: 'Placeholder' attr { key: 'dtype' value { type: DT_BOOL } } }" +
                          Float("s", "Switch", "input: 'a' input: 'c'") + Float("pivot", "Identity", "input: 's:1'") +
                          Float("p", "Print", "input: 'pivot'") +
                          "node { name: 'v' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } } attr { "
                          "key: 'shape' value { shape {} } } }" +
                          Float("read", "Identity", "input: 'v'") + Float("q", "Print", "input: 'read'"));
  std::vector<std::string> before = Lines(graph);
  ASSERT_TRUE(SimplifyDependencies(On(graph)).ok());
  EXPECT_EQ(Lines(graph), before);
}

TEST(OptimizeGraph, KeepsTargetsAndResults) {
  Graph graph = MakeGraph(FloatConst("a", 1) + FloatConst("b", 2) + Float("sum", "AddV2", "input: 'a' input: 'b'") +
                          Float("same", "AddV2", "input: 'a' input: 'b'") + Float("i", "Identity", "input: 'same'") +
                          Float("r", "_Retval", "input: 'i' attr { key: 'index' value { i: 0 } }") +
                          "node { name: 'target' op: 'NoOp' input: '^sum' }");
  ASSERT_TRUE(OptimizeGraph(On(graph), {}, Evaluate).ok());
  EXPECT_NE(graph.Find("target"), nullptr);
  const Node& result = *graph.node(graph.Find("r")->inputs[0].node);
  EXPECT_EQ(result.op(), "Const");
  EXPECT_EQ(result.Attr<Tensor>("value")->scalar<float>(), 3);
  EXPECT_EQ(graph.num_nodes(), 3);
}

}  // namespace
}  // namespace weir
