// Master: the ten methods of TensorFlow's session service, independent of the transport. Sessions use the devices of
// this task and, in a cluster, those of the other tasks.
#ifndef WEIR_DISTRIBUTED_MASTER_H_
#define WEIR_DISTRIBUTED_MASTER_H_

#include <array>
#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "weir/base/thread_pool.h"
#include "weir/distributed/incoming_call.h"
#include "weir/distributed/request_ids.h"
#include "weir/distributed/session_table.h"
#include "weir/runtime/environment.h"

namespace weir {

class CollectiveDomain;
class Peers;
struct FoundTask;

enum class MasterMethod {
  kCreateSession,
  kExtendSession,
  kPartialRunSetup,
  kRunStep,
  kCloseSession,
  kListDevices,
  kReset,
  kMakeCallable,
  kRunCallable,
  kReleaseCallable,
};
inline constexpr std::array<std::string_view, 10> kMasterMethodNames = {
    "CreateSession", "ExtendSession", "PartialRunSetup", "RunStep",     "CloseSession",
    "ListDevices",   "Reset",         "MakeCallable",    "RunCallable", "ReleaseCallable"};

struct MasterOptions {
  SessionLimits sessions;
  int64_t max_graph_nodes = 50'000'000;           // per session
  bool spread_nodes = false;                      // over all devices (SessionOptions)
  PlacerKind placer = PlacerKind::kDefault;       // for sessions whose config names no placer
  std::shared_ptr<const CostTable> costs;         // for the placer; may be null
  std::shared_ptr<CollectiveDomain> collectives;  // may be null
};

// Thread-safe.
class Master {
 public:
  // `peers` are the other tasks of the cluster; null: there is none. They must outlive the master.
  Master(std::shared_ptr<Environment> environment, const MasterOptions& options, Peers* peers = nullptr);
  // Closes all sessions and waits for their steps. REQUIRES: every call has been answered or will be when its step
  // ends.
  ~Master();

  // Begins to serve a call and returns without waiting for it. `call` must live until it is answered.
  void Serve(MasterMethod method, IncomingCall* call);
  // A session for this process, without a client. Waits for the other tasks to answer. REQUIRES: it is destroyed before
  // the master.
  StatusOr<std::unique_ptr<Session>> NewSession(SessionOptions options, absl::Duration timeout);
  // Ends every session: running steps end with CANCELLED.
  void CloseAllSessions();
  size_t num_sessions() const { return sessions_.size(); }

 private:
  struct Step;
  struct Creating;
  struct Resetting;
  void CreateSession(IncomingCall* call);
  // For the tasks that were found.
  std::shared_ptr<RemoteTasks> MakeRemote(const std::vector<FoundTask>& found, const SessionOptions& options);
  void FinishCreate(Creating& fresh, const Status& status);
  void ExtendSession(IncomingCall* call);
  void PartialRunSetup(IncomingCall* call);
  void RunStep(IncomingCall* call);
  void StartStep(const std::shared_ptr<Step>& step);
  void CloseSession(IncomingCall* call);
  void ListDevices(IncomingCall* call);
  void Reset(IncomingCall* call);
  void EmptyContainers(const std::shared_ptr<Resetting>& resetting);
  void MakeCallable(IncomingCall* call);
  void RunCallable(IncomingCall* call);
  void ReleaseCallable(IncomingCall* call);

  // ABORTED if the handle is unknown. EndCall must be called on the result.
  StatusOr<std::shared_ptr<ServedSession>> BeginCall(const std::string& handle);
  bool HasPeers() const;
  Status PrepareStep(Step& step);
  void CountStep(const Status& status);
  void FinishStep(Step& step, const Status& status, std::vector<Tensor> tensors);

  const std::shared_ptr<Environment> environment_;
  const MasterOptions options_;
  Peers* const peers_;
  std::atomic<bool> has_foreign_{false};  // the cluster has tasks that run TensorFlow
  RequestIds request_ids_;
  SessionTable sessions_;
  ThreadPool threads_;  // for work that may take long; must be destroyed first
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_MASTER_H_
