// cuDNN's graph interface: the library, its handle on a stream, and graphs of operations as plans that can be run.
#ifndef WEIR_DEVICE_CUDA_DNN_GRAPH_H_
#define WEIR_DEVICE_CUDA_DNN_GRAPH_H_

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/base/strings.h"
#include "weir/device/cuda/abi/cudnn_abi.h"
#include "weir/device/cuda/launch.h"

namespace weir::cuda {

StatusOr<const CudnnFunctions*> LoadCudnn();
StatusOr<CudnnDataType> CudnnTypeOf(DType dtype);
// OK for kCudnnSuccess; UNIMPLEMENTED for what cuDNN does not support; else INTERNAL with cuDNN's own explanation.
Status CheckCudnn(const CudnnFunctions& dnn, CudnnStatus status, std::string_view what);

// A descriptor of the graph interface; owned.
class DnnDescriptor {
 public:
  static StatusOr<DnnDescriptor> Make(const CudnnFunctions& dnn, CudnnDescriptorType type);
  DnnDescriptor() = default;
  DnnDescriptor(DnnDescriptor&& other) noexcept { *this = std::move(other); }
  DnnDescriptor& operator=(DnnDescriptor&& other) noexcept;
  ~DnnDescriptor();

  CudnnDescriptor get() const { return descriptor_; }
  Status Set(CudnnAttribute name, CudnnAttributeType type, int64_t count, const void* elements);
  template <typename T>
  Status Set(CudnnAttribute name, CudnnAttributeType type, const T& value) {
    return Set(name, type, 1, &value);
  }
  Status Set(CudnnAttribute name, const DnnDescriptor& value) {
    return Set(name, kCudnnTypeBackendDescriptor, value.descriptor_);
  }
  Status SetInts(CudnnAttribute name, std::span<const int64_t> values) {
    return Set(name, kCudnnTypeInt64, static_cast<int64_t>(values.size()), values.data());
  }
  Status Finalize();

 private:
  const CudnnFunctions* dnn_ = nullptr;
  CudnnDescriptor descriptor_ = nullptr;
};

// How some knobs of an engine are set.
using DnnSetting = std::vector<std::pair<CudnnKnob, int64_t>>;

// Operations on tensors that are named by numbers. Made step by step, then turned into a plan.
class DnnGraph {
 public:
  explicit DnnGraph(const CudnnFunctions& dnn) : dnn_(dnn) {}

  // A tensor in memory, or, if `is_virtual`, one that only passes from an operation to another.
  StatusOr<const DnnDescriptor*> AddTensor(int64_t id, CudnnDataType type, std::span<const int64_t> dims,
                                           std::span<const int64_t> strides, int64_t alignment, bool is_virtual);
  // A number for every element, given to a run as an address in the host's memory.
  StatusOr<const DnnDescriptor*> AddScalar(int64_t id, CudnnDataType type);
  // Keeps a descriptor that operations refer to.
  const DnnDescriptor* Keep(DnnDescriptor descriptor);
  // A finalized operation.
  void AddOperation(DnnDescriptor operation) { operations_.push_back(std::move(operation)); }

  // A setting to try of engines that have these knobs, in place of the one that the heuristics name.
  void AddSetting(DnnSetting setting) { settings_.push_back(std::move(setting)); }

  const CudnnFunctions& functions() const { return dnn_; }
  std::vector<DnnDescriptor>& operations() { return operations_; }
  const std::vector<DnnSetting>& settings() const { return settings_; }

 private:
  StatusOr<DnnDescriptor> MakeTensor(int64_t id, CudnnDataType type, std::span<const int64_t> dims,
                                     std::span<const int64_t> strides, int64_t alignment) const;

  const CudnnFunctions& dnn_;
  std::deque<DnnDescriptor> kept_;
  std::vector<DnnDescriptor> operations_;
  std::vector<DnnSetting> settings_;
};

// What an engine must not be, beside inexact in ways that the types of a graph do not tell.
struct DnnEngineLimits {
  bool deterministic = false;         // nothing that adds up in any order
  bool without_tensor_float = false;  // nothing that rounds float operands
  int64_t max_workspace = int64_t{1} << 30;
};

// A graph on an engine.
struct DnnEngine {
  std::string name;  // for log lines
  DnnDescriptor plan;
  int64_t workspace_size = 0;
};
// A graph on the engines that may run it, the likely fastest first. The first run measures them and leaves the fastest,
// unless $WEIR_CUDA_MEASURE is 0.
struct DnnPlan {
  std::string name;  // for log lines
  std::vector<DnnEngine> engines;
};

// cuDNN as one device uses it: a handle and the plans made so far. Thread-safe; never destroyed.
class DnnStream {
 public:
  static StatusOr<DnnStream*> Of(KernelContext& ctx);

  // The plan for `key`, made of what `build` returns when it is first asked for; null if no engine takes the graph.
  using BuildGraph = std::function<StatusOr<std::unique_ptr<DnnGraph>>(const CudnnFunctions&)>;
  StatusOr<DnnPlan*> Find(const std::string& key, const DnnEngineLimits& limits, const BuildGraph& build);
  // Enqueues the plan with tensors ids[i] at addresses[i].
  Status Run(KernelContext& ctx, DnnPlan& plan, std::span<const int64_t> ids, std::span<const DeviceAddress> addresses);

  CudnnHandle handle() const { return handle_; }
  // Held while the handle is used.
  absl::Mutex& mutex() ABSL_LOCK_RETURNED(mu_) { return mu_; }
  // Lets the handle give its work to where the run's goes.
  Status Enter(CudaRun& run) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

 private:
  explicit DnnStream(const CudnnFunctions& dnn) : dnn_(dnn) {}
  StatusOr<std::unique_ptr<DnnPlan>> Choose(DnnGraph& graph, const DnnEngineLimits& limits);
  Status Measure(CudaRun& run, DnnPlan& plan, const DnnDescriptor& pack) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const CudnnFunctions& dnn_;
  CudnnHandle handle_ = nullptr;
  absl::Mutex mu_;
  StreamHandle stream_ ABSL_GUARDED_BY(mu_) = nullptr;
  StringMap<std::unique_ptr<DnnPlan>> plans_ ABSL_GUARDED_BY(mu_);  // null: no engine takes it
};

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_DNN_GRAPH_H_
