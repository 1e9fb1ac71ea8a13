#include "weir/passes/prune.h"

#include "weir/graph/testing.h"

namespace weir {
namespace {

using testing::Float;
using testing::FloatPlaceholder;
using testing::TestOps;

// a -> x = a + b -> y = Identity(x) ^n; z apart.
Graph Example() {
  Graph graph(TestOps());
  Status status =
      testing::Import(FloatPlaceholder("a") + FloatPlaceholder("b") + "node { name: 'n' op: 'NoOp' input: '^a' }" +
                          Float("x", "AddV2", "input: 'a' input: 'b'") +
                          Float("y", "Identity", "input: 'x' input: '^n'") + Float("z", "Identity", "input: 'b'"),
                      &graph);
  EXPECT_TRUE(status.ok()) << status;
  return graph;
}

std::vector<std::string> Names(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes()) names.push_back(node->name);
  return names;
}

TEST(PruneGraph, KeepsWhatFetchesNeed) {
  Graph pruned = PruneGraph(Example(), {.fetches = {"y:0"}}).value();
  EXPECT_EQ(Names(pruned), (std::vector<std::string>{"a", "b", "n", "x", "y", "_Retval_y_0"}));
  EXPECT_EQ(pruned.Find("_Retval_y_0")->inputs[0].node, pruned.Find("y")->id);
  EXPECT_TRUE(TopologicalOrder(pruned).ok());
}

TEST(PruneGraph, KeepsWhatTargetsNeed) {
  EXPECT_EQ(Names(PruneGraph(Example(), {.targets = {"n"}}).value()), (std::vector<std::string>{"a", "n"}));
}

TEST(PruneGraph, FedPlaceholderIsReplacedAndNotWaitedFor) {
  Graph pruned = PruneGraph(Example(), {.feeds = {"b:0", "a"}, .fetches = {"y:0"}}).value();
  EXPECT_EQ(Names(pruned), (std::vector<std::string>{"_Arg_b_0", "_Arg_a_0", "n", "x", "y", "_Retval_y_0"}));
  EXPECT_EQ(pruned.Find("x")->inputs, (std::vector<Endpoint>{{1, 0}, {0, 0}}));
  EXPECT_TRUE(pruned.Find("n")->control_inputs.empty());
  EXPECT_EQ(pruned.node(1)->Attr<int64_t>("index").value(), 1);
}

TEST(PruneGraph, FeedingAnOpCutsItsInputs) {
  Graph pruned = PruneGraph(Example(), {.feeds = {"x:0"}, .fetches = {"y:0"}}).value();
  EXPECT_EQ(Names(pruned), (std::vector<std::string>{"_Arg_x_0", "a", "n", "y", "_Retval_y_0"}));
}

TEST(PruneGraph, ControlEdgesOfAFedOpKeepIt) {
  Graph graph = Example();
  ASSERT_TRUE(testing::Import("node { name: 'after' op: 'NoOp' input: '^x' }", &graph).ok());
  Graph pruned = PruneGraph(graph, {.feeds = {"x:0"}, .targets = {"after"}}).value();
  EXPECT_NE(pruned.Find("x"), nullptr);
}

TEST(PruneGraph, ErrorsAreTensorFlows) {
  auto status = [](StepSignature signature) { return PruneGraph(Example(), signature).status(); };
  EXPECT_EQ(status({.fetches = {"zzz:0"}}), NotFound("FetchOutputs node zzz:0: not found"));
  EXPECT_EQ(status({.fetches = {"x:1"}}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status({.fetches = {"n:0"}}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status({.targets = {"zzz"}}), NotFound("PruneForTargets: Some target nodes not found: zzz "));
  EXPECT_EQ(status({.feeds = {"qq:0"}, .targets = {"n"}}), NotFound("FeedInputs: unable to find feed output qq:0"));
  EXPECT_EQ(status({}), InvalidArgument("Must specify at least one target to fetch or execute."));
  EXPECT_EQ(status({.feeds = {"a:0", "a"}, .targets = {"n"}}), InvalidArgument("Endpoint \"a\" fed more than once."));
  EXPECT_EQ(status({.feeds = {"a:0"}, .fetches = {"a:0"}}), InvalidArgument("a:0 is both fed and fetched."));
}

}  // namespace
}  // namespace weir
