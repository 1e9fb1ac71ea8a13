// Master: the ten methods of TensorFlow's session service over the sessions of one task, whatever carries the calls.
#ifndef WEIR_DISTRIBUTED_MASTER_H_
#define WEIR_DISTRIBUTED_MASTER_H_

#include <array>
#include <memory>
#include <string_view>

#include "absl/time/time.h"
#include "weir/base/cancellation.h"
#include "weir/base/thread_pool.h"
#include "weir/distributed/request_ids.h"
#include "weir/distributed/session_table.h"
#include "weir/distributed/wire/wire_buffer.h"
#include "weir/runtime/environment.h"

namespace google::protobuf {
class MessageLite;
namespace io {
class ZeroCopyInputStream;
}
}  // namespace google::protobuf

namespace weir {

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

// One call, made by whoever carries it.
class IncomingCall {
 public:
  virtual ~IncomingCall() = default;
  // The request's bytes, to be read once, and how many there are.
  virtual google::protobuf::io::ZeroCopyInputStream* request() = 0;
  virtual size_t request_bytes() const = 0;
  // Answers. Exactly once; the call may be gone afterwards. The message is sent only if the status is OK.
  virtual void Finish(const Status& status, WireBuffer message) = 0;

  CancellationManager cancellation;  // cancelled when the caller goes away
  absl::Time deadline = absl::InfiniteFuture();
};

struct MasterOptions {
  SessionLimits sessions;
  int64_t max_graph_nodes = 50'000'000;  // of one session
};

// Thread-safe.
class Master {
 public:
  Master(std::shared_ptr<Environment> environment, const MasterOptions& options);
  // Closes all sessions and waits for their steps. REQUIRES: every call was answered or will be, as its step ends.
  ~Master();

  // Begins to serve a call; returns soon, whatever the call does. `call` must live until it is answered.
  void Serve(MasterMethod method, IncomingCall* call);
  // Ends every session: running steps end with CANCELLED.
  void CloseAllSessions();
  size_t num_sessions() const { return sessions_.size(); }

 private:
  struct Step;
  void CreateSession(IncomingCall* call);
  void ExtendSession(IncomingCall* call);
  void PartialRunSetup(IncomingCall* call);
  void RunStep(IncomingCall* call);
  void CloseSession(IncomingCall* call);
  void ListDevices(IncomingCall* call);
  void Reset(IncomingCall* call);
  void MakeCallable(IncomingCall* call);
  void RunCallable(IncomingCall* call);
  void ReleaseCallable(IncomingCall* call);

  // ABORTED if the handle is unknown. EndCall must be called on what is given.
  StatusOr<std::shared_ptr<ServedSession>> BeginCall(const std::string& handle);
  Status PrepareStep(Step& step);
  void FinishStep(Step& step, const Status& status, std::vector<Tensor> tensors);

  const std::shared_ptr<Environment> environment_;
  const MasterOptions options_;
  RequestIds request_ids_;
  SessionTable sessions_;
  ThreadPool threads_;  // for everything that may take long; first to be destroyed
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_MASTER_H_
