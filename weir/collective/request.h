// A request for a collective in the background, and its signature, which ranks exchange.
#ifndef WEIR_COLLECTIVE_REQUEST_H_
#define WEIR_COLLECTIVE_REQUEST_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/collective/collective.h"
#include "weir/framework/chunk_arithmetic.h"

namespace weir::collective {

enum class RequestKind : uint8_t {
  kAllReduce,
  kAllGather,
  kBroadcast,
  kAllToAll,
  kReduceScatter,
  kBarrier,
  kJoin,
  kAddSet
};

// Everything that the ranks must agree on, except for the last.
struct Signature {
  RequestKind kind = RequestKind::kAllReduce;
  ReduceOp op = ReduceOp::kSum;
  Compression compression = Compression::kNone;
  double prescale = 1.0;
  double postscale = 1.0;
  int32_t root = 0;
  std::vector<DType> dtypes;
  std::vector<std::vector<int64_t>> shapes;  // without the first dimension if that may differ
  std::vector<int32_t> ranks;                // for a new process set
  // The values are in the memory of a device that can exchange them with other ranks' devices (device_exchange.h). Of
  // what all ranks have announced: those of all ranks are.
  bool on_device = false;

  bool operator==(const Signature&) const = default;
  // Whether tensors of both requests may be fused into one buffer.
  bool TravelsWith(const Signature& other) const;
  std::string ToString() const;
  std::string Encode() const;  // the last byte is on_device
  static StatusOr<Signature> Decode(std::string_view bytes);
  int64_t bytes() const;
};

struct Answer {
  std::vector<Tensor> values;
  std::vector<int64_t> received_splits;
  int number = 0;  // the result of Join and AddProcessSet
};

struct Request {
  std::string name;
  ProcessSet set = kAllRanks;
  Signature signature;
  std::vector<Tensor> values;
  std::vector<int64_t> splits;
  // Set if the values are in a device's memory, where the results are to be, too.
  Device* home = nullptr;
  std::shared_ptr<ChunkArithmetic> arithmetic;
  std::function<void(StatusOr<Answer>)> done;
  absl::Time asked;
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_REQUEST_H_
