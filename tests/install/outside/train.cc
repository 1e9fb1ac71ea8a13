// Trains with the installed library alone: a network that tells points above a line from those below, exported, loaded
// again.
#include <cstdio>
#include <cstdlib>

#include "weir/weir.h"

namespace {

using namespace weir;

Status Run(const std::string& folder) {
  std::vector<float> points;
  std::vector<int64_t> sides;
  for (int i = 0; i < 400; ++i) {
    const float x = static_cast<float>(i % 20) / 10 - 1, y = static_cast<float>(i / 20) / 10 - 1;
    points.insert(points.end(), {x, y});
    sides.push_back(y > 0.5f * x + 0.05f);
  }
  const Tensor inputs = Tensor::FromSpan<float>(points, {400, 2}), labels = Tensor::FromSpan<int64_t>(sides, {400});
  nn::Model model(nn::Sequential({nn::Dense(8, {.activation = "relu"}), nn::Dense(2)}), {{2}}, /*seed=*/1);
  WEIR_RETURN_IF_ERROR(model.Compile({.optimizer = optimizer::Adam({.learning_rate = 0.05}),
                                      .loss = loss::SparseCategoricalCrossentropy(),
                                      .metrics = {metric::SparseCategoricalAccuracy()}}));
  WEIR_RETURN_IF_ERROR(model.Fit(inputs, labels, {.epochs = 5}).status());
  WEIR_ASSIGN_OR_RETURN(nn::Logs logs, model.Evaluate(inputs, labels));
  if (logs[1].second < 0.95) return Internal("accuracy is only ", logs[1].second);
  WEIR_RETURN_IF_ERROR(model.Export(folder));
  WEIR_ASSIGN_OR_RETURN(auto loaded, LoadedModel::Load(folder));
  WEIR_ASSIGN_OR_RETURN(auto outputs, loaded->Run("serving_default", {{"input", inputs}}));
  WEIR_ASSIGN_OR_RETURN(Tensor predictions, model.Predict(inputs));
  for (int64_t i = 0; i < predictions.num_elements(); ++i) {
    const float difference = outputs["output"].data<float>()[i] - predictions.data<float>()[i];
    if (difference > 1e-4f || difference < -1e-4f) return Internal("the loaded model predicts something else");
  }
  return OkStatus();
}

}  // namespace

int main(int, char** argv) {
  const Status status = Run(std::string(argv[0]) + "_model");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
