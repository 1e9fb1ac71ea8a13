#include "weir/client/client_session.h"

#include "weir/graph/function_library.h"
#include "weir/graph/import.h"
#include "weir/proto/graph.pb.h"

namespace weir {
namespace {

StatusOr<std::vector<std::string>> Names(const std::vector<Output>& outputs) {
  std::vector<std::string> names;
  for (const Output& output : outputs) {
    if (!output.has_value()) return InvalidArgument("an Output without a value is fed or fetched");
    names.push_back(output.name());
  }
  return names;
}

StatusOr<std::vector<std::string>> Names(const std::vector<Operation>& operations) {
  std::vector<std::string> names;
  for (const Operation& operation : operations) {
    if (!operation.has_value()) return InvalidArgument("an Operation without a node cannot be run");
    names.push_back(operation.name());
  }
  return names;
}

}  // namespace

StatusOr<std::unique_ptr<ClientSession>> ClientSession::Create(const Scope& scope) {
  SessionOptions options;
  options.isolate_state = true;
  return Create(scope, std::move(options));
}

StatusOr<std::unique_ptr<ClientSession>> ClientSession::Create(const Scope& scope, SessionOptions options) {
  WEIR_ASSIGN_OR_RETURN(auto session, Session::Create(scope.environment(), std::move(options)));
  return std::unique_ptr<ClientSession>(new ClientSession(scope, std::move(session)));
}

StatusOr<std::unique_ptr<ClientSession>> ClientSession::Create(const Scope& scope, const std::string& target) {
  SessionOptions options;
  options.target = target;
  return Create(scope, std::move(options));
}

StatusOr<std::unique_ptr<ClientSession>> ClientSession::Over(const Scope& scope, std::unique_ptr<Session> session) {
  if (session->graph_version() != 0) return FailedPrecondition("the session has nodes already");
  return std::unique_ptr<ClientSession>(new ClientSession(scope, std::move(session)));
}

Status ClientSession::Update() {
  WEIR_RETURN_IF_ERROR(scope_.status());
  absl::MutexLock lock(&update_mu_);
  const Graph& graph = scope_.graph();
  if (next_node_ == graph.num_node_ids()) return OkStatus();
  if (place_) WEIR_RETURN_IF_ERROR(place_());
  GraphDef def;
  def.mutable_versions()->set_producer(kGraphDefVersion);
  graph.functions()->ToProto(def.mutable_library());
  for (NodeId id = next_node_; id < graph.num_node_ids(); ++id) {
    const Node* node = graph.node(id);
    if (node != nullptr) WEIR_RETURN_IF_ERROR(ExportNode(graph, *node, def.add_node()));
  }
  WEIR_RETURN_IF_ERROR(session_->Extend(def));
  next_node_ = graph.num_node_ids();
  return OkStatus();
}

StatusOr<std::vector<Tensor>> ClientSession::Run(const Feeds& feeds, const std::vector<Output>& fetches,
                                                 const std::vector<Operation>& targets) {
  WEIR_RETURN_IF_ERROR(Update());
  std::vector<Feed> named_feeds;
  for (const auto& [output, value] : feeds) {
    if (!output.has_value()) return InvalidArgument("an Output without a value is fed");
    named_feeds.emplace_back(output.name(), value);
  }
  WEIR_ASSIGN_OR_RETURN(auto fetch_names, Names(fetches));
  WEIR_ASSIGN_OR_RETURN(auto target_names, Names(targets));
  std::vector<Tensor> outputs;
  WEIR_RETURN_IF_ERROR(session_->Run(named_feeds, fetch_names, target_names, &outputs));
  return outputs;
}

Status ClientSession::RunTargets(const std::vector<Operation>& targets, const Feeds& feeds) {
  return Run(feeds, {}, targets).status();
}

StatusOr<Tensor> ClientSession::Evaluate(const Output& tensor, const Feeds& feeds) {
  WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, Run(feeds, {tensor}));
  return outputs[0];
}

StatusOr<Session::Callable> ClientSession::Prepare(const std::vector<Output>& feeds, const std::vector<Output>& fetches,
                                                   const std::vector<Operation>& targets) {
  WEIR_RETURN_IF_ERROR(Update());
  Session::CallableSpec spec;
  WEIR_ASSIGN_OR_RETURN(spec.feeds, Names(feeds));
  WEIR_ASSIGN_OR_RETURN(spec.fetches, Names(fetches));
  WEIR_ASSIGN_OR_RETURN(spec.targets, Names(targets));
  return session_->MakeCallable(spec);
}

}  // namespace weir
