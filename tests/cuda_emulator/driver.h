// The state of the emulated driver: devices, contexts, streams, events, modules, graphs.
//
// A stream is a queue that a thread of its own works off. Work that is submitted while the stream is capturing becomes
// a node of a graph instead. Every object lives as long as work that uses it, by shared pointers; handles are checked
// against the tables of live objects, as the real driver does.
#ifndef WEIR_TESTS_CUDA_EMULATOR_DRIVER_H_
#define WEIR_TESTS_CUDA_EMULATOR_DRIVER_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cuda_abi.h"
#include "device_memory.h"
#include "machine.h"
#include "program.h"

namespace cuda_emulator {

struct Context;
struct Stream;
struct Graph;

// Something that a stream does.
struct Work {
  enum Kind { kKernel = 0, kCopy = 1, kSet = 2, kHost = 3, kEmpty = 5 };  // numbers of CUgraphNodeType
  Kind kind = kEmpty;
  std::function<void()> run;
};

struct GraphNode {
  Work work;
  std::vector<size_t> dependencies;
};

struct Graph {
  std::vector<std::shared_ptr<GraphNode>> nodes;  // each after all that it depends on
  Context* context = nullptr;
};

struct GraphExecution {
  std::mutex mutex;  // one launch at a time
  Graph graph;
};

// A capture: one stream began it, others join by waiting for its events.
struct Capture {
  uint64_t id = 0;
  int mode = 0;
  std::thread::id thread;
  std::shared_ptr<Graph> graph;
  Stream* origin = nullptr;
  bool is_invalid = false;
  std::vector<std::shared_ptr<Stream>> streams;
};

// What an event stands for once it was recorded.
struct EventRecord {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  std::chrono::steady_clock::time_point time;
  Context* context = nullptr;

  void Finish();
  void Wait();
  bool IsDone();
};

struct Event {
  unsigned flags = 0;
  Context* context = nullptr;
  std::mutex mutex;
  std::shared_ptr<EventRecord> record;
  // In a capture: the nodes that the event stands for.
  std::shared_ptr<Capture> capture;
  std::vector<size_t> captured;
};

struct Stream : std::enable_shared_from_this<Stream> {
  Context* context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  bool is_default = false;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  uint64_t submitted = 0;
  uint64_t finished = 0;
  bool has_thread = false;
  bool is_closing = false;

  // Guarded by the driver's capture mutex.
  std::shared_ptr<Capture> capture;
  std::vector<size_t> dependencies;

  bool IsBlocking() const { return is_default || (flags & 1) == 0; }  // CU_STREAM_NON_BLOCKING
  void Push(std::function<void()> work);
  void WaitFor(uint64_t ticket);
  uint64_t Submitted();
  bool IsIdle();

 private:
  void Loop();
};

struct Module;
struct FunctionHandle {
  Module* module = nullptr;
  Kernel kernel;
  int max_dynamic_shared = 0;
};

struct Module {
  Context* context = nullptr;
  Program program;
  std::vector<uint64_t> allocations;
  std::map<std::string, std::unique_ptr<FunctionHandle>> functions;
};

struct Device;

// The primary context of a device; there are no others.
struct Context {
  Device* device = nullptr;
  std::atomic<int> uses{0};
  std::atomic<int> error{0};  // sticky
  unsigned flags = 0;
  std::mutex mutex;
  std::shared_ptr<Stream> default_stream;
  std::set<std::shared_ptr<Stream>> streams;
  std::set<Context*> peers;

  CUresult status() const { return static_cast<CUresult>(error.load()); }
  void Poison(int code, const std::string& message);
  CUresult Synchronize();
  void Destroy();
  std::shared_ptr<Stream> NewStream(unsigned flags, int priority);
};

struct Device {
  explicit Device(int number, uint64_t memory_limit) : number(number), memory_limit(memory_limit) {}
  const int number;  // of the hardware, before CUDA_VISIBLE_DEVICES
  const uint64_t memory_limit;
  int ordinal = 0;
  Context context;

  DeviceMemory& memory();  // made when first needed
  MemoryView View();

 private:
  std::once_flag made_;
  std::unique_ptr<DeviceMemory> memory_;
};

// Host memory that devices may access.
class HostMemory {
 public:
  struct Block {
    size_t size;
    bool is_allocated;  // by cuMemHostAlloc, else registered
    unsigned flags;
    Context* context;
  };
  bool Add(void* address, Block block);  // false if it overlaps one
  std::optional<Block> Remove(void* address, bool is_allocated);
  // The block that all of [address, address + size) lies in.
  std::optional<std::pair<void*, Block>> Find(const void* address, size_t size) const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<uintptr_t, Block> blocks_;
};

// Live objects of a kind, by their handles.
template <class T>
class Table {
 public:
  T* Add(std::shared_ptr<T> object) {
    std::lock_guard lock(mutex_);
    T* key = object.get();
    objects_[key] = std::move(object);
    return key;
  }
  std::shared_ptr<T> Find(const void* handle) const {
    std::lock_guard lock(mutex_);
    auto found = objects_.find(const_cast<void*>(handle));
    return found == objects_.end() ? nullptr : found->second;
  }
  std::shared_ptr<T> Remove(const void* handle) {
    std::lock_guard lock(mutex_);
    auto found = objects_.find(const_cast<void*>(handle));
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }
  template <class F>
  void RemoveIf(F condition) {
    std::lock_guard lock(mutex_);
    std::erase_if(objects_, [&](const auto& each) { return condition(*each.second); });
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<void*, std::shared_ptr<T>> objects_;
};

struct Driver {
  static Driver& Get();

  std::atomic<bool> is_initialized{false};
  std::vector<std::unique_ptr<Device>> devices;
  HostMemory host_memory;
  Table<Stream> streams;
  Table<Event> events;
  Table<Module> modules;
  Table<Graph> graphs;
  Table<GraphExecution> executions;
  std::mutex function_mutex;
  std::set<const void*> functions;

  std::mutex capture_mutex;
  std::vector<std::shared_ptr<Capture>> captures;
  uint64_t next_capture = 1;

  void Initialize();
  Device* FindDevice(int ordinal);
  Context* FindContext(CUcontext handle);
  // Which device's memory an address belongs to; null for none.
  Device* OwnerOf(uint64_t address);
  // Where memory of a device or of the host is, for copies; null if the range is not all accessible.
  char* Locate(uint64_t address, size_t size);
};

// The context of the calling thread; an error if there is none, it is poisoned, or the thread runs a host function.
CUresult EnterContext(Context** context);
// The current context or null, whatever its state.
Context* CurrentContext();
CUresult SetCurrentContext(Context* context);
void PushCurrentContext(Context* context);
Context* PopCurrentContext();
// Set while a thread runs a function of cuLaunchHostFunc, which must not call the driver.
bool& InHostFunction();

// The stream of a handle, null being the default stream.
CUresult FindStream(CUstream handle, Context* context, std::shared_ptr<Stream>* stream);
// Gives work to a stream, or to the graph that it captures.
CUresult Submit(const std::shared_ptr<Stream>& stream, Work work);
// Calls that could make a capture wrong fail while one is under way in this thread, or in any if it is global.
CUresult CheckUnsafeCall();
// Runs the nodes of a graph one after another, each after those it depends on, otherwise latest first: an order that
// the program does not expect unless it has said so.
void RunGraph(const Graph& graph);

}  // namespace cuda_emulator

#endif  // WEIR_TESTS_CUDA_EMULATOR_DRIVER_H_
