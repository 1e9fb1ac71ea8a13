// CollectiveService: the methods of the worker service with which tasks form groups, meet for rounds and fetch chunks
// of data, over the tables of a CollectiveDomain.
#ifndef WEIR_DISTRIBUTED_COLLECTIVE_SERVICE_H_
#define WEIR_DISTRIBUTED_COLLECTIVE_SERVICE_H_

#include <memory>

#include "weir/collective/domain.h"
#include "weir/distributed/incoming_call.h"
#include "weir/distributed/worker_methods.h"
#include "weir/runtime/environment.h"

namespace weir {

// Thread-safe.
class CollectiveService {
 public:
  CollectiveService(std::shared_ptr<Environment> environment, std::shared_ptr<CollectiveDomain> domain)
      : environment_(std::move(environment)), domain_(std::move(domain)) {}

  // Begins to serve a call; returns soon. REQUIRES: the method is one of kRecvBuf, kCompleteGroup, kCompleteInstance,
  // kGetStepSequence, kJoinRound.
  void Serve(WorkerMethod method, IncomingCall* call);

 private:
  void RecvBuf(IncomingCall* call);
  void CompleteGroup(IncomingCall* call);
  void CompleteInstance(IncomingCall* call);
  void GetStepSequence(IncomingCall* call);
  void JoinRound(IncomingCall* call);
  // FAILED_PRECONDITION if this task has restarted since the caller learned of the device.
  Status CheckDevice(std::string_view name, uint64_t incarnation, std::string_view method) const;

  const std::shared_ptr<Environment> environment_;
  const std::shared_ptr<CollectiveDomain> domain_;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_COLLECTIVE_SERVICE_H_
