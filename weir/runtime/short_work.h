// Whether a thread that delivers a value may itself run the nodes that the value makes ready, provided that they have
// taken little time so far. Threads of the network library do this: handing a little work to the thread pool costs more
// than doing it, while a lot of work would delay other calls.
#ifndef WEIR_RUNTIME_SHORT_WORK_H_
#define WEIR_RUNTIME_SHORT_WORK_H_

#include <cstdint>
#include <utility>

namespace weir {

// Processor cycles; a few tens of microseconds.
inline constexpr uint32_t kShortWorkCycles = 200'000;

// Allows short work on this thread for the lifetime of the object.
class AllowShortWork {
 public:
  AllowShortWork() { allowed_ = true; }
  ~AllowShortWork() { allowed_ = false; }
  AllowShortWork(const AllowShortWork&) = delete;
  // Whether short work is allowed here. Only the first caller gets permission, because short work must not nest.
  static bool Take() { return std::exchange(allowed_, false); }

 private:
  static inline thread_local bool allowed_ = false;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_SHORT_WORK_H_
