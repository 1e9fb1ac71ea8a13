// The process's engine, for kernels, which must not block until a collective ends.
#ifndef WEIR_COLLECTIVE_ENGINE_ACCESS_H_
#define WEIR_COLLECTIVE_ENGINE_ACCESS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/collective/request.h"

namespace weir::collective {

class Engine;

// Null before Init and after Shutdown.
std::shared_ptr<Engine> FindEngine();
// `request.done` gets FAILED_PRECONDITION if there is no engine.
void SubmitToEngine(Request request);

// Where the tensors of a request are, if not in host memory. Its results will be there, too.
struct DevicePlace {
  Device* home = nullptr;
  std::shared_ptr<ChunkArithmetic> arithmetic;  // of the step's run of the device
  bool deterministic = false;                   // the results are to be those of host memory, bit for bit
};
void StartAllReduce(const std::string& name, const std::vector<Tensor>& values, const AllReduceOptions& options,
                    const DevicePlace& place, std::function<void(StatusOr<Answer>)> done);

struct ExchangeOptions {
  AllReduceOptions reduce;  // for a reduce-scatter; `set` applies to all
  int root = 0;
  std::vector<int64_t> splits;
};
// For AllGather, Broadcast, AllToAll and ReduceScatter.
void StartExchange(RequestKind kind, const std::string& name, const Tensor& value, const ExchangeOptions& options,
                   const DevicePlace& place, std::function<void(StatusOr<Answer>)> done);

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_ENGINE_ACCESS_H_
