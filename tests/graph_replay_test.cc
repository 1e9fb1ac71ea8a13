// Replays graphs that TensorFlow wrote, with the results it computed. A graph whose kernels are not all there stands in
// fixtures/graphs_waiting.txt; once it can run it must leave that list.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/fixture_tensors.h"
#include "weir/client/environment.h"
#include "weir/runtime/session.h"

namespace weir {
namespace {

const char kFolder[] = WEIR_SOURCE_DIR "/tests/fixtures/graphs";

std::vector<std::string> AllGraphs() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end());
  return out;
}

std::set<std::string> WaitingGraphs() {
  std::set<std::string> out;
  std::ifstream file(WEIR_SOURCE_DIR "/tests/fixtures/graphs_waiting.txt");
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') out.insert(line);
  }
  return out;
}

std::vector<std::string> ReadyGraphs() {
  std::set<std::string> waiting = WaitingGraphs();
  std::vector<std::string> out;
  for (const std::string& name : AllGraphs()) {
    if (!waiting.contains(name)) out.push_back(name);
  }
  return out;
}

class Replay {
 public:
  explicit Replay(const std::string& name)
      : folder_(Cat(kFolder, "/", name)), io_(nlohmann::json::parse(ReadFixture(folder_ + "/io.json"))) {
    tolerance_ = {io_["tolerance"]["relative"].get<double>(), io_["tolerance"]["absolute"].get<double>()};
  }

  // The first thing that is not as it should be.
  Status Run(const RewriteOptions& rewrites) {
    EnvironmentOptions environment;
    environment.num_cpu_devices = io_["devices"]["CPU"].get<int>();
    WEIR_ASSIGN_OR_RETURN(auto shared, MakeEnvironment(environment));
    SessionOptions options;
    options.rewrites = rewrites;
    WEIR_ASSIGN_OR_RETURN(session_, Session::Create(shared, options));
    WEIR_RETURN_IF_ERROR(session_->ExtendBytes(ReadFixture(folder_ + "/graph.pb")));
    int number = 0;
    for (const auto& call : io_["calls"]) {
      WEIR_RETURN_IF_ERROR(Annotate(Call(call), Cat("call ", number++, ": ")));
    }
    return OkStatus();
  }

 private:
  static std::vector<std::string> Names(const nlohmann::json& json) {
    std::vector<std::string> out;
    if (json.is_array()) return json.get<std::vector<std::string>>();
    for (const auto& [name, value] : json.items()) out.push_back(name);
    return out;
  }

  Status Call(const nlohmann::json& call) {
    if (call.contains("partial_run_setup")) {
      const auto& setup = call["partial_run_setup"];
      WEIR_ASSIGN_OR_RETURN(partial_, session_->PartialRunSetup(Names(setup["feeds"]), Names(setup["fetches"]), {}));
      return OkStatus();
    }
    std::vector<Feed> feeds;
    for (const auto& [name, value] : call["feeds"].items()) {
      WEIR_ASSIGN_OR_RETURN(Tensor tensor, TensorFromJson(value, folder_));
      feeds.emplace_back(name, std::move(tensor));
    }
    std::vector<std::string> fetches = Names(call["fetches"]);
    std::vector<Tensor> outputs;
    bool partial = call.value("partial_run", false);
    Status status = partial ? session_->PartialRun(partial_, feeds, fetches, &outputs)
                            : session_->Run(feeds, fetches, Names(call["targets"]), &outputs);
    if (call.contains("error")) {
      std::string code = absl::StatusCodeToString(status.code());
      if (code == call["error"].get<std::string>()) return OkStatus();
      return Unknown("should have failed with ", call["error"].get<std::string>(), ", but: ", status.ToString());
    }
    WEIR_RETURN_IF_ERROR(status);
    for (size_t i = 0; i < fetches.size(); ++i) {
      WEIR_ASSIGN_OR_RETURN(Tensor want, TensorFromJson(call["fetches"][fetches[i]], folder_));
      std::string difference = Difference(outputs[i], want, tolerance_);
      if (!difference.empty()) return Unknown(fetches[i], ": ", difference);
    }
    return OkStatus();
  }

  const std::string folder_;
  const nlohmann::json io_;
  Tolerance tolerance_;
  std::unique_ptr<Session> session_;
  std::string partial_;
};

class GraphReplay : public testing::TestWithParam<std::string> {};

TEST_P(GraphReplay, GivesTensorFlowsResultsAsWritten) {
  RewriteOptions rewrites;
  rewrites.disable_all = true;
  EXPECT_EQ(Replay(GetParam()).Run(rewrites), OkStatus());
}

TEST_P(GraphReplay, GivesTensorFlowsResultsRewritten) { EXPECT_EQ(Replay(GetParam()).Run({}), OkStatus()); }

INSTANTIATE_TEST_SUITE_P(Graphs, GraphReplay, testing::ValuesIn(ReadyGraphs()),
                         [](const auto& info) { return info.param; });

TEST(GraphsWaiting, CannotRunYet) {
  for (const std::string& name : WaitingGraphs()) {
    EXPECT_FALSE(Replay(name).Run({}).ok()) << name << " runs now: take it off graphs_waiting.txt";
  }
}

}  // namespace
}  // namespace weir
