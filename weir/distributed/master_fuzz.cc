// Any bytes as any request: the first byte chooses the method, the rest is the request. Needs no kernels: what is
// tested is that nothing a client sends harms the server before a step runs.
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "absl/synchronization/notification.h"
#include "weir/base/logging.h"
#include "weir/distributed/master.h"

namespace weir {
namespace {

class FuzzedCall : public IncomingCall {
 public:
  FuzzedCall(const uint8_t* data, size_t size) : size_(size), stream_(data, static_cast<int>(size), 64) {}
  google::protobuf::io::ZeroCopyInputStream* request() override { return &stream_; }
  size_t request_bytes() const override { return size_; }
  void Finish(const Status&, WireBuffer) override { answered_.Notify(); }
  void Await() { answered_.WaitForNotification(); }

 private:
  size_t size_;
  google::protobuf::io::ArrayInputStream stream_;
  absl::Notification answered_;
};

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  static auto* master = [] {
    SetMinLogLevel(LogLevel::NONE);
    return new Master(std::make_shared<Environment>(), {.sessions = {.max_sessions = 16}, .max_graph_nodes = 1000});
  }();
  if (size == 0) return 0;
  FuzzedCall call(data + 1, size - 1);
  master->Serve(static_cast<MasterMethod>(data[0] % kMasterMethodNames.size()), &call);
  call.Await();
  return 0;
}
