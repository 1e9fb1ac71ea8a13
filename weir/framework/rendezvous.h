// Rendezvous: where Send leaves a tensor under a key and Recv picks it up, in either order.
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

// What is sent: a tensor in the host's memory, or in a device's.
struct RendezvousValue {
  Tensor tensor;
  bool is_dead = false;
  Device* device = nullptr;        // whose memory the tensor is in; null: the host's
  std::shared_ptr<DeviceRun> run;  // that gives the tensor its elements, if it is in a device's memory
};

// Brings a value to the memory of `device`, the host's if null, by the shortest way: not at all, straight from one
// device to the other, or through the host. A variant comes with the tensors in it; other objects, such as strings, are
// the host's wherever they go. `run` is the receiver's; it may be null.
void BringValue(RendezvousValue value, Device* device, std::shared_ptr<DeviceRun> run, Device::CopyDone done);

// Thread-safe. One value a key at a time is the rule; repeated sends under one key queue up in order.
class Rendezvous {
 public:
  using RecvDone = std::function<void(Status, Tensor value, bool is_dead)>;
  virtual ~Rendezvous() = default;
  virtual Status Send(std::string_view key, Tensor value, bool is_dead) = 0;  // from the host's memory
  // Never blocks. `cancellation` may be null; when it fires the wait ends with its reason. What was sent from a
  // device's memory is brought to the host's.
  virtual void RecvAsync(std::string_view key, CancellationManager* cancellation, RecvDone done) = 0;

  // The same for values of any memory: nothing is copied on the way.
  using RecvValueDone = std::function<void(Status, RendezvousValue)>;
  virtual Status SendValue(std::string_view key, RendezvousValue value) = 0;
  virtual void RecvValueAsync(std::string_view key, CancellationManager* cancellation, RecvValueDone done) = 0;

  // False where a step is made of several calls: nobody may wait for its end to get a value.
  virtual bool has_one_call() const { return true; }
  // Ends all waits, present and future, with `status`. REQUIRES: not OK.
  virtual void StartAbort(const Status& status) = 0;
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_RENDEZVOUS_H_
