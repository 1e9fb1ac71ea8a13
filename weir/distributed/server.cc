#include "weir/distributed/server.h"

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <array>

#include "absl/strings/numbers.h"
#include "weir/base/logging.h"
#include "weir/base/processors.h"
#include "weir/distributed/collective_peers_internal.h"
#include "weir/distributed/collective_service.h"
#include "weir/distributed/grpc_service_internal.h"
#include "weir/distributed/loopback.h"
#include "weir/distributed/master.h"
#include "weir/distributed/metrics.h"
#include "weir/distributed/peer_buffers.h"
#include "weir/distributed/peer_filter.h"
#include "weir/distributed/peers_internal.h"
#include "weir/distributed/worker.h"

namespace weir {
namespace {

std::shared_ptr<grpc::ServerCredentials> Credentials(const ServerOptions& options) {
  if (options.tls_certificate.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions ssl(options.tls_client_ca.empty()
                                            ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                            : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  ssl.pem_root_certs = options.tls_client_ca;
  ssl.pem_key_cert_pairs.push_back({options.tls_key, options.tls_certificate});
  return grpc::SslServerCredentials(ssl);
}

// The credentials that this task presents to its peers. The same CA verifies peers and clients.
std::shared_ptr<grpc::ChannelCredentials> PeerCredentials(const ServerOptions& options) {
  if (options.tls_certificate.empty()) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({options.tls_client_ca, options.tls_key, options.tls_certificate});
}

Status Check(const ServerOptions& options) {
  if (options.port < 0 || options.port > 65535) return InvalidArgument("port ", options.port, " is not in [0, 65535]");
  if (options.host.empty()) return InvalidArgument("the host is empty");
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    return InvalidArgument("TLS needs both a certificate and its key");
  }
  if (options.tls_certificate.empty() && !options.tls_client_ca.empty()) {
    return InvalidArgument("a CA for clients needs a certificate and a key of the server");
  }
  if (options.max_message_bytes < 1 || options.max_message_bytes > INT32_MAX) {
    return InvalidArgument("the message limit ", options.max_message_bytes, " is not in [1, 2^31)");
  }
  if (options.stay_awake > absl::Seconds(1)) {
    return InvalidArgument("stay_awake can be at most a second, not ", absl::FormatDuration(options.stay_awake));
  }
  return OkStatus();
}

Status CheckCluster(const ServerOptions& options, const Environment& environment) {
  if (options.cluster.empty()) {
    return options.only_peers ? InvalidArgument("only_peers needs a cluster") : OkStatus();
  }
  if (options.cluster.Find(options.job, options.task) == nullptr) {
    return InvalidArgument("the cluster has no task ", TaskName(options.job, options.task));
  }
  if (environment.task_name != TaskName(options.job, options.task)) {
    return InvalidArgument("the server is ", TaskName(options.job, options.task), " but its environment is ",
                           environment.task_name);
  }
  if (!options.tls_certificate.empty() && options.tls_client_ca.empty()) {
    return InvalidArgument("a cluster with TLS needs the CA that signed its tasks' certificates");
  }
  return OkStatus();
}

// The address on which a task of a cluster listens, and the host name by which others reach it.
void TakeAddress(const ServerOptions& options, std::string* host, std::string* public_host, int* port) {
  *host = *public_host = FindableHost(options.host);
  *port = options.port;
  const ClusterSpec::Task* own = options.cluster.Find(options.job, options.task);
  if (own == nullptr) return;
  const size_t colon = own->address.rfind(':');
  *public_host = FindableHost(own->address.substr(0, colon));
  if (*port == 0 && !absl::SimpleAtoi(own->address.substr(colon + 1), port)) *port = 0;
  if (options.host == ServerOptions().host) *host = IsLoopback(*public_host) ? *public_host : "0.0.0.0";
}

// IPv6 addresses are written in brackets.
std::string Address(const std::string& host, int port) {
  bool bare_v6 = host.find(':') != host.npos && !host.starts_with('[');
  return bare_v6 ? Cat("[", host, "]:", port) : Cat(host, ":", port);
}

// How long a thread may busy-wait for a latency-bound client. Not in a cluster: its other tasks, often on the same
// machine, may need the processors.
absl::Duration StayAwake(const ServerOptions& options) {
  const bool alone = options.cluster.tasks().size() < 2;
  return alone && NumUsableProcessors() > 1 ? options.stay_awake : absl::ZeroDuration();
}

// The number of threads that poll and begin to serve calls. Steps that are not short run on other threads.
int NumCallThreads() { return std::clamp(NumUsableProcessors() / 2, 2, 16); }

MasterOptions ToMasterOptions(const ServerOptions& options, std::shared_ptr<CollectiveDomain> collectives) {
  MasterOptions out;
  out.collectives = std::move(collectives);
  out.max_graph_nodes = options.max_graph_nodes;
  out.spread_nodes = options.spread_nodes;
  out.placer = options.placer;
  out.costs = options.costs;
  out.sessions.max_sessions = options.max_sessions;
  out.sessions.idle = options.idle_session > absl::ZeroDuration() ? options.idle_session : absl::InfiniteDuration();
  out.sessions.look_every = std::clamp(out.sessions.idle / 4, absl::Milliseconds(100), absl::Seconds(10));
  return out;
}

WorkerOptions ToWorkerOptions(const ServerOptions& options, PeerBuffers* buffers, CollectiveService* collectives) {
  MasterOptions master = ToMasterOptions(options, nullptr);
  WorkerOptions out{master.sessions, master.max_graph_nodes, {}, buffers, collectives};
  for (const ClusterSpec::Task& task : options.cluster.tasks()) out.masters.push_back(task.name());
  return out;
}

std::string CollectiveLeader(const ServerOptions& options) {
  if (!options.collective_leader.empty() || options.cluster.empty()) return options.collective_leader;
  for (const char* job : {"chief", "master", "worker"}) {
    if (options.cluster.Find(job, 0) != nullptr) return TaskName(job, 0);
  }
  return options.cluster.tasks().front().name();
}

CollectiveDomainOptions ToCollectiveOptions(const ServerOptions& options, const std::string& own_task) {
  CollectiveDomainOptions out;
  out.task = own_task;
  out.leader = CollectiveLeader(options);
  out.timeout = options.collective_timeout;
  for (const ClusterSpec::Task& task : options.cluster.tasks()) out.tasks.push_back(task.name());
  return out;
}

// The memory that receivers on this machine share; null if there can be none.
std::unique_ptr<PeerBuffers> MakePeerBuffers(const ServerOptions& options, Peers* peers) {
  if (!options.share_memory || peers->others().empty()) return nullptr;
  auto buffers = PeerBuffers::Listen([peers](const std::string& key) { return peers->steps().held().HasKey(key); });
  if (buffers.ok()) return *std::move(buffers);
  WEIR_LOG(INFO) << "tensors for tasks of this machine are sent over the network: " << Message(buffers.status());
  return nullptr;
}

}  // namespace

// For answers that are being sent.
constexpr absl::Duration kHangUpTime = absl::Milliseconds(100);

class Server::Impl {
 public:
  Impl(const ServerOptions& options, const std::shared_ptr<Environment>& environment)
      : queue_(builder_.AddCompletionQueue(), NumCallThreads(), StayAwake(options)),
        peers_(environment->task_name, options.cluster, PeerCredentials(options), &queue_, options.share_memory,
               &environment->devices),
        peer_buffers_(MakePeerBuffers(options, &peers_)),
        collective_peers_(&peers_),
        collectives_(CollectiveDomain::Make(ToCollectiveOptions(options, environment->task_name), &collective_peers_)),
        collective_service_(environment, collectives_),
        master_(environment, ToMasterOptions(options, collectives_), &peers_),
        worker_(environment, ToWorkerOptions(options, peer_buffers_.get(), &collective_service_), &peers_.steps()),
        master_service_(
            "MasterService", kMasterMethodNames,
            [this](int method, IncomingCall* call) { master_.Serve(static_cast<MasterMethod>(method), call); },
            /*admit=*/nullptr, /*has_quick_clients=*/true),
        peer_filter_(options.cluster),
        worker_service_(
            "WorkerService", kWorkerMethodNames,
            [this](int method, IncomingCall* call) { worker_.Serve(static_cast<WorkerMethod>(method), call); },
            options.only_peers ? [this](std::string_view peer) { return peer_filter_.Check(peer); }
                               : GrpcService::Admit()),
        calls_(&queue_, std::array{&master_service_, &worker_service_}) {
    TakeAddress(options, &host_, &public_host_, &port_);
    collectives_->Adopt(environment->devices.devices());
  }
  ~Impl() { Shutdown(absl::Seconds(5)); }

  Status Listen(const ServerOptions& options) {
    grpc::ServerBuilder& builder = builder_;
    const std::string address = Address(host_, port_);
    port_ = 0;
    builder.AddListeningPort(address, Credentials(options), &port_);
    builder.RegisterAsyncGenericService(calls_.generic());
    builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
    builder.SetMaxSendMessageSize(-1);
    // Otherwise two servers on one port would share its connections at random.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    // The largest frames that HTTP/2 allows, so that tensors need few writes.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, (1 << 24) - 1);
    // Detects clients that vanished without closing their connection, so that their steps end.
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
    // Peers ping this task often.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
    grpc_ = builder.BuildAndStart();
    if (grpc_ == nullptr || port_ == 0) return Unavailable("cannot listen on ", address);
    calls_.Start();
    if (options.metrics_port < 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(metrics_, MetricsServer::Start(host_, options.metrics_port, [this] { return Metrics(); }));
    return OkStatus();
  }

  int port() const { return port_; }
  int metrics_port() const { return metrics_ != nullptr ? metrics_->port() : -1; }
  const std::string& host() const { return host_; }
  std::string target() const { return Cat("grpc://", Address(public_host_, port_)); }
  size_t num_sessions() const { return master_.num_sessions(); }
  int64_t num_awaited_calls() const { return queue_.num_awaited_calls(); }
  int64_t num_shared_tensors() { return peers_.steps().metrics().tensors_shared.load(std::memory_order_relaxed); }
  Master& master() { return master_; }

  void Shutdown(absl::Duration grace) {
    {
      absl::MutexLock lock(&mu_);
      if (std::exchange(stopping_, true)) return;
    }
    queue_.StopStaying();
    // Steps that end now are still answered. gRPC's own shutdown would also wait for idle clients to disconnect.
    const absl::Time end = absl::Now() + grace;
    master_.CloseAllSessions();
    worker_.CloseAllSessions();
    collectives_->Close();
    master_service_.AwaitIdle(end);
    worker_service_.AwaitIdle(end);
    if (grpc_ != nullptr) grpc_->Shutdown(absl::ToChronoTime(absl::Now() + kHangUpTime));
    master_.CloseAllSessions();  // sessions that were created in the meantime
    worker_.CloseAllSessions();
    calls_.AwaitEnd();
    absl::MutexLock lock(&mu_);
    stopped_ = true;
  }

  void Join() {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(&stopped_));
  }

 private:
  std::string Metrics() {
    MetricsText text;
    AppendMetrics(peers_.steps().metrics(), &text);
    text.Add("sessions", "gauge", "sessions of clients", static_cast<double>(master_.num_sessions()));
    text.Add("worker_sessions", "gauge", "sessions of other tasks", static_cast<double>(worker_.num_sessions()));
    text.Add("steps_open", "gauge", "steps of several tasks that this one takes part in",
             static_cast<double>(peers_.steps().size()));
    text.Add("awaited_calls", "counter", "calls of quick clients that a thread waited for awake",
             static_cast<double>(num_awaited_calls()));
    return text.text();
  }

  std::string host_;         // to listen on
  std::string public_host_;  // the name that others use
  int port_ = 0;
  grpc::ServerBuilder builder_;
  CallQueue queue_;  // also for this task's own calls
  Peers peers_;
  const std::unique_ptr<PeerBuffers> peer_buffers_;  // may be null
  GrpcCollectivePeers collective_peers_;
  const std::shared_ptr<CollectiveDomain> collectives_;
  CollectiveService collective_service_;
  Master master_;
  Worker worker_;
  GrpcService master_service_;
  PeerFilter peer_filter_;
  GrpcService worker_service_;
  GrpcCalls calls_;
  std::unique_ptr<MetricsServer> metrics_;
  std::unique_ptr<grpc::Server> grpc_;  // destroyed before the objects that it calls
  absl::Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                                std::shared_ptr<Environment> environment) {
  WEIR_RETURN_IF_ERROR(Check(options));
  WEIR_RETURN_IF_ERROR(CheckCluster(options, *environment));
  auto impl = std::make_unique<Impl>(options, environment);
  WEIR_RETURN_IF_ERROR(impl->Listen(options));
  if (!IsLoopback(impl->host()) && options.tls_client_ca.empty()) {
    WEIR_LOG(WARNING) << "listening on " << impl->host()
                      << ": whoever can reach it can run graphs here; consider TLS with client certificates";
  }
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;
int Server::port() const { return impl_->port(); }
int Server::metrics_port() const { return impl_->metrics_port(); }
std::string Server::target() const { return impl_->target(); }
size_t Server::num_sessions() const { return impl_->num_sessions(); }
int64_t Server::num_shared_tensors() const { return impl_->num_shared_tensors(); }
int64_t Server::num_awaited_calls() const { return impl_->num_awaited_calls(); }
StatusOr<std::unique_ptr<Session>> Server::CreateSession(SessionOptions options, absl::Duration timeout) {
  return impl_->master().NewSession(std::move(options), timeout);
}
void Server::Shutdown(absl::Duration grace) { impl_->Shutdown(grace); }
void Server::Join() { impl_->Join(); }

}  // namespace weir
