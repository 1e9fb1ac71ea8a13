#include "far_stream.h"

namespace far {

FarStream::FarStream() : thread_([this] { Loop(); }) {}

FarStream::~FarStream() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  thread_.join();
}

void FarStream::Add(Work work) {
  absl::MutexLock lock(&mu_);
  queue_.push_back(std::move(work));
}

std::shared_ptr<FarEvent> FarStream::Record() {
  auto event = std::make_shared<FarEvent>();
  Add([event] { event->Set(); });
  return event;
}

void FarStream::WaitFor(std::shared_ptr<FarEvent> event) {
  Add([event = std::move(event)] { event->Wait(); });
}

void FarStream::Loop() {
  while (true) {
    Work work;
    {
      absl::MutexLock lock(&mu_);
      auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_ || !queue_.empty(); };
      mu_.Await(absl::Condition(&ready));
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
}

}  // namespace far
