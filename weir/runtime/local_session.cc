#include <algorithm>
#include <atomic>
#include <thread>

#include "weir/base/logging.h"
#include "weir/framework/session_tensors.h"
#include "weir/graph/import.h"
#include "weir/proto/graph.pb.h"
#include "weir/runtime/local_session_internal.h"

namespace weir {
namespace {

std::atomic<int64_t> next_session_id{1};

void LogDevices(const DeviceSet& devices) {
  std::string mapping;
  for (const auto& device : devices.devices()) {
    const DeviceInfo& info = device->info();
    if (!info.description.empty()) mapping += Cat("\n", info.name, " -> ", info.description);
  }
  WEIR_LOG(INFO) << "Device mapping:" << (mapping.empty() ? " no known devices." : mapping);
}

}  // namespace

StatusOr<std::unique_ptr<Session>> LocalSession::Create(std::shared_ptr<Environment> environment,
                                                        SessionOptions options, std::shared_ptr<RemoteTasks> remote) {
  auto session = std::make_shared<LocalSession>(std::move(environment), std::move(options), std::move(remote));
  WEIR_RETURN_IF_ERROR(session->Init());
  session->self_ = session;
  return std::unique_ptr<Session>(session.get());
}

void LocalSession::operator delete(LocalSession* session, std::destroying_delete_t) {
  std::shared_ptr<LocalSession> self = std::move(session->self_);
  Status closed = self->Close();
  if (closed.ok()) return;
  WEIR_LOG(ERROR) << "a session is destroyed while its steps run; its memory is freed when they end: "
                  << closed.message();
  // The steps must not destroy the session themselves: they run on threads that its destructor joins.
  std::thread([self] { self->steps_->AwaitEmpty(absl::InfiniteDuration()).IgnoreError(); }).detach();
}

LocalSession::LocalSession(std::shared_ptr<Environment> environment, SessionOptions options,
                           std::shared_ptr<RemoteTasks> remote)
    : environment_(std::move(environment)),
      options_(std::move(options)),
      handle_(Cat("session_", next_session_id.fetch_add(1, std::memory_order_relaxed))),
      remote_(std::move(remote)),
      graph_(environment_->ops) {}

LocalSession::~LocalSession() {
  // Iterators have threads that use the devices.
  if (own_resources_ != nullptr) own_resources_->ClearAll();
  for (const auto& device : devices_.devices()) {
    device->resources().ClearContainer(SessionTensorContainer(handle_));
  }
}

Status LocalSession::Init() {
  own_resources_ = options_.state;
  if (options_.isolate_state && own_resources_ == nullptr) own_resources_ = std::make_shared<ResourceManager>();
  std::map<std::string, int> taken;
  const auto gpus = options_.device_count.find("GPU");
  const bool wants_gpus = gpus == options_.device_count.end() || gpus->second > 0;
  if (wants_gpus) WEIR_RETURN_IF_ERROR(environment_->StartGpus(options_.gpu));
  for (const auto& device : environment_->devices.at_hand()) {
    auto limit = options_.device_count.find(device->type());
    if (limit != options_.device_count.end() && taken[device->type()] >= limit->second && !device->is_host()) continue;
    ++taken[device->type()];
    std::shared_ptr<Device> chosen = device;
    if (own_resources_ != nullptr) {
      chosen = device->WithResources(own_resources_);
      if (chosen == nullptr) return Unimplemented("Device ", device->name(), " cannot isolate a session's state");
    }
    devices_.Add(std::move(chosen));
  }
  if (remote_ != nullptr) {  // after this task's own, which are preferred
    for (const auto& device : remote_->devices()) devices_.Add(device);
  }
  if (options_.log_device_placement) LogDevices(devices_);
  if (devices_.host() == nullptr || IsRemote(*devices_.host()))
    return FailedPrecondition("A session needs a host device, but none is registered");
  if (options_.own_threads) {
    own_inter_op_ = std::make_unique<ThreadPool>("weir-inter", std::max(0, options_.inter_op_threads));
    own_intra_op_ = std::make_unique<ThreadPool>("weir-intra", std::max(0, options_.intra_op_threads));
    inter_op_ = own_inter_op_.get();
    intra_op_ = own_intra_op_.get();
  } else {
    inter_op_ = environment_->InterOpPool(std::max(0, options_.inter_op_threads));
    intra_op_ = environment_->IntraOpPool(std::max(0, options_.intra_op_threads));
  }
  absl::MutexLock lock(&graph_mu_);
  graph_.functions()->set_differentiator(environment_->differentiator);
  // Iterators keep a function runtime of their own, which may outlive this session but not the environment.
  ThreadPool* lasting_pool = environment_->IntraOpPool(std::max(0, options_.intra_op_threads));
  DeviceSet own_devices;  // a function's body runs in this task
  for (const auto& device : devices_.devices()) {
    if (!IsRemote(*device)) own_devices.Add(device);
  }
  SessionOptions body_options = options_;
  body_options.allow_soft_placement = true;
  functions_ = std::make_unique<LocalFunctionRuntime>(
      graph_.functions(), environment_->kernels, lasting_pool,
      std::make_shared<GraphCompiler>(*environment_, std::move(own_devices), graph_.functions(), lasting_pool,
                                      std::move(body_options)));
  compiler_ = std::make_unique<GraphCompiler>(*environment_, devices_, graph_.functions(), intra_op_, options_);
  kernels_ = std::make_unique<KernelCache>(environment_->kernels, functions_.get());
  return OkStatus();
}

Status LocalSession::CheckRoomFor(int64_t added) const {
  if (graph_.num_nodes() + added <= options_.max_graph_nodes) return OkStatus();
  return ResourceExhausted("The graph would have ", graph_.num_nodes() + added, " nodes; at most ",
                           options_.max_graph_nodes, " are allowed");
}

Status LocalSession::Extend(const GraphDef& def) {
  WEIR_RETURN_IF_ERROR(steps_->closed());
  absl::MutexLock lock(&graph_mu_);
  WEIR_RETURN_IF_ERROR(CheckRoomFor(def.node_size()));
  WEIR_RETURN_IF_ERROR(ImportGraphDef(def, &graph_));
  if (def.node_size() > 0 || def.library().function_size() > 0) ++version_;
  return OkStatus();
}

Status LocalSession::Extend(const Graph& graph) {
  WEIR_RETURN_IF_ERROR(steps_->closed());
  absl::MutexLock lock(&graph_mu_);
  WEIR_RETURN_IF_ERROR(CheckRoomFor(graph.num_nodes()));
  WEIR_RETURN_IF_ERROR(ImportGraph(graph, &graph_));
  if (graph.num_nodes() > 0 || !graph.functions()->Names().empty()) ++version_;
  return OkStatus();
}

Status LocalSession::Extend(Graph&& graph) {
  WEIR_RETURN_IF_ERROR(steps_->closed());
  {
    absl::MutexLock lock(&graph_mu_);
    // Functions belong to the library that this session's runtime knows.
    bool plain = graph.functions()->Names().empty() && &graph.ops() == &graph_.ops();
    if (plain && graph_.num_nodes() == 0 && graph.num_nodes() <= options_.max_graph_nodes) {
      WEIR_RETURN_IF_ERROR(TopologicalOrder(graph).status());
      std::shared_ptr<FunctionLibrary> functions = graph_.functions();
      graph_ = std::move(graph);
      graph_.set_functions(std::move(functions));
      ++version_;
      return OkStatus();
    }
  }
  return Extend(static_cast<const Graph&>(graph));
}

int64_t LocalSession::graph_version() const {
  absl::MutexLock lock(&graph_mu_);
  return version_;
}

void LocalSession::StartClose(const Status& reason) { steps_->Close(reason, Cancelled("Session has been closed.")); }

Status LocalSession::Close() {
  StartClose(Cancelled("Step was cancelled by an explicit call to `Session::Close()`."));
  return steps_->AwaitEmpty(options_.close_timeout);
}

std::vector<DeviceInfo> LocalSession::ListDevices() const {
  std::vector<DeviceInfo> out;
  for (const auto& device : devices_.devices()) out.push_back(device->info());
  return out;
}

}  // namespace weir
