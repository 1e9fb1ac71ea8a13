// Steps: RunStep, partial runs and callables.
#include <algorithm>
#include <cstring>

#include "weir/collective/domain.h"
#include "weir/distributed/master.h"
#include "weir/distributed/peers_internal.h"
#include "weir/distributed/remote_session_internal.h"
#include "weir/distributed/wire/step_messages.h"
#include "weir/proto/master.pb.h"

namespace weir {

// A RunStep in progress; kept alive by the completion of the step.
struct Master::Step {
  IncomingCall* call = nullptr;
  RunStepCall request;
  std::shared_ptr<ServedSession> session;
  StepOptions options;
  bool traced = false;
  StepReport report;
  int64_t graph_key = 0;  // for collectives with tasks that run TensorFlow; 0: none
  int64_t step_id = 0;    // agreed on by all masters; 0: no agreement needed
};

namespace {

template <typename Strings>
std::vector<std::string> ToVector(const Strings& strings) {
  return {strings.begin(), strings.end()};
}

StepOptions ToStepOptions(const RunOptions& proto) {
  StepOptions options;
  options.trace = static_cast<TraceLevel>(std::clamp<int>(proto.trace_level(), 0, 3));
  if (proto.timeout_in_ms() > 0) options.timeout = absl::Milliseconds(proto.timeout_in_ms());
  options.partition_graphs = proto.output_partition_graphs();
  return options;
}

// Reports take time, so they are only produced for steps that ask for one.
bool WantsReport(const StepOptions& options, const Session& session) {
  return options.trace != TraceLevel::kNone || options.partition_graphs || session.options().build_cost_model > 0;
}

// Errors from inside a step are reported as errors of a worker, like by TensorFlow's master; errors in the request are
// not.
Status FromWorker(const Status& status, const std::string& task) {
  std::string text = Message(status);
  if (text.find("[[{{node ") == text.npos && text.find("for node {{node ") == text.npos) return status;
  if (text.starts_with("Cannot assign a device for operation")) return status;  // before the step reached a worker
  if (text.starts_with("From /job:")) return status;                            // another task's error
  // On a server, feeds and fetches are received and sent; in a local session they are arguments and results.
  for (auto [from, to] : {std::pair("{{node _Retval_", "{{node _send_"), std::pair("{{node _Arg_", "{{node _recv_")}) {
    for (size_t at = text.find(from); at != text.npos; at = text.find(from, at)) text.replace(at, strlen(from), to);
  }
  return Status(status.code(), Cat("From ", task, ":\n", text));
}

void FillMetadata(bool wanted, const StepReport& report, RunMetadata* metadata) {
  if (wanted) report.ToProto(metadata);
}

constexpr size_t kMaxMessage = INT32_MAX;

Status CheckSize(const WireBuffer& message) {
  if (message.size() <= kMaxMessage) return OkStatus();
  return ResourceExhausted("The fetched tensors take ", message.size(),
                           " bytes together, more than the 2 GB that one message can carry; fetch them in parts");
}

}  // namespace

Status Master::PrepareStep(Step& step) {
  RunStepCall& request = step.request;
  WEIR_RETURN_IF_ERROR(request_ids_.Track(request.request_id, "RunStep"));
  WEIR_ASSIGN_OR_RETURN(step.session, BeginCall(request.session_handle));
  WEIR_RETURN_IF_ERROR(request.feed_error);
  if (!request.partial_run_handle.empty() && !step.session->HasPartialRun(request.partial_run_handle)) {
    return InvalidArgument("Must run PartialRunSetup before performing partial runs");
  }
  // A fetch that is listed twice is answered once; answers are sorted by name.
  std::sort(request.fetches.begin(), request.fetches.end());
  request.fetches.erase(std::unique(request.fetches.begin(), request.fetches.end()), request.fetches.end());
  step.options = ToStepOptions(*request.options);
  step.options.timeout = std::min(step.options.timeout, step.call->deadline - absl::Now());
  step.options.cancellation = &step.call->cancellation;
  step.traced = WantsReport(step.options, step.session->session());
  return OkStatus();
}

void Master::RunStep(IncomingCall* call) {
  auto step = std::make_shared<Step>();
  step->call = call;
  Status status = ReadRunStep(call->request(), call->request_bytes(), &step->request);
  if (!status.ok()) return call->Finish(status, {});
  status = PrepareStep(*step);
  if (!status.ok()) return FinishStep(*step, status, {});
  const int64_t graph_key = step->request.options->experimental().collective_graph_key();
  if (graph_key == 0 || !has_foreign_ || options_.collectives == nullptr) return StartStep(step);
  options_.collectives->NextStepId(graph_key, [this, step, graph_key](StatusOr<int64_t> step_id) {
    if (!step_id.ok()) return FinishStep(*step, step_id.status(), {});
    step->graph_key = graph_key;
    step->step_id = *step_id;
    StartStep(step);
  });
}

void Master::StartStep(const std::shared_ptr<Step>& step) {
  const RunStepCall& request = step->request;
  auto done = [this, step](const Status& status, std::vector<Tensor> tensors) {
    if (status.ok() && step->graph_key != 0) options_.collectives->EndStep(step->graph_key, step->step_id);
    FinishStep(*step, status, std::move(tensors));
  };
  StepIdScope scope(step->step_id);
  Session& session = step->session->session();
  if (request.partial_run_handle.empty()) {
    session.RunAsync(step->options, request.feeds, request.fetches, request.targets,
                     step->traced ? &step->report : nullptr, done);
  } else {
    session.PartialRunAsync(request.partial_run_handle, step->options, request.feeds, request.fetches, done);
  }
}

void Master::CountStep(const Status& status) {
  if (peers_ == nullptr) return;
  peers_->steps().metrics().steps.fetch_add(1, std::memory_order_relaxed);
  if (!status.ok()) peers_->steps().metrics().step_errors.fetch_add(1, std::memory_order_relaxed);
}

void Master::FinishStep(Step& step, const Status& status, std::vector<Tensor> tensors) {
  CountStep(status);
  const RunStepCall& request = step.request;
  bool partial = !request.partial_run_handle.empty() && step.session != nullptr;
  bool last = true;
  if (partial && status.ok()) {
    last = step.session->AdvancePartialRun(request.partial_run_handle, request.feeds, request.fetches);
  }
  Status outcome = status.ok() ? status : FromWorker(status, environment_->task_name);
  RunMetadata metadata;
  FillMetadata(step.traced, step.report, &metadata);
  WireBuffer message;
  if (outcome.ok()) {
    outcome = WriteRunStepResponse(request.fetches, tensors, last ? &metadata : nullptr, OkStatus(), &message);
    if (outcome.ok()) outcome = CheckSize(message);
  }
  if (!outcome.ok() && request.store_errors_in_response_body) {
    // Cannot fail, because there are no tensors.
    WriteRunStepResponse({}, {}, &metadata, outcome, &message).IgnoreError();
    outcome = OkStatus();
  }
  // Finish may destroy the call and with it what the step points to.
  std::shared_ptr<ServedSession> session = step.session;
  step.call->Finish(outcome, std::move(message));
  if (session != nullptr) session->EndCall();
}

void Master::PartialRunSetup(IncomingCall* call) {
  PartialRunSetupResponse response;
  auto set_up = [&]() -> Status {
    PartialRunSetupRequest request;
    WEIR_RETURN_IF_ERROR(ParseRequest(call, &request));
    WEIR_RETURN_IF_ERROR(request_ids_.Track(request.request_id(), "PartialRunSetup"));
    WEIR_ASSIGN_OR_RETURN(auto session, BeginCall(request.session_handle()));
    std::vector<std::string> feeds = ToVector(request.feed());
    std::vector<std::string> fetches = ToVector(request.fetch());
    StatusOr<std::string> run = session->session().PartialRunSetup(feeds, fetches, ToVector(request.target()));
    if (run.ok()) {
      std::set<std::string> names(feeds.begin(), feeds.end());
      names.insert(fetches.begin(), fetches.end());
      session->BeginPartialRun(*run, std::move(names));
    }
    session->EndCall();
    if (!run.ok()) return run.status();
    response.set_partial_run_handle(*std::move(run));
    return OkStatus();
  };
  Answer(call, set_up(), response);
}

void Master::MakeCallable(IncomingCall* call) {
  MakeCallableResponse response;
  auto make = [&]() -> Status {
    MakeCallableRequest request;
    WEIR_RETURN_IF_ERROR(ParseRequest(call, &request));
    WEIR_RETURN_IF_ERROR(request_ids_.Track(request.request_id(), "MakeCallable"));
    WEIR_ASSIGN_OR_RETURN(auto session, BeginCall(request.session_handle()));
    Session::CallableSpec spec;
    spec.feeds = ToVector(request.options().feed());
    spec.fetches = ToVector(request.options().fetch());
    spec.targets = ToVector(request.options().target());
    for (const TensorConnection& connection : request.options().tensor_connection()) {
      spec.connections.emplace_back(connection.from_tensor(), connection.to_tensor());
    }
    spec.options = ToStepOptions(request.options().run_options());
    StatusOr<Session::Callable> made = session->session().MakeCallable(spec);
    if (made.ok()) session->AddCallable(*made, WantsReport(spec.options, session->session()));
    session->EndCall();
    if (!made.ok()) return made.status();
    response.set_handle(*made);
    return OkStatus();
  };
  Answer(call, make(), response);
}

void Master::RunCallable(IncomingCall* call) {
  struct State {
    RunCallableCall request;
    std::shared_ptr<ServedSession> session;
    StepReport report;
    bool traced = false;
  };
  auto state = std::make_shared<State>();
  auto prepare = [&]() -> Status {
    WEIR_RETURN_IF_ERROR(ReadRunCallable(call->request(), call->request_bytes(), &state->request));
    WEIR_RETURN_IF_ERROR(request_ids_.Track(state->request.request_id, "RunCallable"));
    WEIR_ASSIGN_OR_RETURN(state->session, BeginCall(state->request.session_handle));
    state->traced = state->session->IsTracedCallable(state->request.handle);
    return state->request.feed_error;
  };
  auto finish = [this, state, call](const Status& status, std::vector<Tensor> tensors) {
    CountStep(status);
    WireBuffer message;
    Status outcome = status.ok() ? status : FromWorker(status, environment_->task_name);
    if (outcome.ok()) {
      RunMetadata metadata;
      FillMetadata(state->traced, state->report, &metadata);
      outcome = WriteRunCallableResponse(tensors, metadata, &message);
      if (outcome.ok()) outcome = CheckSize(message);
    }
    call->Finish(outcome, std::move(message));
    if (state->session != nullptr) state->session->EndCall();
  };
  Status status = prepare();
  if (!status.ok()) return finish(status, {});
  state->session->session().RunCallableAsync(state->request.handle, state->request.feeds, &call->cancellation,
                                             state->traced ? &state->report : nullptr, finish);
}

void Master::ReleaseCallable(IncomingCall* call) {
  ReleaseCallableRequest request;
  Status status = ParseRequest(call, &request);
  if (status.ok()) {
    StatusOr<std::shared_ptr<ServedSession>> session = BeginCall(request.session_handle());
    status = session.status();
    if (session.ok()) {
      // Releasing an unknown callable is not an error, as in TensorFlow.
      (*session)->session().ReleaseCallable(request.handle()).IgnoreError();
      (*session)->RemoveCallable(request.handle());
      (*session)->EndCall();
    }
  }
  Answer(call, status, ReleaseCallableResponse());
}

}  // namespace weir
