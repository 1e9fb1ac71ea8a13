// How EagerRuntime runs prepared ops: inputs are copied to the memory where the kernel needs them, outputs stay where
// they are computed.
#include <atomic>

#include "absl/synchronization/notification.h"
#include "weir/base/logging.h"
#include "weir/base/timer.h"
#include "weir/framework/scratch.h"
#include "weir/framework/variant_copy.h"
#include "weir/runtime/eager_runtime.h"
#include "weir/runtime/memory_types.h"
#include "weir/tensor/variant.h"

namespace weir {

Device& EagerRuntime::Home(const Tensor& tensor) const {
  const Allocator* allocator = tensor.device_allocator();
  if (allocator == nullptr) return *host_;
  for (Device* device : accelerators()) {
    if (device->allocator() == allocator) return *device;
  }
  return *host_;
}

StatusOr<Tensor> EagerRuntime::ToHost(const Tensor& tensor) {
  if (tensor.in_host_memory()) return tensor;
  Device& home = Home(tensor);
  if (home.is_host()) return InvalidArgument("The tensor is in the memory of a device that this program does not know");
  const std::vector<UnfinishedRuns::Run> runs = unfinished_.Take(home);
  StatusOr<Tensor> copy = CopyToHostNow(home, tensor);  // ordered after all work that the device has been given
  WEIR_RETURN_IF_ERROR(UnfinishedRuns::FirstError(runs));
  return copy;
}

StatusOr<Tensor> EagerRuntime::ToDevice(const Tensor& tensor, Device& device, DeviceRun* run) {
  if (device.is_host()) return ToHost(tensor);
  if (!IsPlain(tensor.dtype()) || device.allocator() == tensor.device_allocator()) return tensor;
  if (tensor.in_host_memory()) return CopyFromHostNow(device, tensor, run);
  absl::Notification done;
  StatusOr<Tensor> out = Internal("A copy was dropped");
  const bool is_direct = Home(tensor).CopyToDevice(tensor, device, /*run=*/nullptr, [&](StatusOr<Tensor> copy) {
    out = std::move(copy);
    done.Notify();
  });
  if (is_direct) {
    done.WaitForNotification();
    return out;
  }
  WEIR_ASSIGN_OR_RETURN(Tensor host, ToHost(tensor));
  return CopyFromHostNow(device, host, run);
}

Status EagerRuntime::Await(Device* device) {
  Status first;
  for (Device* each : accelerators()) {
    if (device != nullptr && each != device) continue;
    const std::vector<UnfinishedRuns::Run> runs = unfinished_.Take(*each);
    Status status = each->Await();
    if (status.ok()) status = UnfinishedRuns::FirstError(runs);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

namespace {

bool IsIn(const Tensor& tensor, const Device& device, const Allocator* memory);

// Whether the tensors in variants are in the memory where kernels of a device expect them (framework/variant_copy.h).
bool AreIn(const Tensor& variants, const Device& device, const Allocator* memory) {
  for (const Variant& variant : variants.span<Variant>()) {
    if (!variant.has_value()) continue;
    for (const Tensor& tensor : variant.get()->LocalTensors()) {
      if (!IsIn(tensor, device, memory)) return false;
    }
  }
  return true;
}
bool IsIn(const Tensor& tensor, const Device& device, const Allocator* memory) {
  if (!tensor.has_value() || tensor.dtype() == DType::kInt32) return true;
  if (tensor.dtype() == DType::kVariant) return AreIn(tensor, device, memory);
  if (!IsPlain(tensor.dtype())) return true;
  return device.is_host() ? tensor.in_host_memory() : tensor.device_allocator() == memory;
}

}  // namespace

Status EagerRuntime::BringVariants(Tensor* variants, Device& device, DeviceRun* run) {
  if (accelerators().empty() || AreIn(*variants, device, device.allocator())) return OkStatus();
  absl::Notification done;
  StatusOr<Tensor> out = Internal("A copy was dropped");
  auto bring = [&](const Tensor& tensor, const Device::CopyDone& brought) {
    Tensor copy = tensor;
    const Status status = Bring(&copy, device, run);
    brought(status.ok() ? StatusOr<Tensor>(std::move(copy)) : status);
  };
  CopyVariants(*variants, bring, [&](StatusOr<Tensor> copy) {
    out = std::move(copy);
    done.Notify();
  });
  done.WaitForNotification();
  WEIR_RETURN_IF_ERROR(out.status());
  *variants = *std::move(out);
  return OkStatus();
}

Status EagerRuntime::Bring(Tensor* tensor, Device& device, DeviceRun* run) {
  if (tensor->dtype() == DType::kVariant) return BringVariants(tensor, device, run);
  if (device.is_host() ? tensor->in_host_memory() : tensor->device_allocator() == device.allocator()) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(*tensor, ToDevice(*tensor, device, run));
  return OkStatus();
}

// Ops that need no kernel: constants, and ops that forward their inputs.
Status EagerRuntime::PassOn(const Entry& entry, std::span<Tensor> inputs, Outputs* outputs) {
  if (entry.is_constant) {
    WEIR_ASSIGN_OR_RETURN(Tensor value, GetAttr<Tensor>(*entry.attrs, "value"));
    outputs->push_back(std::move(value));
  } else {
    for (Tensor& input : inputs) outputs->push_back(std::move(input));
  }
  for (Tensor& output : *outputs) {
    const bool goes = NativeMemory(output.dtype()) == MemoryType::kDevice;
    WEIR_RETURN_IF_ERROR(Bring(&output, goes ? *entry.device : *host_, nullptr));
  }
  return OkStatus();
}

Status EagerRuntime::RunEntry(const Entry& entry, std::span<Tensor> inputs, Outputs* outputs,
                              const EagerOptions& options) {
  outputs->clear();
  if (log_placement_.load(std::memory_order_relaxed)) [[unlikely]] {
    WEIR_LOG(INFO) << "Executing op " << entry.node.schema->name << " in device " << entry.device->name();
  }
  if (entry.kernel == nullptr) return PassOn(entry, inputs, outputs);
  if (entry.device->is_host()) return RunKernel(entry, nullptr, inputs, outputs, options);
  std::shared_ptr<DeviceRun> run = entry.device->StartRun();
  Status status = RunKernel(entry, run.get(), inputs, outputs, options);
  if (run == nullptr) return status;
  if (status.ok()) {
    unfinished_.Keep(*entry.device, std::move(run), entry.node.schema->name);
  } else if (run->may_fail_late()) {
    run->WhenDone([run](const Status&) {});  // the error is reported already; keeps what the run writes to
  }
  return status;
}

Status EagerRuntime::RunKernel(const Entry& entry, DeviceRun* run, std::span<Tensor> inputs, Outputs* outputs,
                               const EagerOptions& options) {
  Device* const device = entry.device;
  absl::InlinedVector<Slot, 4> in(inputs.size()), out(entry.node.types->outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    in[i].tensor = std::move(inputs[i]);
    if (entry.is_call) continue;
    const bool moves = in[i].tensor.dtype() == DType::kVariant || (!entry.inputs_move.empty() && entry.inputs_move[i]);
    WEIR_RETURN_IF_ERROR(Bring(&in[i].tensor, moves ? *device : *host_, run));
  }
  static std::atomic<int64_t> next_step{1};
  CancellationManager cancellation(options.cancellation);
  StepContext step;
  step.step_id = next_step.fetch_add(1, std::memory_order_relaxed);
  step.device = device;
  step.device_run = run;
  step.intra_op = intra_op_;
  step.cancellation = &cancellation;
  step.functions = started_functions_.load(std::memory_order_acquire);
  step.step_resources = &step_resources_;
  step.deadline = options.deadline;
  step.deterministic = environment_->deterministic;
  if (entry.is_call && !accelerators().empty()) step.keeper = &unfinished_;
  Status status;
  KernelContext context(step, entry.node, {in.data(), in.size()}, {out.data(), out.size()});
  if (!entry.kernel->is_async()) {
    status = WithinMemory([&] { return entry.kernel->Compute(context); });
  } else {
    step.runner = [this](std::function<void()> closure) { inter_op_->Schedule(std::move(closure)); };
    Timer::Id timer = 0;
    if (options.deadline < absl::InfiniteFuture()) {
      timer = Timer::Global().CallAt(options.deadline, [&cancellation, &entry] {
        cancellation.StartCancel(DeadlineExceeded("Timed out while ", entry.node.name, " was waiting"));
      });
    }
    absl::Notification done;
    Completion completion([&](Status end) {
      status = std::move(end);
      done.Notify();
    });
    // A kernel that throws drops its Completion, and that reports an error.
    WithinMemory([&] {
      entry.kernel->ComputeAsync(context, std::move(completion));
      return OkStatus();
    }).IgnoreError();
    done.WaitForNotification();
    if (timer != 0) Timer::Global().Cancel(timer);
    if (!status.ok() && cancellation.cancelled() && absl::IsCancelled(status)) status = cancellation.reason();
  }
  WEIR_RETURN_IF_ERROR(status);
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].tensor.has_value()) return Internal("Output ", i, " was not set");
    outputs->push_back(std::move(out[i].tensor));
  }
  return OkStatus();
}

}  // namespace weir
