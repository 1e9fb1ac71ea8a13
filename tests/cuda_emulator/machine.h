// Threads, warps and blocks, and how they take turns.
//
// One worker runs a block. Each of its threads has registers and a program counter of its own and runs until it ends,
// waits for others (a barrier, a shuffle), or has used up its turn. There is no lockstep: code that relies on the
// threads of a warp moving together without saying so gives wrong results here.
#ifndef WEIR_TESTS_CUDA_EMULATOR_MACHINE_H_
#define WEIR_TESTS_CUDA_EMULATOR_MACHINE_H_

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include "program.h"

namespace cuda_emulator {

// What kernels see of global memory. The device's own memory is checked without locks: `valid` holds for every 256
// bytes how many of them, from the first on, belong to a live allocation.
struct MemoryView {
  uint64_t base = 0;
  uint64_t span = 0;
  char* storage = nullptr;
  const uint16_t* valid = nullptr;
  // Anything else: memory of peers and of the host. Returns nullptr if it is not accessible.
  char* (*resolve)(const void* owner, uint64_t address, size_t size) = nullptr;
  const void* owner = nullptr;
};

struct Dimensions {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t Count() const { return uint64_t{x} * y * z; }
};

struct LaunchFault {
  int error = 0;  // a CUresult
  std::string message;
};

struct Launch {
  const Kernel* kernel = nullptr;
  Dimensions grid;
  Dimensions block;
  uint32_t dynamic_shared_bytes = 0;
  bool is_cooperative = false;
  uint64_t grid_workspace = 0;  // device memory that cooperative groups use to meet; zeroed
  std::vector<char> parameters;
  MemoryView memory;

  std::atomic<bool> failed{false};
  std::mutex mutex;
  LaunchFault fault;  // the first one

  void Fail(int error, std::string message);
};

// Runs a whole grid; returns when it has ended or failed.
void RunGrid(Launch* launch);

class Block;

struct Thread {
  enum State : uint8_t { kReady, kAtBarrier, kAtWarpOperation, kDone, kFailed };

  uint64_t* registers = nullptr;
  const Instruction* next = nullptr;
  const Launch* launch = nullptr;
  const MemoryView* memory = nullptr;
  Block* block = nullptr;
  char* frame = nullptr;  // of the function that runs: its locals and parameters
  char* local = nullptr;
  uint32_t local_size = 0;
  uint32_t frame_base = 0;
  const Function* function = nullptr;
  bool carry = false;
  State state = kReady;
  uint8_t lane = 0;
  uint32_t warp = 0;
  uint32_t index = 0;
  Dimensions id;
  const Instruction* waiting = nullptr;
  uint32_t barrier = 0;
  uint32_t barrier_count = 0;  // threads that take part; 0 for all

  struct Call {
    const Instruction* site;
    uint64_t* registers;
    const Function* function;
    uint32_t frame_base;
  };
  std::vector<Call> calls;

  // Copies that cp.async has begun. They are made when the thread waits for them, so that a missing wait shows.
  struct AsyncCopy {
    char* to;
    const char* from;
    uint32_t size, copied;  // the rest is zeros
    uint32_t group;
  };
  std::vector<AsyncCopy> copies;
  uint32_t copy_group = 0;
};

// The values of registers. Integers are extended to 64 bits by their sign, so that a wider register may take them.
template <class T>
inline T Get(const uint64_t* slot) {
  T value;
  std::memcpy(&value, slot, sizeof(T));
  return value;
}
template <class T>
inline void Put(uint64_t* slot, T value) {
  if constexpr (std::is_integral_v<T>) {
    *slot = static_cast<uint64_t>(static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(value));
  } else {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    *slot = bits;
  }
}

// Ends the launch with an error that names kernel, line, block and thread. Returns nullptr, as a handler does then.
const Instruction* Fault(Thread* thread, const Instruction* instruction, int error, const std::string& what);
const Instruction* AddressFault(Thread* thread, const Instruction* instruction, uint64_t address, size_t size,
                                const char* access);

class Block {
 public:
  explicit Block(Launch* launch);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  void Start(uint64_t index);
  enum class Progress { kDone, kYielded, kFailed };
  // Runs until all threads have ended or, where some did not wait but used up their turns, once around.
  Progress Run(int64_t turn);

  char* shared() { return shared_.data(); }
  uint32_t shared_bytes() const { return shared_bytes_; }
  const Dimensions& id() const { return id_; }
  Thread* warp(uint32_t index) { return &threads_[index * 32]; }
  uint32_t warp_size(uint32_t index) const;

  // A call and its end.
  const Instruction* Enter(Thread* thread, const Instruction* site, const Function& callee, const CallSite& arguments);
  const Instruction* Leave(Thread* thread);

 private:
  bool RunWarp(uint32_t warp, int64_t turn, bool* yielded);
  bool ReleaseBarriers();
  void ReportDeadlock();
  uint64_t* TakeFrame(const Function& function);
  void InitialiseConstants(const Function& function, uint64_t* registers) const;

  Launch& launch_;
  const Kernel& kernel_;
  Dimensions id_;
  uint32_t shared_bytes_ = 0;
  std::vector<char> shared_;
  std::vector<Thread> threads_;
  std::vector<uint64_t> registers_;
  std::unique_ptr<char[]> local_;
  uint32_t local_per_thread_ = 0;
  std::vector<std::vector<uint64_t*>> free_frames_;  // by function
  std::vector<std::unique_ptr<uint64_t[]>> frames_;
};

// What `immediate` of a barrier's instruction holds; `d` and `c` are the slots of the result and of the thread's vote.
enum class BarrierReduction : uint8_t { kNone, kCount, kAnd, kOr };
constexpr int64_t kBarrierAligned = 16;

// What a warp does once the lanes of a mask have met (warp_operations.cc). Returns whether any lane could go on.
bool ResolveWarpOperations(Thread* lanes, uint32_t count);

}  // namespace cuda_emulator

#endif  // WEIR_TESTS_CUDA_EMULATOR_MACHINE_H_
