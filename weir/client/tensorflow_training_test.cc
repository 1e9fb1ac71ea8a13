// Training that goes on from TensorFlow's checkpoints, slots included, and gives TensorFlow's losses.
#include <gtest/gtest.h>

#include <cmath>

#include "weir/client/nn/model.h"

namespace weir::nn {
namespace {

// k_cnn_adam and k_lstm_adagrad, the losses of 100 steps; tests/fixtures/client/training.py.
#include "tests/fixtures/client/training.inc"

constexpr int64_t kBatch = 16;

Batch BatchOf(int step, const Shape& shape) {
  Batch batch;
  batch.inputs.push_back(Tensor::Zeros(DType::kFloat, shape).value());
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    batch.inputs[0].data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i) * 0.37 + step * 1.1));
  }
  batch.labels = Tensor::Zeros(DType::kInt64, Shape({kBatch})).value();
  for (int64_t i = 0; i < kBatch; ++i) batch.labels.data<int64_t>()[i] = (7 * i + step) % 10;
  return batch;
}

void ExpectLosses(Model& model, const std::string& checkpoint, const Shape& shape, std::span<const float> expected) {
  Status loaded = model.Load(std::string(WEIR_SOURCE_DIR) + "/tests/fixtures/client/" + checkpoint);
  ASSERT_TRUE(loaded.ok()) << loaded;
  ASSERT_EQ(model.step().value(), 20);
  for (int i = 0; i < 100; ++i) {
    auto logs = model.TrainOnBatch(BatchOf(20 + i, shape));
    ASSERT_TRUE(logs.ok()) << logs.status();
    EXPECT_NEAR((*logs)[0].second, expected[i], 2e-4 * expected[i]) << "step " << i;
  }
}

TEST(TensorFlowTraining, CnnWithAdam) {
  Model model(Sequential({Conv2D(4, 3, {.padding = "same", .activation = "relu"}), MaxPool2D(), Flatten(), Dense(10)}),
              {{8, 8, 1}});
  Status compiled = model.Compile(
      {.optimizer = optimizer::Adam({.learning_rate = 0.01}), .loss = loss::SparseCategoricalCrossentropy()});
  ASSERT_TRUE(compiled.ok()) << compiled;
  ExpectLosses(model, "cnn_adam", Shape({kBatch, 8, 8, 1}), k_cnn_adam);
}

TEST(TensorFlowTraining, LstmWithAdagradAndClipping) {
  Model model(Sequential({LSTM(6), Dense(10)}), {{5, 3}});
  Status compiled = model.Compile({.optimizer = optimizer::Adagrad({.learning_rate = 0.1}),
                                   .loss = loss::SparseCategoricalCrossentropy(),
                                   .limits = {.global_norm = 0.5}});
  ASSERT_TRUE(compiled.ok()) << compiled;
  ExpectLosses(model, "lstm_adagrad", Shape({kBatch, 5, 3}), k_lstm_adagrad);
}

}  // namespace
}  // namespace weir::nn
