#include "weir/client/eager/gradient_tape.h"

#include <algorithm>

#include "weir/client/differentiate.h"
#include "weir/client/eager/ops/array_ops.h"
#include "weir/client/eager/ops/math_ops.h"
#include "weir/client/eager_execute_internal.h"
#include "weir/client/gradients.h"
#include "weir/client/tracer_internal.h"

namespace weir {
namespace {

EagerTensor FromTape(const TapeTensor& tensor) { return EagerTensor::WithId(tensor.tensor, tensor.id); }

// Runs what gradient functions emit, recorded on the tapes of this thread.
StatusOr<std::vector<TapeTensor>> RunEmitted(const OpSchema& schema, std::vector<TapeTensor> inputs, AttrMap attrs) {
  std::vector<EagerTensor> tensors;
  for (const TapeTensor& input : inputs) tensors.push_back(FromTape(input));
  WEIR_ASSIGN_OR_RETURN(EagerRun run, ExecuteEagerly(schema, std::move(tensors), std::move(attrs)));
  return ToTape(run.outputs);
}

Status CheckConcrete(const std::vector<EagerTensor>& tensors, std::string_view what) {
  for (const EagerTensor& tensor : tensors) {
    WEIR_RETURN_IF_ERROR(tensor.status());
    if (!tensor.has_value()) return InvalidArgument(what, " has no value");
    if (tensor.is_traced()) return InvalidArgument(what, " belongs to a function that was traced");
  }
  return OkStatus();
}

// Inside a traced function.
StatusOr<std::vector<EagerGradient>> DifferentiateGraph(const Scope& scope, const std::vector<EagerTensor>& targets,
                                                        const std::vector<GradientSource>& sources,
                                                        const GradientRequest& request) {
  auto output = [&](const EagerTensor& tensor) -> StatusOr<Output> {
    WEIR_RETURN_IF_ERROR(tensor.status());
    if (!tensor.has_value()) return InvalidArgument("a tensor of a gradient has no value");
    Output own = tensor.is_traced() ? scope.state()->Import(tensor.traced()) : scope.state()->Import(tensor);
    if (!own.has_value()) return InvalidArgument("a tensor of a gradient belongs to another function");
    return own;
  };
  std::vector<Output> ys, xs, grad_ys;
  for (const EagerTensor& target : targets) {
    WEIR_ASSIGN_OR_RETURN(Output y, output(target));
    ys.push_back(std::move(y));
  }
  for (const GradientSource& source : sources) {
    WEIR_ASSIGN_OR_RETURN(Output x, output(source.tensor()));
    xs.push_back(std::move(x));
  }
  for (const EagerTensor& gradient : request.target_gradients) {
    WEIR_ASSIGN_OR_RETURN(Output y, output(gradient));
    grad_ys.push_back(std::move(y));
  }
  std::vector<EagerGradient> out;
  for (const GradientOutput& g : GradientsBy(scope, ys, xs, grad_ys, request.zeros_if_unconnected)) {
    out.push_back({EagerTensor(g.dense), EagerTensor(g.values), EagerTensor(g.indices), EagerTensor(g.dense_shape)});
  }
  WEIR_RETURN_IF_ERROR(scope.status());
  return out;
}

}  // namespace

EagerTensor EagerGradient::ToDense() const {
  if (!is_sparse()) return dense;
  return eager::UnsortedSegmentSum(
      values, indices,
      eager::StridedSlice(dense_shape, eager::Constant({0}, DType::kInt32), eager::Constant({1}, DType::kInt32),
                          eager::Constant({1}, DType::kInt32), {.shrink_axis_mask = 1}));
}

// A tape and its place among those of the thread.
class GradientTape::Recording : public VariableWatcher {
 public:
  void OnRead(const EagerTensor& handle) override { tape.Watch(handle.id()); }
  Tape tape;
};

GradientTape::GradientTape(const TapeOptions& options) : options_(options), recording_(std::make_unique<Recording>()) {
  SetRecording(true);
}
GradientTape::~GradientTape() { SetRecording(false); }

void GradientTape::SetRecording(bool recording) {
  if (recording == is_recording_) return;
  is_recording_ = recording;
  EagerThread& thread = ThisEagerThread();
  if (recording) {
    thread.tapes.push_back(&recording_->tape);
    if (options_.watch_variables) thread.watchers.push_back(recording_.get());
  } else {
    std::erase(thread.tapes, &recording_->tape);
    std::erase(thread.watchers, recording_.get());
  }
}

void GradientTape::Watch(const GradientSource& source) { recording_->tape.Watch(source.tensor().id()); }
void GradientTape::Stop() { SetRecording(false); }
void GradientTape::Reset() {
  recording_->tape.Clear();
  is_used_up_ = false;
}

GradientTape::Pause::Pause(GradientTape& tape) : tape_(tape), was_recording_(tape.is_recording_) {
  tape_.SetRecording(false);
}
GradientTape::Pause::~Pause() { tape_.SetRecording(was_recording_); }

Status GradientTape::BeginGradient() {
  if (is_used_up_) {
    return FailedPrecondition("A tape that is not persistent can only be used to compute one set of gradients");
  }
  if (!options_.persistent) {
    SetRecording(false);
    is_used_up_ = true;
  }
  return OkStatus();
}

StatusOr<std::vector<EagerGradient>> GradientTape::Differentiate(const std::vector<EagerTensor>& targets,
                                                                 const std::vector<GradientSource>& sources,
                                                                 const GradientRequest& request) {
  if (TracedScope() != nullptr) return DifferentiateGraph(*TracedScope(), targets, sources, request);
  Tape::Request walk;
  walk.zeros_if_unconnected = request.zeros_if_unconnected;
  std::vector<EagerTensor> by;
  for (const GradientSource& source : sources) by.push_back(source.tensor());
  WEIR_RETURN_IF_ERROR(CheckConcrete(targets, "a target of a gradient"));
  WEIR_RETURN_IF_ERROR(CheckConcrete(by, "a source of a gradient"));
  walk.targets = ToTape(targets);
  walk.sources = ToTape(by);
  for (const EagerTensor& gradient : request.target_gradients) {
    WEIR_RETURN_IF_ERROR(gradient.status());
    if (gradient.is_traced()) return InvalidArgument("a gradient of a target belongs to a function that was traced");
    walk.target_gradients.push_back(gradient.has_value() ? TapeTensor{gradient.tensor(), gradient.id()} : TapeTensor());
  }
  TapeEmitter emitter(eager::Runtime().environment()->ops, RunEmitted);
  WEIR_ASSIGN_OR_RETURN(std::vector<TapeGradient> gradients,
                        recording_->tape.Gradients(BuiltinGradients(), emitter, walk));
  std::vector<EagerGradient> out;
  for (const TapeGradient& g : gradients) {
    out.push_back({FromTape(g.dense), FromTape(g.values), FromTape(g.indices), FromTape(g.dense_shape)});
  }
  return out;
}

std::vector<EagerGradient> GradientTape::SparseGradients(const std::vector<EagerTensor>& targets,
                                                         const std::vector<GradientSource>& sources,
                                                         const GradientRequest& request) {
  Status begun = BeginGradient();
  StatusOr<std::vector<EagerGradient>> gradients =
      begun.ok() ? Differentiate(targets, sources, request) : StatusOr<std::vector<EagerGradient>>(begun);
  if (gradients.ok()) return *std::move(gradients);
  return std::vector<EagerGradient>(sources.size(), EagerGradient{.dense = EagerTensor::Error(gradients.status())});
}

std::vector<EagerTensor> GradientTape::Gradients(const std::vector<EagerTensor>& targets,
                                                 const std::vector<GradientSource>& sources,
                                                 const GradientRequest& request) {
  std::vector<EagerTensor> out;
  for (const EagerGradient& gradient : SparseGradients(targets, sources, request)) out.push_back(gradient.ToDense());
  return out;
}

EagerTensor GradientTape::Gradient(const EagerTensor& target, const GradientSource& source) {
  return Gradients({target}, {source})[0];
}

EagerTensor GradientTape::Jacobian(const EagerTensor& target, const GradientSource& source) {
  if (Status status = BeginGradient(); !status.ok()) return EagerTensor::Error(status);
  StatusOr<Tensor> value = target.value();
  if (!value.ok()) return EagerTensor::Error(value.status());
  const int64_t count = value->num_elements();
  if (count > 1'000'000) return EagerTensor::Error(ResourceExhausted("a Jacobian cannot have ", count, " rows"));
  std::vector<EagerTensor> rows;
  for (int64_t i = 0; i < count; ++i) {
    const EagerTensor flat = eager::OneHot(eager::Constant(i, DType::kInt64), eager::Constant(count, DType::kInt32),
                                           eager::Cast(1.0f, value->dtype()), eager::Cast(0.0f, value->dtype()));
    const EagerTensor weights = eager::Reshape(flat, eager::Shape(target));
    StatusOr<std::vector<EagerGradient>> row = Differentiate({target}, {source}, {.target_gradients = {weights}});
    if (!row.ok()) return EagerTensor::Error(row.status());
    if ((*row)[0].is_none()) return EagerTensor();
    rows.push_back((*row)[0].ToDense());
  }
  if (rows.empty()) return EagerTensor();
  const EagerTensor stacked = eager::Pack(rows);
  const EagerTensor shape = eager::ConcatV2({eager::Shape(target), eager::Shape(rows[0])}, 0);
  return eager::Reshape(stacked, shape);
}

namespace eager {

std::vector<EagerTensor> CustomGradient(
    const std::vector<EagerTensor>& inputs,
    const std::function<std::vector<EagerTensor>(const std::vector<EagerTensor>&)>& function,
    const std::function<std::vector<EagerTensor>(const std::vector<EagerTensor>&, const std::vector<EagerTensor>&,
                                                 const std::vector<EagerTensor>&)>& backward) {
  if (TracedScope() != nullptr) {
    return {EagerTensor::Error(Unimplemented("a custom gradient cannot be used inside a function that is traced"))};
  }
  if (Status status = CheckConcrete(inputs, "an input of a custom gradient"); !status.ok()) {
    return {EagerTensor::Error(status)};
  }
  std::vector<EagerTensor> outputs;
  {
    std::vector<Tape*> none;
    std::swap(none, ThisEagerThread().tapes);
    outputs = function(inputs);
    std::swap(none, ThisEagerThread().tapes);
  }
  if (!CheckConcrete(outputs, "a result of a custom gradient").ok()) return outputs;
  // What was passed through unchanged is a result of its own.
  for (EagerTensor& output : outputs) output = EagerTensor(output.tensor());
  auto record = std::make_shared<Tape::Record>();
  record->op = "CustomGradient";
  record->attrs = std::make_shared<const AttrMap>();
  record->inputs = ToTape(inputs);
  record->outputs = ToTape(outputs);
  record->gradient = [inputs, outputs, backward](GradientContext& g) {
    auto& emitter = static_cast<TapeEmitter&>(g.emitter());
    std::vector<EagerTensor> flows;
    for (int i = 0; i < g.num_outputs(); ++i) flows.push_back(FromTape(emitter.Get(g.grad(i))));
    Gradients out;
    if (!emitter.status().ok()) return out;
    for (const EagerTensor& gradient : backward(inputs, outputs, flows)) {
      if (!gradient.ok()) return g.Fail(gradient.status()), Gradients();
      out.push_back(gradient.has_value() ? emitter.Add({gradient.tensor(), gradient.id()}) : Value());
    }
    return out;
  };
  RecordOnTapes(std::move(record));
  return outputs;
}

}  // namespace eager
}  // namespace weir
