#include "python/src/interrupt.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "absl/synchronization/mutex.h"

namespace weir::python {
namespace {

struct State {
  absl::Mutex mu;
  int depth ABSL_GUARDED_BY(mu) = 0;  // calls of the main thread that may wait, one inside the other
  std::unique_ptr<CancellationManager> cancellation ABSL_GUARDED_BY(mu) = std::make_unique<CancellationManager>();
};
State& TheState() {
  static auto* const state = new State;
  return *state;
}

sem_t g_signals;
struct sigaction g_before;
std::atomic<bool> g_watches{false};
// The number of the main thread's outermost call that may wait, 0 outside of any; that of the call a signal came in.
// Only that call is cancelled: the thread may wake when the main thread is further on.
std::atomic<uint64_t> g_active{0}, g_interrupted{0};

bool IsMainThread() {
  thread_local const bool is_main = syscall(SYS_gettid) == getpid();
  return is_main;
}

void OnInterrupt(int signal, siginfo_t* info, void* context) {
  if (const uint64_t active = g_active.load(); active != 0) {
    g_interrupted = active;
    sem_post(&g_signals);
  }
  if ((g_before.sa_flags & SA_SIGINFO) != 0) {
    g_before.sa_sigaction(signal, info, context);
  } else if (g_before.sa_handler != SIG_IGN && g_before.sa_handler != SIG_DFL) {
    g_before.sa_handler(signal);
  }
}

void Watch() {
  for (;;) {
    if (sem_wait(&g_signals) != 0) continue;
    State& state = TheState();
    absl::MutexLock lock(&state.mu);
    if (state.depth > 0 && g_interrupted == g_active)
      state.cancellation->StartCancel(Cancelled("Interrupted by the user"));
  }
}

// Once, with the first call that may wait. A program without Python's handler of SIGINT ends by itself.
void StartWatching() {
  if (g_watches.load(std::memory_order_relaxed)) return;
  struct sigaction current;
  if (sigaction(SIGINT, nullptr, &current) != 0) return;
  const bool has_handler =
      (current.sa_flags & SA_SIGINFO) != 0 || (current.sa_handler != SIG_DFL && current.sa_handler != SIG_IGN);
  if (!has_handler || current.sa_sigaction == OnInterrupt) return;
  sem_init(&g_signals, 0, 0);
  g_before = current;
  struct sigaction own = {};
  own.sa_sigaction = OnInterrupt;
  own.sa_flags = SA_SIGINFO | (current.sa_flags & ~(SA_RESETHAND | SA_NODEFER));
  own.sa_mask = current.sa_mask;
  std::thread(Watch).detach();
  sigaction(SIGINT, &own, nullptr);
  static const int at_fork = pthread_atfork(nullptr, nullptr, [] {
    // The child has no such thread; its first wait starts one.
    if (g_watches.exchange(false)) sigaction(SIGINT, &g_before, nullptr);
  });
  (void)at_fork;
  g_watches = true;
}

}  // namespace

Interruptible::Interruptible() : cancellation_(nullptr) {
  if (!IsMainThread()) return;
  StartWatching();
  State& state = TheState();
  absl::MutexLock lock(&state.mu);
  static uint64_t count = 0;
  if (++state.depth == 1) g_active = ++count;
  cancellation_ = state.cancellation.get();
}

Interruptible::~Interruptible() {
  if (cancellation_ == nullptr) return;
  State& state = TheState();
  absl::MutexLock lock(&state.mu);
  if (--state.depth > 0) return;
  g_active = 0;
  if (state.cancellation->cancelled()) state.cancellation = std::make_unique<CancellationManager>();
}

bool Interruptible::RaiseIfInterrupted() {
  return cancellation_ != nullptr && cancellation_->cancelled() && PyErr_CheckSignals() != 0;
}

}  // namespace weir::python
