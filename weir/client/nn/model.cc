#include "weir/client/nn/model.h"

#include <algorithm>
#include <array>

#include "weir/client/collective_ops.h"
#include "weir/client/export.h"
#include "weir/client/nn/model_internal.h"
#include "weir/client/nn/replicas.h"
#include "weir/client/nn/shared_variables.h"
#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/math_ops.h"
#include "weir/io/checkpoint_reader.h"
#include "weir/io/file.h"

namespace weir::nn {
namespace {

// Where in its data training was, beside the variables.
constexpr char kEpochName[] = "input_pipeline/epoch";
constexpr char kPositionName[] = "input_pipeline/position";

PartialShape WithBatch(const std::vector<int64_t>& sizes) {
  PartialShape shape({-1});
  for (int64_t size : sizes) shape.add_dim(size);
  return shape;
}

std::string WithCommas(int64_t number) {
  std::string text = Cat(number);
  for (int i = static_cast<int>(text.size()) - 3; i > 0; i -= 3) text.insert(i, ",");
  return text;
}

}  // namespace

Model::Model(LayerPtr network, std::vector<InputSpec> inputs, int64_t seed, std::shared_ptr<Environment> environment)
    : root_(Scope::NewRoot(std::move(environment))),
      strategy_(distribute::Current()),
      network_(std::move(network)),
      input_specs_(std::move(inputs)) {
  if (seed != 0) SetRandomSeed(root_, seed);
  state_ = std::make_shared<NetworkState>(NetworkState{.root = root_.WithDevice(strategy_.variable_device)});
  if (strategy_.servers) state_->partitioner = strategy_.servers->partitioner;
  status_ = Build();
}

Model::~Model() = default;

Status Model::Build() {
  for (const InputSpec& spec : input_specs_) {
    inputs_.push_back(ops::Placeholder(root_.WithName("input"), spec.dtype, {.shape = WithBatch(spec.sizes)}));
  }
  Context context(state_, root_.SubScope("model"), /*training=*/false);
  predictions_ = context(network_, inputs_);
  WEIR_RETURN_IF_ERROR(root_.status());
  calls_ = context.calls();
  predict_ = std::make_unique<Phase>();
  predict_->feeds = inputs_;
  predict_->fetches = {predictions_};
  test_ = std::make_unique<Phase>();
  test_->fetches = context.losses();  // until Compile knows the loss
  WEIR_RETURN_IF_ERROR(OpenSession());
  return Initialize(Variables(root_));
}

Status Model::OpenSession() {
  if (!strategy_.servers) {
    variables_ = std::make_shared<ResourceManager>();
    WEIR_ASSIGN_OR_RETURN(session_, ClientSession::Create(root_, SessionOptions{.state = variables_}));
    return OkStatus();
  }
  WEIR_ASSIGN_OR_RETURN(session_, ClientSession::Create(root_, strategy_.servers->target));
  session_->set_placement([this] { return SetReplicaDevices(root_, strategy_.servers->devices); });
  return OkStatus();
}

Status Model::Initialize(const std::vector<Variable>& variables) {
  if (strategy_.servers) return InitializeShared(*session_, root_, variables, *strategy_.servers);
  std::vector<Operation> initializers;
  for (const Variable& variable : variables) initializers.push_back(variable.initializer());
  return session_->RunTargets(initializers);
}

Status Model::CheckReady() const {
  WEIR_RETURN_IF_ERROR(status_);
  if (train_ == nullptr) return FailedPrecondition("the model has not been compiled");
  return OkStatus();
}

Status Model::SetUpSession(const CompileOptions& compile) {
  SessionOptions options{.state = variables_};
  WEIR_ASSIGN_OR_RETURN(options.recompute.what, ParseRecomputation(compile.recompute));
  const std::string& precision = compile.precision;
  if (precision == "bfloat16" || precision == "float16") {
    options.mixed_precision = precision == "float16" ? DType::kHalf : DType::kBFloat16;
    options.host_mixed_precision = options.mixed_precision;
  } else if (precision != "float32") {
    return InvalidArgument("a model's precision must be float32, bfloat16 or float16, not '", precision, "'");
  }
  if (precision == "float32" && options.recompute.what == Recomputation::kNone) return OkStatus();
  if (strategy_.servers) {
    return InvalidArgument("A model on parameter servers trains in float32 and keeps all activations, not in ",
                           precision, " with ", compile.recompute, " ones computed again");
  }
  WEIR_ASSIGN_OR_RETURN(auto session, ClientSession::Create(root_, std::move(options)));
  first_session_ = std::exchange(session_, std::move(session));
  predict_->prepared = false;
  return OkStatus();
}

Status Model::Compile(const CompileOptions& options) {
  WEIR_RETURN_IF_ERROR(status_);
  if (train_ != nullptr) return FailedPrecondition("the model is compiled already");
  if (!options.loss) return InvalidArgument("a model needs a loss to be trained");
  WEIR_RETURN_IF_ERROR(SetUpSession(options));
  metrics_ = options.metrics;
  labels_ = ops::Placeholder(root_.WithName("labels"), options.labels, {.shape = options.labels_shape});
  const std::vector<Output> test_losses = test_->fetches;

  auto train = std::make_unique<Phase>();
  Replicas replicas(root_, strategy_, state_);
  Replicas::Result built = replicas.Build(network_, inputs_, labels_, options);
  train->fetches = {built.loss};
  train->fetches.insert(train->fetches.end(), built.metrics.begin(), built.metrics.end());
  training_ = built.training;
  mirror_ = replicas.mirror();

  const Scope test_scope = root_.SubScope("test");
  Output test_loss = options.loss(test_scope, labels_, predictions_);
  for (const Output& term : test_losses) test_loss = test_loss + term;
  test_->fetches = {test_loss};
  for (const Metric& metric : metrics_) test_->fetches.push_back(metric.sums(test_scope, labels_, predictions_));
  for (Phase* phase : {train.get(), test_.get()}) {
    phase->feeds = inputs_;
    phase->feeds.push_back(labels_);
  }
  if (training_.rate_variable.has_value()) {
    new_rate_ = ops::Placeholder(root_.WithName("new_learning_rate"), DType::kFloat, {.shape = PartialShape(Shape())});
    set_rate_ = training_.rate_variable.Assign(root_.WithName("set_learning_rate"), new_rate_);
  }
  train->targets = built.updates;
  train->targets.push_back(training_.op);
  WEIR_RETURN_IF_ERROR(status_ = root_.status());

  std::vector<Variable> added;
  const std::vector<Variable>& known = state_->ordered;
  for (const Variable& variable : Variables(root_)) {
    // The network's own have their values, perhaps loaded ones.
    if (std::find(known.begin(), known.end(), variable) == known.end()) added.push_back(variable);
  }
  WEIR_RETURN_IF_ERROR(status_ = Initialize(added));
  if (strategy_.across_ranks) {
    WEIR_RETURN_IF_ERROR(status_ = collective::BroadcastVariables(*session_, Variables(root_)));
  }
  WEIR_RETURN_IF_ERROR(status_ = MirrorVariables());
  train_ = std::move(train);
  saver_.reset();
  return OkStatus();
}

Status Model::MirrorVariables() { return mirror_.has_value() ? session_->RunTargets({mirror_}) : OkStatus(); }

Status Model::RunPhase(Phase& phase, const Batch& batch, std::vector<Tensor>* outputs) {
  std::vector<Tensor> feeds = batch.inputs;
  if (feeds.size() != inputs_.size()) {
    return InvalidArgument("the model has ", inputs_.size(), " inputs, not ", feeds.size());
  }
  if (phase.feeds.size() > inputs_.size()) feeds.push_back(batch.labels);
  for (size_t i = 0; i < feeds.size(); ++i) {
    const Output& target = phase.feeds[i];
    if (feeds[i].dtype() != target.dtype() || !target.shape().IsCompatibleWith(PartialShape(feeds[i].shape()))) {
      return InvalidArgument("'", target.op().name(), "' of the model is ", Name(target.dtype()),
                             target.shape().ToString(), ", not ", Name(feeds[i].dtype()), feeds[i].shape().ToString());
    }
  }
  // A rank trains with its rows of the batch, or with all if there are fewer than ranks.
  if (strategy_.across_ranks && &phase == train_.get() && feeds[0].rank() > 0) {
    const int64_t rows = feeds[0].dim(0), ranks = collective::Size(), rank = collective::Rank();
    if (rows >= ranks) {
      for (Tensor& feed : feeds) {
        if (feed.rank() > 0 && feed.dim(0) == rows) feed = feed.Slice(rows * rank / ranks, rows * (rank + 1) / ranks);
      }
    }
  }
  if (!phase.prepared) {
    WEIR_ASSIGN_OR_RETURN(phase.step, session_->Prepare(phase.feeds, phase.fetches, phase.targets));
    phase.prepared = true;
  }
  return session_->RunPrepared(phase.step, feeds, outputs);
}

StatusOr<Logs> Model::TrainOnBatch(const Batch& batch) {
  WEIR_RETURN_IF_ERROR(CheckReady());
  std::vector<Tensor> outputs;
  WEIR_RETURN_IF_ERROR(RunPhase(*train_, batch, &outputs));
  Totals totals(metrics_);
  WEIR_RETURN_IF_ERROR(totals.Add(outputs, 1));
  return totals.Result();
}

StatusOr<Logs> Model::Evaluate(Batches& batches) {
  WEIR_RETURN_IF_ERROR(CheckReady());
  WEIR_RETURN_IF_ERROR(batches.Start(0));
  Totals totals(metrics_);
  Batch batch;
  std::vector<Tensor> outputs;
  while (true) {
    WEIR_ASSIGN_OR_RETURN(bool more, batches.Next(&batch));
    if (!more) return totals.Result();
    WEIR_RETURN_IF_ERROR(RunPhase(*test_, batch, &outputs));
    WEIR_RETURN_IF_ERROR(totals.Add(outputs, batch.inputs[0].dim(0)));
  }
}

StatusOr<Logs> Model::Evaluate(const Tensor& inputs, const Tensor& labels, int64_t batch_size) {
  WEIR_ASSIGN_OR_RETURN(auto batches, TensorBatches({inputs}, labels, {.batch_size = batch_size}));
  return Evaluate(*batches);
}

StatusOr<Tensor> Model::Predict(const Tensor& inputs, int64_t batch_size) {
  WEIR_RETURN_IF_ERROR(status_);
  WEIR_ASSIGN_OR_RETURN(auto batches, TensorBatches({inputs}, Tensor(), {.batch_size = batch_size}));
  WEIR_RETURN_IF_ERROR(batches->Start(0));
  std::vector<Tensor> parts, outputs;
  Batch batch;
  int64_t rows = 0;
  do {
    WEIR_ASSIGN_OR_RETURN(bool more, batches->Next(&batch));
    if (!more && !parts.empty()) break;
    if (!more) batch.inputs = {inputs};  // no example at all: the result has the right shape still
    WEIR_RETURN_IF_ERROR(RunPhase(*predict_, batch, &outputs));
    if (outputs[0].rank() < 1) return InvalidArgument("predictions need a batch dimension");
    rows += outputs[0].dim(0);
    parts.push_back(outputs[0]);
  } while (rows < inputs.dim(0));
  if (parts.size() == 1) return parts[0];
  Shape shape = parts[0].shape();
  WEIR_RETURN_IF_ERROR(shape.SetDim(0, rows));
  WEIR_ASSIGN_OR_RETURN(Tensor all, Tensor::Allocate(parts[0].dtype(), shape));
  char* to = static_cast<char*>(all.raw_data());
  for (const Tensor& part : parts) {
    if (!IsPlain(part.dtype())) return InvalidArgument("predictions cannot be of type ", Name(part.dtype()));
    const char* from = static_cast<const char*>(part.raw_data());
    to = std::copy(from, from + part.num_bytes(), to);
  }
  return all;
}

StatusOr<std::string> Model::Save(const std::string& prefix) {
  WEIR_RETURN_IF_ERROR(status_);
  if (saver_ == nullptr) saver_ = std::make_unique<Saver>(root_);
  if (train_ == nullptr) return saver_->Save(*session_, prefix);
  WEIR_ASSIGN_OR_RETURN(int64_t done, step());
  WEIR_ASSIGN_OR_RETURN(auto position, PositionTensors());
  return saver_->Save(*session_, prefix, done, position);
}

StatusOr<std::map<std::string, Tensor>> Model::PositionTensors() {
  std::map<std::string, Tensor> out;
  if (batches_ == nullptr) return out;
  WEIR_ASSIGN_OR_RETURN(Tensor batches, batches_->SavePosition());
  if (!batches.has_value()) return out;
  out[kEpochName] = Tensor::Vector<int64_t>({epoch_, epoch_is_done_});
  out[kPositionName] = std::move(batches);
  return out;
}

Status Model::LoadPosition(const std::string& checkpoint) {
  position_.reset();
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<CheckpointReader> reader, CheckpointReader::Open(checkpoint));
  if (!reader->tensors().contains(kPositionName) || !reader->tensors().contains(kEpochName)) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(Tensor epoch, reader->Read(kEpochName));
  if (epoch.dtype() != DType::kInt64 || epoch.num_elements() != 2) {
    return DataLoss("'", kEpochName, "' of ", checkpoint, " is not a valid epoch");
  }
  Position position{.epoch = epoch.data<int64_t>()[0], .is_done = epoch.data<int64_t>()[1] != 0};
  WEIR_ASSIGN_OR_RETURN(position.batches, reader->Read(kPositionName));
  position_ = std::move(position);
  return OkStatus();
}

Status Model::Load(const std::string& prefix, const RestoreOptions& options) {
  WEIR_RETURN_IF_ERROR(status_);
  std::string checkpoint = prefix;
  if (IsFolder(prefix)) {
    WEIR_ASSIGN_OR_RETURN(checkpoint, LatestCheckpoint(prefix));
  }
  if (saver_ == nullptr) saver_ = std::make_unique<Saver>(root_);
  WEIR_RETURN_IF_ERROR(saver_->Restore(*session_, checkpoint, options));
  WEIR_RETURN_IF_ERROR(MirrorVariables());
  return LoadPosition(checkpoint);
}

Status Model::Export(const std::string& folder) {
  WEIR_RETURN_IF_ERROR(status_);
  ExportSignature signature;
  for (const Output& input : inputs_) signature.inputs[input.op().name()] = input;
  signature.outputs["output"] = predictions_;
  return ExportSavedModel(*session_, folder, {{"serving_default", signature}});
}

StatusOr<int64_t> Model::step() {
  WEIR_RETURN_IF_ERROR(CheckReady());
  WEIR_ASSIGN_OR_RETURN(Tensor value, session_->Evaluate(training_.step.value()));
  return value.scalar<int64_t>();
}

StatusOr<double> Model::learning_rate() {
  WEIR_RETURN_IF_ERROR(CheckReady());
  WEIR_ASSIGN_OR_RETURN(Tensor value, session_->Evaluate(training_.learning_rate));
  return value.scalar<float>();
}

Status Model::set_learning_rate(double rate) {
  WEIR_RETURN_IF_ERROR(CheckReady());
  if (!training_.rate_variable.has_value()) {
    return InvalidArgument("the learning rate is a function of the step and cannot be set");
  }
  return session_->RunTargets({set_rate_}, {{new_rate_, Tensor::Scalar(static_cast<float>(rate))}});
}

const std::vector<Variable>& Model::variables() const { return state_->ordered; }

std::string Model::Summary() const {
  if (!status_.ok()) return status_.ToString() + "\n";
  std::vector<std::array<std::string, 3>> rows = {{"layer", "output", "parameters"}};
  int64_t total = 0, trainable = 0;
  for (const LayerCall& call : calls_) {
    rows.push_back({Cat(call.name, " (", call.type, ")"), call.output.ToString(), WithCommas(call.parameters)});
  }
  for (const Variable& variable : state_->ordered) {
    total += variable.shape().num_elements();
    if (variable.trainable()) trainable += variable.shape().num_elements();
  }
  size_t widths[3] = {};
  for (const auto& row : rows) {
    for (int i = 0; i < 3; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (size_t r = 0; r < rows.size(); ++r) {
    const auto& row = rows[r];
    out += row[0] + std::string(widths[0] - row[0].size() + 2, ' ') + row[1] +
           std::string(widths[1] - row[1].size() + 2, ' ') + std::string(widths[2] - row[2].size(), ' ') + row[2] +
           "\n";
    if (r == 0) out += std::string(widths[0] + widths[1] + widths[2] + 4, '-') + "\n";
  }
  out += Cat(WithCommas(total), " parameters",
             total == trainable ? "" : Cat(", ", WithCommas(trainable), " of them trained"), "\n");
  for (const auto& device : root_.environment()->devices.devices()) {
    if (device->is_host()) continue;
    const int64_t peak = device->allocator()->Stats().peak_bytes_in_use;
    if (peak > 0)
      out += Cat("peak memory of ", device->name(), ": ", WithCommas((peak + (1 << 20) - 1) >> 20), " MiB\n");
  }
  return out;
}

}  // namespace weir::nn
