// FastMutex: a lock for hot paths that hold it for a few instructions only. Use absl::Mutex if anything is waited for.
#ifndef WEIR_BASE_MUTEX_H_
#define WEIR_BASE_MUTEX_H_

#include <mutex>

#include "absl/base/thread_annotations.h"

namespace weir {

class ABSL_LOCKABLE FastMutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mu_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mu_.unlock(); }

 private:
  std::mutex mu_;
};

class ABSL_SCOPED_LOCKABLE FastMutexLock {
 public:
  explicit FastMutexLock(FastMutex* mu) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu) : mu_(mu) { mu_->Lock(); }
  ~FastMutexLock() ABSL_UNLOCK_FUNCTION() { mu_->Unlock(); }
  FastMutexLock(const FastMutexLock&) = delete;
  FastMutexLock& operator=(const FastMutexLock&) = delete;

 private:
  FastMutex* const mu_;
};

}  // namespace weir

#endif  // WEIR_BASE_MUTEX_H_
