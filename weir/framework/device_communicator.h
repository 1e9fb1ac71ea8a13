// DeviceCommunicator: collectives that devices of one kind run among themselves, by a library of theirs (NCCL, between
// GPUs), without the host in between.
#ifndef WEIR_FRAMEWORK_DEVICE_COMMUNICATOR_H_
#define WEIR_FRAMEWORK_DEVICE_COMMUNICATOR_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/framework/chunk_arithmetic.h"
#include "weir/framework/device.h"

namespace weir {

enum class DeviceCollective { kReduce, kBroadcast, kGather, kReduceScatter, kExchange };

class DeviceCommunicator;

// A moment in a step's work on a device, in which all that a call reads or writes is there. A call made later still
// begins at this point of the device's work, not after what the device has been given in the meantime. Holds the step's
// run of the device. Thread-safe.
class DeviceMoment {
 public:
  virtual ~DeviceMoment() = default;
  // What rank 0 makes and gives to all others, for joining. Its process must live until all have joined.
  virtual StatusOr<std::string> MakeCommunicatorId() = 0;
  // Begins to join the others; returns at once. Errors, and the wait for the others, are those of the first call.
  virtual std::shared_ptr<DeviceCommunicator> Join(const std::string& id, int ranks, int rank) = 0;
};

// One rank's part of a call. Tensors are in the device's memory; only their elements count, not their shapes.
struct DeviceCollectiveCall {
  DeviceCollective kind = DeviceCollective::kReduce;
  ChunkMerge merge = ChunkMerge::kAdd;
  int root = 0;                   // of kBroadcast
  Tensor from;                    // without a value for a receiver of kBroadcast
  Tensor to;                      // may be the memory of `from`, except for kExchange
  std::vector<int64_t> counts;    // elements that each rank gives to kGather, or that go to each rank by kExchange
  std::vector<int64_t> received;  // elements that come from each rank by kExchange
  std::shared_ptr<DeviceMoment> moment;
  bool to_is_newer = false;  // `to` was allocated after the moment
};

// A device's seat among the ranks. All ranks must start equal calls in the same order, which is the callers' affair: a
// rank that starts another call first, or none, keeps all others waiting until they abort. Thread-safe.
class DeviceCommunicator {
 public:
  // Aborts what is pending.
  virtual ~DeviceCommunicator() = default;
  // Never blocks. The call holds its tensors; the device's later work does not wait for it. `done` is called once, on
  // any thread, which it must not keep: with OK when the result is there, else with the error that ended the
  // communicator.
  virtual void Start(DeviceCollectiveCall call, std::function<void(Status)> done) = 0;
  // Ends all calls, and later ones, with `reason`, which must not be OK; the other ranks are not told. Never blocks.
  virtual void Abort(const Status& reason) = 0;
};

// Where a run of a device finds communicators. Implemented by what ChunkDevice::ChunksOf returns, if the device's kind
// has them.
class CommunicatorSource {
 public:
  virtual ~CommunicatorSource() = default;
  // The name of the device's card among all machines. No two ranks of a communicator may be on one. An error says why
  // the device can have no seat. The first call may take long.
  virtual StatusOr<std::string> CommunicatorCard() = 0;
  // This moment in the work of the run.
  virtual StatusOr<std::shared_ptr<DeviceMoment>> Mark() = 0;
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_DEVICE_COMMUNICATOR_H_
