// Tells ThreadSanitizer what Debian's Abseil and gRPC do. That library is built without it, so the order that
// absl::Mutex and its kin make is invisible and every use of a guarded field would look like a race. The functions
// below take the place of the library's own in programs built for ThreadSanitizer, call these, and report the order.
#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
}

#define WEIR_TEXT_(x) #x
#define WEIR_TEXT(x) WEIR_TEXT_(x)
// The mangled name of absl::<inline namespace>::..., without the leading _Z and qualifiers.
#define WEIR_ABSL_NAME(qualifier, rest) \
  Mangled("_ZN" qualifier "4absl", WEIR_TEXT(ABSL_OPTION_INLINE_NAMESPACE_NAME), rest)

namespace {

void Acquire(const void* address) { __tsan_acquire(const_cast<void*>(address)); }
void Release(const void* address) { __tsan_release(const_cast<void*>(address)); }

std::string Mangled(const char* prefix, const std::string& inline_namespace, const char* rest) {
  return prefix + std::to_string(inline_namespace.size()) + inline_namespace + rest;
}

// The library's own function.
template <typename Function>
Function* Original(const std::string& name) {
  void* found = dlsym(RTLD_NEXT, name.c_str());
  if (found == nullptr) {
    fprintf(stderr, "Abseil lacks %s\n", name.c_str());
    abort();
  }
  return reinterpret_cast<Function*>(found);
}

// Debian's gRPC hands work from thread to thread by queues without locks too. Its locks are taken for one: whatever a
// thread does before it leaves one of them comes before what another does after it enters one.
char in_grpc;

struct CodeOfGrpc {
  CodeOfGrpc() {
    auto add = [](dl_phdr_info* info, size_t, void* self) {
      const std::string_view name = info->dlpi_name;
      if (name.find("/libgrpc") == name.npos && name.find("/libgpr") == name.npos) return 0;
      for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& part = info->dlpi_phdr[i];
        if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
        const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
        static_cast<CodeOfGrpc*>(self)->ranges.emplace_back(begin, begin + part.p_memsz);
      }
      return 0;
    };
    dl_iterate_phdr(add, this);
  }
  std::vector<std::pair<uintptr_t, uintptr_t>> ranges;
};

bool CalledByGrpc(const void* return_address) {
  static const CodeOfGrpc* const code = new CodeOfGrpc;
  const auto at = reinterpret_cast<uintptr_t>(return_address);
  for (const auto& [begin, end] : code->ranges) {
    if (at >= begin && at < end) return true;
  }
  return false;
}

// The search for lock cycles keeps a graph of its own, under a lock that nobody sees.
[[maybe_unused]] const bool no_cycles = (absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore), true);

}  // namespace

#define WEIR_ORIGINAL(type, qualifier, rest) \
  static const auto original = Original<type>(WEIR_ABSL_NAME(qualifier, rest))

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  WEIR_ORIGINAL(void(Mutex*), "", "5Mutex4LockEv");
  original(this);
  Acquire(this);
  if (CalledByGrpc(__builtin_return_address(0))) Acquire(&in_grpc);
}
void Mutex::Unlock() {
  WEIR_ORIGINAL(void(Mutex*), "", "5Mutex6UnlockEv");
  Release(this);
  if (CalledByGrpc(__builtin_return_address(0))) Release(&in_grpc);
  original(this);
}
bool Mutex::TryLock() {
  WEIR_ORIGINAL(bool(Mutex*), "", "5Mutex7TryLockEv");
  bool locked = original(this);
  if (locked) Acquire(this);
  return locked;
}
void Mutex::ReaderLock() {
  WEIR_ORIGINAL(void(Mutex*), "", "5Mutex10ReaderLockEv");
  original(this);
  Acquire(this);
}
void Mutex::ReaderUnlock() {
  WEIR_ORIGINAL(void(Mutex*), "", "5Mutex12ReaderUnlockEv");
  Release(this);
  original(this);
}
void Mutex::LockWhen(const Condition& condition) {
  WEIR_ORIGINAL(void(Mutex*, const Condition&), "", "5Mutex8LockWhenERKNS0_9ConditionE");
  original(this, condition);
  Acquire(this);
}
bool Mutex::LockWhenWithTimeout(const Condition& condition, Duration timeout) {
  WEIR_ORIGINAL(bool(Mutex*, const Condition&, Duration), "",
                "5Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  bool result = original(this, condition, timeout);
  Acquire(this);
  return result;
}
bool Mutex::LockWhenWithDeadline(const Condition& condition, Time deadline) {
  WEIR_ORIGINAL(bool(Mutex*, const Condition&, Time), "", "5Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  bool result = original(this, condition, deadline);
  Acquire(this);
  return result;
}
void Mutex::Await(const Condition& condition) {
  WEIR_ORIGINAL(void(Mutex*, const Condition&), "", "5Mutex5AwaitERKNS0_9ConditionE");
  Release(this);
  original(this, condition);
  Acquire(this);
}
bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  WEIR_ORIGINAL(bool(Mutex*, const Condition&, Duration), "",
                "5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  Release(this);
  bool result = original(this, condition, timeout);
  Acquire(this);
  return result;
}
bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  WEIR_ORIGINAL(bool(Mutex*, const Condition&, Time), "", "5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  Release(this);
  bool result = original(this, condition, deadline);
  Acquire(this);
  return result;
}

// Called with the lock held, but inside the library, by whichever thread hands the lock on.
bool Condition::Eval() const {
  WEIR_ORIGINAL(bool(const Condition*), "K", "9Condition4EvalEv");
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  bool result = original(this);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  return result;
}

void CondVar::Wait(Mutex* mutex) {
  WEIR_ORIGINAL(void(CondVar*, Mutex*), "", "7CondVar4WaitEPNS0_5MutexE");
  Release(mutex);
  original(this, mutex);
  Acquire(mutex);
}
bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  WEIR_ORIGINAL(bool(CondVar*, Mutex*, Duration), "", "7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
  Release(mutex);
  bool result = original(this, mutex, timeout);
  Acquire(mutex);
  return result;
}
bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  WEIR_ORIGINAL(bool(CondVar*, Mutex*, Time), "", "7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  Release(mutex);
  bool result = original(this, mutex, deadline);
  Acquire(mutex);
  return result;
}

void Notification::Notify() {
  WEIR_ORIGINAL(void(Notification*), "", "12Notification6NotifyEv");
  // The flag that waiters load, in code of ours, stands behind the mutex.
  Release(reinterpret_cast<const char*>(this) + sizeof(Mutex));
  original(this);
}
// It need not lock the mutex where the flag is up already.
void Notification::WaitForNotification() const {
  WEIR_ORIGINAL(void(const Notification*), "K", "12Notification19WaitForNotificationEv");
  original(this);
  Acquire(reinterpret_cast<const char*>(this) + sizeof(Mutex));
}
bool Notification::WaitForNotificationWithTimeout(Duration timeout) const {
  WEIR_ORIGINAL(bool(const Notification*, Duration), "K",
                "12Notification30WaitForNotificationWithTimeoutENS0_8DurationE");
  bool result = original(this, timeout);
  if (result) Acquire(reinterpret_cast<const char*>(this) + sizeof(Mutex));
  return result;
}
bool Notification::WaitForNotificationWithDeadline(Time deadline) const {
  WEIR_ORIGINAL(bool(const Notification*, Time), "K", "12Notification31WaitForNotificationWithDeadlineENS0_4TimeE");
  bool result = original(this, deadline);
  if (result) Acquire(reinterpret_cast<const char*>(this) + sizeof(Mutex));
  return result;
}
bool BlockingCounter::DecrementCount() {
  WEIR_ORIGINAL(bool(BlockingCounter*), "", "15BlockingCounter14DecrementCountEv");
  Release(this);
  return original(this);
}
void BlockingCounter::Wait() {
  WEIR_ORIGINAL(void(BlockingCounter*), "", "15BlockingCounter4WaitEv");
  const void* address = this;
  original(this);
  Acquire(address);
}

// Whoever drops the last reference deletes what others have read.
void Status::UnrefNonInlined(uintptr_t rep) {
  WEIR_ORIGINAL(void(uintptr_t), "", "6Status15UnrefNonInlinedEm");
  Release(reinterpret_cast<const void*>(rep));
  Acquire(reinterpret_cast<const void*>(rep));
  original(rep);
}

ABSL_NAMESPACE_END
}  // namespace absl

// What gRPC's calls from outside pass on and bring back.
extern "C" {
struct gpr_timespec_of_tsan {
  int64_t seconds;
  int32_t nanoseconds;
  int clock;
};
struct grpc_event_of_tsan {
  int type;
  int success;
  void* tag;
};
int grpc_call_start_batch(void* call, const void* ops, size_t count, void* tag, void* reserved) {
  static const auto original = Original<int(void*, const void*, size_t, void*, void*)>("grpc_call_start_batch");
  Release(&in_grpc);
  return original(call, ops, count, tag, reserved);
}
grpc_event_of_tsan grpc_completion_queue_pluck(void* queue, void* tag, gpr_timespec_of_tsan deadline, void* reserved) {
  static const auto original =
      Original<grpc_event_of_tsan(void*, void*, gpr_timespec_of_tsan, void*)>("grpc_completion_queue_pluck");
  grpc_event_of_tsan event = original(queue, tag, deadline, reserved);
  Acquire(&in_grpc);
  return event;
}
grpc_event_of_tsan grpc_completion_queue_next(void* queue, gpr_timespec_of_tsan deadline, void* reserved) {
  static const auto original =
      Original<grpc_event_of_tsan(void*, gpr_timespec_of_tsan, void*)>("grpc_completion_queue_next");
  grpc_event_of_tsan event = original(queue, deadline, reserved);
  Acquire(&in_grpc);
  return event;
}
// Every end of an operation; what is called back then runs in this thread, or in another that waits for it.
#define WEIR_END_OP \
  "_Z14grpc_cq_end_opP21grpc_completion_queuePvN4absl7debian36StatusEPFvS1_P18grpc_cq_completionES1_S6_b"
void grpc_cq_end_op_of_tsan(void* queue, void* tag, void* status, void* done, void* argument, void* storage,
                            bool internal) __asm__(WEIR_END_OP);
void grpc_cq_end_op_of_tsan(void* queue, void* tag, void* status, void* done, void* argument, void* storage,
                            bool internal) {
  static const auto original = Original<void(void*, void*, void*, void*, void*, void*, bool)>(WEIR_END_OP);
  Acquire(&in_grpc);
  Release(&in_grpc);
  original(queue, tag, status, done, argument, storage, internal);
}
void gpr_mu_lock(void* mutex) {
  static const auto original = Original<void(void*)>("gpr_mu_lock");
  original(mutex);
  Acquire(&in_grpc);
}
void gpr_mu_unlock(void* mutex) {
  static const auto original = Original<void(void*)>("gpr_mu_unlock");
  Release(&in_grpc);
  original(mutex);
}
int gpr_mu_trylock(void* mutex) {
  static const auto original = Original<int(void*)>("gpr_mu_trylock");
  const int locked = original(mutex);
  if (locked) Acquire(&in_grpc);
  return locked;
}

// tsan.supp, for programs that are linked with this; others are told by $TSAN_OPTIONS.
const char* __tsan_default_suppressions() { return WEIR_TSAN_SUPPRESSIONS; }
}
