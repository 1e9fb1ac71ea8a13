#include <grpc/grpc.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <pthread.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "weir/distributed/stay_awake_internal.h"

namespace weir {
namespace {

using Clock = CallRhythm::Clock;

constexpr Clock::duration kLongestStay = std::chrono::seconds(1);
// How often the threads aside look after the one that stays.
constexpr Clock::duration kLook = std::chrono::milliseconds(5);
// A client cannot have its answer and send the next call in less.
constexpr Clock::duration kAtOnce = std::chrono::microseconds(10);
constexpr char kThreadName[] = "nexting_thread";

// gRPC's threads that read the queue, of the whole process.
struct Crew {
  absl::Mutex mu;
  absl::CondVar changed;
  int size ABSL_GUARDED_BY(mu) = 0;
  int aside ABSL_GUARDED_BY(mu) = 0;
  bool polled ABSL_GUARDED_BY(mu) = false;     // one of them stays
  int64_t stays ABSL_GUARDED_BY(mu) = 0;       // that have ended
  Clock::time_point beat ABSL_GUARDED_BY(mu);  // when the one that stays last asked the queue
};

Crew& TheCrew() {
  static Crew* const crew = new Crew;
  return *crew;
}

// What the thread that stays knows of itself.
thread_local bool t_stays = false;
thread_local Clock::duration t_idle;  // between the last two events

bool IsCrew() {
  static thread_local const bool is_crew = [] {
    char name[16] = "";
    return pthread_getname_np(pthread_self(), name, sizeof(name)) == 0 && std::string_view(name) == kThreadName;
  }();
  return is_crew;
}

int CountCrew() {
  int count = 0;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    count += std::getline(file, name) && name == kThreadName;
  }
  return count;
}

// The same for all calls of a connection.
size_t ClientOf(grpc_call* call) {
  char* peer = grpc_call_get_peer(call);
  const size_t client = std::hash<std::string_view>()(peer);
  gpr_free(peer);
  return client;
}

// Called by the thread that stays: it is alive, and the others are still aside.
bool IsAlone(Clock::time_point now) {
  Crew& crew = TheCrew();
  absl::MutexLock lock(&crew.mu);
  crew.beat = now;
  return crew.aside >= crew.size - 1;
}

}  // namespace

StayAwake::StayAwake(absl::Duration window)
    : window_(absl::ToChronoNanoseconds(std::max(window, absl::ZeroDuration()))), rhythm_(window_) {}

void StayAwake::BeginCall(grpc_call* call) {
  if (window_ == Clock::duration::zero()) return;
  if (t_stays) num_calls_.fetch_add(1, std::memory_order_relaxed);
  const size_t client = ClientOf(call);
  const bool waited = t_stays && t_idle < kAtOnce;
  absl::MutexLock lock(&mu_);
  rhythm_.Begin(Clock::now(), client, waited);
}

void StayAwake::EndCall(bool answered) {
  if (window_ == Clock::duration::zero()) return;
  absl::MutexLock lock(&mu_);
  rhythm_.End(Clock::now(), answered);
}

void StayAwake::AfterCall(grpc::CompletionQueue* queue) {
  if (t_stays || !IsQuick(Clock::now()) || !IsCrew()) return;
  Crew& crew = TheCrew();
  {
    absl::MutexLock lock(&crew.mu);
    if (crew.size == 0) crew.size = CountCrew();
    // The last one that is not aside is the one that waits for the network.
    if (crew.aside < crew.size - 1) return StayAside();
    if (std::exchange(crew.polled, true)) return;
    crew.beat = Clock::now();
  }
  Poll(queue->cq());
  absl::MutexLock lock(&crew.mu);
  crew.polled = false;
  ++crew.stays;
  crew.changed.SignalAll();
}

void StayAwake::Stop() {
  {
    absl::MutexLock lock(&mu_);
    stopped_ = true;
  }
  Crew& crew = TheCrew();
  absl::MutexLock lock(&crew.mu);
  crew.changed.SignalAll();
}

bool StayAwake::IsQuick(Clock::time_point now) const {
  absl::MutexLock lock(&mu_);
  return !stopped_ && rhythm_.IsQuick(now);
}

// REQUIRES: the crew's lock.
void StayAwake::StayAside() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  Crew& crew = TheCrew();
  ++crew.aside;
  const int64_t stays = crew.stays;
  while (crew.stays == stays) {
    // Until somebody stays, calls come as they always did, and a pause ends the wait for them.
    crew.changed.WaitWithTimeout(&crew.mu, absl::FromChrono(crew.polled ? kLook : window_));
    const Clock::time_point now = Clock::now();
    if (crew.polled ? now - crew.beat > kLook : !IsQuick(now)) break;
  }
  --crew.aside;
}

void StayAwake::Poll(grpc_completion_queue* queue) {
  const Clock::time_point begin = Clock::now();
  const int64_t calls_before = num_calls();
  Clock::time_point now = begin, last_event = begin;
  t_stays = true;
  while (now - begin < kLongestStay) {
    grpc_event event = grpc_completion_queue_next(queue, gpr_time_0(GPR_CLOCK_MONOTONIC), nullptr);
    if (event.type == GRPC_OP_COMPLETE) {
      t_idle = now - last_event;
      auto* functor = static_cast<grpc_completion_queue_functor*>(event.tag);
      functor->functor_run(functor, event.success);
      now = last_event = Clock::now();
    } else {
      // The client may want to run right here. Whoever keeps the processor for longer than the window ends the stay.
      std::this_thread::yield();
      now = Clock::now();
    }
    // A queue that ends tells gRPC's own loop, too.
    if (event.type == GRPC_QUEUE_SHUTDOWN || !IsQuick(now) || !IsAlone(now)) {
      absl::MutexLock lock(&mu_);
      rhythm_.GiveUp(now, static_cast<int>(num_calls() - calls_before));
      break;
    }
  }
  t_stays = false;
}

}  // namespace weir
