// Every graph of the corpus and many mutations of it, imported and run: no crash, no hang, no unbounded memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/fuzz/graph_def_cases.h"

namespace weir {
namespace {

constexpr int kMutationsPerGraph = 120;

std::vector<std::string> Corpus() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(WEIR_SOURCE_DIR "/tests/fuzz/corpus/graph_def")) {
    names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string Read(const std::string& name) {
  std::ifstream file(WEIR_SOURCE_DIR "/tests/fuzz/corpus/graph_def/" + name + ".pb", std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

class GraphDefCorpus : public testing::TestWithParam<std::string> {};

TEST_P(GraphDefCorpus, ImportsAndRuns) { EXPECT_EQ(ImportAndRun(Read(GetParam())), OkStatus()); }

TEST_P(GraphDefCorpus, SurvivesMutations) {
  const std::string original = Read(GetParam());
  std::mt19937 random(20220623);
  std::string bytes = original;
  for (int i = 0; i < kMutationsPerGraph; ++i) {
    // A few changes pile up, then it begins anew.
    bytes = Mutate(i % 4 == 0 ? original : bytes, random);
    SCOPED_TRACE(i);
    EXPECT_NE(ImportAndRun(bytes).code(), absl::StatusCode::kInternal);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GraphDefCorpus, testing::ValuesIn(Corpus()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace weir
