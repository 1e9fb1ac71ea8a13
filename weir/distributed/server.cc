#include "weir/distributed/server.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "weir/base/logging.h"
#include "weir/distributed/master.h"
#include "weir/distributed/master_service_internal.h"

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

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
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
  return OkStatus();
}

// IPv6 addresses are written in brackets.
std::string Address(const std::string& host, int port) {
  bool bare_v6 = host.find(':') != host.npos && !host.starts_with('[');
  return bare_v6 ? Cat("[", host, "]:", port) : Cat(host, ":", port);
}

MasterOptions ToMasterOptions(const ServerOptions& options) {
  MasterOptions out;
  out.max_graph_nodes = options.max_graph_nodes;
  out.sessions.max_sessions = options.max_sessions;
  out.sessions.idle = options.idle_session > absl::ZeroDuration() ? options.idle_session : absl::InfiniteDuration();
  out.sessions.look_every = std::clamp(out.sessions.idle / 4, absl::Milliseconds(100), absl::Seconds(10));
  return out;
}

}  // namespace

// For answers on their way to the network.
constexpr absl::Duration kHangUpTime = absl::Milliseconds(100);

class Server::Impl {
 public:
  Impl(const ServerOptions& options, std::shared_ptr<Environment> environment)
      : host_(options.host), master_(std::move(environment), ToMasterOptions(options)), service_(&master_) {}
  ~Impl() { Shutdown(absl::Seconds(5)); }

  Status Listen(const ServerOptions& options) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(Address(host_, options.port), Credentials(options), &port_);
    builder.RegisterService(&service_);
    builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
    builder.SetMaxSendMessageSize(-1);
    // Two servers on one port would share its connections at random.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    // Frames as large as HTTP/2 allows: tensors travel in few writes.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, (1 << 24) - 1);
    // A client that vanished without closing its connection is noticed, and its steps end.
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
    grpc_ = builder.BuildAndStart();
    if (grpc_ == nullptr || port_ == 0) return Unavailable("cannot listen on ", Address(host_, options.port));
    return OkStatus();
  }

  int port() const { return port_; }
  std::string target() const { return Cat("grpc://", Address(host_, port_)); }
  size_t num_sessions() const { return master_.num_sessions(); }

  void Shutdown(absl::Duration grace) {
    {
      absl::MutexLock lock(&mu_);
      if (std::exchange(stopping_, true)) return;
    }
    // Steps that end now are still answered. gRPC itself would wait for idle clients to hang up, too.
    master_.CloseAllSessions();
    service_.AwaitIdle(absl::Now() + grace);
    if (grpc_ != nullptr) grpc_->Shutdown(absl::ToChronoTime(absl::Now() + kHangUpTime));
    master_.CloseAllSessions();  // those that were being made meanwhile
    absl::MutexLock lock(&mu_);
    stopped_ = true;
  }

  void Join() {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(&stopped_));
  }

 private:
  const std::string host_;
  int port_ = 0;
  Master master_;
  MasterService service_;
  std::unique_ptr<grpc::Server> grpc_;  // ends before what it calls
  absl::Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                                std::shared_ptr<Environment> environment) {
  WEIR_RETURN_IF_ERROR(Check(options));
  auto impl = std::make_unique<Impl>(options, std::move(environment));
  WEIR_RETURN_IF_ERROR(impl->Listen(options));
  if (!IsLoopback(options.host) && options.tls_client_ca.empty()) {
    WEIR_LOG(WARNING) << "listening on " << options.host
                      << ": whoever can reach it can run graphs here; consider TLS with client certificates";
  }
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;
int Server::port() const { return impl_->port(); }
std::string Server::target() const { return impl_->target(); }
size_t Server::num_sessions() const { return impl_->num_sessions(); }
void Server::Shutdown(absl::Duration grace) { impl_->Shutdown(grace); }
void Server::Join() { impl_->Join(); }

}  // namespace weir
