// A thread that helps the streams to run large grids.
#ifndef WEIR_TESTS_CUDA_EMULATOR_WORKER_POOL_H_
#define WEIR_TESTS_CUDA_EMULATOR_WORKER_POOL_H_

#include <condition_variable>
#include <functional>
#include <mutex>

namespace cuda_emulator {

class WorkerPool {
 public:
  static WorkerPool& Get();

  // Calls `work` in this thread and, if the helper is free, there at the same time. Returns when both have.
  void RunWithHelp(const std::function<void()>& work);

 private:
  WorkerPool() = default;
  void Loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_started_ = false;
  const std::function<void()>* work_ = nullptr;  // given, not yet done
  bool is_taken_ = false;
};

}  // namespace cuda_emulator

#endif  // WEIR_TESTS_CUDA_EMULATOR_WORKER_POOL_H_
