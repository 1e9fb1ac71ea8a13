// Entry points: streams, events and functions of the host in stream order.
#include "cuda_api.h"
#include "driver.h"

using namespace cuda_emulator;  // NOLINT: the file defines C functions only

namespace {

CUstream Handle(Stream* stream) { return reinterpret_cast<CUstream>(stream); }

CUresult EnterStream(CUstream handle, Context** context, std::shared_ptr<Stream>* stream) {
  if (CUresult error = EnterContext(context)) return error;
  return FindStream(handle, *context, stream);
}

bool IsCapturing(const std::shared_ptr<Stream>& stream) {
  std::lock_guard lock(Driver::Get().capture_mutex);
  if (stream->capture == nullptr) return false;
  stream->capture->is_invalid = true;  // by what the caller is about to refuse
  return true;
}

// The work that an event stands for; an error if it stands for nodes of a graph.
CUresult RecordOf(const std::shared_ptr<Event>& event, std::shared_ptr<EventRecord>* record) {
  std::lock_guard lock(event->mutex);
  if (event->capture) return CUDA_ERROR_CAPTURED_EVENT;
  *record = event->record;
  return CUDA_SUCCESS;
}

}  // namespace

CU_EXPORT CUresult cuStreamCreateWithPriority(CUstream* handle, unsigned flags, int priority) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  if (handle == nullptr || flags > 1) return CUDA_ERROR_INVALID_VALUE;
  *handle = Handle(Driver::Get().streams.Add(context->NewStream(flags, std::min(0, std::max(-5, priority)))));
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuStreamCreate(CUstream* handle, unsigned flags) {
  return cuStreamCreateWithPriority(handle, flags, 0);
}

CU_EXPORT CUresult cuStreamDestroy_v2(CUstream handle) {
  if (reinterpret_cast<uintptr_t>(handle) <= 2) return CUDA_ERROR_INVALID_HANDLE;
  std::shared_ptr<Stream> stream = Driver::Get().streams.Remove(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  // What is queued still runs; the context forgets the stream afterwards.
  stream->Push([stream] {
    std::lock_guard lock(stream->context->mutex);
    stream->context->streams.erase(stream);
  });
  std::lock_guard lock(stream->mutex);
  stream->is_closing = true;
  stream->changed.notify_all();
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuStreamSynchronize(CUstream handle) {
  Context* context = nullptr;
  std::shared_ptr<Stream> stream;
  if (CUresult error = EnterStream(handle, &context, &stream)) return error;
  if (IsCapturing(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->is_default) Submit(stream, {Work::kEmpty, [] {}});  // so that it waits for the blocking streams, too
  stream->WaitFor(stream->Submitted());
  return stream->context->status();
}

CU_EXPORT CUresult cuStreamQuery(CUstream handle) {
  Context* context = nullptr;
  std::shared_ptr<Stream> stream;
  if (CUresult error = EnterStream(handle, &context, &stream)) return error;
  if (IsCapturing(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (!stream->IsIdle()) return CUDA_ERROR_NOT_READY;
  return stream->context->status();
}

CU_EXPORT CUresult cuStreamGetCtx(CUstream handle, CUcontext* result) {
  Context* context = nullptr;
  std::shared_ptr<Stream> stream;
  if (CUresult error = EnterStream(handle, &context, &stream)) return error;
  if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *result = reinterpret_cast<CUcontext>(stream->context);
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  Context* context = nullptr;
  std::shared_ptr<Stream> stream;
  if (CUresult error = EnterStream(handle, &context, &stream)) return error;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = stream->flags;
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  Context* context = nullptr;
  std::shared_ptr<Stream> stream;
  if (CUresult error = EnterStream(handle, &context, &stream)) return error;
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *priority = stream->priority;
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuEventCreate(CUevent* handle, unsigned flags) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  if (handle == nullptr || flags > 7) return CUDA_ERROR_INVALID_VALUE;
  auto event = std::make_shared<Event>();
  event->flags = flags;
  event->context = context;
  *handle = reinterpret_cast<CUevent>(Driver::Get().events.Add(std::move(event)));
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuEventDestroy_v2(CUevent handle) {
  return Driver::Get().events.Remove(handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CU_EXPORT CUresult cuEventRecord(CUevent event_handle, CUstream handle) {
  Context* context = nullptr;
  std::shared_ptr<Stream> stream;
  if (CUresult error = EnterStream(handle, &context, &stream)) return error;
  std::shared_ptr<Event> event = Driver::Get().events.Find(event_handle);
  if (event == nullptr || event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
  {
    std::lock_guard lock(Driver::Get().capture_mutex);
    if (stream->capture) {
      if (stream->capture->is_invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
      std::lock_guard event_lock(event->mutex);
      event->capture = stream->capture;
      event->captured = stream->dependencies;
      return CUDA_SUCCESS;
    }
  }
  auto record = std::make_shared<EventRecord>();
  record->context = stream->context;
  {
    std::lock_guard lock(event->mutex);
    event->capture = nullptr;
    event->record = record;
  }
  // Finished even in a poisoned context, so that nobody waits forever.
  if (stream->is_default) Submit(stream, {Work::kEmpty, [] {}});
  stream->Push([record] { record->Finish(); });
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned) {
  return cuEventRecord(event, stream);
}

CU_EXPORT CUresult cuEventQuery(CUevent handle) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  std::shared_ptr<Event> event = Driver::Get().events.Find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::shared_ptr<EventRecord> record;
  if (CUresult error = RecordOf(event, &record)) return error;
  if (record != nullptr && !record->IsDone()) return CUDA_ERROR_NOT_READY;
  return event->context->status();
}

CU_EXPORT CUresult cuEventSynchronize(CUevent handle) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  std::shared_ptr<Event> event = Driver::Get().events.Find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::shared_ptr<EventRecord> record;
  if (CUresult error = RecordOf(event, &record)) return error;
  if (record != nullptr) record->Wait();
  return event->context->status();
}

CU_EXPORT CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent from_handle, CUevent to_handle) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  std::shared_ptr<Event> from = Driver::Get().events.Find(from_handle), to = Driver::Get().events.Find(to_handle);
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (from == nullptr || to == nullptr || ((from->flags | to->flags) & 2) != 0) return CUDA_ERROR_INVALID_HANDLE;
  std::shared_ptr<EventRecord> begin, end;
  if (CUresult error = RecordOf(from, &begin)) return error;
  if (CUresult error = RecordOf(to, &end)) return error;
  if (begin == nullptr || end == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!begin->IsDone() || !end->IsDone()) return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
  return cuEventElapsedTime_v2(milliseconds, from, to);
}

CU_EXPORT CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned) {
  Context* context = nullptr;
  std::shared_ptr<Stream> stream;
  if (CUresult error = EnterStream(handle, &context, &stream)) return error;
  std::shared_ptr<Event> event = Driver::Get().events.Find(event_handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::shared_ptr<EventRecord> record;
  {
    std::lock_guard lock(Driver::Get().capture_mutex);
    std::lock_guard event_lock(event->mutex);
    if (event->capture) {
      Capture& capture = *event->capture;
      if (capture.is_invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
      if (capture.graph == nullptr) return CUDA_ERROR_INVALID_VALUE;  // that capture has ended
      if (stream->capture == nullptr) {
        if (stream->is_default) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        stream->capture = event->capture;
        stream->dependencies.clear();
        capture.streams.push_back(stream);
      } else if (stream->capture != event->capture) {
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
      }
      for (size_t node : event->captured) {
        if (std::find(stream->dependencies.begin(), stream->dependencies.end(), node) == stream->dependencies.end()) {
          stream->dependencies.push_back(node);
        }
      }
      return CUDA_SUCCESS;
    }
    if (stream->capture) {
      stream->capture->is_invalid = true;
      return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    record = event->record;
  }
  if (record == nullptr) return CUDA_SUCCESS;
  stream->Push([record] { record->Wait(); });
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  Context* context = nullptr;
  std::shared_ptr<Stream> stream;
  if (CUresult error = EnterStream(handle, &context, &stream)) return error;
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Submit(stream, {Work::kHost, [=] {
                           InHostFunction() = true;
                           function(data);
                           InHostFunction() = false;
                         }});
}

// For libraries that stand in for NVIDIA's: a function in stream order that may touch device memory, through
// cuEmulatorHostAddress.
CU_EXPORT int cuEmulatorEnqueue(CUstream handle, void (*function)(void*), void* data) {
  Context* context = nullptr;
  std::shared_ptr<Stream> stream;
  if (CUresult error = EnterStream(handle, &context, &stream)) return error;
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Submit(stream, {Work::kKernel, [=] { function(data); }});
}
