#include "weir/runtime/eager_runtime.h"

#include <atomic>
#include <iterator>

#include "absl/synchronization/notification.h"
#include "weir/base/timer.h"
#include "weir/framework/rendezvous.h"
#include "weir/runtime/execution_plan.h"
#include "weir/runtime/graph_compiler.h"
#include "weir/runtime/kernel_cache.h"
#include "weir/runtime/memory_types.h"

namespace weir {
namespace {

// Programs use a few hundred kernels; one that makes ever new attributes must not fill the memory.
constexpr int kMostKernels = 4096;

bool IsPassedOn(const OpSchema& schema) {
  return schema.name == "Identity" || schema.name == "StopGradient" || schema.name == "PreventGradient" ||
         schema.name == "PlaceholderWithDefault";
}

Status CheckTypes(const OpSchema& schema, const ArgTypes& types, std::span<const Tensor> inputs) {
  if (inputs.size() != types.inputs.size()) {
    return InvalidArgument("Expects ", types.inputs.size(), " inputs, but ", inputs.size(), " were given");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (IsRef(types.inputs[i])) {
      return Unimplemented("Input ", i, " of ", schema.name,
                           " is a reference to an old variable: only graphs have them");
    }
    if (!inputs[i].has_value()) return InvalidArgument("Input ", i, " has no value");
    if (inputs[i].dtype() != types.inputs[i]) {
      return InvalidArgument("cannot compute ", schema.name, " as input #", i, "(zero-based) was expected to be a ",
                             Name(types.inputs[i]), " tensor but is a ", Name(inputs[i].dtype()), " tensor");
    }
  }
  return OkStatus();
}

// One copy, waited for.
StatusOr<Tensor> Copy(Device& device, const std::shared_ptr<DeviceRun>& run, const Tensor& tensor, bool to_host) {
  absl::Notification done;
  StatusOr<Tensor> out = Internal("A copy was dropped");
  auto finish = [&](StatusOr<Tensor> copy) {
    out = std::move(copy);
    done.Notify();
  };
  if (to_host) {
    BringValue({.tensor = tensor, .device = &device, .run = run}, nullptr, nullptr, finish);
  } else {
    BringValue({.tensor = tensor}, &device, run, finish);
  }
  done.WaitForNotification();
  return out;
}

// The end of a run's work.
Status Await(DeviceRun& run) {
  absl::Notification ended;
  Status status;
  run.WhenDone([&](Status end) {
    status = std::move(end);
    ended.Notify();
  });
  ended.WaitForNotification();
  return status;
}

}  // namespace

EagerRuntime::EagerRuntime(std::shared_ptr<Environment> environment)
    : environment_(std::move(environment)),
      host_(environment_->devices.host()),
      inter_op_(environment_->InterOpPool(0)),
      intra_op_(environment_->IntraOpPool(0)),
      library_(std::make_shared<FunctionLibrary>(environment_->ops)) {
  library_->set_differentiator(environment_->differentiator);
  SessionOptions options;
  options.allow_soft_placement = true;
  functions_ = std::make_unique<LocalFunctionRuntime>(
      library_, environment_->kernels, intra_op_,
      std::make_shared<GraphCompiler>(*environment_, environment_->devices, library_, intra_op_, std::move(options)));
}
EagerRuntime::~EagerRuntime() = default;

int EagerRuntime::num_kernels() const {
  absl::MutexLock lock(&mu_);
  return num_entries_;
}

void EagerRuntime::RemoveFunction(std::string_view name, const std::function<bool(std::string_view)>& is_kept) {
  const std::vector<std::string> removed = library_->Remove(name, is_kept);
  std::vector<std::shared_ptr<Entry>> dropped;  // destroyed without the lock
  {
    absl::MutexLock lock(&mu_);
    for (auto it = entries_.begin(); it != entries_.end();) {
      num_entries_ -= static_cast<int>(std::erase_if(it->second, [&](const std::shared_ptr<Entry>& entry) {
        const Attribute* f = entry->given.Find("f");
        const FunctionAttr* function = f != nullptr ? f->get_if<FunctionAttr>() : nullptr;
        if (function == nullptr || std::ranges::find(removed, function->name) == removed.end()) return false;
        dropped.push_back(entry);
        return true;
      }));
      if (it->second.empty()) {
        entries_.erase(it++);
      } else {
        ++it;
      }
    }
  }
  dropped.clear();
  functions_->Forget(removed);
}

void EagerRuntime::ForgetSeeded() {
  absl::MutexLock lock(&mu_);
  absl::erase_if(entries_, [](const auto& item) { return item.first.schema->FindAttr("seed2") != nullptr; });
  num_entries_ = 0;
  for (const auto& [kept, entries] : entries_) num_entries_ += static_cast<int>(entries.size());
}

StatusOr<Device*> EagerRuntime::FindDevice(std::string_view name) const {
  WEIR_ASSIGN_OR_RETURN(DeviceName pattern, DeviceName::Parse(name));
  for (const auto& device : environment_->devices.devices()) {
    StatusOr<DeviceName> own = DeviceName::Parse(device->name());
    if (own.ok() && own->Matches(pattern)) return device.get();
  }
  return NotFound("There is no device ", name);
}

StatusOr<std::shared_ptr<EagerRuntime::Entry>> EagerRuntime::MakeEntry(const OpSchema& schema, const AttrMap& attrs,
                                                                       Device* device) {
  auto entry = std::make_shared<Entry>();
  entry->device = device;
  entry->given = attrs;
  AttrMap complete = attrs;
  WEIR_RETURN_IF_ERROR(CheckAttrs(schema, complete));
  WEIR_ASSIGN_OR_RETURN(ArgTypes types, ResolveArgTypes(schema, complete));
  for (DType dtype : types.outputs) {
    if (IsRef(dtype)) return Unimplemented(schema.name, " gives a reference: only graphs have them");
  }
  Node node;
  node.name = schema.name;
  node.schema = &schema;
  node.attrs = complete;
  node.types = std::make_shared<const ArgTypes>(std::move(types));
  node.assigned_device = device->name();
  entry->node = {node.name, &schema, node.types};
  entry->is_constant = schema.name == "Const";
  if (IsPassedOn(schema) || schema.name == "NoOp" || entry->is_constant) {
    entry->attrs = std::make_shared<const AttrMap>(std::move(complete));
    return entry;
  }
  if (IsExecutorNative(schema)) return Unimplemented(schema.name, " is a part of graphs and cannot be run by itself");
  KernelCache maker(environment_->kernels, functions_.get());
  WEIR_ASSIGN_OR_RETURN(entry->kernel, maker.Get(node, device));
  if (!device->is_host()) {
    const MemoryTypes memory(environment_->kernels, environment_->devices);
    for (size_t i = 0; i < node.types->inputs.size(); ++i) {
      entry->inputs_move.push_back(memory.Input(node, static_cast<int>(i)) == MemoryType::kDevice);
    }
    for (int i = 0; i < node.num_outputs(); ++i) {
      entry->outputs_move.push_back(memory.Output(node, i) == MemoryType::kDevice);
    }
  }
  entry->attrs = std::make_shared<const AttrMap>(std::move(complete));
  return entry;
}

StatusOr<std::shared_ptr<EagerRuntime::Entry>> EagerRuntime::FindEntry(const OpSchema& schema, const AttrMap& attrs,
                                                                       Device* device) {
  if (schema.name == "Const") return MakeEntry(schema, attrs, device);
  const Key key{&schema, device, Hash(attrs)};
  {
    absl::MutexLock lock(&mu_);
    if (auto found = entries_.find(key); found != entries_.end()) {
      for (const auto& entry : found->second) {
        if (entry->given == attrs) return entry;
      }
    }
  }
  // Without the lock: a factory may instantiate functions, which look up kernels in turn.
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Entry> made, MakeEntry(schema, attrs, device));
  absl::MutexLock lock(&mu_);
  if (num_entries_ >= kMostKernels) {
    // Those with state must stay; the others are made again where they are needed.
    absl::erase_if(entries_, [](const auto& item) { return !item.first.schema->is_stateful; });
    num_entries_ = 0;
    for (const auto& [kept, entries] : entries_) num_entries_ += static_cast<int>(entries.size());
    if (num_entries_ >= kMostKernels) return made;
  }
  std::vector<std::shared_ptr<Entry>>& entries = entries_[key];
  for (const auto& entry : entries) {
    if (entry->given == attrs) return entry;  // another thread was first
  }
  entries.push_back(made);
  ++num_entries_;
  return made;
}

Status EagerRuntime::RunEntry(const Entry& entry, std::span<Tensor> inputs, Outputs* outputs,
                              const EagerOptions& options) {
  outputs->clear();
  if (entry.kernel == nullptr) {
    if (entry.is_constant) {
      WEIR_ASSIGN_OR_RETURN(Tensor value, GetAttr<Tensor>(*entry.attrs, "value"));
      outputs->push_back(std::move(value));
    } else {
      for (Tensor& input : inputs) outputs->push_back(std::move(input));
    }
    return OkStatus();
  }
  Device* const device = entry.device;
  const std::shared_ptr<DeviceRun> run = device->is_host() ? nullptr : device->StartRun();
  absl::InlinedVector<Slot, 4> in(inputs.size()), out(entry.node.types->outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!entry.inputs_move.empty() && entry.inputs_move[i]) {
      WEIR_ASSIGN_OR_RETURN(in[i].tensor, Copy(*device, run, inputs[i], /*to_host=*/false));
    } else {
      in[i].tensor = std::move(inputs[i]);
    }
  }
  static std::atomic<int64_t> next_step{1};
  CancellationManager cancellation(options.cancellation);
  StepContext step;
  step.step_id = next_step.fetch_add(1, std::memory_order_relaxed);
  step.device = device;
  step.device_run = run.get();
  step.intra_op = intra_op_;
  step.cancellation = &cancellation;
  step.functions = functions_.get();
  step.step_resources = &step_resources_;
  step.deadline = options.deadline;
  step.deterministic = environment_->deterministic;
  Status status;
  KernelContext context(step, entry.node, {in.data(), in.size()}, {out.data(), out.size()});
  if (!entry.kernel->is_async()) {
    status = entry.kernel->Compute(context);
  } else {
    step.runner = [this](std::function<void()> closure) { inter_op_->Schedule(std::move(closure)); };
    Timer::Id timer = 0;
    if (options.deadline < absl::InfiniteFuture()) {
      timer = Timer::Global().CallAt(options.deadline, [&cancellation, &entry] {
        cancellation.StartCancel(DeadlineExceeded("Timed out while ", entry.node.name, " was waiting"));
      });
    }
    absl::Notification done;
    entry.kernel->ComputeAsync(context, Completion([&](Status end) {
                                 status = std::move(end);
                                 done.Notify();
                               }));
    done.WaitForNotification();
    if (timer != 0) Timer::Global().Cancel(timer);
    if (!status.ok() && cancellation.cancelled() && absl::IsCancelled(status)) status = cancellation.reason();
  }
  if (run != nullptr) {
    Status late = Await(*run);
    if (status.ok()) status = std::move(late);
  }
  WEIR_RETURN_IF_ERROR(status);
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].tensor.has_value()) return Internal("Output ", i, " was not set");
    if (!entry.outputs_move.empty() && entry.outputs_move[i]) {
      WEIR_ASSIGN_OR_RETURN(Tensor copy, Copy(*device, run, out[i].tensor, /*to_host=*/true));
      outputs->push_back(std::move(copy));
    } else {
      outputs->push_back(std::move(out[i].tensor));
    }
  }
  return OkStatus();
}

StatusOr<std::shared_ptr<const EagerRuntime::Prepared>> EagerRuntime::Prepare(const OpSchema& schema,
                                                                              const AttrMap& attrs, Device* device) {
  StatusOr<std::shared_ptr<Entry>> entry = FindEntry(schema, attrs, device != nullptr ? device : host_);
  if (!entry.ok()) return Annotate(entry.status(), "", Cat(" [Op:", schema.name, "]"));
  return *std::move(entry);
}

Status EagerRuntime::RunCached(const Prepared& prepared, std::span<Tensor> inputs, Outputs* outputs,
                               const EagerOptions& options) {
  Status status = RunEntry(prepared, inputs, outputs, options);
  if (status.ok()) return status;
  return Annotate(status, "", Cat(" [Op:", prepared.node.schema->name, "]"));
}

StatusOr<EagerResult> EagerRuntime::Run(const OpSchema& schema, std::vector<Tensor> inputs, const AttrMap& attrs,
                                        const EagerOptions& options) {
  auto run = [&]() -> StatusOr<EagerResult> {
    Device* device = options.device != nullptr ? options.device : host_;
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Entry> entry, FindEntry(schema, attrs, device));
    WEIR_RETURN_IF_ERROR(CheckTypes(schema, *entry->node.types, inputs));
    Outputs outputs;
    WEIR_RETURN_IF_ERROR(RunEntry(*entry, inputs, &outputs, options));
    EagerResult result;
    result.attrs = entry->attrs;
    result.outputs.assign(std::make_move_iterator(outputs.begin()), std::make_move_iterator(outputs.end()));
    return result;
  };
  StatusOr<EagerResult> result = run();
  if (result.ok()) return result;
  return Annotate(result.status(), "", Cat(" [Op:", schema.name, "]"));
}

}  // namespace weir
