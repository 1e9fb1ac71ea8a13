#include "weir/runtime/eager_runtime.h"

#include <iterator>

#include "weir/runtime/execution_plan.h"
#include "weir/runtime/graph_compiler.h"
#include "weir/runtime/kernel_cache.h"
#include "weir/runtime/memory_types.h"
#include "weir/tensor/resource_handle.h"

namespace weir {
namespace {

// Programs use a few hundred kernels; a program that keeps inventing attributes must not exhaust the memory.
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
      return Unimplemented("Input ", i, " of ", schema.name, " is a reference variable, which only graphs support");
    }
    if (!inputs[i].has_value()) return InvalidArgument("Input ", i, " has no value");
    if (inputs[i].dtype() != types.inputs[i]) {
      return InvalidArgument("cannot compute ", schema.name, " as input #", i, "(zero-based) was expected to be a ",
                             Name(types.inputs[i]), " tensor but is a ", Name(inputs[i].dtype()), " tensor");
    }
  }
  return OkStatus();
}

bool IsCall(const OpSchema& schema) {
  return schema.name == "PartitionedCall" || schema.name == "StatefulPartitionedCall";
}

// Up to so many integers count as a shape, an axis or the like.
constexpr int64_t kFewIntegers = 64;

bool AreFewIntegers(std::span<const Tensor> inputs) {
  for (const Tensor& input : inputs) {
    if (input.dtype() != DType::kInt32 && input.dtype() != DType::kInt64) return false;
    if (input.num_elements() > kFewIntegers || !input.in_host_memory()) return false;
  }
  return !inputs.empty();
}

// Ops that make large tensors from a few integers.
bool IsGenerator(const OpSchema& schema) {
  return schema.name.starts_with("Random") || schema.name.starts_with("Stateless") ||
         schema.name.starts_with("Stateful") || schema.name == "TruncatedNormal" || schema.name == "Multinomial";
}

}  // namespace

EagerRuntime::EagerRuntime(std::shared_ptr<Environment> environment)
    : environment_(std::move(environment)),
      host_(environment_->devices.host()),
      inter_op_(environment_->InterOpPool(0)),
      intra_op_(environment_->IntraOpPool(0)),
      library_(std::make_shared<FunctionLibrary>(environment_->ops)) {
  library_->set_differentiator(environment_->differentiator);
}

const std::vector<Device*>& EagerRuntime::accelerators() const {
  absl::call_once(started_, [this] {
    for (const auto& device : environment_->devices.devices()) {
      if (!device->is_host()) accelerators_.push_back(device.get());
    }
    SessionOptions options;
    options.allow_soft_placement = true;
    functions_ = std::make_unique<LocalFunctionRuntime>(
        library_, environment_->kernels, intra_op_,
        std::make_shared<GraphCompiler>(*environment_, environment_->devices, library_, intra_op_, std::move(options)));
    started_functions_.store(functions_.get(), std::memory_order_release);
  });
  return accelerators_;
}

FunctionRuntime* EagerRuntime::Functions() const { return accelerators(), functions_.get(); }

EagerRuntime::~EagerRuntime() {
  if (started_functions_.load() != nullptr) Await().IgnoreError();
}

int EagerRuntime::num_kernels() const {
  absl::MutexLock lock(&mu_);
  return num_entries_;
}

void EagerRuntime::RemoveFunction(std::string_view name, const std::function<bool(std::string_view)>& is_kept) {
  const std::vector<std::string> removed = library_->Remove(name, is_kept);
  std::vector<std::shared_ptr<Entry>> dropped;  // destroyed after the lock is released
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
  if (started_functions_.load() != nullptr) functions_->Forget(removed);
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

bool EagerRuntime::IsForHost(DType dtype) { return NativeMemory(dtype) == MemoryType::kHost; }

bool EagerRuntime::StaysOnHost(const Tensor& constant) {
  return IsForHost(constant.dtype()) || AreFewIntegers({&constant, 1});
}

EagerRuntime::Choice EagerRuntime::Place(const OpSchema& schema, std::span<const Tensor> inputs,
                                         Device* asked_for) const {
  if (accelerators().empty()) return {asked_for != nullptr ? asked_for : host_, asked_for != nullptr};
  if (IsCall(schema)) return {host_, false};
  for (const Tensor& input : inputs) {
    if (input.dtype() != DType::kResource || input.num_elements() != 1) continue;
    const std::string& home = input.data<ResourceHandle>()[0].device;
    for (Device* device : accelerators_) {
      if (device->name() == home) return {device, true};
    }
    return {host_, false};
  }
  if (asked_for != nullptr) return {asked_for, true};
  if (AreFewIntegers(inputs) && !IsGenerator(schema)) return {host_, false};
  return {accelerators_.front(), false};
}

// The device that runs a node, given the preferred device.
StatusOr<Device*> EagerRuntime::Settle(const Node& node, Choice choice) const {
  Device* const device = choice.device;
  if (device->is_host()) return device;
  const bool has_kernel =
      IsExecutorNative(*node.schema) || environment_->kernels.Find(node.op(), device->type(), node.attrs).ok();
  if (!has_kernel && choice.is_asked_for && !soft_placement_.load(std::memory_order_relaxed)) {
    std::string types, devices;
    for (const std::string& type : environment_->kernels.DeviceTypes(node.op(), node.attrs)) {
      types += Cat(types.empty() ? "" : ", ", type);
    }
    for (const auto& each : environment_->devices.devices()) devices += Cat(devices.empty() ? "" : ", ", each->name());
    return InvalidArgument("Could not satisfy device specification '", device->name(),
                           "'. enable_soft_placement=0. Supported device types [", types, "]. All available devices [",
                           devices, "].");
  }
  if (!has_kernel) return host_;
  // The op that creates a variable decides where its users run; other ops on host tensors gain nothing from a device.
  if (choice.is_asked_for || node.op() == "VarHandleOp") return device;
  const MemoryTypes memory(environment_->kernels, environment_->devices);
  for (int i = 0; i < static_cast<int>(node.types->inputs.size()); ++i) {
    if (memory.Input(node, i) == MemoryType::kDevice) return device;
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (memory.Output(node, i) == MemoryType::kDevice) return device;
  }
  return host_;
}

StatusOr<std::shared_ptr<EagerRuntime::Entry>> EagerRuntime::MakeEntry(const OpSchema& schema, const AttrMap& attrs,
                                                                       Choice choice) {
  auto entry = std::make_shared<Entry>();
  entry->given = attrs;
  AttrMap complete = attrs;
  WEIR_RETURN_IF_ERROR(CheckAttrs(schema, complete));
  WEIR_ASSIGN_OR_RETURN(ArgTypes types, ResolveArgTypes(schema, complete));
  for (DType dtype : types.outputs) {
    if (IsRef(dtype)) return Unimplemented(schema.name, " returns a reference, which only graphs support");
  }
  Node node;
  node.name = schema.name;
  node.schema = &schema;
  node.attrs = complete;
  node.types = std::make_shared<const ArgTypes>(std::move(types));
  node.assigned_device = choice.device->name();
  WEIR_ASSIGN_OR_RETURN(Device * device, Settle(node, choice));
  node.assigned_device = device->name();
  entry->device = device;
  entry->is_call = IsCall(schema);
  entry->node = {node.name, &schema, node.types};
  entry->is_constant = schema.name == "Const";
  if (IsPassedOn(schema) || schema.name == "NoOp" || entry->is_constant) {
    entry->attrs = std::make_shared<const AttrMap>(std::move(complete));
    return entry;
  }
  if (IsExecutorNative(schema))
    return Unimplemented(schema.name, " is only available in graphs and cannot be executed eagerly");
  const bool has_functions = std::ranges::any_of(
      schema.attrs, [](const AttrSchema& attr) { return attr.type == "func" || attr.type == "list(func)"; });
  // Only ops with functions may start the devices here: constant folding prepares ops before anything has started them.
  KernelCache maker(environment_->kernels, has_functions ? Functions() : started_functions_.load());
  WEIR_ASSIGN_OR_RETURN(entry->kernel, maker.Get(node, device));
  if (!device->is_host()) {
    const MemoryTypes memory(environment_->kernels, environment_->devices);
    for (size_t i = 0; i < node.types->inputs.size(); ++i) {
      entry->inputs_move.push_back(memory.Input(node, static_cast<int>(i)) == MemoryType::kDevice);
    }
  }
  entry->attrs = std::make_shared<const AttrMap>(std::move(complete));
  return entry;
}

StatusOr<std::shared_ptr<EagerRuntime::Entry>> EagerRuntime::FindEntry(const OpSchema& schema, const AttrMap& attrs,
                                                                       Choice choice) {
  if (schema.name == "Const") return MakeEntry(schema, attrs, choice);
  const Key key{&schema, choice, Hash(attrs)};
  {
    absl::MutexLock lock(&mu_);
    if (auto found = entries_.find(key); found != entries_.end()) {
      for (const auto& entry : found->second) {
        if (entry->given == attrs) return entry;
      }
    }
  }
  // Without the lock, because a factory may instantiate functions, which look up kernels in turn.
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Entry> made, MakeEntry(schema, attrs, choice));
  absl::MutexLock lock(&mu_);
  if (num_entries_ >= kMostKernels) {
    // Stateful kernels must stay; the others are created again when needed.
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

StatusOr<std::shared_ptr<const EagerRuntime::Prepared>> EagerRuntime::Prepare(const OpSchema& schema,
                                                                              const AttrMap& attrs, Choice choice) {
  StatusOr<std::shared_ptr<Entry>> entry = FindEntry(schema, attrs, choice);
  if (!entry.ok()) return Annotate(entry.status(), "", Cat(" [Op:", schema.name, "]"));
  return *std::move(entry);
}

StatusOr<std::shared_ptr<const EagerRuntime::Prepared>> EagerRuntime::Prepare(const OpSchema& schema,
                                                                              const AttrMap& attrs) {
  return Prepare(schema, attrs, {host_, false});
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
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Entry> entry,
                          FindEntry(schema, attrs, Place(schema, inputs, options.device)));
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
