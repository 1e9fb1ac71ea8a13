// Ctrl-C while the main thread waits inside the engine: the step is cancelled and KeyboardInterrupt is raised.
//
// Python runs its signal handlers between bytecodes only, so a step that waits for a queue would never end. A handler
// of SIGINT, in front of Python's own, wakes a thread that cancels what the main thread runs.
#ifndef WEIR_PYTHON_INTERRUPT_H_
#define WEIR_PYTHON_INTERRUPT_H_

#include "python/src/python.h"
#include "weir/base/cancellation.h"

namespace weir::python {

// Around a call that may wait. REQUIRES: made and ended in one thread; `Raise` is called with the interpreter's lock.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  // For the step's options. Null in threads other than the main one.
  CancellationManager* cancellation() const { return cancellation_; }
  // After an error: true if Ctrl-C was the cause and an exception is set.
  bool RaiseIfInterrupted();

 private:
  CancellationManager* cancellation_;
};

}  // namespace weir::python

#endif  // WEIR_PYTHON_INTERRUPT_H_
