#include "weir/device/cuda/recording.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "weir/base/strings.h"
#include "weir/device/cuda/launch.h"

namespace weir::cuda {
namespace {

bool IsSwitchedOn(const char* name, bool otherwise) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return otherwise;
  return std::string_view(value) != "0" && std::string_view(value) != "off";
}

std::atomic<int64_t> replays = 0;

}  // namespace

int64_t CountReplays() { return replays.load(); }

bool CudaDevice::can_record() const {
  // Recorded work cannot be watched kernel by kernel.
  static const bool can = IsSwitchedOn("WEIR_CUDA_GRAPHS", true) && !IsSwitchedOn("WEIR_CUDA_DEBUG", false);
  return can;
}

StatusOr<std::vector<Tensor>> CudaRun::StartRecording(std::span<const Tensor> inputs) {
  WEIR_RETURN_IF_ERROR(parts_->health());
  WEIR_ASSIGN_OR_RETURN(recorder_, CudaRecorder::Start(parts_, inputs));
  return recorder_->inputs();
}

StatusOr<std::shared_ptr<DeviceRecording>> CudaRun::EndRecording(std::span<const Tensor> outputs) {
  if (recorder_ == nullptr) return Internal("The run was not recorded");
  std::unique_ptr<CudaRecorder> recorder = std::move(recorder_);
  has_work_.store(false, std::memory_order_relaxed);
  return recorder->End(outputs);
}

void CudaRun::UseResource(const std::shared_ptr<Resource>& resource, bool changes) {
  if (recorder_ != nullptr) recorder_->UseResource(resource, changes);
}

void CudaRun::Hold(std::vector<Tensor> tensors) {
  if (recorder_ != nullptr) return recorder_->Hold(std::move(tensors));
  parts_->HoldForCompute(std::move(tensors));
}

Status RefuseRecording(const KernelContext& ctx, std::string_view what) {
  if (!RunOf(ctx).is_recording()) return OkStatus();
  return Unimplemented("A recording cannot have ", what);
}

StatusOr<DeviceAddress> RecordWords(const KernelContext& ctx, std::function<RecordedWords()> next) {
  return RunOf(ctx).recorder()->AddChanging(std::move(next));
}

StatusOr<std::unique_ptr<CudaRecorder>> CudaRecorder::Start(std::shared_ptr<CudaParts> parts,
                                                            std::span<const Tensor> inputs) {
  std::unique_ptr<CudaRecorder> recorder(new CudaRecorder(std::move(parts)));
  CudaParts& own = *recorder->parts_;
  for (const Tensor& input : inputs) {
    WEIR_ASSIGN_OR_RETURN(Tensor stand_in, Tensor::Allocate(input.dtype(), input.shape(), own.memory.get()));
    recorder->memory_.inputs.push_back(std::move(stand_in));
  }
  if (own.is_capturing.exchange(true)) return Unavailable("Another run of the GPU is being recorded");
  recorder->is_capturing_ = true;
  UseContext(own.capture->context());
  WEIR_RETURN_IF_CUDA_ERROR(Driver().StreamBeginCapture(own.capture->handle(), kCaptureRelaxed), "starting to record");
  return recorder;
}

GraphHandle CudaRecorder::EndCapture() {
  if (!std::exchange(is_capturing_, false)) return nullptr;
  UseContext(parts_->capture->context());
  GraphHandle graph = nullptr;
  if (Driver().StreamEndCapture(parts_->capture->handle(), &graph) != kSuccess) graph = nullptr;
  parts_->is_capturing.store(false);
  return graph;
}

CudaRecorder::~CudaRecorder() {
  if (GraphHandle graph = EndCapture(); graph != nullptr) Driver().GraphDestroy(graph);
  parts_->EndRecording();
}

void CudaRecorder::Hold(std::vector<Tensor> tensors) {
  for (Tensor& each : tensors) memory_.held.push_back(std::move(each));
}

void CudaRecorder::UseResource(const std::shared_ptr<Resource>& resource, bool changes) {
  const auto [found, is_new] = places_.emplace(resource.get(), memory_.states.size());
  if (is_new) memory_.states.push_back({resource});
  memory_.states[found->second].is_changed |= changes;
}

StatusOr<DeviceAddress> CudaRecorder::AddChanging(std::function<RecordedWords()> next) {
  const Shape shape({static_cast<int64_t>(std::tuple_size_v<RecordedWords>)});
  WEIR_ASSIGN_OR_RETURN(Tensor memory, Tensor::Allocate(DType::kUInt64, shape, parts_->memory.get()));
  memory_.changing.push_back({std::move(memory), std::move(next)});
  return Address(memory_.changing.back().memory);
}

StatusOr<std::shared_ptr<DeviceRecording>> CudaRecorder::End(std::span<const Tensor> outputs) {
  for (RecordedState& state : memory_.states) {
    const Tensor value = state.resource->State();
    if (!value.has_value()) return Unimplemented("A recording uses ", state.resource->DebugString());
    state.address = value.raw_data();
    state.shape = value.shape();
  }
  GraphHandle graph = EndCapture();
  if (graph == nullptr) return Unimplemented("Work of the step cannot be recorded");
  GraphExecHandle made = nullptr;
  const Result result = Driver().GraphInstantiate(&made, graph, 0);
  Driver().GraphDestroy(graph);
  WEIR_RETURN_IF_CUDA_ERROR(result, "preparing a recording");
  return std::make_shared<CudaRecording>(parts_, made, std::move(memory_), outputs);
}

CudaRecording::CudaRecording(std::shared_ptr<CudaParts> parts, GraphExecHandle graph, RecordedMemory memory,
                             std::span<const Tensor> outputs)
    : parts_(std::move(parts)), graph_(graph), memory_(std::move(memory)) {
  parts_->BeginRecording();
  for (const Tensor& output : outputs) {
    outputs_.push_back({Address(output), output.dtype(), output.shape(), output.num_bytes()});
  }
}

CudaRecording::~CudaRecording() {
  UseContext(parts_->compute->context());
  // Replays may be under way, and pinned memory is not ordered by the stream.
  parts_->compute->Synchronize().IgnoreError();
  Driver().GraphExecDestroy(graph_);
  parts_->EndRecording();
}

// As weir/device/cuda/device_code/set_words.cu declares it.
struct WordSettings {
  static constexpr size_t kMost = 64;
  uint64_t count = 0;
  DeviceAddress addresses[kMost];
  RecordedWords words[kMost];
};

Status CudaRecording::SetChanging(CudaRun& run) {
  for (size_t first = 0; first < memory_.changing.size(); first += WordSettings::kMost) {
    WEIR_ASSIGN_OR_RETURN(FunctionHandle function,
                          parts_->gpu->programs().Get("weir/device/cuda/device_code/set_words.cu", "SetWords"));
    WordSettings settings;
    settings.count = std::min(WordSettings::kMost, memory_.changing.size() - first);
    for (size_t i = 0; i < settings.count; ++i) {
      settings.addresses[i] = Address(memory_.changing[first + i].memory);
      settings.words[i] = memory_.changing[first + i].next();
    }
    void* arguments[] = {&settings};
    WEIR_RETURN_IF_CUDA_ERROR(Driver().LaunchKernel(function, 1, 1, 1, WordSettings::kMost, 1, 1, 0,
                                                    run.stream().handle(), arguments, nullptr),
                              "preparing a replay");
  }
  return OkStatus();
}

StatusOr<std::vector<Tensor>> CudaRecording::Replay(DeviceRun& run, std::span<const Tensor> inputs) {
  auto& cuda_run = static_cast<CudaRun&>(run);
  WEIR_RETURN_IF_ERROR(parts_->health());
  std::vector<Tensor> outputs, values;
  for (const Output& output : outputs_) {
    WEIR_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(output.dtype, output.shape, parts_->memory.get()));
    outputs.push_back(std::move(tensor));
  }
  absl::MutexLock lock(&parts_->replay_mu);
  for (const RecordedState& state : memory_.states) {
    // Whoever looks at a variable's value must not see it change.
    if (state.is_changed && state.resource->IsStateHeld()) return Aborted("A variable of the recording is being read");
    // Holding the value keeps its memory where it is until the work was given.
    Tensor value = state.resource->State();
    if (state.resource->is_removed() || !value.has_value() || value.raw_data() != state.address ||
        value.shape() != state.shape) {
      return Aborted("A variable of the recording has moved");
    }
    values.push_back(std::move(value));
  }
  UseContext(parts_->compute->context());
  const StreamHandle stream = parts_->compute->handle();
  cuda_run.NoteWork();
  cuda_run.AddErrorWords(memory_.words);
  WEIR_RETURN_IF_ERROR(SetChanging(cuda_run));
  auto copy = [&](DeviceAddress to, DeviceAddress from, size_t bytes) {
    if (bytes == 0) return OkStatus();
    return CheckDriver(Driver().MemcpyDtoDAsync(to, from, bytes, stream), "copying on the GPU");
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    WEIR_RETURN_IF_ERROR(copy(Address(memory_.inputs[i]), Address(inputs[i]), inputs[i].num_bytes()));
  }
  WEIR_RETURN_IF_CUDA_ERROR(Driver().GraphLaunch(graph_, stream), "replaying a recording");
  replays.fetch_add(1, std::memory_order_relaxed);
  for (size_t i = 0; i < outputs.size(); ++i) {
    WEIR_RETURN_IF_ERROR(copy(Address(outputs[i]), outputs_[i].address, outputs_[i].bytes));
  }
  return outputs;
}

}  // namespace weir::cuda
