// Sends arbitrary bytes as any request: the first byte chooses the method, the rest is the request. No kernels are
// needed: the test is that nothing a client sends harms the server before a step runs.
#include "weir/base/logging.h"
#include "weir/distributed/fuzzed_call_internal.h"
#include "weir/distributed/master.h"

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
