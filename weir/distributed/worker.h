// Worker: the methods of TensorFlow's worker service. A worker runs parts of steps for the masters of other tasks and
// serves the tensors that those parts send.
#ifndef WEIR_DISTRIBUTED_WORKER_H_
#define WEIR_DISTRIBUTED_WORKER_H_

#include <memory>
#include <string>

#include "weir/base/thread_pool.h"
#include "weir/distributed/incoming_call.h"
#include "weir/distributed/partial_parts.h"
#include "weir/distributed/request_ids.h"
#include "weir/distributed/session_table.h"
#include "weir/distributed/step_rendezvous.h"
#include "weir/distributed/wire/recv_tensor_messages.h"
#include "weir/distributed/worker_methods.h"
#include "weir/runtime/environment.h"

namespace weir {

class CollectiveService;
class PeerBuffers;

struct WorkerOptions {
  SessionLimits sessions;
  int64_t max_graph_nodes = 50'000'000;  // per part
  std::vector<std::string> masters;      // the tasks that may create sessions here; empty: any task
  PeerBuffers* buffers = nullptr;        // shared by receivers on this machine; must outlive the worker; may be null
  CollectiveService* collectives = nullptr;  // must outlive the worker; null: collectives are not served
};

// Thread-safe.
class Worker {
 public:
  // `steps` must outlive the worker.
  Worker(std::shared_ptr<Environment> environment, const WorkerOptions& options, RendezvousTable* steps);
  // Closes all sessions and waits for their steps.
  ~Worker();

  // Begins to serve a call and returns without waiting for it. `call` must live until it is answered.
  void Serve(WorkerMethod method, IncomingCall* call);
  void CloseAllSessions();
  size_t num_sessions() const { return sessions_.size(); }

 private:
  struct Part;
  void GetStatus(IncomingCall* call);
  void CreateWorkerSession(IncomingCall* call);
  void DeleteWorkerSession(IncomingCall* call);
  void RegisterGraph(IncomingCall* call);
  void DeregisterGraph(IncomingCall* call);
  void RunGraph(IncomingCall* call);
  void CleanupGraph(IncomingCall* call);
  void CleanupAll(IncomingCall* call);
  void RecvTensor(IncomingCall* call);
  void MarkRecvFinished(IncomingCall* call);

  struct TensorCall;
  // The tensor that a peer waits for has arrived, or will never arrive.
  void Deliver(const TensorCall& wanted, const Status& status, Tensor value, bool is_dead);
  void DeliverIntoBuffer(const TensorCall& wanted, Tensor value);
  // Delivers a value in a device's memory: the receiver's device reads it there if it can; otherwise it goes through
  // the host.
  void DeliverFromDevice(const TensorCall& wanted, RendezvousValue value);
  void DeliverThroughHost(const TensorCall& wanted, RendezvousValue value);
  void DeliverExported(const TensorCall& wanted, const RendezvousValue& value);
  void DeliverPiece(const TensorCall& wanted);
  // Keeps the tensor of the answer until the peer has it. `share`: the peer may provide shared memory for it.
  void Keep(const TensorCall& wanted, bool share, RecvTensorAnswer* answer);
  void FinishTensor(const TensorCall& wanted, const Status& status, RecvTensorAnswer answer);
  // A peer has provided shared memory for a tensor that is kept.
  void FillBuffer(TensorCall wanted);
  bool MayShare(const RecvTransport& transport) const;

  // ABORTED if the handle is unknown. EndCall must be called on the result.
  StatusOr<std::shared_ptr<ServedSession>> BeginCall(const std::string& handle);
  // ABORTED if the key has an earlier incarnation of this task's device, INVALID_ARGUMENT if it is not a device of this
  // task.
  Status CheckSource(const RendezvousKey& key) const;
  // Closes the sessions of a master that has been restarted.
  void DropSessionsOfEarlierMaster(const std::string& master, int64_t incarnation);
  Status PrepareRun(Part& part);
  void FinishRun(Part& part, const Status& status);
  void CollectResults(const std::shared_ptr<Part>& part);
  // Handles one of several calls for a part.
  void RunPartial(const std::shared_ptr<Part>& part);
  void AnswerPartial(const std::shared_ptr<Part>& part);

  const std::shared_ptr<Environment> environment_;
  const WorkerOptions options_;
  RendezvousTable* const steps_;
  RequestIds request_ids_;
  absl::Mutex masters_mu_;
  struct MasterSessions {
    int64_t incarnation = 0;
    std::vector<std::string> handles;
  };
  StringMap<MasterSessions> masters_ ABSL_GUARDED_BY(masters_mu_);
  PartialParts partial_parts_;
  SessionTable sessions_;
  ThreadPool threads_;  // for work that may take long; must be destroyed first
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_WORKER_H_
