#include "weir/client/coordinator.h"

#include <atomic>

#include "weir/client/ops/queue_ops.h"

namespace weir {

Coordinator::~Coordinator() {
  RequestStop();
  Join().IgnoreError();
}

void Coordinator::Start(std::function<Status()> body) {
  absl::MutexLock lock(&mu_);
  threads_.emplace_back([this, body = std::move(body)] {
    Status status = body();
    if (absl::IsOutOfRange(status)) {
      RequestStop();
    } else if (!status.ok()) {
      RequestStop(std::move(status));
    }
  });
}

bool Coordinator::ShouldStop() const {
  absl::MutexLock lock(&mu_);
  return is_stopping_;
}

void Coordinator::RequestStop(Status error) {
  std::vector<std::function<void()>> callbacks;
  {
    absl::MutexLock lock(&mu_);
    // What stopping itself makes fail is no error.
    const bool is_consequence = is_stopping_ && (absl::IsCancelled(error) || absl::IsAborted(error));
    if (error_.ok() && !is_consequence) error_ = std::move(error);
    is_stopping_ = true;
    callbacks.swap(callbacks_);
  }
  for (const auto& callback : callbacks) callback();
}

bool Coordinator::WaitForStop(absl::Duration timeout) {
  absl::MutexLock lock(&mu_);
  return mu_.AwaitWithTimeout(absl::Condition(&is_stopping_), timeout);
}

void Coordinator::OnStop(std::function<void()> callback) {
  {
    absl::MutexLock lock(&mu_);
    if (!is_stopping_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

Status Coordinator::Join() {
  while (true) {
    std::thread thread;
    {
      absl::MutexLock lock(&mu_);
      if (threads_.empty()) return error_;
      thread = std::move(threads_.front());
      threads_.pop_front();
    }
    thread.join();
  }
}

QueueRunner MakeQueueRunner(const Scope& scope, const Output& queue, const Operation& enqueue, int threads) {
  QueueRunner out;
  out.enqueue.assign(std::max(0, threads), enqueue);
  out.close = ops::QueueCloseV2(scope, queue);
  out.cancel = ops::QueueCloseV2(scope, queue, {.cancel_pending_enqueues = true});
  return out;
}

void StartQueueRunner(ClientSession& session, Coordinator& coordinator, const QueueRunner& runner) {
  auto left = std::make_shared<std::atomic<size_t>>(runner.enqueue.size());
  coordinator.OnStop([&session, cancel = runner.cancel] { session.RunTargets({cancel}).IgnoreError(); });
  for (const Operation& enqueue : runner.enqueue) {
    coordinator.Start([&session, &coordinator, enqueue, close = runner.close, left]() -> Status {
      Status status;
      while (status.ok() && !coordinator.ShouldStop()) status = session.RunTargets({enqueue});
      if (coordinator.ShouldStop()) return OkStatus();
      if (!absl::IsOutOfRange(status)) return status;
      // The consumers still take what is in the queue, so this does not stop everybody.
      return left->fetch_sub(1) == 1 ? session.RunTargets({close}) : OkStatus();
    });
  }
}

}  // namespace weir
