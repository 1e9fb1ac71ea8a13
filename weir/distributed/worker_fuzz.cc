// Sends arbitrary bytes as any request to the worker service: the first byte chooses the method, the rest is the
// request.
#include "weir/base/logging.h"
#include "weir/distributed/fuzzed_call_internal.h"
#include "weir/distributed/worker.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  static auto* steps = new RendezvousTable(
      "/job:fuzz/replica:0/task:0", [](int64_t, std::string_view, CancellationManager*, Rendezvous::RecvDone done) {
        done(Unavailable("there is no other task"), Tensor(), false);
      });
  static auto* worker = [] {
    SetMinLogLevel(LogLevel::NONE);
    return new Worker(std::make_shared<Environment>(), {.sessions = {.max_sessions = 16}, .max_graph_nodes = 1000},
                      steps);
  }();
  if (size == 0) return 0;
  FuzzedCall call(data + 1, size - 1);
  worker->Serve(static_cast<WorkerMethod>(data[0] % kWorkerMethodNames.size()), &call);
  call.cancellation.StartCancel();  // the caller goes away, because a RecvTensor may wait forever
  call.Await();
  return 0;
}
