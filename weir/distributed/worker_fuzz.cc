// Any bytes as any request to the worker service: the first byte chooses the method, the rest is the request.
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "absl/synchronization/notification.h"
#include "weir/base/logging.h"
#include "weir/distributed/worker.h"

namespace weir {
namespace {

class FuzzedCall : public IncomingCall {
 public:
  FuzzedCall(const uint8_t* data, size_t size) : size_(size), stream_(data, static_cast<int>(size), 64) {}
  google::protobuf::io::ZeroCopyInputStream* request() override { return &stream_; }
  size_t request_bytes() const override { return size_; }
  void Finish(const Status&, WireBuffer) override { answered_.Notify(); }
  // A RecvTensor may wait for ever: its caller goes away.
  void Await() {
    cancellation.StartCancel();
    answered_.WaitForNotification();
  }

 private:
  size_t size_;
  google::protobuf::io::ArrayInputStream stream_;
  absl::Notification answered_;
};

}  // namespace
}  // namespace weir

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
  call.Await();
  return 0;
}
