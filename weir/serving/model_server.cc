#include "weir/serving/model_server.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <thread>

#include "absl/time/clock.h"
#include "weir/serving/api_internal.h"
#include "weir/serving/grpc_services_internal.h"
#include "weir/serving/rest_api_internal.h"

namespace weir {
namespace {

constexpr absl::Duration kHangUp = absl::Milliseconds(100);

int NumCores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

std::shared_ptr<grpc::ServerCredentials> CredentialsOf(const TlsSettings& tls) {
  if (tls.certificate.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions ssl(tls.client_ca.empty()
                                            ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                            : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  ssl.pem_root_certs = tls.client_ca;
  ssl.pem_key_cert_pairs.push_back({tls.key, tls.certificate});
  return grpc::SslServerCredentials(ssl);
}

ManagerOptions ManagerOptionsOf(const ModelServerOptions& options, std::shared_ptr<Environment> environment,
                                StepScheduler* scheduler, ServingMetrics* metrics) {
  ManagerOptions out = options.manager;
  out.version.environment = std::move(environment);
  out.version.scheduler = scheduler;
  out.version.metrics = metrics;
  if (options.warm_up) {
    out.warm_up = [iterations = options.warm_up_iterations](const std::shared_ptr<ServedVersion>& version) {
      return ReplayWarmUpRequests(version, iterations);
    };
  }
  return out;
}

}  // namespace

class ModelServer::Impl {
 public:
  Impl(ModelServerOptions options, const std::shared_ptr<Environment>& environment)
      : options_(std::move(options)),
        scheduler_(options_.num_slots > 0 ? options_.num_slots : std::max(1, NumCores() / 2), &metrics_),
        models_(ManagerOptionsOf(options_, environment, &scheduler_, &metrics_)),
        observer_(&metrics_, &models_, options_.trace_folder),
        services_(&models_, &observer_,
                  options_.outputs_as_content ? OutputEncoding::kContent : OutputEncoding::kTypedFields),
        rest_(&models_, &observer_, &metrics_, {options_.monitoring, options_.rest_timeout, options_.rest_cors}) {}
  ~Impl() { Shutdown(absl::Seconds(5)); }

  Status Start() {
    WEIR_RETURN_IF_ERROR(models_.Configure(options_.models));
    return Listen();
  }

  int port() const { return port_; }
  int rest_port() const { return http_ != nullptr ? http_->port() : -1; }
  ModelManager& models() { return models_; }
  const ServingMetrics& metrics() const { return metrics_; }

  void Shutdown(absl::Duration grace) {
    {
      absl::MutexLock lock(&mu_);
      if (std::exchange(stopping_, true)) return;
    }
    services_.StopServing();
    models_.Stop();
    http_ = nullptr;  // waits for the requests that run
    if (queue_ == nullptr) return;
    queue_->StopStaying();
    services_.AwaitIdle(absl::Now() + grace);
    if (grpc_ != nullptr) grpc_->Shutdown(absl::ToChronoTime(absl::Now() + kHangUp));
    calls_->AwaitEnd();
  }

 private:
  Status Listen() {
    grpc::ServerBuilder builder;
    const absl::Duration awake = NumCores() > 1 ? options_.stay_awake : absl::ZeroDuration();
    // Steps run in these threads too; one must be left to take calls.
    queue_ = std::make_unique<CallQueue>(builder.AddCompletionQueue(), scheduler_.slots() + 2, awake);
    const std::vector<GrpcService*> services = services_.services();
    calls_ = std::make_unique<GrpcCalls>(queue_.get(), services);
    const bool bare_v6 = options_.host.find(':') != options_.host.npos && !options_.host.starts_with('[');
    const std::string address =
        bare_v6 ? Cat("[", options_.host, "]:", options_.port) : Cat(options_.host, ":", options_.port);
    builder.AddListeningPort(address, CredentialsOf(options_.tls), &port_);
    if (!options_.grpc_socket.empty()) {
      builder.AddListeningPort("unix:" + options_.grpc_socket, grpc::InsecureServerCredentials());
    }
    builder.RegisterAsyncGenericService(calls_->generic());
    builder.SetMaxReceiveMessageSize(static_cast<int>(options_.max_message_bytes));
    builder.SetMaxSendMessageSize(-1);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, (1 << 24) - 1);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
    grpc_ = builder.BuildAndStart();
    if (grpc_ == nullptr || port_ == 0) return Unavailable("cannot listen on ", address);
    calls_->Start();
    if (options_.rest_port < 0) return OkStatus();
    HttpOptions http;
    http.host = options_.host;
    http.port = options_.rest_port;
    http.num_threads = options_.rest_threads > 0 ? options_.rest_threads : 4 * NumCores();
    http.max_body_bytes = static_cast<size_t>(options_.max_message_bytes);
    WEIR_ASSIGN_OR_RETURN(http_,
                          HttpServer::Start(http, [this](const HttpRequest& request) { return rest_.Serve(request); }));
    return OkStatus();
  }

  const ModelServerOptions options_;
  ServingMetrics metrics_;
  StepScheduler scheduler_;
  ModelManager models_;
  CallObserver observer_;
  ServingGrpcServices services_;
  std::unique_ptr<CallQueue> queue_;
  std::unique_ptr<GrpcCalls> calls_;
  std::unique_ptr<grpc::Server> grpc_;
  RestApi rest_;
  std::unique_ptr<HttpServer> http_;
  int port_ = 0;
  absl::Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
};

StatusOr<std::unique_ptr<ModelServer>> ModelServer::Start(ModelServerOptions options,
                                                          std::shared_ptr<Environment> environment) {
  auto impl = std::make_unique<Impl>(std::move(options), environment);
  WEIR_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<ModelServer>(new ModelServer(std::move(impl)));
}

ModelServer::ModelServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ModelServer::~ModelServer() = default;
int ModelServer::port() const { return impl_->port(); }
int ModelServer::rest_port() const { return impl_->rest_port(); }
ModelManager& ModelServer::models() { return impl_->models(); }
const ServingMetrics& ModelServer::metrics() const { return impl_->metrics(); }
void ModelServer::Shutdown(absl::Duration grace) { impl_->Shutdown(grace); }

}  // namespace weir
