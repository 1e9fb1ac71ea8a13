// A call with arbitrary bytes as its request, for the fuzzers of the services.
#ifndef WEIR_DISTRIBUTED_FUZZED_CALL_INTERNAL_H_
#define WEIR_DISTRIBUTED_FUZZED_CALL_INTERNAL_H_

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "absl/synchronization/notification.h"
#include "weir/distributed/incoming_call.h"

namespace weir {

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

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_FUZZED_CALL_INTERNAL_H_
