// RemoteSession: the parts of a session in the other tasks of the cluster, over gRPC. Only files of this folder include
// this header: it brings gRPC along.
#ifndef WEIR_DISTRIBUTED_REMOTE_SESSION_INTERNAL_H_
#define WEIR_DISTRIBUTED_REMOTE_SESSION_INTERNAL_H_

#include <memory>
#include <string>
#include <vector>

#include "weir/distributed/discovery_internal.h"
#include "weir/distributed/peers_internal.h"
#include "weir/runtime/remote.h"

namespace weir {

// While this object lives, steps that this thread begins get this id instead of a random one. 0: no change.
class StepIdScope {
 public:
  explicit StepIdScope(int64_t step_id) { value() = step_id; }
  ~StepIdScope() { value() = 0; }
  StepIdScope(const StepIdScope&) = delete;
  StepIdScope& operator=(const StepIdScope&) = delete;
  static int64_t& value() {
    static thread_local int64_t step_id = 0;
    return step_id;
  }
};

// A session is created in a task when its first part is registered there, and deleted there when this object is
// destroyed. Thread-safe.
class RemoteSession final : public RemoteTasks {
 public:
  struct Options {
    bool isolate_state = false;
    int64_t master_incarnation = 0;  // distinguishes this master from an earlier one at the same address
  };
  // `peers` must outlive the session. `tasks` are those that were found.
  RemoteSession(Peers* peers, const std::vector<FoundTask>& tasks, const Options& options);

  const std::vector<std::shared_ptr<Device>>& devices() const override { return devices_; }
  StatusOr<std::shared_ptr<RemotePart>> AddPart(const Device& device, const Graph& graph) override;
  int64_t NewStepId() override { return StepIdScope::value() != 0 ? StepIdScope::value() : RandomId(); }
  std::shared_ptr<Rendezvous> BeginStep(int64_t step_id) override { return peers_->steps().Begin(step_id); }
  void EndStep(int64_t step_id, std::span<const std::shared_ptr<RemotePart>> parts) override;

 private:
  class Task;
  class Part;
  Peers* const peers_;
  std::vector<std::shared_ptr<Device>> devices_;
  StringMap<std::shared_ptr<Task>> tasks_;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_REMOTE_SESSION_INTERNAL_H_
