// SharedLoop: one loop of ThreadPool::ParallelFor, shared by its caller and the threads that help.
#ifndef WEIR_BASE_SHARED_LOOP_INTERNAL_H_
#define WEIR_BASE_SHARED_LOOP_INTERNAL_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>

#include "absl/functional/function_ref.h"

namespace weir {

// Counts its users, since a helper that arrives late and finds no part left may still access it after the caller has
// returned.
class SharedLoop {
 public:
  using Body = absl::FunctionRef<void(int64_t begin, int64_t end)>;

  // The creator is the first user.
  SharedLoop(int64_t total, int64_t part, Body body) : total_(total), part_(part), body_(body) {}
  SharedLoop(const SharedLoop&) = delete;
  SharedLoop& operator=(const SharedLoop&) = delete;
  void Ref() { users_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // Whether any part has not been taken yet.
  bool HasParts() const { return next_.load(std::memory_order_relaxed) < total_; }
  // Executes parts until none are left.
  void Work() {
    while (true) {
      const int64_t begin = next_.fetch_add(part_, std::memory_order_relaxed);
      if (begin >= total_) return;
      const int64_t end = std::min(total_, begin + part_);
#if defined(__cpp_exceptions)
      try {
        body_(begin, end);
      } catch (...) {  // most likely out of memory; goes to the caller once no thread uses `body_`
        std::lock_guard<std::mutex> lock(mu_);
        if (error_ == nullptr) error_ = std::current_exception();
      }
#else
      body_(begin, end);
#endif
      if (done_.fetch_add(end - begin, std::memory_order_acq_rel) + (end - begin) == total_) {
        is_done_.store(1, std::memory_order_release);
        is_done_.notify_all();
      }
    }
  }
  // For the caller, after Work: waits for the parts of others, then throws the first exception of any part. Polls
  // first, because the remaining parts mostly end before this thread could fall asleep and wake up again.
  void Await() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
    while (is_done_.load(std::memory_order_acquire) == 0) {
      if (std::chrono::steady_clock::now() < end) continue;
      is_done_.wait(0, std::memory_order_acquire);
    }
#if defined(__cpp_exceptions)
    if (error_ != nullptr) std::rethrow_exception(error_);
#endif
  }

  int wanted_helpers = 0;  // that have not joined yet; guarded by the pool's mutex

 private:
  ~SharedLoop() = default;

  const int64_t total_, part_;
  const Body body_;  // valid until all parts are done, because the caller waits for them
  std::atomic<int64_t> next_{0};
  std::atomic<int64_t> done_{0};
  std::atomic<uint32_t> is_done_{0};
  std::atomic<int> users_{1};
  std::mutex mu_;
  std::exception_ptr error_;  // the first one; read when all parts are done
};

}  // namespace weir

#endif  // WEIR_BASE_SHARED_LOOP_INTERNAL_H_
