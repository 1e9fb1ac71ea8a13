// An LSTM that learns to write small sentences, letter by letter, from a few hundred of them: Adagrad, with gradients
// clipped by their common norm.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "weir/weir.h"

namespace {

using namespace weir;

constexpr int64_t kLength = 24;
const std::string kLetters = "\n abcdefghijklmnopqrstuvwxyz.";

// "the small dog sees a green bird."
std::string Text(int sentences) {
  const char* articles[] = {"the", "a"};
  const char* adjectives[] = {"small", "green", "old"};
  const char* nouns[] = {"dog", "bird", "river", "house"};
  const char* verbs[] = {"sees", "likes", "finds"};
  std::mt19937 random(1);
  auto pick = [&](const auto& words) { return std::string(words[random() % std::size(words)]); };
  std::string text;
  for (int i = 0; i < sentences; ++i) {
    text += pick(articles) + " " + pick(adjectives) + " " + pick(nouns) + " " + pick(verbs) + " " + pick(articles) +
            " " + pick(nouns) + ".\n";
  }
  return text;
}

// Pieces of the text, and the same pieces one letter later.
ExampleSet Pieces(const std::string& text) {
  std::vector<int32_t> from;
  std::vector<int64_t> to;
  int64_t count = 0;
  for (size_t begin = 0; begin + kLength < text.size(); begin += 5, ++count) {
    for (int64_t i = 0; i < kLength; ++i) {
      from.push_back(static_cast<int32_t>(kLetters.find(text[begin + i])));
      to.push_back(static_cast<int64_t>(kLetters.find(text[begin + i + 1])));
    }
  }
  return {Tensor::FromSpan<int32_t>(from, {count, kLength}), Tensor::FromSpan<int64_t>(to, {count, kLength})};
}

// Goes on from a beginning with the likeliest letter each time.
StatusOr<std::string> Write(nn::Model& model, std::string text, int letters) {
  for (int n = 0; n < letters; ++n) {
    std::vector<int32_t> window(kLength, 0);
    const int64_t used = std::min<int64_t>(kLength, static_cast<int64_t>(text.size()));
    for (int64_t i = 0; i < used; ++i) {
      window[i] = static_cast<int32_t>(kLetters.find(text[text.size() - used + i]));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor logits, model.Predict(Tensor::FromSpan<int32_t>(window, {1, kLength})));
    const float* row = logits.data<float>() + (used - 1) * static_cast<int64_t>(kLetters.size());
    text += kLetters[std::max_element(row, row + kLetters.size()) - row];
    if (text.back() == '\n') break;
  }
  return text;
}

Status Run(int64_t epochs) {
  const ExampleSet data = Pieces(Text(400));
  const int64_t letters = static_cast<int64_t>(kLetters.size());
  nn::Model model(
      nn::Sequential({nn::Embedding(letters, 16), nn::LSTM(64, {.return_sequences = true}), nn::Dense(letters)}),
      {nn::InputSpec({kLength}, DType::kInt32)}, /*seed=*/1);
  WEIR_RETURN_IF_ERROR(model.Compile({.optimizer = optimizer::Adagrad({.learning_rate = 0.3}),
                                      .loss = loss::SparseCategoricalCrossentropy(),
                                      .metrics = {metric::SparseCategoricalAccuracy()},
                                      .limits = {.global_norm = 5}}));
  WEIR_RETURN_IF_ERROR(model.Fit(data.inputs, data.labels, {.epochs = epochs, .batch_size = 64}).status());
  WEIR_ASSIGN_OR_RETURN(std::string text, Write(model, "the ", 40));
  std::printf("It writes: %s", text.c_str());
  return OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const Status status = Run(argc > 1 ? std::atoll(argv[1]) : 25);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
