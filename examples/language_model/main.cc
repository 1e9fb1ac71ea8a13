// An LSTM that learns to write small sentences, letter by letter, from a few hundred of them: Adagrad, with gradients
// clipped by their common norm. `language_model EPOCHS sampled` trains with a softmax over a few letters drawn at a
// time, as one would with a vocabulary too large for a full one.
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

// The same network trained with a sampled softmax: layers are called without a Model around them.
Status RunSampled(int64_t epochs) {
  const ExampleSet data = Pieces(Text(400));
  const int64_t letters = static_cast<int64_t>(kLetters.size()), units = 64;
  Scope root = Scope::NewRoot();
  SetRandomSeed(root, 1);
  Output tokens = ops::Placeholder(root.WithName("tokens"), DType::kInt32, {.shape = {-1, kLength}});
  Output next = ops::Placeholder(root.WithName("next"), DType::kInt64, {.shape = {-1, kLength}});
  nn::Context context(std::make_shared<nn::NetworkState>(nn::NetworkState{.root = root}), root, /*training=*/true);
  nn::LayerPtr network = nn::Sequential({nn::Embedding(letters, 16), nn::LSTM(units, {.return_sequences = true})});
  Output hidden = ops::Reshape(root, context(network, tokens), {int64_t{-1}, units});
  Output labels = ops::Reshape(root, next, {-1});
  Variable weights(root, "softmax/weights", Shape({letters, units}), init::GlorotUniform());
  Variable biases(root, "softmax/biases", Shape({letters}), init::Zeros());
  Output loss = Mean(root, loss::SampledSoftmax(root, weights, biases, labels, hidden, 8));
  Training training = optimizer::Adagrad({.learning_rate = 0.3}).Minimize(root, loss, {.limits = {.global_norm = 5}});
  // What it is worth against all letters.
  Output logits = ops::MatMul(root, hidden, weights.value(), {.transpose_b = true}) + biases.value();
  Output right = Mean(root, ops::Cast(root, ops::Equal(root, ops::ArgMax(root, logits, 1), labels), DType::kFloat));

  WEIR_ASSIGN_OR_RETURN(auto session, ClientSession::Create(root));
  WEIR_RETURN_IF_ERROR(session->RunTargets({InitializeVariables(root)}));
  data::Dataset batches = data::FromTensors({data.inputs, data.labels}).Shuffle(4000, {.seed = 1}).Batch(64, true);
  for (int64_t epoch = 1; epoch <= epochs; ++epoch) {
    double total = 0, accuracy = 0, count = 0;
    data::Elements elements(batches);
    for (const std::vector<Tensor>& element : elements) {
      WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> out,
                            session->Run({{tokens, element[0]}, {next, element[1]}}, {loss, right}, {training.op}));
      total += out[0].scalar<float>(), accuracy += out[1].scalar<float>(), count += 1;
    }
    WEIR_RETURN_IF_ERROR(elements.status());
    std::printf("epoch %lld: sampled loss %.3f, %.1f%% of the letters right\n", static_cast<long long>(epoch),
                total / count, 100 * accuracy / count);
  }
  return OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Status status = TakeDeviceFlag(&argc, argv);
  const int64_t epochs = argc > 1 ? std::atoll(argv[1]) : 25;
  if (status.ok()) status = argc > 2 && std::string(argv[2]) == "sampled" ? RunSampled(epochs) : Run(epochs);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
