// The methods of tensorflow.WorkerService, which masters and other workers call.
#ifndef WEIR_DISTRIBUTED_WORKER_METHODS_H_
#define WEIR_DISTRIBUTED_WORKER_METHODS_H_

#include <array>
#include <string_view>

namespace weir {

enum class WorkerMethod {
  kGetStatus,
  kCreateWorkerSession,
  kDeleteWorkerSession,
  kRegisterGraph,
  kDeregisterGraph,
  kRunGraph,
  kCleanupGraph,
  kCleanupAll,
  kRecvTensor,
  kMarkRecvFinished,
  kLogging,
  kTracing,
  kRecvBuf,
  kCompleteGroup,
  kCompleteInstance,
  kGetStepSequence,
  kJoinRound,  // an extension of weir's
};
inline constexpr std::array<std::string_view, 17> kWorkerMethodNames = {
    "GetStatus",    "CreateWorkerSession", "DeleteWorkerSession", "RegisterGraph",    "DeregisterGraph", "RunGraph",
    "CleanupGraph", "CleanupAll",          "RecvTensor",          "MarkRecvFinished", "Logging",         "Tracing",
    "RecvBuf",      "CompleteGroup",       "CompleteInstance",    "GetStepSequence",  "JoinRound"};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_WORKER_METHODS_H_
