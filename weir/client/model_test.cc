#include "weir/client/nn/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "weir/client/differentiate.h"
#include "weir/client/export.h"
#include "weir/client/nn/callbacks.h"
#include "weir/client/operators.h"
#include "weir/client/ops/all_ops.h"
#include "weir/client/saved_model.h"
#include "weir/io/checkpoint_reader.h"
#include "weir/io/file.h"
#include "weir/tensor/npy.h"
#include "weir/testing/tensor_matchers.h"

namespace weir::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Points of three classes round three centres.
struct Points {
  Tensor inputs;
  Tensor labels;
};
Points MakePoints(int64_t count) {
  std::mt19937 random(5);
  std::vector<float> x;
  std::vector<int64_t> y;
  const float centres[3][2] = {{0, 2}, {2, -1}, {-2, -1}};
  for (int64_t i = 0; i < count; ++i) {
    y.push_back(i % 3);
    for (int j = 0; j < 2; ++j) x.push_back(centres[i % 3][j] + static_cast<float>(random() % 1000) / 1000 - 0.5f);
  }
  return {Tensor::FromSpan<float>(x, {count, 2}), Tensor::FromSpan<int64_t>(y, {count})};
}

CompileOptions Classify(Optimizer optimizer = optimizer::Adam({.learning_rate = 0.05})) {
  return {.optimizer = optimizer,
          .loss = loss::SparseCategoricalCrossentropy(),
          .metrics = {metric::SparseCategoricalAccuracy()}};
}

LayerPtr SmallNetwork() { return Sequential({Dense(8, {.activation = "relu"}), Dense(3)}); }

std::string Folder(const std::string& name) {
  const std::string folder = testing::TempDir() + "/model_test_" + name;
  std::filesystem::remove_all(folder);
  return folder;
}

TEST(Model, LearnsToTellPointsApart) {
  Points points = MakePoints(300);
  Model model(SmallNetwork(), {{2}}, /*seed=*/1);
  Status compiled = model.Compile(Classify());
  ASSERT_TRUE(compiled.ok()) << compiled;
  auto history = model.Fit(points.inputs, points.labels, {.epochs = 5, .verbosity = Verbosity::kSilent});
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_EQ(history->epochs.size(), 5u);
  EXPECT_LT(history->epochs[4][0].second, history->epochs[0][0].second);
  auto logs = model.Evaluate(points.inputs, points.labels);
  ASSERT_TRUE(logs.ok()) << logs.status();
  EXPECT_EQ((*logs)[1].first, "accuracy");
  EXPECT_GT((*logs)[1].second, 0.98);
  auto predictions = model.Predict(points.inputs, 7);
  ASSERT_TRUE(predictions.ok()) << predictions.status();
  EXPECT_EQ(predictions->shape(), Shape({300, 3}));
  EXPECT_EQ(model.Predict(points.inputs.Slice(0, 0))->shape(), Shape({0, 3}));
  EXPECT_EQ(model.step().value(), 50);
}

TEST(Model, TheSameSeedGivesTheSameModel) {
  Points points = MakePoints(64);
  std::vector<Tensor> results;
  for (int i = 0; i < 2; ++i) {
    Model model(Sequential({Dense(8, {.activation = "tanh"}), Dropout(0.5), Dense(3)}), {{2}}, /*seed=*/7);
    ASSERT_TRUE(model.Compile(Classify()).ok());
    ASSERT_TRUE(model.Fit(points.inputs, points.labels, {.epochs = 2, .verbosity = Verbosity::kSilent}).ok());
    results.push_back(model.Predict(points.inputs).value());
  }
  ExpectTensorEqual(results[0], results[1]);
}

TEST(Model, CheckpointsKeepTheOptimizerToo) {
  Points points = MakePoints(96);
  const std::string folder = Folder("checkpoints");
  const FitOptions quiet{.epochs = 1, .shuffle = false, .verbosity = Verbosity::kSilent};
  Model one(SmallNetwork(), {{2}}, 1), two(SmallNetwork(), {{2}}, 2);
  ASSERT_TRUE(one.Compile(Classify()).ok());
  ASSERT_TRUE(two.Compile(Classify()).ok());
  ASSERT_TRUE(one.Fit(points.inputs, points.labels, quiet).ok());
  auto saved = one.Save(folder + "/model");
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(*saved, folder + "/model-3");
  ASSERT_TRUE(two.Load(folder).ok());
  // Both go on alike.
  ASSERT_TRUE(one.Fit(points.inputs, points.labels, quiet).ok());
  ASSERT_TRUE(two.Fit(points.inputs, points.labels, quiet).ok());
  ExpectTensorEqual(one.Predict(points.inputs).value(), two.Predict(points.inputs).value());
  EXPECT_EQ(two.step().value(), 6);
  auto reader = CheckpointReader::Open(*saved);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE((*reader)->tensors().contains("dense_1/kernel/Adam_1"));
  EXPECT_FALSE((*reader)->tensors().contains("Adam/learning_rate"));
}

TEST(Model, ACheckpointThatDoesNotFitIsRefused) {
  const std::string folder = Folder("misfit");
  Model small(Sequential({Dense(3)}), {{2}}), large(Sequential({Dense(4)}), {{2}});
  Model other(Sequential({Dense(3, {.name = "head"})}), {{2}});
  ASSERT_TRUE(small.Save(folder + "/model").ok());
  EXPECT_EQ(large.Load(folder).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(other.Load(folder).code(), absl::StatusCode::kNotFound);
  RestoreOptions renamed{.names = {{"head/kernel", "dense/kernel"}, {"head/bias", "dense/bias"}}};
  EXPECT_TRUE(other.Load(folder, renamed).ok());
  EXPECT_TRUE(other.Load(folder, {.partial = true}).ok());
  EXPECT_EQ(small.Load(folder + "/nothing").code(), absl::StatusCode::kNotFound);
}

// What tf.train.Checkpoint wrote of a model of Keras 3, whose variables hang on the optimizer and on the layers.
TEST(Model, LoadsTheWeightsOfKeras) {
  const std::string folder = WEIR_SOURCE_DIR "/tests/fixtures/checkpoint_v2/keras3";
  Model model(Sequential({Dense(3, {.activation = "relu"}), BatchNorm(), Dense(2)}), {{4}});
  Status loaded = model.Load(folder + "/model");
  ASSERT_TRUE(loaded.ok()) << loaded;
  ExpectTensorNear(model.Predict(ReadNpy(folder + "/x.npy").value()).value(), ReadNpy(folder + "/y.npy").value());
  // By a path through the layers too; the checkpoint's own key goes through the optimizer.
  RestoreOptions by_path{.names = {{"dense/kernel", "model/_functional/_operations/1/_kernel"}}};
  EXPECT_TRUE(model.Load(folder + "/model", by_path).ok());
}

TEST(Saver, KeepsTheLastFew) {
  const std::string folder = Folder("keep");
  Scope root = Scope::NewRoot();
  Variable w(root, "w", Input(1.0f));
  auto session = ClientSession::Create(root).value();
  ASSERT_TRUE(session->RunTargets({InitializeVariables(root)}).ok());
  Saver saver(root, {.max_to_keep = 2});
  for (int64_t step : {1, 2, 3}) ASSERT_TRUE(saver.Save(*session, folder + "/m", step).ok());
  EXPECT_THAT(saver.checkpoints(), ElementsAre(folder + "/m-2", folder + "/m-3"));
  EXPECT_FALSE(IsFile(folder + "/m-1.index"));
  EXPECT_TRUE(IsFile(folder + "/m-2.index"));
  EXPECT_EQ(LatestCheckpoint(folder).value(), folder + "/m-3");
  EXPECT_EQ(
      ReadFile(folder + "/checkpoint").value(),
      "model_checkpoint_path: \"m-3\"\nall_model_checkpoint_paths: \"m-2\"\nall_model_checkpoint_paths: \"m-3\"\n");
}

TEST(Model, ExportsASavedModelThatGivesTheSamePredictions) {
  const std::string folder = Folder("export");
  Points points = MakePoints(20);
  Model model(Sequential({Dense(4), BatchNorm(), Dropout(0.5), Dense(3, {.activation = "softmax"})}), {{2}}, 1);
  ASSERT_TRUE(model.Compile({.loss = loss::SparseCategoricalCrossentropy(false)}).ok());
  ASSERT_TRUE(model.Fit(points.inputs, points.labels, {.verbosity = Verbosity::kSilent}).ok());
  Status exported = model.Export(folder);
  ASSERT_TRUE(exported.ok()) << exported;
  auto loaded = LoadedModel::Load(folder);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  auto outputs = (*loaded)->Run("serving_default", {{"input", points.inputs}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ExpectTensorEqual(outputs->at("output"), model.Predict(points.inputs).value());
  const Signature* signature = (*loaded)->FindSignature("serving_default").value();
  EXPECT_EQ(signature->outputs.at("output").shape, PartialShape({-1, 3}));
  EXPECT_FALSE(ExportSavedModel(model.session(), folder, {}).ok());
}

TEST(Model, CallbacksStopSaveAndSchedule) {
  Points points = MakePoints(60);
  const std::string folder = Folder("callbacks");
  Model model(SmallNetwork(), {{2}}, 1);
  ASSERT_TRUE(model.Compile(Classify(optimizer::GradientDescent({.learning_rate = 0}))).ok());
  FitOptions options{.epochs = 10,
                     .validation_inputs = points.inputs,
                     .validation_labels = points.labels,
                     .callbacks = {callback::Checkpoint(folder + "/model", {.best_of = "val_loss"}),
                                   callback::EarlyStopping({.monitor = "val_loss", .patience = 1}),
                                   callback::TensorBoard(folder + "/log", {.every_steps = 1, .histograms = 1}),
                                   callback::CsvLog(folder + "/log.csv"), callback::StopOnNaN()},
                     .verbosity = Verbosity::kSilent};
  auto history = model.Fit(points.inputs, points.labels, options);
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_EQ(history->epochs.size(), 3u);  // nothing is learnt at rate 0
  EXPECT_TRUE(IsFile(folder + "/model-2.index"));
  EXPECT_FALSE(IsFile(folder + "/model-4.index"));
  EXPECT_TRUE(IsFolder(folder + "/log/validation"));
  EXPECT_THAT(ReadFile(folder + "/log.csv").value(), HasSubstr("epoch,loss,accuracy,val_loss,val_accuracy\n0,"));

  FitOptions scheduled{.callbacks = {callback::LearningRateSchedule([](int64_t epoch, double) { return 0.5 + epoch; })},
                       .verbosity = Verbosity::kSilent};
  ASSERT_TRUE(model.Fit(points.inputs, points.labels, scheduled).ok());
  EXPECT_EQ(model.learning_rate().value(), 0.5);
}

// Four batches of a quarter make the update that the whole batch makes.
TEST(Model, GradientsAreAccumulatedOverBatches) {
  const Points points = MakePoints(64);
  std::vector<Tensor> weights;
  for (int64_t parts : {1, 4}) {
    Model model(SmallNetwork(), {{2}}, /*seed=*/1);
    CompileOptions options = Classify();
    options.gradient_accumulation_steps = parts;
    ASSERT_TRUE(model.Compile(options).ok());
    for (int64_t i = 0; i < 2 * parts; ++i) {
      const int64_t begin = 64 / parts * (i % parts), end = begin + 64 / parts;
      auto logs = model.TrainOnBatch({{points.inputs.Slice(begin, end)}, points.labels.Slice(begin, end)});
      ASSERT_TRUE(logs.ok()) << logs.status();
      EXPECT_EQ(model.step().value(), (i + 1) / parts);
    }
    weights.push_back(model.session().Evaluate(model.variables()[0]).value());
  }
  ExpectTensorNear(weights[1], weights[0], 1e-5, 1e-5);
}

TEST(Model, TrainsInLowerPrecision) {
  const Points points = MakePoints(300);
  std::map<std::string, double> losses;
  for (const char* precision : {"float32", "bfloat16", "float16"}) {
    Model model(SmallNetwork(), {{2}}, /*seed=*/1);
    const Tensor before = model.Predict(points.inputs).value();
    CompileOptions options = Classify();
    options.precision = precision;
    ASSERT_TRUE(model.Compile(options).ok());
    // Variables stay what they were.
    ExpectTensorNear(model.Predict(points.inputs).value(), before, 0.05, 0.02);
    FitOptions fit;
    fit.epochs = 3;
    fit.verbosity = Verbosity::kSilent;
    ASSERT_TRUE(model.Fit(points.inputs, points.labels, fit).ok());
    const Logs logs = model.Evaluate(points.inputs, points.labels).value();
    losses[precision] = logs[0].second;
    EXPECT_GT(logs[1].second, 0.95);
  }
  EXPECT_NE(losses["bfloat16"], losses["float32"]);
  EXPECT_NEAR(losses["bfloat16"], losses["float32"], 0.02);
  EXPECT_NEAR(losses["float16"], losses["float32"], 0.02);
}

TEST(Model, MistakesAreNamed) {
  Points points = MakePoints(6);
  Model model(SmallNetwork(), {{2}});
  EXPECT_EQ(model.Fit(points.inputs, points.labels).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(model.Compile({}).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(model.Compile(Classify()).ok());
  EXPECT_EQ(model.Compile(Classify()).code(), absl::StatusCode::kFailedPrecondition);
  FitOptions quiet{.verbosity = Verbosity::kSilent};
  EXPECT_THAT(Message(model.Fit(points.labels, points.labels, quiet).status()),
              HasSubstr("'input' of the model is float"));
  EXPECT_FALSE(model.Fit(points.inputs, points.labels.Slice(0, 2), quiet).ok());
  EXPECT_FALSE(model.Fit(Tensor::Scalar(1.0f), points.labels, quiet).ok());
  EXPECT_FALSE(model.Fit(points.inputs, points.labels, {.batch_size = 0, .verbosity = Verbosity::kSilent}).ok());
  quiet.callbacks = {callback::EarlyStopping()};
  EXPECT_THAT(Message(model.Fit(points.inputs, points.labels, quiet).status()), HasSubstr("they have: loss, accuracy"));

  Model wrong(Sequential({Conv2D(3, 3)}), {{2}});
  EXPECT_THAT(Message(wrong.Compile(Classify())), HasSubstr("Conv2D takes a tensor of 4 dimensions, not [?,2]"));
  Model unknown(Sequential({Dense(3, {.activation = "rleu"})}), {{2}});
  EXPECT_THAT(Message(unknown.Compile(Classify())), HasSubstr("no activation 'rleu'"));
}

TEST(Model, SummaryCountsParameters) {
  Model model(Sequential({Conv2D(4, 3, {.padding = "same"}), BatchNorm(), MaxPool2D(), Flatten(), Dense(10)}),
              {{8, 8, 3}});
  const std::string summary = model.Summary();
  EXPECT_THAT(summary, HasSubstr("conv2d (Conv2D)"));
  EXPECT_THAT(summary, HasSubstr("[?,4,4,4]"));
  EXPECT_THAT(summary, HasSubstr("778 parameters, 770 of them trained"));
}

TEST(ProgressBar, Lines) {
  const Logs logs = {{"loss", 0.25}};
  ProgressBar bar(stdout, "epoch 1/2", 100, true);
  EXPECT_EQ(bar.Line(50, logs, absl::Seconds(10), false),
            "epoch 1/2  [============>...........]  50/100  5 steps/s  ETA 0:10  loss 0.2500");
  EXPECT_EQ(bar.Line(100, logs, absl::Seconds(20), true),
            "epoch 1/2  [========================] 100/100  20.0 s, 5 steps/s  loss 0.2500");
  ProgressBar plain(stdout, "epoch 1/2", -1, false);
  EXPECT_EQ(plain.Line(7, {}, absl::Seconds(2), true), "epoch 1/2  7 steps  2.0 s, 4 steps/s");
  EXPECT_EQ(FormatSeconds(absl::Seconds(3725)), "1:02:05");
}

// A layer of a program's own, called twice in a network that is a function.
class Scale : public Layer {
 public:
  Scale() : Layer("scale") {}
  Output Call(Context& context, const std::vector<Output>& x) const override {
    return x[0] * context.GetVariable("factor", Shape(), init::Value(3)).value();
  }
};

TEST(Layers, OfOnesOwnShareTheirVariables) {
  LayerPtr scale = std::make_shared<Scale>();
  LayerPtr net = Function([=](Context& context, const Output& x) { return context(scale, context(scale, x)) + x; });
  Model model(net, {{2}});
  ASSERT_EQ(model.variables().size(), 1u);
  EXPECT_EQ(model.variables()[0].name(), "scale/factor");
  ExpectTensorEqual(model.Predict(Tensor::FromSpan<float>(std::vector<float>{1, 2}, {1, 2})).value(),
                    Tensor::FromSpan<float>(std::vector<float>{10, 20}, {1, 2}));
}

struct LayerCase {
  const char* name;
  LayerPtr network;
  std::vector<int64_t> input;
  Shape output;  // of a batch of 3
};

// Every layer can be called, and trains: a step makes the loss smaller.
TEST(Layers, ShapesAndTraining) {
  auto head = [](LayerPtr layer) { return layer; };
  const LayerCase cases[] = {
      {"conv1d", head(Conv1D(4, 3, {.strides = 2, .padding = "same"})), {8, 2}, {3, 4, 4}},
      {"conv2d", head(Conv2D(4, {3, 5}, {.activation = "relu"})), {8, 8, 2}, {3, 6, 4, 4}},
      {"depthwise", head(DepthwiseConv2D(3, 2, {.padding = "same"})), {6, 6, 2}, {3, 6, 6, 4}},
      {"transposed", head(Conv2DTranspose(2, 3, {.strides = 2, .padding = "same"})), {4, 4, 3}, {3, 8, 8, 2}},
      {"pools", Sequential({Dense(2), MaxPool2D(), AveragePool2D(2, {.strides = 1})}), {8, 8, 2}, {3, 3, 3, 2}},
      {"pools1d", Sequential({Dense(2), MaxPool1D(), AveragePool1D()}), {8, 2}, {3, 2, 2}},
      {"global_max", Sequential({Dense(4), GlobalMaxPool()}), {5, 2}, {3, 4}},
      {"batch_norm", Sequential({Conv2D(3, 3), BatchNorm(), GlobalAveragePool()}), {6, 6, 1}, {3, 3}},
      {"batch_norm_flat", Sequential({Dense(4), BatchNorm(), Dense(2)}), {3}, {3, 2}},
      {"layer_norm", Sequential({Dense(4), LayerNorm(), Dense(2)}), {3}, {3, 2}},
      {"group_norm", Sequential({Conv2D(4, 3), GroupNorm(2), Flatten(), Dense(2)}), {5, 5, 1}, {3, 2}},
      {"reshape", Sequential({Dense(6), Reshape({3, 2}), Flatten()}), {4}, {3, 6}},
      {"pad", Sequential({ZeroPadding2D(1), Conv2D(2, 3)}), {4, 4, 1}, {3, 4, 4, 2}},
      {"lstm", Sequential({LSTM(5), Dense(2)}), {4, 3}, {3, 2}},
      {"lstm_sequence", head(LSTM(5, {.return_sequences = true})), {4, 3}, {3, 4, 5}},
      {"gru", Sequential({GRU(5), Dense(2)}), {4, 3}, {3, 2}},
      {"rnn", Sequential({SimpleRNN(5), Dense(2)}), {4, 3}, {3, 2}},
      {"bidirectional",
       Bidirectional([](bool back) { return LSTM(3, {.return_sequences = true, .go_backwards = back}); }, true),
       {4, 2},
       {3, 4, 6}},
      {"attention", Sequential({MultiHeadAttention(2, 4, {.causal = true}), LayerNorm()}), {5, 6}, {3, 5, 6}},
  };
  for (const LayerCase& c : cases) {
    InputSpec spec({});
    spec.sizes = c.input;
    Model model(c.network, {spec}, /*seed=*/3);
    Status compiled = model.Compile({.optimizer = optimizer::Adam({.learning_rate = 1e-2}),
                                     .loss = loss::MeanSquaredError(),
                                     .labels = DType::kFloat});
    ASSERT_TRUE(compiled.ok()) << c.name << ": " << compiled;
    std::vector<int64_t> dims = c.input;
    dims.insert(dims.begin(), 3);
    Shape shape = Shape::Make(dims).value();
    std::vector<float> x(shape.num_elements());
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i) * 1.7f);
    Batch batch{{Tensor::FromSpan<float>(x, shape)}, Tensor::Zeros(DType::kFloat, c.output).value()};
    for (int64_t i = 0; i < c.output.num_elements(); ++i)
      batch.labels.data<float>()[i] = std::cos(static_cast<float>(i));
    auto predictions = model.Predict(batch.inputs[0]);
    ASSERT_TRUE(predictions.ok()) << c.name << ": " << predictions.status();
    EXPECT_EQ(predictions->shape(), c.output) << c.name;
    auto first = model.TrainOnBatch(batch);
    ASSERT_TRUE(first.ok()) << c.name << ": " << first.status();
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(model.TrainOnBatch(batch).ok());
    auto last = model.TrainOnBatch(batch);
    EXPECT_LT((*last)[0].second, (*first)[0].second) << c.name;
  }
}

TEST(Layers, Conv3DCountsItsWindows) {
  Model model(Conv3D(2, 2), {{4, 4, 4, 1}});
  auto predictions = model.Predict(Tensor::Zeros(DType::kFloat, {3, 4, 4, 4, 1}).value());
  ASSERT_TRUE(predictions.ok()) << predictions.status();
  EXPECT_EQ(predictions->shape(), Shape({3, 3, 3, 3, 2}));
}

TEST(Layers, EmbeddingsTrainSparsely) {
  Model model(Sequential({Embedding(10, 4), Flatten(), Dense(2)}), {InputSpec({3}, DType::kInt32)}, 1);
  ASSERT_TRUE(model.Compile(Classify(optimizer::Adagrad({.learning_rate = 0.5}))).ok());
  Batch batch{{Tensor::FromSpan<int32_t>(std::vector<int32_t>{1, 2, 3, 4, 5, 5}, {2, 3})},
              Tensor::Vector<int64_t>({0, 1})};
  const Variable table = model.variables()[0];
  Tensor before = model.session().Evaluate(table).value().Clone().value();
  auto first = model.TrainOnBatch(batch);
  ASSERT_TRUE(first.ok()) << first.status();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(model.TrainOnBatch(batch).ok());
  EXPECT_LT((*model.TrainOnBatch(batch))[0].second, (*first)[0].second);
  Tensor after = model.session().Evaluate(table).value();
  ExpectTensorEqual(after.Slice(6, 10), before.Slice(6, 10));
}

// Sequences of unknown length go through a loop: the same numbers and gradients as step by step.
TEST(Recurrent, LoopsGiveWhatStepsGive) {
  using Make = std::function<LayerPtr(const RecurrentOptions&)>;
  const std::vector<Make> layers = {[](const RecurrentOptions& o) { return LSTM(3, o); },
                                    [](const RecurrentOptions& o) { return GRU(3, o); },
                                    [](const RecurrentOptions& o) { return SimpleRNN(3, o); }};
  for (size_t i = 0; i < layers.size(); ++i) {
    for (bool sequences : {false, true}) {
      for (bool backwards : {false, true}) {
        std::vector<Tensor> results;
        for (int64_t unroll : {64, 0}) {
          Scope root = Scope::NewRoot();
          SetRandomSeed(root, 5);
          Output x = ops::Placeholder(root, DType::kFloat, {.shape = {-1, unroll == 0 ? -1 : 4, 2}});
          Context context(std::make_shared<NetworkState>(NetworkState{.root = root}), root, true);
          Output y =
              context(layers[i]({.return_sequences = sequences, .go_backwards = backwards, .unroll_up_to = unroll}), x);
          std::vector<Output> fetches = {y};
          for (const GradientOutput& g :
               GradientsOf(root, std::vector<Output>{ops::Square(root, y)}, TrainableVariables(root))) {
            fetches.push_back(g.ToDense(root));
          }
          auto session = ClientSession::Create(root).value();
          ASSERT_TRUE(session->RunTargets({InitializeVariables(root)}).ok()) << root.status();
          Tensor input = Tensor::Zeros(DType::kFloat, Shape({2, 4, 2})).value();
          for (int64_t k = 0; k < 16; ++k) input.data<float>()[k] = std::sin(0.7f * static_cast<float>(k));
          StatusOr<std::vector<Tensor>> out = session->Run({{x, input}}, fetches);
          ASSERT_TRUE(out.ok()) << out.status();
          if (results.empty()) {
            results = *std::move(out);
            continue;
          }
          ASSERT_EQ(out->size(), results.size());
          for (size_t k = 0; k < results.size(); ++k) ExpectTensorNear((*out)[k], results[k], 1e-4, 1e-5);
        }
      }
    }
  }
}

}  // namespace
}  // namespace weir::nn
