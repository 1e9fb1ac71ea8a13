#include "benchmarks/models/device_models.h"

#include "benchmarks/models/networks.h"
#include "benchmarks/models/training.h"

namespace weir::bench {
namespace {

using Kind = Optimizer::Kind;

constexpr Optimizer kMomentum = {Kind::kMomentum, 1e-3f};
constexpr Optimizer kAdam = {Kind::kAdam, 1e-4f};

struct DeviceModel {
  ModelWorkload workload;
  Network network;
  std::vector<int64_t> input;  // the batch first; images, or the numbers of words
  int64_t classes;
  Optimizer optimizer;

  bool has_words() const { return input.size() == 2; }
};

const std::vector<DeviceModel>& Models() {
  static const auto* models = new std::vector<DeviceModel>{
      {{"mnist_cnn_b64", "device", "a convolution and two dense layers, Adam"},
       &SmallMnistCnn,
       {64, 28, 28, 1},
       10,
       kAdam},
      {{"mnist_cnn_b1024", "device", "the same in larger batches"}, &SmallMnistCnn, {1024, 28, 28, 1}, 10, kAdam},
      {{"alexnet_b128", "device", "AlexNet in one tower, momentum"}, &AlexNet, {128, 224, 224, 3}, 1000, kMomentum},
      {{"overfeat_b128", "device", "OverFeat, fast, momentum"}, &OverFeat, {128, 231, 231, 3}, 1000, kMomentum},
      {{"vgg_a_b64", "device", "VGG of 11 layers, momentum"}, &VggA, {64, 224, 224, 3}, 1000, kMomentum},
      {{"googlenet_b128", "device", "GoogLeNet with batch norms, momentum"},
       &GoogLeNet,
       {128, 224, 224, 3},
       1000,
       kMomentum},
      {{"resnet50_b128", "device", "ResNet-50, momentum"}, &ResNet50, {128, 224, 224, 3}, 1000, kMomentum},
      {{"inception_v3_b64", "device", "Inception v3, momentum"}, &InceptionV3, {64, 299, 299, 3}, 1000, kMomentum},
      {{"lstm512_b64_t20", "device", "LSTM language model of 40,000 words, momentum; words a second"},
       &LargeLstmLanguageModel,
       {64, 20},
       40'000,
       kMomentum},
      {{"gpt2_small_b16", "device", "12 layers of width 768, 1,024 words each, Adam; words a second"},
       &GptLike,
       {16, 1024},
       50'304,
       kAdam},
  };
  return *models;
}

const DeviceModel* FindModel(std::string_view name) {
  for (const DeviceModel& model : Models()) {
    if (model.workload.name == name) return &model;
  }
  return nullptr;
}

// The batch in variables. Images are drawn where they live, words and labels here.
std::pair<Value, Value> AddBatch(Net& net, const DeviceModel& model, const std::vector<int64_t>& dims) {
  NumpyRandom random(2);
  const Shape shape = Shape::Make(dims).value();
  const Shape label_shape{model.has_words() ? shape.num_elements() : dims[0]};
  Value x = model.has_words()
                ? net.Variable("batch/words", UniformInts(shape, model.classes, random, DType::kInt64), false).value
                : net.Variable("batch/images", Initial{shape, 1}, false).value;
  Tensor labels = UniformInts(label_shape, model.classes, random, DType::kInt64);
  return {x, net.Variable("batch/labels", std::move(labels), false).value};
}

class Runner final : public DeviceModelRunner {
 public:
  static StatusOr<std::unique_ptr<DeviceModelRunner>> Make(std::shared_ptr<Environment> environment,
                                                           const DeviceModel& model, const DeviceModelOptions& options);
  Status Step() override { return session_->RunCallable(step_, {}, &outputs_); }
  StatusOr<double> Finish() override;
  StatusOr<StepReport> RunTraced() override;
  int64_t examples() const override { return examples_; }

 private:
  std::unique_ptr<Session> session_;
  Session::CallableSpec spec_;
  Session::Callable step_ = 0, read_result_ = 0;
  int64_t examples_ = 0;
  std::vector<Tensor> outputs_;
};

StatusOr<std::unique_ptr<DeviceModelRunner>> Runner::Make(std::shared_ptr<Environment> environment,
                                                          const DeviceModel& model, const DeviceModelOptions& options) {
  auto runner = std::make_unique<Runner>();
  Graph graph(environment->ops);
  GraphShapes shapes(graph);
  GraphEmitter emitter(graph, shapes);
  WEIR_ASSIGN_OR_RETURN(const DeviceName device, DeviceName::Parse(options.device));
  Net net(emitter, options.is_training, device.type == "GPU" ? Net::Target::kGpu : Net::Target::kHost);
  std::vector<int64_t> dims = model.input;
  if (options.batch > 0) dims[0] = options.batch;
  runner->examples_ = model.has_words() ? dims[0] * dims[1] : dims[0];

  const auto [x, labels] = AddBatch(net, model, dims);
  Value logits = model.network(net, x);
  Value result = options.is_training ? MeanCrossEntropy(net, logits, labels) : emit::Mean(logits, net.Ints({0, 1}));
  WEIR_RETURN_IF_ERROR(emitter.status());
  std::vector<NodeId> effects;
  if (options.is_training) {
    Optimizer optimizer = model.optimizer;
    if (options.session.mixed_precision == DType::kHalf) optimizer.loss_scale = 1024;
    WEIR_ASSIGN_OR_RETURN(effects, AddTraining(net, result, optimizer));
  }
  // What a step computes stays on the device until it is asked for.
  const Parameter kept = net.Variable("result", Tensor::Scalar(0.0f), false);
  net.Effect("AssignVariableOp", kept.handle, result);
  WEIR_RETURN_IF_ERROR(emitter.status());
  effects.push_back(net.updates().back());
  WEIR_ASSIGN_OR_RETURN(const InitialValues initial, AddInitialisers(net));
  for (const auto& node : graph.nodes()) {
    if (node != nullptr) node->requested_device = options.device;
  }

  for (NodeId id : effects) runner->spec_.targets.push_back(graph.node(id)->name);
  const Session::CallableSpec read{.feeds = {}, .fetches = {graph.TensorName(emitter.ToEndpoint(kept.value))}};
  SessionOptions session = options.session;
  session.isolate_state = true;         // two models of one process have variables of the same names
  session.allow_soft_placement = true;  // what only the host does is done there
  WEIR_ASSIGN_OR_RETURN(runner->session_, Session::Create(std::move(environment), session));
  WEIR_RETURN_IF_ERROR(runner->session_->Extend(graph));
  WEIR_RETURN_IF_ERROR(Initialise(*runner->session_, graph, initial));
  WEIR_ASSIGN_OR_RETURN(runner->step_, runner->session_->MakeCallable(runner->spec_));
  WEIR_ASSIGN_OR_RETURN(runner->read_result_, runner->session_->MakeCallable(read));
  return runner;
}

StatusOr<double> Runner::Finish() {
  WEIR_RETURN_IF_ERROR(session_->RunCallable(read_result_, {}, &outputs_));
  return outputs_[0].scalar<float>();
}

StatusOr<StepReport> Runner::RunTraced() {
  Session::CallableSpec spec = spec_;
  spec.options.trace = TraceLevel::kFull;
  spec.options.partition_graphs = true;
  WEIR_ASSIGN_OR_RETURN(Session::Callable traced, session_->MakeCallable(spec));
  StepReport report;
  Status status = session_->RunCallable(traced, {}, &outputs_);  // makes what is made once
  if (status.ok()) status = session_->RunCallable(traced, {}, &outputs_, &report);
  WEIR_RETURN_IF_ERROR(session_->ReleaseCallable(traced));
  WEIR_RETURN_IF_ERROR(status);
  return report;
}

}  // namespace

std::span<const ModelWorkload> DeviceModelWorkloads() {
  static const auto* workloads = [] {
    auto* out = new std::vector<ModelWorkload>;
    for (const DeviceModel& model : Models()) out->push_back(model.workload);
    return out;
  }();
  return *workloads;
}

StatusOr<std::unique_ptr<DeviceModelRunner>> MakeDeviceModelRunner(std::shared_ptr<Environment> environment,
                                                                   const ModelWorkload& workload,
                                                                   const DeviceModelOptions& options) {
  const DeviceModel* model = FindModel(workload.name);
  if (model == nullptr) return NotFound("no model named '", workload.name, "'");
  return Runner::Make(std::move(environment), *model, options);
}

}  // namespace weir::bench
