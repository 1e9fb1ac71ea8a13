#include "benchmarks/models/fit.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "examples/digits/digits.h"
#include "weir/client/client_session.h"
#include "weir/client/initializers.h"
#include "weir/client/nn/callbacks.h"
#include "weir/client/nn/model.h"
#include "weir/client/ops/array_ops.h"

namespace weir::bench {
namespace {

constexpr int64_t kFitBatch = 64, kSteps = 100;

nn::LayerPtr Cnn() {
  return nn::Sequential({nn::Conv2D(32, 5, {.padding = "same", .activation = "relu"}), nn::MaxPool2D(),
                         nn::Conv2D(64, 5, {.padding = "same", .activation = "relu"}), nn::MaxPool2D(), nn::Flatten(),
                         nn::Dense(1024, {.activation = "relu"}), nn::Dense(10)});
}

// The same network, loss and update, without a Model around them.
struct BareLoop {
  Scope root = Scope::NewRoot();
  std::unique_ptr<ClientSession> session;
  Session::Callable step = 0;

  Status Build() {
    SetRandomSeed(root, 1);
    Output images = ops::Placeholder(root, DType::kFloat, {.shape = {-1, 28, 28, 1}});
    Output labels = ops::Placeholder(root, DType::kInt64, {.shape = {-1}});
    nn::Context context(std::make_shared<nn::NetworkState>(nn::NetworkState{.root = root}), root, /*training=*/true);
    Output logits = context(Cnn(), images);
    Output loss = loss::SparseCategoricalCrossentropy()(root, labels, logits);
    Output right = metric::SparseCategoricalAccuracy().sums(root, labels, logits);
    Training training = optimizer::Adam().Minimize(root, loss);
    WEIR_ASSIGN_OR_RETURN(session, ClientSession::Create(root));
    WEIR_RETURN_IF_ERROR(session->RunTargets({InitializeVariables(root)}));
    WEIR_ASSIGN_OR_RETURN(step, session->Prepare({images, labels}, {loss, right}, {training.op}));
    return OkStatus();
  }
};

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

}  // namespace

Status MeasureFit(int rounds) {
  WEIR_ASSIGN_OR_RETURN(ExampleSet digits, examples::DrawDigits(kFitBatch * kSteps, 1));
  WEIR_ASSIGN_OR_RETURN(auto batches, nn::TensorBatches({digits.inputs}, digits.labels, {.batch_size = kFitBatch}));
  BareLoop bare;
  WEIR_RETURN_IF_ERROR(bare.Build());
  nn::Model model(Cnn(), {{28, 28, 1}}, 1);
  WEIR_RETURN_IF_ERROR(
      model.Compile({.loss = loss::SparseCategoricalCrossentropy(), .metrics = {metric::SparseCategoricalAccuracy()}}));
  const std::string folder = (std::filesystem::temp_directory_path() / "weir_bench_fit").string();
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::fopen("/dev/null", "w"), std::fclose);
  double best_bare = 1e30, best_fit = 1e30;
  for (int round = 0; round <= rounds; ++round) {
    auto start = std::chrono::steady_clock::now();
    WEIR_RETURN_IF_ERROR(batches->Start(0));
    nn::Batch batch;
    std::vector<Tensor> outputs;
    while (true) {
      WEIR_ASSIGN_OR_RETURN(bool more, batches->Next(&batch));
      if (!more) break;
      const Tensor feeds[] = {batch.inputs[0], batch.labels};
      WEIR_RETURN_IF_ERROR(bare.session->RunPrepared(bare.step, feeds, &outputs));
    }
    const double bare_time = Seconds(start) / kSteps;
    start = std::chrono::steady_clock::now();
    WEIR_RETURN_IF_ERROR(
        model
            .Fit(*batches, {.epochs = 1,
                            .callbacks = {nn::callback::TensorBoard(folder, {.every_steps = 10, .graph = false}),
                                          nn::callback::StopOnNaN()},
                            .out = out.get()})
            .status());
    const double fit_time = Seconds(start) / kSteps;
    if (round == 0) continue;  // everything that is made once
    best_bare = std::min(best_bare, bare_time);
    best_fit = std::min(best_fit, fit_time);
  }
  std::filesystem::remove_all(folder);
  std::printf("MNIST CNN, batch %lld: bare loop %.3f ms a step, Model::Fit %.3f ms, ratio %.3f\n",
              static_cast<long long>(kFitBatch), best_bare * 1e3, best_fit * 1e3, best_fit / best_bare);
  return OkStatus();
}

}  // namespace weir::bench
