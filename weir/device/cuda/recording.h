// Recordings of a GPU's work: CUDA graphs.
//
// While a run is recorded, its kernels give their work to a stream that captures it. Memory that the work needs while
// it runs comes from the device's arena, a pool that all recordings share: replays are in the compute stream one after
// the other, so one may overwrite what another one left. What outlives a replay lies elsewhere: inputs are copied into
// tensors of the recording, outputs out of the arena, and variables must be where they were.
#ifndef WEIR_DEVICE_CUDA_RECORDING_H_
#define WEIR_DEVICE_CUDA_RECORDING_H_

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "weir/device/cuda/cuda_device.h"

namespace weir::cuda {

// A resource that recorded work uses, and where its value was.
struct RecordedState {
  std::shared_ptr<Resource> resource;
  bool is_changed = false;
  const void* address = nullptr;
  Shape shape;
};

// Words in the device's memory that are others in every replay.
using RecordedWords = std::array<uint64_t, 3>;
struct ChangingWords {
  Tensor memory;
  std::function<RecordedWords()> next;
};

// What a recording keeps alive.
struct RecordedMemory {
  std::vector<Tensor> inputs;  // what the work reads in the place of a run's inputs
  std::vector<Tensor> held;
  std::vector<RecordedState> states;
  CudaRun::ErrorWords words;
  std::vector<ChangingWords> changing;
};

// A recording while it is made; gives the capture up when it is destroyed. Used by one thread.
class CudaRecorder {
 public:
  // UNAVAILABLE while another run of the device is recorded.
  static StatusOr<std::unique_ptr<CudaRecorder>> Start(std::shared_ptr<CudaParts> parts,
                                                       std::span<const Tensor> inputs);
  ~CudaRecorder();

  const std::vector<Tensor>& inputs() const { return memory_.inputs; }
  void Hold(std::vector<Tensor> tensors);
  void AddErrorWord(Tensor word, Status status) { memory_.words.emplace_back(std::move(word), std::move(status)); }
  void UseResource(const std::shared_ptr<Resource>& resource, bool changes);
  StatusOr<DeviceAddress> AddChanging(std::function<RecordedWords()> next);
  StatusOr<std::shared_ptr<DeviceRecording>> End(std::span<const Tensor> outputs);

 private:
  explicit CudaRecorder(std::shared_ptr<CudaParts> parts) : parts_(std::move(parts)) { parts_->BeginRecording(); }
  GraphHandle EndCapture();

  const std::shared_ptr<CudaParts> parts_;
  bool is_capturing_ = false;
  RecordedMemory memory_;
  std::map<const Resource*, size_t> places_;  // in memory_.states
};

// Recorded work that is given to the device as one graph.
class CudaRecording : public DeviceRecording {
 public:
  CudaRecording(std::shared_ptr<CudaParts> parts, GraphExecHandle graph, RecordedMemory memory,
                std::span<const Tensor> outputs);
  ~CudaRecording() override;
  StatusOr<std::vector<Tensor>> Replay(DeviceRun& run, std::span<const Tensor> inputs) override;

 private:
  Status SetChanging(CudaRun& run);

  struct Output {
    DeviceAddress address;
    DType dtype;
    Shape shape;
    size_t bytes;
  };
  const std::shared_ptr<CudaParts> parts_;
  const GraphExecHandle graph_;
  const RecordedMemory memory_;
  std::vector<Output> outputs_;
};

// How often recordings were replayed in this process; for tests and statistics.
int64_t CountReplays();

// REQUIRES: the run is recorded. Three words for a kernel to read, which `next` gives anew for every replay.
StatusOr<DeviceAddress> RecordWords(const KernelContext& ctx, std::function<RecordedWords()> next);

// OK, or UNIMPLEMENTED if the run is recorded: for work that cannot be done again as it is given.
Status RefuseRecording(const KernelContext& ctx, std::string_view what);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_RECORDING_H_
