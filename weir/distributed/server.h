// Server: one task, alone or of a cluster, that serves sessions to TensorFlow's clients and parts of steps to its
// peers.
//
//   auto server = weir::Server::Start({.port = 0}, environment);
//   std::puts((*server)->target().c_str());   // grpc://localhost:40123
//   (*server)->Join();
#ifndef WEIR_DISTRIBUTED_SERVER_H_
#define WEIR_DISTRIBUTED_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "weir/base/status.h"
#include "weir/distributed/cluster_spec.h"
#include "weir/runtime/environment.h"
#include "weir/runtime/session.h"

namespace weir {

struct ServerOptions {
  std::string host = "localhost";  // the address to listen on; "0.0.0.0" or "::" for all
  int port = 0;                    // 0: a free one

  // The cluster that the server is a task of; empty: it is alone. It then listens on its address there, unless a port
  // is given, and on all interfaces if that address is not this machine's loopback. The environment must bear the
  // task's name: MakeEnvironment({.task_name = TaskName(job, task)}).
  ClusterSpec cluster;
  std::string job = "localhost";
  int task = 0;
  bool only_peers = false;  // the worker service refuses callers from other hosts than the cluster's (peer_filter.h)
  // Large tensors between tasks of one user on one machine are copied into memory that the receiver hands to the
  // sender, instead of going through the network.
  bool share_memory = true;
  bool spread_nodes = false;                 // nodes that ask for no device go to all tasks, for tests (SessionOptions)
  PlacerKind placer = PlacerKind::kDefault;  // of clients' sessions whose config names none
  std::shared_ptr<const CostTable> costs;    // what it knows of earlier steps; may be null

  // PEM texts. A certificate and its key turn TLS on; a CA makes clients prove who they are as well.
  std::string tls_certificate;
  std::string tls_key;
  std::string tls_client_ca;

  int metrics_port = -1;  // where Prometheus reads the task's counts over HTTP; 0: a free port, < 0: none

  int64_t max_message_bytes = INT32_MAX;  // of a request
  int max_sessions = 10'000;
  int64_t max_graph_nodes = 50'000'000;           // of one session
  absl::Duration idle_session = absl::Hours(24);  // unused for so long: closed

  // A client that calls again at once, and again, is waited for by a thread that does not sleep: for so long after each
  // answer, and never while the server is idle. Zero: never. Also never on a machine with one processor or in a cluster
  // of several tasks.
  absl::Duration stay_awake = absl::Milliseconds(1);
};

// Thread-safe.
class Server {
 public:
  // Listens and serves. UNAVAILABLE if the address cannot be had.
  static StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                 std::shared_ptr<Environment> environment);
  // Shuts down.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;
  std::string target() const;  // "grpc://host:port"
  int metrics_port() const;    // -1 if there is none
  size_t num_sessions() const;
  int64_t num_shared_tensors() const;  // that came to this task through shared memory
  int64_t num_awaited_calls() const;   // that a thread stayed awake for

  // A session of this process whose steps use the devices of the whole cluster, as those of the clients do, without a
  // client in between. Waits for the tasks to answer; DEADLINE_EXCEEDED names those that do not. The server must
  // outlive it.
  StatusOr<std::unique_ptr<Session>> CreateSession(SessionOptions options = {},
                                                   absl::Duration timeout = absl::InfiniteDuration());

  // Takes no more calls, cancels running steps, gives calls `grace` to be answered and ends the rest. Later calls do
  // nothing.
  void Shutdown(absl::Duration grace = absl::Seconds(5));
  // Waits until Shutdown was called and is done.
  void Join();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_SERVER_H_
