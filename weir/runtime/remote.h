// Parts of a step that run in other tasks. A session that is given RemoteTasks places nodes on their devices too; what
// falls to another task is registered there and run there as part of the step, joined to the rest by Send and Recv.
// The room `distributed` implements this over gRPC.
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

// A device of another task: it has a name and a kind, and nothing runs on it here. Its memory counts as the host's,
// because tensors arrive and leave over the wire.
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
  bool only_part = false;  // of the step in that task
};

// How a part ended.
struct RemoteOutcome {
  Status status;
  std::string step_stats;  // a serialized StepStats, empty if not traced
  bool forgotten = false;  // the task has forgotten the step; it need not be told that it is over
};

// What one device of another task does in the steps of one signature. Thread-safe.
class RemotePart {
 public:
  using Done = std::function<void(RemoteOutcome)>;
  virtual ~RemotePart() = default;
  virtual const std::string& task() const = 0;
  // Never blocks. `cancellation` must live until `done` is called; when it fires, the part is told to stop.
  virtual void Run(const RemoteStep& step, CancellationManager* cancellation, Done done) = 0;
};

// The other tasks of one session. Thread-safe.
class RemoteTasks {
 public:
  virtual ~RemoteTasks() = default;
  virtual const std::vector<std::shared_ptr<Device>>& devices() const = 0;
  // The graph's nodes are all on `device`, one of devices().
  virtual StatusOr<std::shared_ptr<RemotePart>> AddPart(const Device& device, const Graph& graph) = 0;
  // Ids that no other session of the cluster uses.
  virtual int64_t NewStepId() = 0;
  // The step's rendezvous in this task. What another task sends is fetched from there.
  virtual std::shared_ptr<Rendezvous> BeginStep(int64_t step_id) = 0;
  // All parts have ended: the step is forgotten here and by the tasks of `parts`, those that have not forgotten it yet.
  virtual void EndStep(int64_t step_id, std::span<const std::shared_ptr<RemotePart>> parts) = 0;
};

// An error that only tells of another one is marked, so that the step reports the other if it hears of it. `task` is
// where the other one happened, if not here; what is left without the mark begins with it.
Status MarkDerived(const Status& status, std::string_view task = "");
bool IsDerived(const Status& status);
Status WithoutDerivedMark(const Status& status);

}  // namespace weir

#endif  // WEIR_RUNTIME_REMOTE_H_
