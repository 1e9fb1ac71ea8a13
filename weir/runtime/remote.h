// Parts of a step that run in other tasks. A session with RemoteTasks also places nodes on the devices of other tasks.
// The partition of another task is registered with that task and runs there as part of the step; Send and Recv connect
// it to the rest. weir/distributed implements this over gRPC.
#ifndef WEIR_RUNTIME_REMOTE_H_
#define WEIR_RUNTIME_REMOTE_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "weir/base/cancellation.h"
#include "weir/framework/device.h"
#include "weir/framework/rendezvous.h"

namespace weir {

class Graph;

// A device of another task. It has a name and a type, but nothing runs on it in this process. Its memory counts as host
// memory, because tensors arrive from and leave for it over the network.
class RemoteDevice : public Device {
 public:
  explicit RemoteDevice(DeviceInfo info) : Device(std::move(info), std::make_shared<ResourceManager>()) {}
  Allocator* allocator() override { return CpuAllocator(); }
  bool is_host() const override { return true; }
  std::shared_ptr<Device> WithResources(std::shared_ptr<ResourceManager>) override {
    return std::make_shared<RemoteDevice>(info());
  }
  void CopyToHost(const Tensor& tensor, DeviceRun*, CopyDone done) override { done(tensor); }
  void CopyFromHost(const Tensor& tensor, DeviceRun*, CopyDone done) override { done(tensor); }
};

inline bool IsRemote(const Device& device) { return dynamic_cast<const RemoteDevice*>(&device) != nullptr; }

struct RemoteStep {
  int64_t id = 0;
  absl::Time deadline = absl::InfiniteFuture();
  bool trace = false;
  bool only_part = false;  // the step has no other part in that task
};

// How a part ended.
struct RemoteOutcome {
  Status status;
  std::string step_stats;  // a serialized StepStats, empty if not traced
  bool forgotten = false;  // the task keeps no state of the step any more, so it needs no CleanupGraph
};

// The partition that one device of another task runs in the steps of one signature. Thread-safe.
class RemotePart {
 public:
  using Done = std::function<void(RemoteOutcome)>;
  virtual ~RemotePart() = default;
  virtual const std::string& task() const = 0;
  // Never blocks. `cancellation` must live until `done` is called; when it fires, the part is cancelled.
  virtual void Run(const RemoteStep& step, CancellationManager* cancellation, Done done) = 0;
};

// The other tasks of one session. Thread-safe.
class RemoteTasks {
 public:
  virtual ~RemoteTasks() = default;
  virtual const std::vector<std::shared_ptr<Device>>& devices() const = 0;
  // REQUIRES: all nodes of the graph are placed on `device`, one of devices().
  virtual StatusOr<std::shared_ptr<RemotePart>> AddPart(const Device& device, const Graph& graph) = 0;
  // An id that is unique in the cluster.
  virtual int64_t NewStepId() = 0;
  // The step's rendezvous in this task. It fetches values that other tasks send.
  virtual std::shared_ptr<Rendezvous> BeginStep(int64_t step_id) = 0;
  // Must be called when all parts have ended. Frees the state of the step in this task and in the tasks of `parts`, the
  // parts whose tasks still keep state of the step.
  virtual void EndStep(int64_t step_id, std::span<const std::shared_ptr<RemotePart>> parts) = 0;
};

// A derived error is the consequence of another error; a step prefers to report the original one. `task` is the task in
// which the original error happened, if not this one; the message without the mark begins with its name.
Status MarkDerived(const Status& status, std::string_view task = "");
bool IsDerived(const Status& status);
Status WithoutDerivedMark(const Status& status);

}  // namespace weir

#endif  // WEIR_RUNTIME_REMOTE_H_
