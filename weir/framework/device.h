// Device: where kernels run and tensors live.
//
// A device may work on its own time: kernels and copies give it work and return, and the device does the work later, in
// one or more streams. What holds then, the stream-order rule:
//
// - Work sees the results of all work on the same tensors that was given to the device before it. A device with several
//   streams orders them itself, with events.
// - A tensor that a kernel or CopyFromHost hands out may be passed to further work of that device at once, though its
//   elements are not there yet. Only CopyToHost and DeviceRun::WhenDone say that work has ended.
// - The host may drop its last reference to a tensor while work on it is pending. The device's allocator must cope with
//   that (tensor/allocator.h); copies hold the tensors of the other side until they are done.
//
// Errors that show up late belong to the run that gave the work (DeviceRun), not to whoever asks next.
#ifndef WEIR_FRAMEWORK_DEVICE_H_
#define WEIR_FRAMEWORK_DEVICE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/base/export.h"
#include "weir/base/status.h"
#include "weir/base/thread_pool.h"
#include "weir/framework/resource.h"
#include "weir/tensor/allocator.h"
#include "weir/tensor/tensor.h"

namespace WEIR_PUBLIC weir {

// A full or partial device name: "/job:worker/replica:0/task:1/device:GPU:0", "/cpu:0", "GPU:*". Unset parts are empty
// or -1.
struct DeviceName {
  std::string job;
  int replica = -1;
  int task = -1;
  std::string type;  // "CPU", "GPU"; upper case
  int id = -1;

  static StatusOr<DeviceName> Parse(std::string_view text);
  std::string ToString() const;
  // True if every part that `pattern` sets is the same here.
  bool Matches(const DeviceName& pattern) const;
  // This name with the unset parts taken from `base`.
  DeviceName MergedOver(const DeviceName& base) const;
  bool operator==(const DeviceName&) const = default;
};

struct DeviceInfo {
  std::string name;         // full
  std::string device_type;  // "CPU"
  int64_t memory_limit = 0;
  uint64_t incarnation = 0;  // random, never 0: tells a restarted device from the one before
  std::string description;
  int bus_id = 0;     // of the part of the machine that it is in; 0: not known
  int numa_node = 0;  // its number there
};

enum class MemoryType : uint8_t { kDevice, kHost };

class DeviceRun;

// Work that a device does again without the kernels that gave it. Thread-safe.
class DeviceRecording {
 public:
  virtual ~DeviceRecording() = default;
  // Gives all of the work to the device, as part of `run`, with `inputs` in the place of those that it was recorded
  // with: tensors of the same types and shapes. The outputs are those of EndRecording, in fresh memory. ABORTED, with
  // nothing done, if a variable that the work uses is gone or has moved to other memory.
  virtual StatusOr<std::vector<Tensor>> Replay(DeviceRun& run, std::span<const Tensor> inputs) = 0;
};
class Device;

// The work that one run of a plan, or one eager operation, gives to a device. Kernels find theirs in
// StepContext::device_run. Thread-safe.
class DeviceRun {
 public:
  virtual ~DeviceRun() = default;

  // Recording: what this run gives to the device between the two calls is kept, not done. One thread makes both calls
  // and runs all kernels between them; kernels take what StartRecording returns in the place of `inputs`, tensors of
  // the device. A kernel whose work cannot be done again fails then, and a run that is dropped has recorded nothing: in
  // either case variables are as they were. UNIMPLEMENTED if the device cannot record, UNAVAILABLE if it cannot now.
  virtual StatusOr<std::vector<Tensor>> StartRecording(std::span<const Tensor> inputs);
  virtual StatusOr<std::shared_ptr<DeviceRecording>> EndRecording(std::span<const Tensor> outputs);
  virtual bool is_recording() const { return false; }
  // A kernel of this run uses a resource; with `changes` it writes over the memory of its State().
  virtual void UseResource(const std::shared_ptr<Resource>& resource, bool changes) {}
  // Where kernels of this run take memory; null: from the device's allocator.
  virtual Allocator* allocator() { return nullptr; }

  // Calls `done` once when all work given in this run so far has ended, with the first error of that work. Never
  // blocks. `done` may be called before this returns, or later by a thread of the device, which it must not keep: it
  // hands on.
  virtual void WhenDone(std::function<void(Status)> done) = 0;

  // For runs whose caller does not wait for their work: calls `done` as soon as at most `most` of the runs that were
  // left like this, this one among them, are still being worked on. An error that such a run meets later goes to the
  // next call of WhenDone or WhenLeft of any run of the device.
  virtual void WhenLeft(int most, std::function<void(Status)> done) { WhenDone(std::move(done)); }

  // Measures what is given to the device between the two calls: `report` gets begin and end in nanoseconds since the
  // epoch, before the next WhenDone answers. Spans of several threads may overlap. A device that cannot tell never
  // reports.
  using SpanReport = std::function<void(int64_t begin_ns, int64_t end_ns)>;
  virtual uint64_t BeginSpan() { return 0; }
  virtual void EndSpan(uint64_t span, SpanReport report) {}
  // Whether spans are reported.
  virtual bool has_spans() const { return false; }

  // Whether work of this run may still fail by itself, as a kernel does that checks indices. Who lets go of such a run
  // before WhenDone answers hears of no error.
  virtual bool may_fail_late() const { return false; }
  // The first error that is known by now. Final once the work has ended.
  virtual Status SoFar() { return OkStatus(); }
};

// Takes runs over from a step that is reported as ended while its devices are still at work, so that they outlive that
// work and their errors are not lost. Thread-safe.
class RunKeeper {
 public:
  virtual ~RunKeeper() = default;
  virtual void Keep(Device& device, std::shared_ptr<DeviceRun> run) = 0;
};

// Thread-safe. Owned by a DeviceSet; outlives every step that uses it.
class Device {
 public:
  Device(DeviceInfo info, std::shared_ptr<ResourceManager> resources)
      : info_(std::move(info)), resources_(std::move(resources)) {}
  virtual ~Device() = default;

  const DeviceInfo& info() const { return info_; }
  const std::string& name() const { return info_.name; }
  const std::string& type() const { return info_.device_type; }
  ResourceManager& resources() const { return *resources_; }
  const std::shared_ptr<ResourceManager>& shared_resources() const { return resources_; }

  virtual Allocator* allocator() = 0;
  // Memory of the host that this device copies from and to fastest (pinned, for a GPU). Kernels whose outputs stay with
  // the host take it, and copies back.
  virtual Allocator* host_allocator() { return CpuAllocator(); }
  // True if host kernels can touch this device's tensors directly (the CPU).
  virtual bool is_host() const { return false; }

  // Begins a run; null if the device works while its kernels do, as the host does.
  virtual std::shared_ptr<DeviceRun> StartRun() { return nullptr; }
  // Whether runs can be recorded (DeviceRun::StartRecording).
  virtual bool can_record() const { return false; }

  // Blocks until all work given to the device so far has ended, and gives the error that the device is in, if any.
  virtual Status Await() { return OkStatus(); }

  // Copies between this device's memory and the host's; `done` gets the new tensor, from any thread, perhaps before the
  // call returns. `run` is the run that the copy belongs to; null for copies outside of any. CopyToHost answers when
  // the host may read, and with the run's error if its work failed; CopyFromHost may answer as soon as further work of
  // this device may use the tensor.
  using CopyDone = std::function<void(StatusOr<Tensor>)>;
  virtual void CopyToHost(const Tensor& device_tensor, DeviceRun* run, CopyDone done) = 0;
  virtual void CopyFromHost(const Tensor& host_tensor, DeviceRun* run, CopyDone done) = 0;
  // Copies a tensor of this device into another device's memory without the host; `done` as for the other's
  // CopyFromHost. False, having done nothing, if there is no such way between the two.
  virtual bool CopyToDevice(const Tensor& device_tensor, Device& other, DeviceRun* run, const CopyDone& done) {
    return false;
  }
  // Several tensors at once, as when a plan's constants go to their device: `done` gets all of them, or the first
  // error.
  using CopyAllDone = std::function<void(StatusOr<std::vector<Tensor>>)>;
  virtual void CopyAllFromHost(std::vector<Tensor> host_tensors, CopyAllDone done);

  // The same device with resources of its own, for a session that shares no state; null if the device cannot.
  virtual std::shared_ptr<Device> WithResources(std::shared_ptr<ResourceManager> resources) { return nullptr; }

 private:
  DeviceInfo info_;
  std::shared_ptr<ResourceManager> resources_;
};

// Copies that are waited for. Not in threads of the device.
StatusOr<Tensor> CopyToHostNow(Device& device, const Tensor& tensor, DeviceRun* run = nullptr);
StatusOr<Tensor> CopyFromHostNow(Device& device, const Tensor& tensor, DeviceRun* run = nullptr);

// The devices that a session may use, best first. Thread-safe once its devices are added.
class DeviceSet {
 public:
  DeviceSet() = default;
  DeviceSet(const DeviceSet& other) : devices_(other.devices()), host_(other.host_) {}
  DeviceSet& operator=(const DeviceSet&) = delete;

  void Add(std::shared_ptr<Device> device);
  const std::vector<std::shared_ptr<Device>>& devices() const;
  Device* Find(std::string_view full_name) const;  // null if there is none
  // The host device that feeds, fetches and un-placed nodes use.
  Device* host() const { return host_; }

  // Devices that take long to start: `add` adds them when somebody first asks for others than the host.
  void Defer(std::function<Status()> add);
  // Runs `add`, in place of the one that was deferred, if no devices were added yet. After its error nothing is
  // changed.
  Status Complete(const std::function<Status()>& add) const;
  bool is_complete() const { return deferred_ == nullptr || deferred_->is_done.load(std::memory_order_acquire); }
  // The devices that are there, without those that would have to be started.
  std::vector<std::shared_ptr<Device>> at_hand() const;

 private:
  struct Deferred {
    std::function<Status()> add;
    std::vector<std::shared_ptr<Device>> early;
    absl::Mutex mu;  // held while devices are added
    std::atomic<bool> is_done = false;
  };
  std::vector<std::shared_ptr<Device>> devices_;
  Device* host_ = nullptr;
  std::shared_ptr<Deferred> deferred_;
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_DEVICE_H_
