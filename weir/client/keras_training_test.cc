// Training that goes on from checkpoints of Keras 3, the optimizer's state included, and gives Keras's losses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "weir/client/nn/model.h"

namespace weir::nn {
namespace {

using testing::HasSubstr;

// The losses of 20 steps: tests/fixtures/checkpoint_v2/make_keras3_training.py.
#include "tests/fixtures/checkpoint_v2/keras3_training/losses.inc"

constexpr int kStepsBefore = 5;
const std::string kFolder = WEIR_SOURCE_DIR "/tests/fixtures/checkpoint_v2/keras3_training/";

Tensor Wave(int step, int64_t width, double speed) {
  Tensor out = Tensor::Zeros(DType::kFloat, Shape({8, width})).value();
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    out.data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i) * speed + step * 1.1));
  }
  return out;
}

std::unique_ptr<Model> MakeModel(const Optimizer& optimizer) {
  auto model = std::make_unique<Model>(Sequential({Dense(3, {.activation = "tanh"}), Dense(2)}),
                                       std::vector<InputSpec>{InputSpec({4})});
  Status compiled = model->Compile({.optimizer = optimizer, .loss = loss::MeanSquaredError(), .labels = DType::kFloat});
  EXPECT_TRUE(compiled.ok()) << compiled;
  return model;
}

struct Case {
  std::string checkpoint;
  Optimizer optimizer;
  std::span<const float> losses;
};

const std::vector<Case>& Cases() {
  using namespace optimizer;
  static const auto& cases = *new std::vector<Case>{
      {"adam", Adam({.learning_rate = 0.02, .beta1 = 0.8, .epsilon = 1e-7}), k_adam},
      {"adamw", AdamW({.learning_rate = 0.02, .epsilon = 1e-7, .weight_decay = 0.05}), k_adamw},
      {"sgd", GradientDescent({.learning_rate = 0.1}), k_sgd},
      {"momentum", Momentum({.learning_rate = 0.1}), k_momentum},
      {"nesterov", Momentum({.learning_rate = 0.1, .nesterov = true}), k_nesterov},
      {"rmsprop", RMSProp({.learning_rate = 0.01, .epsilon = 1e-7}), k_rmsprop},
      {"rmsprop_momentum", RMSProp({.learning_rate = 0.01, .momentum = 0.5, .epsilon = 1e-7}), k_rmsprop_momentum},
      {"rmsprop_centered", RMSProp({.learning_rate = 0.01, .momentum = 0.5, .epsilon = 1e-7, .centered = true}),
       k_rmsprop_centered},
      {"adagrad", Adagrad({.learning_rate = 0.1}), k_adagrad},
      {"adadelta", Adadelta({.learning_rate = 1.0, .epsilon = 1e-7}), k_adadelta},
      {"adamax", Adamax({.learning_rate = 0.02, .epsilon = 1e-7}), k_adamax},
      {"ftrl", Ftrl({.learning_rate = 0.1, .l1 = 0.001, .l2 = 0.01}), k_ftrl},
      {"lamb", Lamb({.learning_rate = 0.02, .epsilon = 1e-7, .weight_decay = 0}), k_lamb},
  };
  return cases;
}

class KerasTraining : public testing::TestWithParam<int> {};

TEST_P(KerasTraining, GoesOnWithTheLossesOfKeras) {
  const Case& test = Cases()[GetParam()];
  auto model = MakeModel(test.optimizer);
  Status loaded = model->Load(kFolder + test.checkpoint);
  ASSERT_TRUE(loaded.ok()) << loaded;
  EXPECT_EQ(model->step().value(), kStepsBefore);
  for (size_t i = 0; i < test.losses.size(); ++i) {
    const int step = kStepsBefore + static_cast<int>(i);
    auto logs = model->TrainOnBatch({.inputs = {Wave(step, 4, 0.37)}, .labels = Wave(step, 2, 0.53)});
    ASSERT_TRUE(logs.ok()) << logs.status();
    EXPECT_NEAR((*logs)[0].second, test.losses[i], 1e-5 * test.losses[i]) << "step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, KerasTraining, testing::Range(0, static_cast<int>(Cases().size())),
                         [](const auto& info) { return Cases()[info.param].checkpoint; });

// Keras's Nadam is another one, but its slots mean the same.
TEST(KerasOptimizerState, NadamTakesItsSlots) {
  auto model = MakeModel(optimizer::Nadam());
  Status loaded = model->Load(kFolder + "nadam");
  EXPECT_TRUE(loaded.ok()) << loaded;
}

std::string LoadError(const std::string& checkpoint, const Optimizer& optimizer, const RestoreOptions& options = {}) {
  return std::string(MakeModel(optimizer)->Load(kFolder + checkpoint, options).message());
}

TEST(KerasOptimizerState, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(LoadError("adam", optimizer::Momentum()),
              HasSubstr("Key dense/kernel/Momentum not found in checkpoint; optimizers of Keras there: 'adam' (slots "
                        "of Adam, AdamW, Nadam, Lamb)"));
  EXPECT_THAT(LoadError("amsgrad", optimizer::Adam()), HasSubstr("'adam' is AMSGrad"));
  EXPECT_THAT(LoadError("accumulating", optimizer::Adam()), HasSubstr("accumulates gradients"));
  EXPECT_THAT(LoadError("schedule", optimizer::Momentum()), HasSubstr("a learning rate that the checkpoint does not"));
  EXPECT_THAT(LoadError("rmsprop", optimizer::RMSProp({.centered = true})), HasSubstr("RMSProp_2 not found"));
  EXPECT_THAT(LoadError("rmsprop_centered", optimizer::RMSProp()), HasSubstr("only one of the two is centered"));
}

// The weights alone, with an optimizer that begins anew.
TEST(KerasOptimizerState, MayBeLeftOut) {
  auto model = MakeModel(optimizer::Momentum());
  Status loaded = model->Load(kFolder + "adam", {.partial = true});
  EXPECT_TRUE(loaded.ok()) << loaded;
  EXPECT_EQ(model->step().value(), kStepsBefore);
}

}  // namespace
}  // namespace weir::nn
