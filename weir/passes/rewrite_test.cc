#include "weir/passes/rewrite.h"

#include "weir/graph/testing.h"

namespace weir {
namespace {

using namespace weir::testing;

TEST(RemoveUnused, KeepsEndsEffectsAndWhatIsAskedFor) {
  Graph graph =
      MakeGraph(FloatPlaceholder("a") + Float("used", "Neg", "input: 'a'") + Float("p", "Print", "input: 'used'") +
                Float("kept", "Neg", "input: 'a'") + Float("gone", "Neg", "input: 'a'"));
  std::vector<NodeId> keep = {graph.Find("kept")->id};
  EXPECT_EQ(RemoveUnused(&graph, keep), 1);
  EXPECT_EQ(graph.Find("gone"), nullptr);
  EXPECT_EQ(graph.num_nodes(), 4);
}

TEST(Replacements, FollowsChains) {
  Graph graph = MakeGraph(FloatPlaceholder("a") + Float("b", "Identity", "input: 'a'") +
                          Float("c", "Identity", "input: 'b'") + Float("d", "Neg", "input: 'c' input: '^b'"));
  Replacements replacements(&graph);
  replacements.Replace(Endpoint{2, 0}, Endpoint{1, 0});
  replacements.Replace(NodeId{1}, NodeId{0});
  EXPECT_TRUE(replacements.Apply());
  EXPECT_EQ(Lines(graph).back(), "d = Neg(a, ^a)");
}

TEST(IsPure, ExcludesEffectsControlFlowAndCalls) {
  Graph graph = MakeGraph(FloatPlaceholder("a") + Float("n", "Neg", "input: 'a'") + Float("p", "Print", "input: 'a'") +
                          Float("e", "Exit", "input: 'a'"));
  EXPECT_TRUE(IsPure(*graph.Find("n")));
  EXPECT_FALSE(IsPure(*graph.Find("a")));
  EXPECT_FALSE(IsPure(*graph.Find("p")));
  EXPECT_FALSE(IsPure(*graph.Find("e")));
}

}  // namespace
}  // namespace weir
