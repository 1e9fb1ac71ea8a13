#include "weir/testing/kernel_runner.h"

#include "absl/synchronization/notification.h"
#include "weir/device/cpu/cpu_device.h"
#include "weir/ops/op_tables.h"

namespace weir {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(60);

DType SlotType(const Slot& slot) { return slot.ref ? RefType(slot.ref->dtype) : slot.tensor.dtype(); }

// One run: all that the kernel may look at until it is done.
struct Execution {
  CancellationManager cancellation;
  StepContext step;
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;
  std::unique_ptr<KernelContext> context;
};

}  // namespace

std::shared_ptr<CancellationManager> PreparedKernel::RunAsync(std::vector<Slot> inputs, Done done) {
  auto run = std::make_shared<Execution>();
  run->step = state_->runner->MakeStep(&run->cancellation);
  run->inputs = std::move(inputs);
  run->outputs.resize(state_->node.output_types.size());
  run->context = std::make_unique<KernelContext>(run->step, state_->node, run->inputs, run->outputs);
  std::shared_ptr<CancellationManager> cancellation(run, &run->cancellation);
  auto finish = [run, state = state_, done = std::move(done)](Status status) {
    done(std::move(status), std::move(run->outputs));
  };
  if (state_->kernel->is_async()) {
    state_->kernel->ComputeAsync(*run->context, Completion(std::move(finish)));
  } else {
    finish(state_->kernel->Compute(*run->context));
  }
  return cancellation;
}

Status PreparedKernel::RunSlots(std::vector<Slot> inputs, std::vector<Slot>& outputs) {
  struct Result {
    absl::Notification done;
    Status status;
    std::vector<Slot> outputs;
  };
  auto result = std::make_shared<Result>();
  auto cancellation = RunAsync(std::move(inputs), [result](Status status, std::vector<Slot> slots) {
    result->status = std::move(status);
    result->outputs = std::move(slots);
    result->done.Notify();
  });
  if (!result->done.WaitForNotificationWithTimeout(kPatience)) {
    cancellation->StartCancel();
    return DeadlineExceeded("Kernel of ", state_->node.schema->name, " did not finish");
  }
  outputs = std::move(result->outputs);
  return result->status;
}

StatusOr<std::vector<Tensor>> PreparedKernel::Run(std::vector<Tensor> inputs) {
  std::vector<Slot> slots(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) slots[i].tensor = std::move(inputs[i]);
  inputs.clear();
  std::vector<Slot> outputs;
  WEIR_RETURN_IF_ERROR(RunSlots(std::move(slots), outputs));
  std::vector<Tensor> tensors;
  for (Slot& slot : outputs) {
    if (slot.ref) {
      absl::MutexLock lock(&slot.ref->mu);
      tensors.push_back(slot.ref->tensor);
    } else {
      tensors.push_back(std::move(slot.tensor));
    }
  }
  return tensors;
}

KernelCall& KernelCall::Name(std::string_view name) {
  name_ = name;
  return *this;
}

KernelCall& KernelCall::Attr(std::string_view name, Attribute value) {
  attrs_.Set(name, std::move(value));
  return *this;
}

KernelCall& KernelCall::Attr(std::string_view name, std::vector<DType> types) {
  AttrList list;
  list.type = std::move(types);
  return Attr(name, Attribute(std::move(list)));
}

KernelCall& KernelCall::Attr(std::string_view name, std::vector<int64_t> numbers) {
  AttrList list;
  list.i = std::move(numbers);
  return Attr(name, Attribute(std::move(list)));
}

KernelCall& KernelCall::Input(Tensor tensor) {
  inputs_.emplace_back();
  inputs_.back().tensor = std::move(tensor);
  return *this;
}

KernelCall& KernelCall::Inputs(std::vector<Tensor> tensors) {
  for (Tensor& tensor : tensors) Input(std::move(tensor));
  return *this;
}

KernelCall& KernelCall::RefInput(RefPtr<RefCell> ref) {
  inputs_.emplace_back();
  inputs_.back().ref = std::move(ref);
  return *this;
}

// Walks arguments and inputs together. The length of the first variable argument of unknown length is what the others
// leave; a second one is left to CheckAttrs to complain about.
void KernelCall::InferAttrs(const OpSchema& schema) {
  auto known_length = [&](const ArgSchema& arg) -> int64_t {
    if (!arg.number_attr.empty()) {
      const Attribute* number = attrs_.Find(arg.number_attr);
      const int64_t* value = number != nullptr ? number->get_if<int64_t>() : nullptr;
      return value != nullptr ? *value : -1;
    }
    if (!arg.type_list_attr.empty()) {
      const Attribute* types = attrs_.Find(arg.type_list_attr);
      const AttrList* list = types != nullptr ? types->get_if<AttrList>() : nullptr;
      return list != nullptr ? static_cast<int64_t>(list->type.size()) : -1;
    }
    return 1;
  };
  size_t next = 0;
  for (size_t i = 0; i < schema.inputs.size(); ++i) {
    const ArgSchema& arg = schema.inputs[i];
    int64_t length = known_length(arg);
    if (length < 0) {
      int64_t left = static_cast<int64_t>(inputs_.size() - next);
      int64_t sharing = 1;  // variable arguments of the same number attribute divide what is left
      for (size_t j = i + 1; j < schema.inputs.size(); ++j) {
        if (!arg.number_attr.empty() && schema.inputs[j].number_attr == arg.number_attr) {
          ++sharing;
        } else {
          left -= std::max<int64_t>(0, known_length(schema.inputs[j]));
        }
      }
      length = std::max<int64_t>(0, left) / sharing;
    }
    if (next + length > inputs_.size()) return;
    if (!arg.number_attr.empty() && attrs_.Find(arg.number_attr) == nullptr) Attr(arg.number_attr, Attribute(length));
    if (!arg.type_list_attr.empty() && attrs_.Find(arg.type_list_attr) == nullptr) {
      std::vector<DType> types;
      for (int64_t k = 0; k < length; ++k) types.push_back(BaseType(SlotType(inputs_[next + k])));
      Attr(arg.type_list_attr, std::move(types));
    }
    if (!arg.type_attr.empty() && attrs_.Find(arg.type_attr) == nullptr && length > 0) {
      Attr(arg.type_attr, Attribute(BaseType(SlotType(inputs_[next]))));
    }
    next += length;
  }
}

StatusOr<PreparedKernel> KernelCall::Prepare() {
  WEIR_RETURN_IF_ERROR(runner_->ops_status_);
  WEIR_ASSIGN_OR_RETURN(const OpSchema* schema, runner_->ops_.LookUp(op_));
  InferAttrs(*schema);
  WEIR_RETURN_IF_ERROR(CheckAttrs(*schema, attrs_));
  auto state = std::make_shared<PreparedKernel::State>();
  state->runner = runner_;
  state->attrs = attrs_;
  WEIR_ASSIGN_OR_RETURN(state->types, ResolveArgTypes(*schema, attrs_));
  const std::vector<DType>& wanted = state->types.inputs;
  if (wanted.size() != inputs_.size()) {
    return InvalidArgument(op_, " takes ", wanted.size(), " inputs, got ", inputs_.size());
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    // A ref may go where a value is wanted, but not the other way round.
    DType got = SlotType(inputs_[i]);
    if (BaseType(got) != BaseType(wanted[i]) || (IsRef(wanted[i]) && !IsRef(got))) {
      return InvalidArgument("Input ", i, " of ", op_, " must be ", weir::Name(wanted[i]), ", got ", weir::Name(got));
    }
    if (IsRef(got) && !IsRef(wanted[i])) {
      RefPtr<RefCell> ref = std::move(inputs_[i].ref);
      absl::MutexLock lock(&ref->mu);
      inputs_[i].tensor = ref->tensor;
    }
  }
  state->node.name = name_;
  state->node.schema = schema;
  state->node.output_types = state->types.outputs;
  WEIR_ASSIGN_OR_RETURN(const KernelDef* def, runner_->kernels_.Find(op_, runner_->device_->type(), attrs_));
  KernelInit init(state->node.name, *schema, state->attrs, state->types, runner_->device_.get(), runner_->functions_);
  WEIR_ASSIGN_OR_RETURN(state->kernel, def->factory(init));
  PreparedKernel prepared;
  prepared.state_ = std::move(state);
  return prepared;
}

Status KernelCall::RunSlots(std::vector<Slot>& outputs) {
  WEIR_ASSIGN_OR_RETURN(PreparedKernel kernel, Prepare());
  return kernel.RunSlots(std::move(inputs_), outputs);
}

StatusOr<std::vector<Tensor>> KernelCall::Run() {
  std::vector<Slot> outputs;
  WEIR_RETURN_IF_ERROR(RunSlots(outputs));
  std::vector<Tensor> tensors;
  for (Slot& slot : outputs) {
    if (slot.ref) {
      absl::MutexLock lock(&slot.ref->mu);
      tensors.push_back(slot.ref->tensor);
    } else {
      tensors.push_back(std::move(slot.tensor));
    }
  }
  return tensors;
}

std::shared_ptr<CancellationManager> KernelCall::RunAsync(PreparedKernel::Done done) {
  auto kernel = Prepare();
  if (!kernel.ok()) {
    done(kernel.status(), {});
    return nullptr;
  }
  return kernel->RunAsync(std::move(inputs_), std::move(done));
}

KernelRunner::KernelRunner(std::initializer_list<RegisterFunction> families, int num_threads)
    : device_(MakeCpuDevice()),
      step_resources_("step"),
      intra_op_("test_intra", num_threads),
      inter_op_("test_inter", num_threads) {
  ops_status_ = RegisterBuiltinOps(ops_);
  for (RegisterFunction family : families) family(kernels_);
}

KernelRunner::~KernelRunner() = default;

void KernelRunner::NextStep() {
  step_resources_.ClearAll();
  ++step_id_;
}

StepContext KernelRunner::MakeStep(CancellationManager* cancellation) {
  StepContext step;
  step.step_id = step_id_;
  step.device = device_.get();
  step.intra_op = &intra_op_;
  step.runner = [this](std::function<void()> closure) { inter_op_.Schedule(std::move(closure)); };
  step.cancellation = cancellation;
  step.rendezvous = rendezvous_;
  step.functions = functions_;
  step.step_resources = &step_resources_;
  step.session_handle = "test";
  return step;
}

}  // namespace weir
