// DeviceExchange: requests of the engine whose tensors are in the memory of the ranks' devices, run by the devices' own
// communicator (framework/device_communicator.h: NCCL, for GPUs).
//
// The order of NCCL's calls is that of the engine's buckets, which all ranks run in the same order. Whether a request
// can run here is agreed on before: the ranks announce whether their tensors are on a device that can have a
// communicator (Signature::on_device), and before the first one they compare their cards. So no rank ever waits in NCCL
// for one that sends its data through the host.
#ifndef WEIR_COLLECTIVE_DEVICE_EXCHANGE_H_
#define WEIR_COLLECTIVE_DEVICE_EXCHANGE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/collective/negotiation.h"
#include "weir/collective/process_group.h"
#include "weir/collective/request.h"
#include "weir/framework/device_communicator.h"

namespace weir::collective {

// Whether such a request can run on devices: nothing in it needs the host. Ranks with equal signatures agree.
bool CanRunOnDevices(const Signature& signature);

// For one group of ranks. Used by the engine's thread.
class DeviceExchange {
 public:
  // The group must outlive this object.
  DeviceExchange(ProcessGroup& group, absl::Duration timeout) : group_(group), timeout_(timeout) {}

  // All ranks of the group call these together. `request` is this rank's, or the first of several; all their tensors
  // are on its device.
  //
  // Whether the ranks have a communicator, which they join on the first call. If they cannot have one, the reason is
  // logged, once.
  StatusOr<bool> IsPossible(const Request& request);
  // A reduction of all tensors of the requests; small ones are copied into one buffer on the device.
  Status Reduce(const Signature& signature, const std::vector<Request>& requests, std::vector<Answer>* answers);
  // Any other kind. Nothing, on all ranks, if it has to go through the host after all.
  StatusOr<std::optional<Answer>> Run(const Signature& signature, const Request& request);

 private:
  Status Join(const Request& request);
  // Joins, and makes a first call, to see whether NCCL works.
  Status Try(const Request& request, DeviceMoment& moment, const std::string& id);
  // Starts the call and waits for its end, for the time-out, or for the loss of another rank; and not for longer than
  // `patience` once other ranks wait elsewhere.
  Status Call(const Request& request, DeviceCollectiveCall call, absl::Duration timeout, absl::Duration patience);
  Status Call(const Request& request, DeviceCollectiveCall call) {
    return Call(request, std::move(call), timeout_, absl::InfiniteDuration());
  }
  StatusOr<std::optional<Answer>> Gather(const Request& request);
  StatusOr<std::optional<Answer>> AllToAll(const Request& request);

  ProcessGroup& group_;
  const absl::Duration timeout_;
  bool was_asked_ = false;
  std::shared_ptr<DeviceCommunicator> communicator_;  // null: not possible
};

// Copies between the request's device and the host, for requests that cannot run on the device.
Status BringToHost(Request* request);
Status BringToDevice(const Request& request, Answer* answer);

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_DEVICE_EXCHANGE_H_
