// A task learns of the session (CreateWorkerSession) and of a part (RegisterGraph) when the first step needs them;
// concurrent steps wait for the same calls, and after a failure the next step tries again (AsyncOnce). After that, a
// step is one RunGraph per part.
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <atomic>

#include "absl/time/clock.h"
#include "weir/distributed/async_once.h"
#include "weir/distributed/collective_wire_internal.h"
#include "weir/distributed/device_wire_internal.h"
#include "weir/distributed/remote_session_internal.h"
#include "weir/distributed/session_table.h"
#include "weir/distributed/wire/worker_messages.h"
#include "weir/graph/import.h"
#include "weir/proto/worker.pb.h"

namespace weir {
namespace {

// The step's own deadline expires first and gives a better message; this slack is for a task that does not react.
constexpr absl::Duration kSlack = absl::Seconds(1);

}  // namespace

// Another task, as this session sees it.
class RemoteSession::Task {
 public:
  Task(std::shared_ptr<WorkerClient> client, const CreateWorkerSessionRequest& request)
      : client_(std::move(client)), request_(request) {}
  ~Task() {
    if (!created_.finished()) return;
    DeleteWorkerSessionRequest request;
    request.set_session_handle(handle());
    client_->Tell(WorkerMethod::kDeleteWorkerSession, request);
  }

  WorkerClient& client() { return *client_; }
  const std::string& handle() const { return request_.session_handle(); }
  // Calls `done` when the task knows the session.
  void Create(const std::shared_ptr<Task>& self, AsyncOnce::Done done) {
    created_.Await(
        nullptr,
        [this, self](AsyncOnce::Done created) {
          client_->Call(WorkerMethod::kCreateWorkerSession, request_, std::make_shared<CreateWorkerSessionResponse>(),
                        {}, [self, created = std::move(created)](const Status& status) { created(status); });
        },
        std::move(done));
  }

 private:
  const std::shared_ptr<WorkerClient> client_;
  const CreateWorkerSessionRequest request_;
  AsyncOnce created_;
};

// A part is registered with its task before its first step. Everyone who waits for the task holds a reference.
class RemoteSession::Part final : public RemotePart, public std::enable_shared_from_this<Part> {
 public:
  Part(std::shared_ptr<Task> task, std::string device, GraphDef graph, RendezvousTable* steps)
      : task_(std::move(task)), device_(std::move(device)), steps_(steps) {
    request_.set_session_handle(task_->handle());
    request_.set_create_worker_session_called(true);
    // TensorFlow's workers run collectives only in graphs that have a key.
    const auto& nodes = graph.node();
    if (std::any_of(nodes.begin(), nodes.end(),
                    [](const NodeDef& node) { return std::string_view(node.op()).starts_with("Collective"); })) {
      request_.set_collective_graph_key(kCollectiveGraphKey);
    }
    *request_.mutable_graph_def() = std::move(graph);
  }
  ~Part() override {
    if (!registered_.finished()) return;
    DeregisterGraphRequest request;
    request.set_session_handle(task_->handle());
    request.set_create_worker_session_called(true);
    request.set_graph_handle(graph_handle_);
    task_->client().Tell(WorkerMethod::kDeregisterGraph, request);
  }

  const std::string& task() const override { return task_->client().task(); }

  void Run(const RemoteStep& step, CancellationManager* cancellation, Done done) override {
    registered_.Await(
        cancellation, [this](AsyncOnce::Done registered) { Register(std::move(registered)); },
        [self = shared_from_this(), step, cancellation, done = std::move(done)](const Status& status) {
          if (!status.ok()) return done({self->Unanswered(status, cancellation)});
          self->RunRegistered(step, cancellation, done);
        });
  }

 private:
  void Register(AsyncOnce::Done done) {
    auto self = shared_from_this();
    task_->Create(task_, [self, done = std::move(done)](const Status& created) {
      if (!created.ok()) return done(created);
      auto response = std::make_shared<RegisterGraphResponse>();
      self->task_->client().Call(WorkerMethod::kRegisterGraph, self->request_, response, {},
                                 [self, response, done](const Status& status) {
                                   if (status.ok()) {
                                     self->graph_handle_ = response->graph_handle();
                                     self->request_.Clear();  // it may be large
                                   }
                                   done(status);
                                 });
    });
  }

  void RunRegistered(const RemoteStep& step, CancellationManager* cancellation, const Done& done) {
    RunGraphCall call;
    call.session_handle = task_->handle();
    call.graph_handle = graph_handle_;
    call.step_id = step.id;
    call.record_timeline = step.trace;
    call.store_errors_in_response_body = true;
    call.request_id = RandomId();
    call.only_part = step.only_part;
    if (takes_tensors_.load(std::memory_order_relaxed)) call.sends = steps_->TakeSmall(step.id, device_);
    WireBuffer bytes;
    Status written = WriteRunGraph(call, &bytes);
    if (!written.ok()) return done({written});
    WorkerClient::Options options;
    options.cancellation = cancellation;
    options.deadline = step.deadline + kSlack;
    task_->client().Call(
        WorkerMethod::kRunGraph, std::move(bytes), options,
        [self = shared_from_this(), cancellation, done](const Status& status, grpc::ByteBuffer& response) {
          if (!status.ok()) return done({self->Unanswered(status, cancellation)});
          RunGraphAnswer answer;
          const size_t size = response.Length();
          grpc::ProtoBufferReader reader(&response);
          Status outcome = ReadRunGraphResponse(&reader, size, &answer);
          if (outcome.ok()) outcome = answer.status;
          if (answer.forgotten) self->takes_tensors_.store(true, std::memory_order_relaxed);
          done({self->Named(outcome), std::move(answer.step_stats), answer.forgotten});
        });
  }

  // Errors from a task are reported with its name, like by TensorFlow's masters.
  Status Named(const Status& status) const {
    return status.ok() ? status : Annotate(status, Cat("From ", task(), ":\n"));
  }
  // The task did not answer, perhaps because the step has already ended.
  Status Unanswered(const Status& status, const CancellationManager* cancellation) const {
    if (cancellation->cancelled()) return MarkDerived(status);
    return absl::IsUnavailable(status) ? status : Named(status);  // UNAVAILABLE already names the task
  }

  const std::shared_ptr<Task> task_;
  const std::string device_;
  RendezvousTable* const steps_;
  // Whether tensors of this task may travel with the request to run the part. TensorFlow's workers would fetch them
  // anyway. A worker that forgets steps by itself runs weir.
  std::atomic<bool> takes_tensors_{false};
  RegisterGraphRequest request_;
  std::string graph_handle_;
  AsyncOnce registered_;
};

RemoteSession::RemoteSession(Peers* peers, const std::vector<FoundTask>& tasks, const Options& options)
    : peers_(peers) {
  CreateWorkerSessionRequest request;
  request.set_session_handle(SessionTable::NewHandle());
  request.set_isolate_session_state(options.isolate_state);
  request.set_master_task(peers->own_task());
  request.set_master_incarnation(options.master_incarnation);
  for (const FoundTask& found : tasks) {
    std::shared_ptr<WorkerClient> client = peers->Find(found.task);
    if (client == nullptr) continue;
    request.clear_cluster_device_attributes();
    for (const DeviceInfo& info : found.devices) {
      devices_.push_back(std::make_shared<RemoteDevice>(info));
      ToProto(info, request.add_cluster_device_attributes());
    }
    const StatusOr<DeviceName> name = DeviceName::Parse(found.task);
    request.mutable_server_def()->set_job_name(name.ok() ? name->job : "");
    request.mutable_server_def()->set_task_index(name.ok() ? name->task : 0);
    request.mutable_server_def()->set_protocol("grpc");
    tasks_.emplace(found.task, std::make_shared<Task>(std::move(client), request));
  }
}

StatusOr<std::shared_ptr<RemotePart>> RemoteSession::AddPart(const Device& device, const Graph& graph) {
  auto found = tasks_.find(TaskOfDevice(device.name()));
  if (found == tasks_.end()) return Internal("The device ", device.name(), " does not belong to a known task");
  GraphDef def;
  WEIR_RETURN_IF_ERROR(ExportGraphDef(graph, &def, /*strip_defaults=*/true));
  return std::make_shared<Part>(found->second, device.name(), std::move(def), &peers_->steps());
}

void RemoteSession::EndStep(int64_t step_id, std::span<const std::shared_ptr<RemotePart>> parts) {
  peers_->steps().End(step_id, Cancelled("The step has ended"));
  CleanupGraphRequest request;
  request.set_step_id(step_id);
  for (size_t i = 0; i < parts.size(); ++i) {
    auto same = [&](const std::shared_ptr<RemotePart>& part) { return part->task() == parts[i]->task(); };
    if (std::any_of(parts.begin(), parts.begin() + i, same)) continue;
    if (auto client = peers_->Find(parts[i]->task())) client->Tell(WorkerMethod::kCleanupGraph, request);
  }
}

}  // namespace weir
