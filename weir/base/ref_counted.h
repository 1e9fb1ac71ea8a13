// Intrusive shared ownership: one pointer wide, one allocation. Counts are private to RefPtr; nothing else changes
// them.
#ifndef WEIR_BASE_REF_COUNTED_H_
#define WEIR_BASE_REF_COUNTED_H_

#include <atomic>
#include <cstdint>
#include <utility>

#include "weir/base/export.h"

namespace WEIR_PUBLIC weir {

template <typename T>
class RefPtr;

// The base class of objects held by RefPtr. `Derived` may define `static void Dispose(Derived*)` to free itself.
template <typename Derived>
class RefCounted {
 public:
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  // True if exactly one RefPtr holds this object; that holder may then modify it.
  bool unique() const { return refs_.load(std::memory_order_acquire) == 1; }

  static void Dispose(Derived* object) { delete object; }

 protected:
  RefCounted() = default;
  ~RefCounted() = default;

 private:
  template <typename T>
  friend class RefPtr;
  mutable std::atomic<int32_t> refs_{1};
};

template <typename T>
class RefPtr {
 public:
  RefPtr() = default;
  RefPtr(std::nullptr_t) {}
  RefPtr(const RefPtr& other) : object_(other.object_) { Acquire(); }
  RefPtr(RefPtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  ~RefPtr() { Drop(); }
  RefPtr& operator=(const RefPtr& other) { return *this = RefPtr(other); }
  RefPtr& operator=(RefPtr&& other) noexcept {
    if (this != &other) {
      Drop();
      object_ = std::exchange(other.object_, nullptr);
    }
    return *this;
  }

  // Takes over the initial reference of a new object.
  static RefPtr Adopt(T* object) {
    RefPtr out;
    out.object_ = object;
    return out;
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const RefPtr& other) const { return object_ == other.object_; }

 private:
  void Acquire() const {
    if (object_ != nullptr) object_->refs_.fetch_add(1, std::memory_order_relaxed);
  }
  void Drop() {
    if (object_ == nullptr) return;
    // A sole owner needs no atomic read-modify-write: nobody else can add a reference.
    if (object_->refs_.load(std::memory_order_acquire) == 1 ||
        object_->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      T::Dispose(object_);
    }
    object_ = nullptr;
  }

  T* object_ = nullptr;
};

template <typename T, typename... Args>
RefPtr<T> MakeRef(Args&&... args) {
  return RefPtr<T>::Adopt(new T(std::forward<Args>(args)...));
}

}  // namespace weir

#endif  // WEIR_BASE_REF_COUNTED_H_
