#include "weir/ops/accumulator/accumulator.h"

namespace weir {
namespace {

Status TakeCancelled(const Status& reason) {
  return absl::IsCancelled(reason) ? Cancelled("TakeGrad operation was cancelled") : reason;
}

}  // namespace

int64_t Accumulator::NumAccumulated() const {
  absl::ReaderMutexLock lock(&mu_);
  return count_;
}

void Accumulator::SetGlobalStep(int64_t step) {
  absl::MutexLock lock(&mu_);
  global_step_ = step;
}

Status Accumulator::Apply(int64_t local_step, const Tensors& gradient) {
  std::list<Waiter> finished;
  {
    absl::MutexLock lock(&mu_);
    if (local_step < global_step_) return OkStatus();
    WEIR_RETURN_IF_ERROR(AddLocked(gradient, count_));
    ++count_;
    if (!waiters_.empty() && count_ >= waiters_.front().num_required) {
      finished.splice(finished.begin(), waiters_, waiters_.begin());
      finished.front().result = TakeLocked();
    }
  }
  for (Waiter& waiter : finished) {
    // A callback that is running now finds no waiter; there is no need to wait for it.
    waiter.cancellation->TryDeregister(waiter.token);
    waiter.done(std::move(waiter.result));
  }
  return OkStatus();
}

void Accumulator::Take(int64_t num_required, CancellationManager& cancellation, Done done) {
  StatusOr<Tensors> result = Tensors();
  {
    absl::MutexLock lock(&mu_);
    if (cancellation.cancelled()) {
      result = TakeCancelled(cancellation.reason());
    } else if (waiters_.empty() && count_ >= num_required) {
      result = TakeLocked();
    } else {
      int64_t id = next_id_++;
      CancellationManager::Token token = cancellation.Register(
          [self = shared_from_this(), id, &cancellation] { self->Cancel(id, cancellation.reason()); });
      if (token != CancellationManager::kNoToken) {
        waiters_.push_back({id, num_required, &cancellation, token, std::move(done)});
        return;
      }
      result = TakeCancelled(cancellation.reason());
    }
  }
  done(std::move(result));
}

StatusOr<Accumulator::Tensors> Accumulator::TakeLocked() {
  WEIR_ASSIGN_OR_RETURN(Tensors result, FinishLocked(count_));
  count_ = 0;
  ++global_step_;
  return result;
}

void Accumulator::Cancel(int64_t id, const Status& reason) {
  std::list<Waiter> cancelled;
  {
    absl::MutexLock lock(&mu_);
    for (auto it = waiters_.begin(); it != waiters_.end(); ++it) {
      if (it->id != id) continue;
      bool was_first = it == waiters_.begin();
      cancelled.splice(cancelled.begin(), waiters_, it);
      cancelled.front().result = TakeCancelled(reason);
      // The take behind may have waited only for its turn.
      if (was_first && !waiters_.empty() && count_ > 0 && count_ >= waiters_.front().num_required) {
        cancelled.splice(cancelled.end(), waiters_, waiters_.begin());
        cancelled.back().result = TakeLocked();
      }
      break;
    }
  }
  for (Waiter& waiter : cancelled) {
    if (waiter.id != id) waiter.cancellation->TryDeregister(waiter.token);
    waiter.done(std::move(waiter.result));
  }
}

void AddTo(DType dtype, const void* from, void* to, int64_t count) {
  DispatchDType(dtype, FloatTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* a = static_cast<const T*>(from);
    T* b = static_cast<T*>(to);
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (sizeof(T) == 2) {
        b[i] = T(static_cast<float>(b[i]) + static_cast<float>(a[i]));
      } else {
        b[i] += a[i];
      }
    }
  });
}

void DivideBy(DType dtype, void* values, int64_t count, int64_t divisor) {
  DispatchDType(dtype, FloatTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* b = static_cast<T*>(values);
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (sizeof(T) == 2) {
        b[i] = T(static_cast<float>(b[i]) / static_cast<float>(T(static_cast<float>(divisor))));
      } else {
        b[i] /= static_cast<T>(divisor);
      }
    }
  });
}

}  // namespace weir
