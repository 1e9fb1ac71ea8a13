#include "benchmarks/models/models.h"

#include <numeric>

#include "benchmarks/models/networks.h"
#include "benchmarks/models/training.h"

namespace weir::bench {
namespace {

using LossFunction = Value (*)(Net&, Value logits, Value labels);

struct Model {
  ModelWorkload workload;
  Network forward;
  std::vector<int64_t> input;
  int64_t classes = 0;  // or words
  bool has_words = false;
  int64_t labels = 0;  // 0: inference
  Optimizer optimizer = {};
  LossFunction loss = &MeanCrossEntropy;
};

using Kind = Optimizer::Kind;
const std::vector<Model>& Models() {
  static const auto* models = new std::vector<Model>{
      {{"mnist_cnn_train", "train", "two convolutions and a dense layer, Adam, batch 64"},
       &MnistCnn,
       {64, 28, 28, 1},
       10,
       false,
       64,
       {Kind::kAdam, 1e-4f}},
      {{"mlp_train", "train", "784-256-128-10, SGD, batch 100"},
       &Mlp,
       {100, 784},
       10,
       false,
       100,
       {Kind::kDescent, 0.01f}},
      {{"resnet20_train", "train", "CIFAR ResNet-20, momentum, batch 32"},
       &ResNet20,
       {32, 32, 32, 3},
       10,
       false,
       32,
       {Kind::kMomentum, 0.01f}},
      {{"lstm_lm_train", "train", "LSTM language model of 10,000 words, 20 steps, batch 20"},
       &LstmLanguageModel,
       {20, 20},
       10'000,
       true,
       400,
       {Kind::kDescent, 0.1f, 5}},
      {{"lstm_sampled_train", "train", "the same with sampled softmax of 512 candidates"},
       &LstmSampled,
       {20, 20},
       10'000,
       true,
       400,
       {Kind::kDescent, 0.1f, 5},
       &MeanSampledSoftmax},
      {{"transformer_train", "train", "causal decoder, 4 layers of width 128, sequence 128, batch 8, Adam"},
       &SmallTransformer,
       {8, 128},
       1000,
       true,
       1024,
       {Kind::kAdam, 1e-4f}},
      {{"wide_train", "train", "26 lookups in a table of 1,000,000 rows, logistic loss, sparse SGD, batch 1024"},
       &Wide,
       {1024, 26},
       1'000'000,
       true,
       1024,
       {Kind::kDescent, 0.01f},
       &MeanLogisticLoss},
      {{"resnet50_infer_b1", "infer", "ResNet-50, batch 1"}, &ResNet50, {1, 224, 224, 3}, 1000},
      {{"resnet50_infer_b8", "infer", "ResNet-50, batch 8"}, &ResNet50, {8, 224, 224, 3}, 1000},
      {{"alexnet_infer_b16", "infer", "AlexNet, batch 16"}, &AlexNet, {16, 224, 224, 3}, 1000},
      {{"mnist_cnn_infer_b1", "infer", "the network of mnist_cnn_train, batch 1"}, &MnistCnn, {1, 28, 28, 1}, 10},
      {{"gpt_infer_b1", "infer", "12 layers of width 768, 50,304 words, 128 tokens"}, &GptLike, {1, 128}, 50'304, true},
  };
  return *models;
}

const Model* FindModel(std::string_view name) {
  for (const Model& model : Models()) {
    if (model.workload.name == name) return &model;
  }
  return nullptr;
}

std::vector<Tensor> MakeBatch(const Model& model, NumpyRandom& random) {
  const Shape shape = Shape::Make(model.input).value();
  std::vector<Tensor> batch;
  batch.push_back(model.has_words ? UniformInts(shape, model.classes, random) : NormalTensor(shape, 1, random));
  if (model.labels == 0) return batch;
  const bool is_logistic = model.loss == &MeanLogisticLoss;
  Tensor labels = UniformInts({model.labels}, is_logistic ? 2 : model.classes, random);
  if (is_logistic) {
    Tensor floats = Tensor::Zeros(DType::kFloat, labels.shape()).value();
    for (int64_t i = 0; i < labels.num_elements(); ++i) {
      floats.data<float>()[i] = static_cast<float>(labels.data<int32_t>()[i]);
    }
    labels = floats;
  }
  batch.push_back(std::move(labels));
  return batch;
}

Value Placeholder(Net& net, const Tensor& like) {
  return net.emitter().Op("Placeholder", {}, {{"dtype", like.dtype()}, {"shape", like.shape()}});
}

class Runner final : public ModelRunner {
 public:
  static StatusOr<std::unique_ptr<ModelRunner>> Make(std::shared_ptr<Environment> environment, const Model& model);
  Status Run() override;
  StatusOr<double> RunAndSum() override;
  StatusOr<StepReport> RunTraced() override;

 private:
  std::unique_ptr<Session> session_;
  Session::CallableSpec spec_;
  Session::Callable callable_ = 0;
  std::vector<std::vector<Tensor>> batches_;
  size_t next_ = 0;
  std::vector<Tensor> outputs_;
};

StatusOr<std::unique_ptr<ModelRunner>> Runner::Make(std::shared_ptr<Environment> environment, const Model& model) {
  auto runner = std::make_unique<Runner>();
  NumpyRandom random(2);
  for (int i = 0; i < 4; ++i) runner->batches_.push_back(MakeBatch(model, random));
  const std::vector<Tensor>& batch = runner->batches_[0];

  Graph graph(environment->ops);
  GraphShapes shapes(graph);
  GraphEmitter emitter(graph, shapes);
  const bool is_training = model.labels > 0;
  Net net(emitter, is_training);
  std::vector<Endpoint> feeds;
  Value x = Placeholder(net, batch[0]);
  feeds.push_back(emitter.ToEndpoint(x));
  Value out = model.forward(net, x);
  std::vector<NodeId> effects;
  InitialValues initial;
  if (is_training) {
    Value labels = Placeholder(net, batch[1]);
    feeds.push_back(emitter.ToEndpoint(labels));
    out = model.loss(net, out, labels);
    WEIR_RETURN_IF_ERROR(emitter.status());
    WEIR_ASSIGN_OR_RETURN(effects, AddTraining(net, out, model.optimizer));
    WEIR_ASSIGN_OR_RETURN(initial, AddInitialisers(net));
  }
  WEIR_RETURN_IF_ERROR(emitter.status());

  Session::CallableSpec& spec = runner->spec_;
  for (Endpoint feed : feeds) spec.feeds.push_back(Cat(graph.node(feed.node)->name, ":0"));
  const Endpoint fetch = emitter.ToEndpoint(out);
  spec.fetches.push_back(Cat(graph.node(fetch.node)->name, ":", fetch.index));
  for (NodeId id : effects) spec.targets.push_back(graph.node(id)->name);
  SessionOptions options;
  options.isolate_state = true;  // two models of one process have variables of the same names
  WEIR_ASSIGN_OR_RETURN(runner->session_, Session::Create(std::move(environment), options));
  WEIR_RETURN_IF_ERROR(runner->session_->Extend(graph));
  WEIR_RETURN_IF_ERROR(Initialise(*runner->session_, graph, initial));
  WEIR_ASSIGN_OR_RETURN(runner->callable_, runner->session_->MakeCallable(spec));
  return runner;
}

Status Runner::Run() {
  WEIR_RETURN_IF_ERROR(session_->RunCallable(callable_, batches_[next_], &outputs_));
  next_ = (next_ + 1) % batches_.size();
  return OkStatus();
}

StatusOr<StepReport> Runner::RunTraced() {
  Session::CallableSpec spec = spec_;
  spec.options.trace = TraceLevel::kFull;
  spec.options.partition_graphs = true;
  WEIR_ASSIGN_OR_RETURN(Session::Callable traced, session_->MakeCallable(spec));
  StepReport report;
  Status status = session_->RunCallable(traced, batches_[next_], &outputs_);  // makes what is made once
  if (status.ok()) status = session_->RunCallable(traced, batches_[next_], &outputs_, &report);
  WEIR_RETURN_IF_ERROR(session_->ReleaseCallable(traced));
  WEIR_RETURN_IF_ERROR(status);
  return report;
}

StatusOr<double> Runner::RunAndSum() {
  WEIR_RETURN_IF_ERROR(Run());
  const std::span<const float> values = outputs_[0].span<float>();
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

std::span<const ModelWorkload> ModelWorkloads() {
  static const auto* workloads = [] {
    auto* out = new std::vector<ModelWorkload>;
    for (const Model& model : Models()) out->push_back(model.workload);
    return out;
  }();
  return *workloads;
}

StatusOr<std::unique_ptr<ModelRunner>> MakeModelRunner(std::shared_ptr<Environment> environment,
                                                       const ModelWorkload& workload) {
  const Model* model = FindModel(workload.name);
  if (model == nullptr) return NotFound("no model named '", workload.name, "'");
  return Runner::Make(std::move(environment), *model);
}

}  // namespace weir::bench
