// Streams, events and captures.
#include <algorithm>
#include <cfenv>
#include <thread>

#include "driver.h"

namespace cuda_emulator {

void EventRecord::Finish() {
  std::lock_guard lock(mutex);
  time = std::chrono::steady_clock::now();
  is_done = true;
  changed.notify_all();
}

void EventRecord::Wait() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return is_done; });
}

bool EventRecord::IsDone() {
  std::lock_guard lock(mutex);
  return is_done;
}

void Stream::Push(std::function<void()> work) {
  std::lock_guard lock(mutex);
  queue.push_back(std::move(work));
  ++submitted;
  if (!has_thread) {
    has_thread = true;
    std::thread([self = shared_from_this()] { self->Loop(); }).detach();
  }
  changed.notify_all();
}

void Stream::Loop() {
  std::fesetenv(FE_DFL_ENV);  // a GPU does not flush denormals because the thread that made the stream does
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return !queue.empty() || is_closing; });
    if (queue.empty()) return;
    std::function<void()> work = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
    ++finished;
    changed.notify_all();
  }
}

void Stream::WaitFor(uint64_t ticket) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return finished >= ticket; });
}

uint64_t Stream::Submitted() {
  std::lock_guard lock(mutex);
  return submitted;
}

bool Stream::IsIdle() {
  std::lock_guard lock(mutex);
  return finished == submitted;
}

CUresult FindStream(CUstream handle, Context* context, std::shared_ptr<Stream>* stream) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number > 2) {
    *stream = Driver::Get().streams.Find(handle);
    if (*stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return (*stream)->context->status();
  }
  // The legacy default stream; the one of a thread is the same here.
  std::lock_guard lock(context->mutex);
  if (context->default_stream == nullptr) {
    context->default_stream = std::make_shared<Stream>();
    context->default_stream->context = context;
    context->default_stream->is_default = true;
  }
  *stream = context->default_stream;
  return CUDA_SUCCESS;
}

namespace {

// The default stream and the blocking streams wait for each other.
void OrderWithDefaultStream(const std::shared_ptr<Stream>& stream) {
  if (!stream->IsBlocking()) return;
  std::vector<std::pair<std::shared_ptr<Stream>, uint64_t>> earlier;
  {
    std::lock_guard lock(stream->context->mutex);
    if (stream->is_default) {
      for (const auto& other : stream->context->streams) {
        if (other->IsBlocking() && !other->IsIdle()) earlier.emplace_back(other, other->Submitted());
      }
    } else if (stream->context->default_stream && !stream->context->default_stream->IsIdle()) {
      earlier.emplace_back(stream->context->default_stream, stream->context->default_stream->Submitted());
    }
  }
  for (auto& [other, ticket] : earlier) {
    stream->Push([other = other, ticket = ticket] { other->WaitFor(ticket); });
  }
}

}  // namespace

CUresult Submit(const std::shared_ptr<Stream>& stream, Work work) {
  Driver& driver = Driver::Get();
  {
    std::lock_guard lock(driver.capture_mutex);
    if (stream->capture) {
      Capture& capture = *stream->capture;
      if (capture.is_invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
      auto node = std::make_shared<GraphNode>();
      node->work = std::move(work);
      node->dependencies = stream->dependencies;
      stream->dependencies = {capture.graph->nodes.size()};
      capture.graph->nodes.push_back(std::move(node));
      return CUDA_SUCCESS;
    }
    if (stream->is_default) {
      // The default stream would have to wait for streams that capture.
      for (const auto& capture : driver.captures) {
        if (capture->graph->context == stream->context && capture->origin->IsBlocking() && capture->mode != 2) {
          capture->is_invalid = true;
          return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
      }
    }
  }
  OrderWithDefaultStream(stream);
  stream->Push([context = stream->context, run = std::move(work.run)] {
    if (context->error == 0) run();
  });
  return CUDA_SUCCESS;
}

CUresult CheckUnsafeCall() {
  Driver& driver = Driver::Get();
  std::lock_guard lock(driver.capture_mutex);
  for (const auto& capture : driver.captures) {
    const bool global = capture->mode == 0;
    const bool local = capture->mode == 1 && capture->thread == std::this_thread::get_id();
    if (!global && !local) continue;
    capture->is_invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return CUDA_SUCCESS;
}

void RunGraph(const Graph& graph) {
  const size_t count = graph.nodes.size();
  std::vector<size_t> missing(count);
  std::vector<std::vector<size_t>> successors(count);
  std::set<size_t> ready;
  for (size_t i = 0; i < count; ++i) {
    missing[i] = graph.nodes[i]->dependencies.size();
    for (size_t dependency : graph.nodes[i]->dependencies) successors[dependency].push_back(i);
    if (missing[i] == 0) ready.insert(i);
  }
  while (!ready.empty()) {
    const size_t node = *ready.rbegin();
    ready.erase(node);
    if (graph.context->error != 0) return;
    if (graph.nodes[node]->work.run) graph.nodes[node]->work.run();
    for (size_t successor : successors[node]) {
      if (--missing[successor] == 0) ready.insert(successor);
    }
  }
}

}  // namespace cuda_emulator
