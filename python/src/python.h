// CPython and the small pieces that every file of the extension uses: owned references, errors, the interpreter lock.
#ifndef WEIR_PYTHON_PYTHON_H_
#define WEIR_PYTHON_PYTHON_H_

#include <cxxabi.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "python/src/stable_abi.h"
#include "weir/base/status.h"

namespace weir::python {

// An owned reference. REQUIRES: the interpreter's lock is held wherever one is copied or dropped.
class Ref {
 public:
  Ref() = default;
  static Ref Own(PyObject* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  static Ref Borrow(PyObject* object) {
    Py_XINCREF(object);
    return Own(object);
  }
  Ref(const Ref& other) : object_(other.object_) { Py_XINCREF(object_); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// Calls `take`, which takes the interpreter's lock. When the interpreter has begun to end, Python makes a thread that
// wants the lock leave by pthread_exit, which must not unwind C++ code: such a thread stops here until the process
// ends. (GCC binds the reference to null, which its sanitizer then complains of.)
template <typename Take>
__attribute__((no_sanitize("null"))) void TakeLock(Take take) {
  try {
    take();
  } catch (abi::__forced_unwind&) {
    while (true) pause();
  }
}

// Gives the interpreter's lock up for a while.
class WithoutLock {
 public:
  WithoutLock() : state_(PyEval_SaveThread()) {}
  ~WithoutLock() {
    TakeLock([this] { PyEval_RestoreThread(state_); });
  }
  WithoutLock(const WithoutLock&) = delete;

 private:
  PyThreadState* state_;
};

// Takes it, in any thread.
class WithLock {
 public:
  WithLock() {
    TakeLock([this] { state_ = PyGILState_Ensure(); });
  }
  ~WithLock() { PyGILState_Release(state_); }
  WithLock(const WithLock&) = delete;

 private:
  PyGILState_STATE state_;
};

// Raises the exception of tf.errors that belongs to the status' code; returns null. An exception that a Python callback
// raised below the status comes up as itself.
PyObject* Raise(const Status& status);
// The same while a graph is built: TensorFlow raises ValueError there.
PyObject* RaiseForGraph(const Status& status);
// Keeps the Python exception that is set now for the Raise of the status that is returned.
Status TakeException();

// What Python code gives to the extension at import, by name ("errors", "convert", ...); null with an error if missing.
PyObject* Hook(const char* name);
PyObject* SetHook(PyObject* module, PyObject* args);

// UTF-8 of a str, the bytes of a bytes. False with an error set for anything else.
bool ToString(PyObject* object, std::string* out);
inline PyObject* FromString(std::string_view text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

}  // namespace weir::python

#endif  // WEIR_PYTHON_PYTHON_H_
