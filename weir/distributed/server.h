// Server: a single server or one task of a cluster. It serves sessions to TensorFlow's clients and runs parts of steps
// for its peers.
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
#include "weir/base/export.h"
#include "weir/base/status.h"
#include "weir/distributed/cluster_spec.h"
#include "weir/runtime/environment.h"
#include "weir/runtime/session.h"

namespace WEIR_PUBLIC weir {

struct ServerOptions {
  std::string host = "localhost";  // the address to listen on; "0.0.0.0" or "::" for all
  int port = 0;                    // 0: any free port

  // The cluster to which this task belongs; empty: there are no other tasks. In a cluster, the server listens on the
  // port of its address in the cluster unless `port` is given, and on all interfaces unless that address is a loopback
  // address. The environment must have the name of the task: MakeEnvironment({.task_name = TaskName(job, task)}).
  ClusterSpec cluster;
  std::string job = "localhost";
  int task = 0;
  bool only_peers = false;  // the worker service rejects callers that are not hosts of the cluster (peer_filter.h)
  // Send large tensors between tasks of the same user on the same machine through shared memory instead of the network.
  bool share_memory = true;
  bool spread_nodes = false;                 // spread unplaced nodes over all tasks, for tests (SessionOptions)
  PlacerKind placer = PlacerKind::kDefault;  // for clients' sessions whose config names no placer
  std::shared_ptr<const CostTable> costs;    // measured costs for the placer; may be null

  // The task that forms the groups of collectives (TensorFlow's collective_group_leader); must be the same in all tasks
  // of the cluster. Empty: the chief, else the first worker, else the first task. The timeout applies to collectives
  // that specify none.
  std::string collective_leader;
  absl::Duration collective_timeout = absl::Minutes(10);

  // In PEM format. A certificate and its key enable TLS; with a CA, clients must present a certificate too.
  std::string tls_certificate;
  std::string tls_key;
  std::string tls_client_ca;

  int metrics_port = -1;  // the HTTP port for Prometheus; 0: any free port, negative: none

  int64_t max_message_bytes = INT32_MAX;  // per request
  int max_sessions = 10'000;
  int64_t max_graph_nodes = 50'000'000;           // per session
  absl::Duration idle_session = absl::Hours(24);  // close sessions that have been unused for this long

  // How long a thread busy-waits after each answer for the next call of a latency-bound client, one that calls again as
  // soon as it has an answer. Zero: never. The threads of an idle server, of a machine with one processor and of a
  // cluster with several tasks never busy-wait.
  absl::Duration stay_awake = absl::Milliseconds(1);
};

// Thread-safe.
class Server {
 public:
  // Starts to listen and serve. UNAVAILABLE if the address cannot be bound.
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
  int64_t num_shared_tensors() const;  // received by this task through shared memory
  int64_t num_awaited_calls() const;   // for which a thread was busy-waiting

  // A session in this process whose steps use the devices of the whole cluster, like the sessions of clients. Waits for
  // the tasks to answer; DEADLINE_EXCEEDED names those that do not. REQUIRES: the server outlives the session.
  StatusOr<std::unique_ptr<Session>> CreateSession(SessionOptions options = {},
                                                   absl::Duration timeout = absl::InfiniteDuration());

  // Rejects new calls, cancels running steps, waits up to `grace` for calls in flight to be answered and cancels the
  // rest. Only the first call of Shutdown has an effect.
  void Shutdown(absl::Duration grace = absl::Seconds(5));
  // Waits until Shutdown has been called and has finished.
  void Join();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_SERVER_H_
