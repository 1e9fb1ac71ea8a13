#include <google/protobuf/io/coded_stream.h>

#include <array>

#include "absl/time/clock.h"
#include "weir/serving/api_internal.h"
#include "weir/serving/grpc_services_internal.h"
#include "weir/serving/model_spec_internal.h"
#include "weir/serving/reflection_internal.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, 5> kPredictionMethods = {"Predict", "Classify", "Regress", "MultiInference",
                                                                "GetModelMetadata"};
constexpr std::array<std::string_view, 2> kModelMethods = {"GetModelStatus", "HandleReloadConfigRequest"};
constexpr std::array<std::string_view, 1> kHealthMethods = {"Check"};
constexpr std::array<std::string_view, 1> kHealthWatchMethods = {"Watch"};
constexpr std::array<std::string_view, 1> kReflectionMethods = {"ServerReflectionInfo"};

RequestContext ContextOf(IncomingCall* call, StepReport* report) {
  RequestContext context;
  context.priority = ParsePriority(call->Header("weir-priority"));
  context.deadline = call->deadline;
  context.cancellation = &call->cancellation;
  context.report = report;
  return context;
}

const serving::ModelSpec& SpecOf(const serving::ClassificationRequest& request) { return request.model_spec(); }
const serving::ModelSpec& SpecOf(const serving::RegressionRequest& request) { return request.model_spec(); }
const serving::ModelSpec& SpecOf(const serving::MultiInferenceRequest& request) {
  return request.tasks().empty() ? serving::ModelSpec::default_instance() : request.tasks(0).model_spec();
}

template <typename Request, typename Response>
void FillLog(const Request& request, const Response& response, serving::PredictionLog* log) {
  auto fill = [&](auto* out) {
    *out->mutable_request() = request;
    *out->mutable_response() = response;
  };
  if constexpr (std::is_same_v<Request, serving::ClassificationRequest>) {
    fill(log->mutable_classify_log());
  } else if constexpr (std::is_same_v<Request, serving::RegressionRequest>) {
    fill(log->mutable_regress_log());
  } else {
    fill(log->mutable_multi_inference_log());
  }
}

enum class Health { kServing = 1, kNotServing = 2, kServiceUnknown = 3 };

// HealthCheckResponse{status = 1}
WireBuffer HealthResponse(Health health) {
  WireBuffer response;
  response.AppendTag(1, 0);
  response.AppendVarint(static_cast<uint64_t>(health));
  return response;
}

// The last answer of Watch, when the server stops.
void EndWatch(IncomingCall* call, bool is_known) {
  if (!is_known) return call->Finish(Unavailable("The server is shutting down"), {});
  call->Finish(OkStatus(), HealthResponse(Health::kNotServing));
}

}  // namespace

ServingGrpcServices::ServingGrpcServices(ModelManager* models, CallObserver* observer, OutputEncoding encoding)
    : models_(models),
      observer_(observer),
      encoding_(encoding),
      reloads_("weir_reload", 1),
      prediction_(
          "tensorflow.serving.PredictionService", kPredictionMethods,
          [this](int method, IncomingCall* call) { ServePrediction(method, call); }, nullptr,
          /*has_quick_clients=*/true),
      model_("tensorflow.serving.ModelService", kModelMethods,
             [this](int method, IncomingCall* call) { ServeModel(method, call); }),
      health_("grpc.health.v1.Health", kHealthMethods,
              [this](int, IncomingCall* call) { ServeHealth(call, /*is_watch=*/false); }),
      health_watch_("grpc.health.v1.Health", kHealthWatchMethods,
                    [this](int, IncomingCall* call) { ServeHealth(call, /*is_watch=*/true); }),
      reflection_("grpc.reflection.v1.ServerReflection", kReflectionMethods,
                  [](int, IncomingCall* call) { ServeReflection(call); }),
      reflection_alpha_("grpc.reflection.v1alpha.ServerReflection", kReflectionMethods,
                        [](int, IncomingCall* call) { ServeReflection(call); }) {
  health_watch_.ServeStreams();
  reflection_.ServeStreams();
  reflection_alpha_.ServeStreams();
}

void ServingGrpcServices::AwaitIdle(absl::Time deadline) {
  prediction_.AwaitIdle(deadline);
  model_.AwaitIdle(deadline);
}

void ServingGrpcServices::ServePredict(IncomingCall* call) {
  const absl::Time start = absl::Now();
  PredictMessage message;
  Status status = ReadPredictRequest(call->request(), call->request_bytes(), &message);
  if (status.ok()) status = message.error;
  std::shared_ptr<ServedVersion> version;
  if (status.ok()) {
    StatusOr<std::shared_ptr<ServedVersion>> found = models_->Find(message.choice);
    status = found.status();
    if (found.ok()) version = *std::move(found);
  }
  if (!status.ok()) {
    observer_->Ended("Predict", "GRPC", message.choice.model, status, start);
    return call->Finish(status, {});
  }
  version->stages().read->Observe(absl::ToDoubleMicroseconds(absl::Now() - start));
  std::shared_ptr<PredictQuery> logged;
  if (observer_->Samples(*version)) logged = std::make_shared<PredictQuery>(message.query);
  std::shared_ptr<StepReport> trace = observer_->StartTrace(call->Header("weir-trace"));
  std::string signature = message.query.signature.empty() ? kDefaultSignature : message.query.signature;
  Predict(version, std::move(message.query), ContextOf(call, trace.get()),
          [this, call, start, version, logged, trace, signature = std::move(signature)](Status status,
                                                                                        NamedTensors outputs) {
            WireBuffer response;
            if (status.ok()) {
              const absl::Time end = absl::Now();
              status =
                  WritePredictResponse(version->model(), version->version(), signature, outputs, encoding_, &response);
              version->stages().write->Observe(absl::ToDoubleMicroseconds(absl::Now() - end));
            }
            observer_->Ended("Predict", "GRPC", version->model(), status, start);
            if (status.ok() && logged != nullptr) observer_->LogPredict(*version, *logged, outputs);
            if (trace != nullptr) observer_->EndTrace(*version, *trace);
            call->Finish(status, std::move(response));
          });
}

template <typename Request, typename Response, typename Start>
void ServingGrpcServices::ServeExamples(const char* api, IncomingCall* call, Start start_call) {
  const absl::Time start = absl::Now();
  auto request = std::make_shared<Request>();
  Status status = ParseRequest(call, request.get());
  std::shared_ptr<ServedVersion> version;
  if constexpr (std::is_same_v<Request, serving::MultiInferenceRequest>) {
    if (status.ok()) status = CheckMultiInference(*request);
  }
  const std::string model = SpecOf(*request).name();
  if (status.ok()) {
    StatusOr<std::shared_ptr<ServedVersion>> found = models_->Find(ToChoice(SpecOf(*request)));
    status = found.status();
    if (found.ok()) version = *std::move(found);
  }
  if (!status.ok()) {
    observer_->Ended(api, "GRPC", model, status, start);
    return call->Finish(status, {});
  }
  std::shared_ptr<StepReport> trace = observer_->StartTrace(call->Header("weir-trace"));
  start_call(version, *request, ContextOf(call, trace.get()),
             [this, api, call, start, version, request, trace](Status status, Response response) {
               observer_->Ended(api, "GRPC", version->model(), status, start);
               if (status.ok() && observer_->Samples(*version)) {
                 serving::PredictionLog log;
                 FillLog(*request, response, &log);
                 observer_->Log(*version, std::move(log));
               }
               if (trace != nullptr) observer_->EndTrace(*version, *trace);
               Answer(call, status, response);
             });
}

void ServingGrpcServices::ServePrediction(int method, IncomingCall* call) {
  switch (method) {
    case 0:
      return ServePredict(call);
    case 1:
      return ServeExamples<serving::ClassificationRequest, serving::ClassificationResponse>("Classify", call, Classify);
    case 2:
      return ServeExamples<serving::RegressionRequest, serving::RegressionResponse>("Regress", call, Regress);
    case 3:
      return ServeExamples<serving::MultiInferenceRequest, serving::MultiInferenceResponse>("MultiInference", call,
                                                                                            MultiInference);
    default: {
      serving::GetModelMetadataRequest request;
      if (Status parsed = ParseRequest(call, &request); !parsed.ok()) return call->Finish(parsed, {});
      StatusOr<serving::GetModelMetadataResponse> response = GetModelMetadata(*models_, request);
      return Answer(call, response.status(), response.ok() ? *response : serving::GetModelMetadataResponse());
    }
  }
}

void ServingGrpcServices::ServeModel(int method, IncomingCall* call) {
  if (method == 0) {
    serving::GetModelStatusRequest request;
    if (Status parsed = ParseRequest(call, &request); !parsed.ok()) return call->Finish(parsed, {});
    StatusOr<serving::GetModelStatusResponse> response = GetModelStatus(*models_, request.model_spec());
    return Answer(call, response.status(), response.ok() ? *response : serving::GetModelStatusResponse());
  }
  auto request = std::make_shared<serving::ReloadConfigRequest>();
  if (Status parsed = ParseRequest(call, request.get()); !parsed.ok()) return call->Finish(parsed, {});
  reloads_.Schedule([this, call, request] {
    serving::ReloadConfigResponse response;
    const Status status = ReloadConfig(*models_, *request);
    response.mutable_status()->set_error_code(static_cast<error::Code>(status.code()));
    response.mutable_status()->set_error_message(Message(status));
    Answer(call, status, response);
  });
}

void ServingGrpcServices::ServeHealth(IncomingCall* call, bool is_watch) {
  // HealthCheckRequest{service = 1}; the empty one is the server as a whole.
  google::protobuf::io::CodedInputStream in(call->request());
  std::string service;
  while (uint32_t tag = in.ReadTag()) {
    uint32_t length = 0;
    if (tag != (1 << 3 | 2) || !in.ReadVarint32(&length) || length > call->request_bytes() ||
        !in.ReadString(&service, static_cast<int>(length))) {
      return call->Finish(InvalidArgument("Malformed HealthCheckRequest"), {});
    }
  }
  const bool is_known = service.empty() || service == "tensorflow.serving.PredictionService" ||
                        service == "tensorflow.serving.ModelService";
  if (!is_known && !is_watch) return call->Finish(NotFound("unknown service ", service), {});
  WireBuffer response = HealthResponse(!is_known  ? Health::kServiceUnknown
                                       : serving_ ? Health::kServing
                                                  : Health::kNotServing);
  if (!is_watch) return call->Finish(OkStatus(), std::move(response));
  call->Send(std::move(response), [this, call, is_known](bool ok) {
    if (!ok) return call->Finish(Cancelled("The client dropped the call"), {});
    AddWatcher(call, is_known);
  });
}

void ServingGrpcServices::AddWatcher(IncomingCall* call, bool is_known) {
  bool has_stopped = true;
  {
    absl::MutexLock lock(&watchers_mu_);
    if (serving_) {
      has_stopped = false;
      const auto token = call->cancellation.Register([this, call] {
        if (RemoveWatcher(call)) call->Finish(Cancelled("The client dropped the call"), {});
      });
      if (token != CancellationManager::kNoToken) {
        watchers_[call] = is_known;
        return;
      }
    }
  }
  if (has_stopped) return EndWatch(call, is_known);
  call->Finish(Cancelled("The client dropped the call"), {});
}

bool ServingGrpcServices::RemoveWatcher(IncomingCall* call) {
  absl::MutexLock lock(&watchers_mu_);
  return watchers_.erase(call) == 1;
}

void ServingGrpcServices::StopServing() {
  serving_ = false;
  absl::flat_hash_map<IncomingCall*, bool> ended;
  {
    absl::MutexLock lock(&watchers_mu_);
    ended = std::exchange(watchers_, {});
  }
  for (const auto& [call, is_known] : ended) EndWatch(call, is_known);
}

}  // namespace weir
