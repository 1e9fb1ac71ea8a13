// Trains a small convolutional network to read digits, then loads it again from its checkpoint and tests that.
//
//   quickstart [--data FOLDER] [--out FOLDER] [--epochs N] [--examples N]
//
// Without --data (MNIST's four files) it draws the digits itself. It leaves behind checkpoints, a SavedModel and a
// TensorBoard log.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "examples/digits/digits.h"
#include "weir/weir.h"

namespace {

using namespace weir;

struct Options {
  std::string data;
  std::string out = "quickstart_run";
  int64_t epochs = 3;
  int64_t examples = 12000;
};

nn::LayerPtr Network() {
  return nn::Sequential({
      nn::Conv2D(12, 5, {.strides = 2, .padding = "same", .activation = "relu"}),
      nn::Conv2D(24, 3, {.strides = 2, .padding = "same", .activation = "relu"}),
      nn::Flatten(),
      nn::Dropout(0.2),
      nn::Dense(64, {.activation = "relu"}),
      nn::Dense(10),
  });
}

nn::CompileOptions HowToTrain() {
  return {.optimizer = optimizer::Adam({.learning_rate = 2e-3}),
          .loss = loss::SparseCategoricalCrossentropy(),
          .metrics = {metric::SparseCategoricalAccuracy()}};
}

StatusOr<TrainAndTest> Examples(const Options& options) {
  if (!options.data.empty()) return LoadMnist(options.data);
  TrainAndTest data;
  WEIR_ASSIGN_OR_RETURN(data.train, examples::DrawDigits(options.examples, /*seed=*/1));
  WEIR_ASSIGN_OR_RETURN(data.test, examples::DrawDigits(options.examples / 6, /*seed=*/2));
  return data;
}

Status Run(const Options& options) {
  WEIR_ASSIGN_OR_RETURN(TrainAndTest data, Examples(options));
  std::printf("%lld digits to learn from, %lld to test with.\n\n", static_cast<long long>(data.train.labels.dim(0)),
              static_cast<long long>(data.test.labels.dim(0)));

  nn::Model model(Network(), {{28, 28, 1}}, /*seed=*/1);
  WEIR_RETURN_IF_ERROR(model.Compile(HowToTrain()));
  std::printf("%s\n", model.Summary().c_str());
  WEIR_RETURN_IF_ERROR(model
                           .Fit(data.train.inputs, data.train.labels,
                                {.epochs = options.epochs,
                                 .batch_size = 64,
                                 .callbacks = {nn::callback::Checkpoint(options.out + "/checkpoints/model"),
                                               nn::callback::TensorBoard(options.out + "/log", {.every_steps = 20})}})
                           .status());

  // A new model knows nothing, until it loads what the other one has learnt.
  nn::Model restored(Network(), {{28, 28, 1}}, /*seed=*/2);
  WEIR_RETURN_IF_ERROR(restored.Compile(HowToTrain()));
  WEIR_ASSIGN_OR_RETURN(nn::Logs before, restored.Evaluate(data.test.inputs, data.test.labels));
  WEIR_RETURN_IF_ERROR(restored.Load(options.out + "/checkpoints"));
  WEIR_ASSIGN_OR_RETURN(nn::Logs after, restored.Evaluate(data.test.inputs, data.test.labels));
  std::printf("\nA new model reads %.1f%% of the test digits; with the checkpoint loaded, %.1f%%.\n",
              100 * before[1].second, 100 * after[1].second);
  WEIR_RETURN_IF_ERROR(restored.Export(options.out + "/saved_model"));
  std::printf("Checkpoints, SavedModel and log: %s. Look at it: tensorboard --logdir %s/log\n", options.out.c_str(),
              options.out.c_str());
  return OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  Status status = TakeDeviceFlag(&argc, argv);
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--data") options.data = value;
    if (flag == "--out") options.out = value;
    if (flag == "--epochs") options.epochs = std::atoll(value.c_str());
    if (flag == "--examples") options.examples = std::atoll(value.c_str());
  }
  if (status.ok()) status = Run(options);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
