// Entry points: captures and graphs.
#include <algorithm>
#include <thread>

#include "cuda_api.h"
#include "driver.h"

using namespace cuda_emulator;  // NOLINT: the file defines C functions only

namespace {

CUresult EnterStream(CUstream handle, Context** context, std::shared_ptr<Stream>* stream) {
  if (CUresult error = EnterContext(context)) return error;
  return FindStream(handle, *context, stream);
}

// Whether the origin comes after all work of the capture's other streams.
bool IsJoined(const Capture& capture) {
  const auto& nodes = capture.graph->nodes;
  std::vector<bool> before(nodes.size());
  std::vector<size_t> pending = capture.origin->dependencies;
  while (!pending.empty()) {
    const size_t node = pending.back();
    pending.pop_back();
    if (before[node]) continue;
    before[node] = true;
    pending.insert(pending.end(), nodes[node]->dependencies.begin(), nodes[node]->dependencies.end());
  }
  for (const auto& stream : capture.streams) {
    for (size_t node : stream->dependencies) {
      if (!before[node]) return false;
    }
  }
  return true;
}

CUgraphNode NodeHandle(const std::shared_ptr<GraphNode>& node) { return reinterpret_cast<CUgraphNode>(node.get()); }

CUresult CaptureInfo(CUstream handle, int* status, uint64_t* id, CUgraph* graph, const CUgraphNode** dependencies,
                     size_t* count) {
  Context* context = nullptr;
  std::shared_ptr<Stream> stream;
  if (CUresult error = EnterStream(handle, &context, &stream)) return error;
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(Driver::Get().capture_mutex);
  *status = stream->capture == nullptr ? 0 : stream->capture->is_invalid ? 2 : 1;
  if (*status != 1) return CUDA_SUCCESS;
  if (id != nullptr) *id = stream->capture->id;
  if (graph != nullptr) *graph = reinterpret_cast<CUgraph>(stream->capture->graph.get());
  thread_local std::vector<CUgraphNode> nodes;
  nodes.clear();
  for (size_t node : stream->dependencies) nodes.push_back(NodeHandle(stream->capture->graph->nodes[node]));
  if (dependencies != nullptr) *dependencies = nodes.data();
  if (count != nullptr) *count = nodes.size();
  return CUDA_SUCCESS;
}

}  // namespace

CU_EXPORT CUresult cuStreamBeginCapture_v2(CUstream handle, int mode) {
  Context* context = nullptr;
  std::shared_ptr<Stream> stream;
  if (CUresult error = EnterStream(handle, &context, &stream)) return error;
  if (mode < 0 || mode > 2) return CUDA_ERROR_INVALID_VALUE;
  if (stream->is_default) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  Driver& driver = Driver::Get();
  std::lock_guard lock(driver.capture_mutex);
  if (stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->id = driver.next_capture++;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->graph = std::make_shared<Graph>();
  capture->graph->context = stream->context;
  capture->origin = stream.get();
  capture->streams.push_back(stream);
  stream->capture = capture;
  stream->dependencies.clear();
  driver.captures.push_back(std::move(capture));
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  Context* context = nullptr;
  std::shared_ptr<Stream> stream;
  if (CUresult error = EnterStream(handle, &context, &stream)) return error;
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *graph = nullptr;
  Driver& driver = Driver::Get();
  std::lock_guard lock(driver.capture_mutex);
  std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream.get()) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  if (capture->mode != 2 && capture->thread != std::this_thread::get_id())
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  CUresult error = CUDA_SUCCESS;
  if (capture->is_invalid) {
    error = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  } else if (!IsJoined(*capture)) {
    error = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  for (const auto& each : capture->streams) {
    each->capture = nullptr;
    each->dependencies.clear();
  }
  std::erase(driver.captures, capture);
  if (error == CUDA_SUCCESS) *graph = reinterpret_cast<CUgraph>(driver.graphs.Add(capture->graph));
  capture->graph = nullptr;  // events that still name this capture are told so
  capture->streams.clear();
  return error;
}

CU_EXPORT CUresult cuStreamIsCapturing(CUstream handle, int* status) {
  return CaptureInfo(handle, status, nullptr, nullptr, nullptr, nullptr);
}

CU_EXPORT CUresult cuStreamGetCaptureInfo_v2(CUstream handle, int* status, uint64_t* id, CUgraph* graph,
                                             const CUgraphNode** dependencies, size_t* count) {
  return CaptureInfo(handle, status, id, graph, dependencies, count);
}

CU_EXPORT CUresult cuStreamGetCaptureInfo_v3(CUstream handle, int* status, uint64_t* id, CUgraph* graph,
                                             const CUgraphNode** dependencies, const CUgraphEdgeData** edges,
                                             size_t* count) {
  if (edges != nullptr) *edges = nullptr;
  return CaptureInfo(handle, status, id, graph, dependencies, count);
}

CU_EXPORT CUresult cuThreadExchangeStreamCaptureMode(int* mode) {
  // Captures keep the mode that they began with; a thread's own is remembered only.
  thread_local int current = 0;
  if (mode == nullptr || *mode < 0 || *mode > 2) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, current);
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuGraphCreate(CUgraph* handle, unsigned flags) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  if (handle == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  auto graph = std::make_shared<Graph>();
  graph->context = context;
  *handle = reinterpret_cast<CUgraph>(Driver::Get().graphs.Add(std::move(graph)));
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  std::shared_ptr<Graph> graph = Driver::Get().graphs.Find(handle);
  if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (nodes == nullptr) {
    *count = graph->nodes.size();
    return CUDA_SUCCESS;
  }
  for (size_t i = 0; i < *count; ++i) nodes[i] = i < graph->nodes.size() ? NodeHandle(graph->nodes[i]) : nullptr;
  *count = std::min(*count, graph->nodes.size());
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuGraphNodeGetType(CUgraphNode node, int* type) {
  if (node == nullptr || type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = reinterpret_cast<GraphNode*>(node)->work.kind;
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* handle, CUgraph graph_handle, unsigned long long) {
  Context* context = nullptr;
  if (CUresult error = EnterContext(&context)) return error;
  std::shared_ptr<Graph> graph = Driver::Get().graphs.Find(graph_handle);
  if (handle == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto execution = std::make_shared<GraphExecution>();
  execution->graph = *graph;
  *handle = reinterpret_cast<CUgraphExec>(Driver::Get().executions.Add(std::move(execution)));
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  Context* context = nullptr;
  std::shared_ptr<Stream> stream;
  if (CUresult error = EnterStream(stream_handle, &context, &stream)) return error;
  std::shared_ptr<GraphExecution> execution = Driver::Get().executions.Find(handle);
  if (execution == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // The nodes as they are now: an update changes later launches only.
  auto graph = std::make_shared<Graph>();
  {
    std::lock_guard lock(execution->mutex);
    *graph = execution->graph;
  }
  return Submit(stream, {Work::kEmpty, [execution, graph] {
                           std::lock_guard lock(execution->mutex);
                           RunGraph(*graph);
                         }});
}

CU_EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo* info) {
  std::shared_ptr<GraphExecution> execution = Driver::Get().executions.Find(handle);
  std::shared_ptr<Graph> graph = Driver::Get().graphs.Find(graph_handle);
  if (execution == nullptr || graph == nullptr || info == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *info = {0, nullptr, nullptr};
  std::lock_guard lock(execution->mutex);
  const auto& before = execution->graph.nodes;
  if (before.size() != graph->nodes.size()) {
    info->result = 2;  // CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  for (size_t i = 0; i < before.size(); ++i) {
    const bool same_kind = before[i]->work.kind == graph->nodes[i]->work.kind;
    if (same_kind && before[i]->dependencies == graph->nodes[i]->dependencies) continue;
    info->result = same_kind ? 2 : 3;  // CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED
    info->errorNode = NodeHandle(graph->nodes[i]);
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  execution->graph = *graph;
  return CUDA_SUCCESS;
}

CU_EXPORT CUresult cuGraphDestroy(CUgraph handle) {
  return Driver::Get().graphs.Remove(handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CU_EXPORT CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return Driver::Get().executions.Remove(handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
