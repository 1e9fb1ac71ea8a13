// Rendezvous: matches a tensor that Send provides under a key with the Recv that asks for it, in either order.
#ifndef WEIR_FRAMEWORK_RENDEZVOUS_H_
#define WEIR_FRAMEWORK_RENDEZVOUS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weir/base/cancellation.h"
#include "weir/framework/device.h"
#include "weir/tensor/tensor.h"

namespace weir {

// "src_device;incarnation in hex;dst_device;edge name;frame:iteration"
struct RendezvousKey {
  std::string src_device;
  uint64_t src_incarnation = 0;
  std::string dst_device;
  std::string edge_name;
  uint64_t frame_id = 0;
  int64_t iteration = 0;
  std::string ToString() const;
  static StatusOr<RendezvousKey> Parse(std::string_view text);
};

// A sent value: a tensor in host memory or in a device's memory.
struct RendezvousValue {
  Tensor tensor;
  bool is_dead = false;
  Device* device = nullptr;        // the device that holds the tensor; null: the host
  std::shared_ptr<DeviceRun> run;  // computes the tensor, if it is in a device's memory
};

// Brings a value to the memory of `device` (null: the host) by the shortest way: without a copy, directly from device
// to device, or through the host. A variant is brought with the tensors in it; other objects, such as strings, stay in
// host memory. `run` is the receiver's; it may be null.
void BringValue(RendezvousValue value, Device* device, std::shared_ptr<DeviceRun> run, Device::CopyDone done);

// Thread-safe. Normally a key has one value at a time; if it is sent repeatedly, values are received in the order sent.
class Rendezvous {
 public:
  using RecvDone = std::function<void(Status, Tensor value, bool is_dead)>;
  virtual ~Rendezvous() = default;
  virtual Status Send(std::string_view key, Tensor value, bool is_dead) = 0;  // from the host's memory
  // Never blocks. `cancellation` may be null; when it fires, the wait ends with its reason. A value in a device's
  // memory is copied to the host.
  virtual void RecvAsync(std::string_view key, CancellationManager* cancellation, RecvDone done) = 0;

  // The same for values in any memory, without a copy.
  using RecvValueDone = std::function<void(Status, RendezvousValue)>;
  virtual Status SendValue(std::string_view key, RendezvousValue value) = 0;
  virtual void RecvValueAsync(std::string_view key, CancellationManager* cancellation, RecvValueDone done) = 0;

  // False if a step consists of several calls, so that no value may be delayed until the end of the step.
  virtual bool has_one_call() const { return true; }
  // Ends all waits, current and future, with `status`. REQUIRES: not OK.
  virtual void StartAbort(const Status& status) = 0;
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_RENDEZVOUS_H_
