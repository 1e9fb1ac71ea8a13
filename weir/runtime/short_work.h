// Whether a thread that brings a value may itself run what the value makes ready, where that has been short so far. The
// threads of a network library may: handing little work to a pool costs more than doing it, much work would keep others
// from being served.
#ifndef WEIR_RUNTIME_SHORT_WORK_H_
#define WEIR_RUNTIME_SHORT_WORK_H_

#include <cstdint>
#include <utility>

namespace weir {

// Processor cycles; a few tens of microseconds.
inline constexpr uint32_t kShortWorkCycles = 200'000;

// Allows it to this thread for as long as the object lives.
class AllowShortWork {
 public:
  AllowShortWork() { allowed_ = true; }
  ~AllowShortWork() { allowed_ = false; }
  AllowShortWork(const AllowShortWork&) = delete;
  // Whether it is allowed here. Only the first caller gets permission, because short work must not nest.
  static bool Take() { return std::exchange(allowed_, false); }

 private:
  static inline thread_local bool allowed_ = false;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_SHORT_WORK_H_
