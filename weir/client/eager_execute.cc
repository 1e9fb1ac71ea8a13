#include "weir/client/eager_execute.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "weir/autodiff/tape_call.h"
#include "weir/client/eager_execute_internal.h"
#include "weir/client/environment.h"
#include "weir/client/gradients.h"
#include "weir/client/op_call.h"
#include "weir/client/tracer_internal.h"

namespace weir {
namespace {

// A function made ready for tapes: the first entry differentiates the function, the next one the forward function that
// the first made, with all that it returns, and so on: as many as there are derivatives to be taken.
using TapeCalls = std::vector<TapeCall>;

// Tapes inside each other beyond this many see a call as one that cannot be differentiated further.
constexpr size_t kMostDerivatives = 4;

// Made once, by the name. An error if not even the first derivative can be taken.
StatusOr<TapeCalls> FindTapeCalls(const FunctionAttr& function, size_t derivatives) {
  static auto* const mu = new absl::Mutex;
  static auto* const known = new StringMap<StatusOr<TapeCalls>>;
  std::string key = function.name;
  for (const auto& [name, value] : function.attrs) key += Cat(";", name, "=", value.ToString());
  StatusOr<TapeCalls> calls = TapeCalls();
  {
    absl::MutexLock lock(mu);
    if (auto found = known->find(key); found != known->end()) calls = found->second;
  }
  derivatives = std::min(derivatives, kMostDerivatives);
  if (!calls.ok() || calls->size() >= derivatives) return calls;
  while (calls->size() < derivatives) {
    StatusOr<TapeCall> next = DifferentiateForTape(calls->empty() ? function : calls->back().forward,
                                                   eager::Runtime().functions(), BuiltinGradients());
    if (!next.ok() && calls->empty()) {
      calls = next.status();
      break;
    }
    if (!next.ok()) break;
    calls->push_back(*std::move(next));
  }
  absl::MutexLock lock(mu);
  known->insert_or_assign(key, calls);
  return calls;
}

// What flows into results of the call that the program never saw comes from gradients of the call.
Gradients GradientOfCall(const TapeCalls& calls, size_t num_results, GradientContext& g) {
  for (const TapeCall& call : calls) {
    bool is_enough = true;
    for (size_t i = num_results; i < static_cast<size_t>(g.num_outputs()); ++i) {
      is_enough &= !g.has_grad(static_cast<int>(i));
    }
    if (is_enough) return CallGradient(call, g);
    num_results = call.forward_types.size();
  }
  g.Fail(Unimplemented("a function is differentiated more often than there are tapes around its call"));
  return {};
}

size_t CountWatching(const std::vector<TapeTensor>& inputs) {
  return std::ranges::count_if(ThisEagerThread().tapes, [&](const Tape* tape) { return tape->Watches(inputs); });
}

std::vector<EagerTensor> WrapAll(std::vector<Tensor> tensors) {
  std::vector<EagerTensor> out;
  out.reserve(tensors.size());
  for (Tensor& tensor : tensors) out.emplace_back(std::move(tensor));
  return out;
}

std::vector<Tensor> UnwrapAll(const std::vector<EagerTensor>& tensors) {
  std::vector<Tensor> out;
  out.reserve(tensors.size());
  for (const EagerTensor& tensor : tensors) out.push_back(tensor.tensor());
  return out;
}

// A call under tapes runs the function that also gives what its gradients need.
StatusOr<EagerRun> CallOnTape(const OpSchema& schema, const std::vector<EagerTensor>& inputs, const AttrMap& attrs,
                              size_t num_tapes) {
  EagerRuntime& runtime = eager::Runtime();
  const EagerOptions& options = ThisEagerThread().options;
  WEIR_ASSIGN_OR_RETURN(FunctionAttr function, GetAttr<FunctionAttr>(attrs, "f"));
  StatusOr<TapeCalls> calls = FindTapeCalls(function, num_tapes);
  auto record = std::make_shared<Tape::Record>();
  record->op = schema.name;
  record->inputs = ToTape(inputs);
  EagerRun run;
  if (!calls.ok()) {
    // It runs; only its gradient does not.
    WEIR_ASSIGN_OR_RETURN(EagerResult result, runtime.Run(schema, UnwrapAll(inputs), attrs, options));
    run.outputs = WrapAll(std::move(result.outputs));
    run.attrs = std::move(result.attrs);
    record->outputs = ToTape(run.outputs);
    record->gradient = [error = calls.status()](GradientContext& g) { return g.Fail(error), Gradients(); };
  } else {
    const OpSchema* forward = runtime.environment()->ops.Find(calls->back().forward_op());
    AttrMap forward_attrs = calls->back().forward_attrs();
    if (const Attribute* types = attrs.Find("Tin")) forward_attrs.Set("Tin", *types);
    WEIR_ASSIGN_OR_RETURN(EagerResult result, runtime.Run(*forward, UnwrapAll(inputs), forward_attrs, options));
    WEIR_ASSIGN_OR_RETURN(std::vector<DType> types, GetAttr<std::vector<DType>>(attrs, "Tout"));
    run.outputs = WrapAll(std::move(result.outputs));
    record->outputs = ToTape(run.outputs);
    record->gradient = [calls = *std::move(calls), count = types.size()](GradientContext& g) {
      return GradientOfCall(calls, count, g);
    };
    run.outputs.resize(types.size());
    run.attrs = std::make_shared<const AttrMap>(attrs);
  }
  record->attrs = run.attrs;
  RecordOnTapes(std::move(record));
  return run;
}

EagerTensor RunBinary(const char* op, const Input& a, const Input& b) {
  EagerCall call;
  return call.One(OpCall(call.scope(), op).Add(a).Add(b).Single());
}

EagerTensor RunUnary(const char* op, const EagerTensor& a) {
  EagerCall call;
  return call.One(OpCall(call.scope(), op).Add(a).Single());
}

EagerTensor DivideNow(const Input& a, const Input& b) {
  const DType dtype = (a.is_weak() ? b : a).natural_dtype();
  return RunBinary(IsInteger(dtype) ? "Div" : "RealDiv", a, b);
}

// The graph that eager functions name their operations in; nothing is ever added to it.
const std::shared_ptr<ScopeState>& EagerState() {
  static auto* const state = new std::shared_ptr<ScopeState>([] {
    auto made = std::make_shared<ScopeState>(eager::Runtime().environment());
    made->graph.set_functions(eager::Runtime().functions());
    return made;
  }());
  return *state;
}

}  // namespace

EagerThread& ThisEagerThread() {
  thread_local EagerThread thread;
  return thread;
}

std::vector<TapeTensor> ToTape(const std::vector<EagerTensor>& tensors) {
  std::vector<TapeTensor> out;
  for (const EagerTensor& tensor : tensors) out.push_back({tensor.tensor(), tensor.id()});
  return out;
}

void RecordOnTapes(std::shared_ptr<const Tape::Record> record) {
  for (Tape* tape : ThisEagerThread().tapes) {
    if (tape->Watches(record->inputs)) tape->Add(record);
  }
}

StatusOr<EagerRun> ExecuteEagerly(const OpSchema& schema, std::vector<EagerTensor> inputs, AttrMap attrs) {
  const EagerThread& thread = ThisEagerThread();
  const size_t watching = thread.tapes.empty() ? 0 : CountWatching(ToTape(inputs));
  if (watching > 0 && (schema.name == "PartitionedCall" || schema.name == "StatefulPartitionedCall")) {
    return CallOnTape(schema, inputs, attrs, watching);
  }
  WEIR_ASSIGN_OR_RETURN(EagerResult result, eager::Runtime().Run(schema, UnwrapAll(inputs), attrs, thread.options));
  EagerRun run{WrapAll(std::move(result.outputs)), std::move(result.attrs)};
  if (watching > 0) {
    auto record = std::make_shared<Tape::Record>();
    record->op = schema.name;
    record->kind = schema.gradient;
    record->attrs = run.attrs;
    record->inputs = ToTape(inputs);
    record->outputs = ToTape(run.outputs);
    RecordOnTapes(std::move(record));
  }
  return run;
}

EagerCall::EagerCall()
    : frame_(TracedScope() != nullptr ? nullptr : std::make_unique<EagerFrame>()),
      scope_(frame_ == nullptr
                 ? *TracedScope()
                 : Scope(std::make_shared<ScopePlace>(ScopePlace{.state = EagerState(), .frame = frame_.get()}))) {}
EagerCall::~EagerCall() = default;

EagerTensor EagerCall::One(const Output& output) const {
  if (frame_ == nullptr) return EagerTensor(output);
  if (!frame_->status.ok()) return EagerTensor::Error(frame_->status);
  return frame_->outputs[output.endpoint().index];
}

std::vector<EagerTensor> EagerCall::List(const std::vector<Output>& outputs) const {
  const Status status = scope_.status();
  if (!status.ok()) return {EagerTensor::Error(status)};
  std::vector<EagerTensor> out;
  for (const Output& output : outputs) out.push_back(One(output));
  return out;
}

Status EagerCall::Done(const Operation&) const { return scope_.status(); }

namespace eager {
namespace {

// Constants are made where operations run that use them.
StatusOr<Tensor> ToItsDevice(Tensor value) {
  EagerRuntime& runtime = Runtime();
  Device* const asked = ThisEagerThread().options.device;
  Device& device = asked != nullptr ? *asked : *runtime.default_device();
  if (device.is_host() || runtime.StaysOnHost(value)) return value;
  return runtime.ToDevice(value, device);
}

}  // namespace

EagerRuntime& Runtime() {
  static auto* const runtime = new EagerRuntime(DefaultEnvironment());
  return *runtime;
}

EagerTensor Constant(const Input& literal, DType dtype) {
  if (literal.eager().has_value() || !literal.eager().ok()) return literal.eager();
  if (!literal.is_literal()) return EagerTensor(literal.output());
  StatusOr<Tensor> value = literal.ValueAs(dtype == DType::kInvalid ? literal.natural_dtype() : dtype);
  if (value.ok()) value = ToItsDevice(*std::move(value));
  return value.ok() ? EagerTensor(*std::move(value)) : EagerTensor::Error(value.status());
}

std::vector<EagerTensor> Execute(std::string_view op, const std::vector<EagerTensor>& inputs, AttrMap attrs) {
  const std::string name(op);
  EagerCall call;
  OpCall op_call(call.scope(), name.c_str());
  StatusOr<const OpSchema*> schema = call.scope().graph().FindSchema(name);
  if (!schema.ok()) return {EagerTensor::Error(schema.status())};
  for (const auto& [key, value] : attrs) op_call.SetAttribute(key, value);
  // Lists take what the arguments after them leave.
  size_t next = 0;
  const size_t num_lists = std::ranges::count_if(
      (*schema)->inputs, [](const ArgSchema& arg) { return !arg.number_attr.empty() || !arg.type_list_attr.empty(); });
  const size_t singles = (*schema)->inputs.size() - num_lists;
  if (num_lists > 1 || inputs.size() < singles || (num_lists == 0 && inputs.size() != singles)) {
    return {EagerTensor::Error(InvalidArgument(op, " does not take ", inputs.size(), " tensors"))};
  }
  for (const ArgSchema& arg : (*schema)->inputs) {
    if (arg.number_attr.empty() && arg.type_list_attr.empty()) {
      op_call.Add(Input(inputs[next++]));
      continue;
    }
    const size_t count = inputs.size() - singles;
    op_call.Add(InputList(std::vector<EagerTensor>(inputs.begin() + next, inputs.begin() + next + count)));
    next += count;
  }
  std::vector<EagerTensor> out;
  op_call.Finish();
  for (size_t i = 0; i < (*schema)->outputs.size(); ++i) {
    for (EagerTensor& tensor : call.List(op_call.List(static_cast<int>(i)))) out.push_back(std::move(tensor));
  }
  if (const Status status = call.scope().status(); !status.ok()) return {EagerTensor::Error(status)};
  return out;
}

OnDevice::OnDevice(std::string_view device) : before_(ThisEagerThread().options.device) {
  StatusOr<Device*> found = Runtime().FindDevice(device);
  if (found.ok()) ThisEagerThread().options.device = *found;
  status_ = found.status();
}
OnDevice::~OnDevice() { ThisEagerThread().options.device = before_; }

WithinTime::WithinTime(absl::Duration duration, CancellationManager* cancellation)
    : deadline_before_(ThisEagerThread().options.deadline),
      cancellation_before_(ThisEagerThread().options.cancellation) {
  EagerOptions& options = ThisEagerThread().options;
  options.deadline = std::min(deadline_before_, absl::Now() + duration);
  if (cancellation != nullptr) options.cancellation = cancellation;
}
WithinTime::~WithinTime() {
  ThisEagerThread().options.deadline = deadline_before_;
  ThisEagerThread().options.cancellation = cancellation_before_;
}

}  // namespace eager

EagerTensor operator-(const EagerTensor& a) { return RunUnary("Neg", a); }
EagerTensor operator!(const EagerTensor& a) { return RunUnary("LogicalNot", a); }

#define WEIR_DEFINE_OPERATOR(symbol, expression)                                                 \
  EagerTensor operator symbol(const EagerTensor& a, const EagerTensor& b) { return expression; } \
  EagerTensor operator symbol(const EagerTensor& a, const Input& b) { return expression; }       \
  EagerTensor operator symbol(const Input& a, const EagerTensor& b) { return expression; }
WEIR_DEFINE_OPERATOR(+, RunBinary("AddV2", a, b))
WEIR_DEFINE_OPERATOR(-, RunBinary("Sub", a, b))
WEIR_DEFINE_OPERATOR(*, RunBinary("Mul", a, b))
WEIR_DEFINE_OPERATOR(/, DivideNow(a, b))
WEIR_DEFINE_OPERATOR(<, RunBinary("Less", a, b))
WEIR_DEFINE_OPERATOR(<=, RunBinary("LessEqual", a, b))
WEIR_DEFINE_OPERATOR(>, RunBinary("Greater", a, b))
WEIR_DEFINE_OPERATOR(>=, RunBinary("GreaterEqual", a, b))
#undef WEIR_DEFINE_OPERATOR

}  // namespace weir
