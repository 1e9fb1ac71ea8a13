// Device: where kernels run and tensors live.
//
// A device may be asynchronous: kernels and copies enqueue work and return, and the device executes it later, in one or
// more streams. The stream-order rule:
//
// - Work sees the results of all work on the same tensors that was enqueued before it. A device with several streams
//   orders them itself, with events.
// - A tensor returned by a kernel or CopyFromHost may immediately be passed to further work on that device, even if its
//   elements have not been computed yet. Only CopyToHost and DeviceRun::WhenDone tell that work has ended.
// - The host may drop its last reference to a tensor while work on it is pending. The device's allocator must handle
//   that (tensor/allocator.h); copies hold the tensors of the other side until they are done.
//
// Errors that are found late belong to the run that enqueued the work (DeviceRun), not to the next caller.
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
  std::string type;  // "CPU", "GPU"; in upper case
  int id = -1;

  static StatusOr<DeviceName> Parse(std::string_view text);
  std::string ToString() const;
  // True if this name has the same value for every part that `pattern` sets.
  bool Matches(const DeviceName& pattern) const;
  // This name, with its unset parts taken from `base`.
  DeviceName MergedOver(const DeviceName& base) const;
  bool operator==(const DeviceName&) const = default;
};

struct DeviceInfo {
  std::string name;         // full
  std::string device_type;  // "CPU"
  int64_t memory_limit = 0;
  uint64_t incarnation = 0;  // random, never 0: distinguishes a restarted device from its predecessor
  std::string description;
  int bus_id = 0;     // the number of its NUMA domain, counted from 1; 0: unknown
  int numa_node = 0;  // the number of its NUMA node
};

enum class MemoryType : uint8_t { kDevice, kHost };

class DeviceRun;

// Recorded work, which a device can replay without running the kernels that enqueued it. Thread-safe.
class DeviceRecording {
 public:
  virtual ~DeviceRecording() = default;
  // Enqueues all of the work as part of `run`, with `inputs` in place of the original inputs; they must have the same
  // types and shapes. Returns the outputs passed to EndRecording, in fresh memory. ABORTED, without any effect, if a
  // variable that the work uses has been deleted or moved.
  virtual StatusOr<std::vector<Tensor>> Replay(DeviceRun& run, std::span<const Tensor> inputs) = 0;
};
class Device;

// The work that one run of a plan, or one eager operation, enqueues on a device. Kernels find theirs in
// StepContext::device_run. Thread-safe.
class DeviceRun {
 public:
  virtual ~DeviceRun() = default;

  // Between these two calls, the run's work is recorded instead of executed. One thread must make both calls and run
  // all kernels between them; kernels must use the tensors that StartRecording returns in place of `inputs`, which are
  // tensors of the device. A kernel whose work cannot be replayed fails, and a run that is destroyed leaves no
  // recording; in both cases variables are unchanged. UNIMPLEMENTED if the device cannot record, UNAVAILABLE if it
  // cannot at the moment.
  virtual StatusOr<std::vector<Tensor>> StartRecording(std::span<const Tensor> inputs);
  virtual StatusOr<std::shared_ptr<DeviceRecording>> EndRecording(std::span<const Tensor> outputs);
  virtual bool is_recording() const { return false; }
  // Notes that a kernel of this run uses a resource; with `changes`, that it overwrites the memory of the resource's
  // State().
  virtual void UseResource(const std::shared_ptr<Resource>& resource, bool changes) {}
  // The allocator for kernels of this run; null: the device's.
  virtual Allocator* allocator() { return nullptr; }

  // Calls `done` once when all work enqueued in this run so far has ended, with the first error of that work. Never
  // blocks. `done` may be called before WhenDone returns, or later by a thread of the device; it must not block that
  // thread.
  virtual void WhenDone(std::function<void(Status)> done) = 0;

  // For runs whose caller does not wait for their work: calls `done` as soon as at most `most` such runs, including
  // this one, are unfinished. If this run fails later, the next WhenDone or WhenLeft of any run of the device reports
  // the error.
  virtual void WhenLeft(int most, std::function<void(Status)> done) { WhenDone(std::move(done)); }

  // Measures the work that is enqueued between these two calls: `report` gets its begin and end in nanoseconds since
  // the epoch, before the next WhenDone calls `done`. Spans of several threads may overlap. A device that cannot
  // measure never calls `report`.
  using SpanReport = std::function<void(int64_t begin_ns, int64_t end_ns)>;
  virtual uint64_t BeginSpan() { return 0; }
  virtual void EndSpan(uint64_t span, SpanReport report) {}
  // Whether spans are reported.
  virtual bool has_spans() const { return false; }

  // Whether work of this run may still fail, like that of a kernel that checks indices. If such a run is dropped before
  // WhenDone has called `done`, its error is lost.
  virtual bool may_fail_late() const { return false; }
  // The first error known so far. Final once the work has ended.
  virtual Status SoFar() { return OkStatus(); }
};

// Keeps the runs of a step that has ended for its caller while its devices are still busy, so that the runs outlive
// their work and errors are not lost. Thread-safe.
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
  // Host memory that this device can copy from and to fastest (pinned memory, for a GPU). Used for copies to the host
  // and for kernel outputs in host memory.
  virtual Allocator* host_allocator() { return CpuAllocator(); }
  // True if host kernels can access this device's tensors directly (the CPU).
  virtual bool is_host() const { return false; }

  // Starts a run; null if the device works synchronously, like the host.
  virtual std::shared_ptr<DeviceRun> StartRun() { return nullptr; }
  // Whether runs can be recorded (DeviceRun::StartRecording).
  virtual bool can_record() const { return false; }

  // Blocks until all work enqueued so far has ended. Returns the error state of the device, if any.
  virtual Status Await() { return OkStatus(); }

  // Copies between this device's memory and host memory. `done` gets the new tensor, on any thread, possibly before the
  // call returns. `run` is the run that the copy belongs to; null for copies outside of any run. CopyToHost calls
  // `done` when the host may read the tensor, with the run's error if its work failed; CopyFromHost may do so as soon
  // as further work of this device may use the tensor.
  using CopyDone = std::function<void(StatusOr<Tensor>)>;
  virtual void CopyToHost(const Tensor& device_tensor, DeviceRun* run, CopyDone done) = 0;
  virtual void CopyFromHost(const Tensor& host_tensor, DeviceRun* run, CopyDone done) = 0;
  // Copies a tensor of this device directly to another device's memory; `done` as for CopyFromHost of the other one.
  // False, without any effect, if the two devices have no such connection.
  virtual bool CopyToDevice(const Tensor& device_tensor, Device& other, DeviceRun* run, const CopyDone& done) {
    return false;
  }
  // Copies several tensors at once, such as the constants of a plan. `done` gets all copies or the first error.
  using CopyAllDone = std::function<void(StatusOr<std::vector<Tensor>>)>;
  virtual void CopyAllFromHost(std::vector<Tensor> host_tensors, CopyAllDone done);

  // The same device with resources of its own, for a session that shares no state; null if this is not supported.
  virtual std::shared_ptr<Device> WithResources(std::shared_ptr<ResourceManager> resources) { return nullptr; }

 private:
  DeviceInfo info_;
  std::shared_ptr<ResourceManager> resources_;
};

// Copies that block until they are done. Must not be called on a thread of the device.
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
  // The host device, which runs feeds, fetches and unplaced nodes.
  Device* host() const { return host_; }

  // For devices that take long to start: `add` adds them when devices other than the host are first asked for.
  void Defer(std::function<Status()> add);
  // Runs `add` instead of the deferred function, unless devices have been added already. An error changes nothing.
  Status Complete(const std::function<Status()>& add) const;
  bool is_complete() const { return deferred_ == nullptr || deferred_->is_done.load(std::memory_order_acquire); }
  // The current devices, without those that would have to be started.
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
