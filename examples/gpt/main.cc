// A small transformer that learns to turn a row of numbers round: it reads "3 1 4 |" and writes "4 1 3". Layers of
// one's own are functions that call others.
#include <cstdio>
#include <cstdlib>
#include <random>

#include "weir/weir.h"

namespace {

using namespace weir;

constexpr int64_t kDigits = 6, kLength = 2 * kDigits, kTokens = 11, kWidth = 32, kBar = 10;

// Attention and a perceptron, each added to what came in.
nn::LayerPtr Block() {
  nn::LayerPtr first = nn::LayerNorm(), attention = nn::MultiHeadAttention(4, kWidth / 4, {.causal = true});
  nn::LayerPtr second = nn::LayerNorm(), wide = nn::Dense(4 * kWidth, {.activation = "gelu"}),
               narrow = nn::Dense(kWidth);
  return nn::Function(
      [=](nn::Context& context, const Output& x) {
        Output y = x + context(attention, context(first, x));
        return y + context(narrow, context(wide, context(second, y)));
      },
      "block");
}

nn::LayerPtr Transformer() {
  nn::LayerPtr embedding = nn::Embedding(kTokens, kWidth);
  nn::LayerPtr rest = nn::Sequential({Block(), Block(), nn::LayerNorm(), nn::Dense(kTokens)});
  return nn::Function([=](nn::Context& context, const Output& tokens) {
    Output places = context.GetVariable("positions", Shape({kLength, kWidth}), init::RandomNormal());
    return context(rest, context(embedding, tokens) + places);
  });
}

// Rows "digits, bar, digits backwards" without their last token, and without their first.
nn::Batch Rows(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> from;
  std::vector<int64_t> to;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int32_t> row;
    for (int64_t k = 0; k < kDigits; ++k) row.push_back(static_cast<int32_t>(random() % 10));
    row.push_back(kBar);
    for (int64_t k = kDigits; k-- > 0;) row.push_back(row[k]);
    from.insert(from.end(), row.begin(), row.end() - 1);
    to.insert(to.end(), row.begin() + 1, row.end());
  }
  return {{Tensor::FromSpan<int32_t>(from, {count, kLength})}, Tensor::FromSpan<int64_t>(to, {count, kLength})};
}

// Only what comes after the bar can be known.
Loss AfterTheBar() {
  return [](const Scope& scope, const Output& labels, const Output& logits) {
    auto end = [&](const Output& x) {
      return x.shape().rank() == 3 ? ops::Slice(scope, x, {0, kDigits, int64_t{0}}, {-1, -1, -1})
                                   : ops::Slice(scope, x, {int64_t{0}, kDigits}, {-1, -1});
    };
    return loss::SparseCategoricalCrossentropy()(scope, end(labels), end(logits));
  };
}

Status Run(int64_t steps) {
  nn::Model model(Transformer(), {nn::InputSpec({kLength}, DType::kInt32)}, /*seed=*/1);
  WEIR_RETURN_IF_ERROR(model.Compile(
      {.optimizer = optimizer::AdamW(
           {.learning_rate = schedule::Cosine(3e-3, static_cast<double>(steps), 0, 50), .weight_decay = 0.01}),
       .loss = AfterTheBar(),
       .labels_shape = {-1, kLength}}));
  for (int64_t i = 0; i < steps; ++i) {
    WEIR_ASSIGN_OR_RETURN(nn::Logs logs, model.TrainOnBatch(Rows(64, static_cast<uint32_t>(i))));
    if (i % 50 == 0) std::printf("step %4lld: loss %.3f\n", static_cast<long long>(i), logs[0].second);
  }
  const int64_t tests = 200;
  nn::Batch batch = Rows(tests, 12345678);
  WEIR_ASSIGN_OR_RETURN(Tensor logits, model.Predict(batch.inputs[0]));
  int64_t right = 0;
  for (int64_t i = 0; i < tests; ++i) {
    bool all = true;
    for (int64_t t = kDigits; t < kLength; ++t) {
      const float* row = logits.data<float>() + (i * kLength + t) * kTokens;
      all &= std::max_element(row, row + kTokens) - row == batch.labels.data<int64_t>()[i * kLength + t];
    }
    right += all;
  }
  std::printf("%lld of %lld rows turned round without a mistake\n", static_cast<long long>(right),
              static_cast<long long>(tests));
  return OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Status status = TakeDeviceFlag(&argc, argv);
  if (status.ok()) status = Run(argc > 1 ? std::atoll(argv[1]) : 200);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
