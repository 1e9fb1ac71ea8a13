// ClientSession: a session for the graph of a Scope, which takes Outputs and Operations instead of names. The graph may
// keep growing: every call first brings the session up to date.
//
//   WEIR_ASSIGN_OR_RETURN(auto session, ClientSession::Create(root));
//   WEIR_RETURN_IF_ERROR(session->Run({InitializeVariables(root)}));
//   WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> out, session->Run({{x, value}}, {y, loss}));
//
// ClientSession::Create(root, "grpc://host:port") does the same on a server and its cluster.
#ifndef WEIR_CLIENT_CLIENT_SESSION_H_
#define WEIR_CLIENT_CLIENT_SESSION_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/base/export.h"
#include "weir/client/scope.h"
#include "weir/runtime/session.h"

namespace WEIR_PUBLIC weir {

class ClientSession {
 public:
  using Feeds = std::vector<std::pair<Output, Tensor>>;

  // Variables belong to this session only, unless `options.isolate_state` is false.
  static StatusOr<std::unique_ptr<ClientSession>> Create(const Scope& scope);
  static StatusOr<std::unique_ptr<ClientSession>> Create(const Scope& scope, SessionOptions options);
  // Runs on the server at a target ("grpc://host:port") and its cluster, where variables outlive sessions and are
  // shared by all of them.
  static StatusOr<std::unique_ptr<ClientSession>> Create(const Scope& scope, const std::string& target);

  // Uses an existing session, such as a server's (weir/distributed/server.h), which must not have nodes yet.
  static StatusOr<std::unique_ptr<ClientSession>> Over(const Scope& scope, std::unique_ptr<Session> session);

  // Runs one step. Several threads may run steps concurrently as long as no thread builds the graph.
  StatusOr<std::vector<Tensor>> Run(const Feeds& feeds, const std::vector<Output>& fetches,
                                    const std::vector<Operation>& targets = {});
  StatusOr<std::vector<Tensor>> Run(const std::vector<Output>& fetches) { return Run({}, fetches); }
  Status RunTargets(const std::vector<Operation>& targets, const Feeds& feeds = {});
  // The value of one tensor.
  StatusOr<Tensor> Evaluate(const Output& tensor, const Feeds& feeds = {});

  // Compiles a step whose feeds are given by position. Running it has the least overhead.
  StatusOr<Session::Callable> Prepare(const std::vector<Output>& feeds, const std::vector<Output>& fetches,
                                      const std::vector<Operation>& targets = {});
  Status RunPrepared(Session::Callable step, std::span<const Tensor> feeds, std::vector<Tensor>* outputs) {
    return session_->RunCallable(step, feeds, outputs);
  }

  // `place` is called before new nodes are sent to the session, to give them devices (SetReplicaDevices).
  void set_placement(std::function<Status()> place) { place_ = std::move(place); }

  // Sends new nodes of the graph to the session. Returns the graph's error, if it has one.
  Status Update();
  Session& session() { return *session_; }
  const Scope& scope() const { return scope_; }

 private:
  ClientSession(const Scope& scope, std::unique_ptr<Session> session) : scope_(scope), session_(std::move(session)) {}
  Scope scope_;
  std::unique_ptr<Session> session_;
  std::function<Status()> place_;
  absl::Mutex update_mu_;
  NodeId next_node_ ABSL_GUARDED_BY(update_mu_) = 0;  // the first node that the session does not have
};

}  // namespace weir

#endif  // WEIR_CLIENT_CLIENT_SESSION_H_
