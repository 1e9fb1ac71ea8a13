// Word vectors by skip-gram with negative sampling: words that stand in the same places get similar vectors. Gradients
// of the tables are sparse: a step touches the rows of its words only.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "weir/weir.h"

namespace {

using namespace weir;

const std::vector<std::string> kWords = {"cat", "dog", "horse", "red", "green", "blue", "eats", "sees", "hears", "the"};
constexpr int64_t kSize = 8, kBatch = 64, kNegatives = 5;

// Pairs (word, neighbour) of sentences "the <colour> <animal> <verb> <colour> <animal>".
std::vector<std::pair<int32_t, int32_t>> Pairs() {
  std::mt19937 random(1);
  std::vector<std::pair<int32_t, int32_t>> pairs;
  auto pick = [&](int first) { return static_cast<int32_t>(first + random() % 3); };
  for (int i = 0; i < 2000; ++i) {
    const int32_t sentence[] = {9, pick(3), pick(0), pick(6), pick(3), pick(0)};
    for (int a = 0; a < 6; ++a) {
      for (int b = std::max(0, a - 1); b <= std::min(5, a + 1); ++b) {
        if (a != b) pairs.emplace_back(sentence[a], sentence[b]);
      }
    }
  }
  return pairs;
}

double Cosine(const float* a, const float* b) {
  double ab = 0, aa = 0, bb = 0;
  for (int i = 0; i < kSize; ++i) ab += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
  return ab / std::sqrt(aa * bb);
}

Status Run(int64_t steps) {
  const int64_t words = static_cast<int64_t>(kWords.size());
  Scope root = Scope::NewRoot();
  SetRandomSeed(root, 1);
  Output centre = ops::Placeholder(root.WithName("centre"), DType::kInt32, {.shape = {kBatch}});
  Output near = ops::Placeholder(root.WithName("near"), DType::kInt32, {.shape = {kBatch}});
  Output far = ops::Placeholder(root.WithName("far"), DType::kInt32, {.shape = {kBatch, kNegatives}});
  Variable vectors(root, "vectors", Shape({words, kSize}), init::RandomUniform(-0.5, 0.5));
  Variable contexts(root, "contexts", Shape({words, kSize}), init::RandomUniform(-0.5, 0.5));

  Output v = ops::ResourceGather(root, vectors.handle(), centre, DType::kFloat);
  Output good = ops::ResourceGather(root, contexts.handle(), near, DType::kFloat);
  Output bad = ops::ResourceGather(root, contexts.handle(), far, DType::kFloat);
  Output good_score = ops::Sum(root, v * good, {1});
  Output bad_score = ops::Sum(root, ops::ExpandDims(root, v, 1) * bad, {2});
  Output loss = Mean(root, ops::Softplus(root, -good_score)) + Mean(root, ops::Softplus(root, bad_score)) * kNegatives;
  Training training = optimizer::Adagrad({.learning_rate = 0.3}).Minimize(root, loss);

  WEIR_ASSIGN_OR_RETURN(auto session, ClientSession::Create(root));
  WEIR_RETURN_IF_ERROR(session->RunTargets({InitializeVariables(root)}));
  const auto pairs = Pairs();
  std::mt19937 random(2);
  for (int64_t i = 0; i < steps; ++i) {
    std::vector<int32_t> a, b, c;
    for (int64_t k = 0; k < kBatch; ++k) {
      const auto& [word, neighbour] = pairs[random() % pairs.size()];
      a.push_back(word);
      b.push_back(neighbour);
      for (int64_t n = 0; n < kNegatives; ++n) c.push_back(static_cast<int32_t>(random() % words));
    }
    WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> out,
                          session->Run({{centre, Tensor::FromSpan<int32_t>(a, {kBatch})},
                                        {near, Tensor::FromSpan<int32_t>(b, {kBatch})},
                                        {far, Tensor::FromSpan<int32_t>(c, {kBatch, kNegatives})}},
                                       {loss}, {training.op}));
    if (i % 1000 == 0) std::printf("step %4lld: loss %.3f\n", static_cast<long long>(i), out[0].scalar<float>());
  }

  WEIR_ASSIGN_OR_RETURN(Tensor table, session->Evaluate(vectors));
  for (int64_t w = 0; w + 1 < words; ++w) {
    int64_t best = -1;
    for (int64_t other = 0; other < words; ++other) {
      const float* data = table.data<float>();
      if (other != w && (best < 0 || Cosine(data + w * kSize, data + other * kSize) >
                                         Cosine(data + w * kSize, data + best * kSize))) {
        best = other;
      }
    }
    std::printf("%-6s is most like %s\n", kWords[w].c_str(), kWords[best].c_str());
  }
  return OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Status status = TakeDeviceFlag(&argc, argv);
  if (status.ok()) status = Run(argc > 1 ? std::atoll(argv[1]) : 4001);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
