// Worker: the methods of TensorFlow's worker service over one task: it runs parts of steps for masters elsewhere and
// gives away the tensors that those parts send.
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

class PeerBuffers;

struct WorkerOptions {
  SessionLimits sessions;
  int64_t max_graph_nodes = 50'000'000;  // of one part
  std::vector<std::string> masters;      // the tasks that may have sessions here; none: any
  PeerBuffers* buffers = nullptr;        // of receivers on this machine; must outlive the worker; null: none are used
};

// Thread-safe.
class Worker {
 public:
  // `steps` must outlive the worker.
  Worker(std::shared_ptr<Environment> environment, const WorkerOptions& options, RendezvousTable* steps);
  // Ends all sessions and waits for their steps.
  ~Worker();

  // Begins to serve a call; returns soon, whatever the call does. `call` must live until it is answered.
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
  // The tensor that a peer waits for is there, or will never be.
  void Deliver(const TensorCall& wanted, const Status& status, Tensor value, bool is_dead);
  void DeliverIntoBuffer(const TensorCall& wanted, Tensor value);
  // Keeps the answer's tensor until the peer has it. `share`: it may hand over memory for it.
  void Keep(const TensorCall& wanted, bool share, RecvTensorAnswer* answer);
  void FinishTensor(const TensorCall& wanted, const Status& status, RecvTensorAnswer answer);
  // A peer has handed over memory for a tensor that is kept.
  void FillBuffer(TensorCall wanted);
  bool MayShare(const RecvTransport& transport) const;

  // ABORTED if the handle is unknown. EndCall must be called on what is given.
  StatusOr<std::shared_ptr<ServedSession>> BeginCall(const std::string& handle);
  // ABORTED if the key names an earlier life of this task's device, INVALID_ARGUMENT if it names none of them.
  Status CheckSource(const RendezvousKey& key) const;
  // Sessions of a master that has died are of no use to anybody.
  void DropSessionsOfEarlierMaster(const std::string& master, int64_t incarnation);
  Status PrepareRun(Part& part);
  void FinishRun(Part& part, const Status& status);
  void CollectResults(const std::shared_ptr<Part>& part);
  // One of several calls for a part.
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
  ThreadPool threads_;  // for what may take long; first to be destroyed
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_WORKER_H_
