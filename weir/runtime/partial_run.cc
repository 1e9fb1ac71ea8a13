#include "weir/runtime/partial_run.h"

#include <algorithm>

#include "weir/runtime/local_session_internal.h"

namespace weir {
namespace {

int IndexOf(const std::vector<std::string>& names, const std::string& name) {
  auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

// For every `_Retval` of the graph, the `_Arg`s that it depends on.
StatusOr<std::vector<std::vector<int>>> FeedsOfFetches(const Graph& graph, size_t num_fetches) {
  std::vector<std::vector<int>> needs(num_fetches);
  for (const auto& ret : graph.nodes()) {
    if (ret == nullptr || ret->op() != "_Retval") continue;
    WEIR_ASSIGN_OR_RETURN(int64_t index, ret->Attr<int64_t>("index"));
    std::vector<bool> seen(graph.num_node_ids(), false);
    std::vector<NodeId> stack = {ret->id};
    seen[ret->id] = true;
    while (!stack.empty()) {
      const Node& node = *graph.node(stack.back());
      stack.pop_back();
      if (node.op() == "_Arg") {
        WEIR_ASSIGN_OR_RETURN(int64_t arg, node.Attr<int64_t>("index"));
        needs[index].push_back(static_cast<int>(arg));
      }
      auto visit = [&](NodeId id) {
        if (!seen[id]) stack.push_back(id);
        seen[id] = true;
      };
      for (const Endpoint& input : node.inputs) visit(input.node);
      for (NodeId input : node.control_inputs) visit(input);
    }
  }
  return needs;
}

}  // namespace

PartialRunState::PartialRunState(StepSignature signature, std::vector<DType> feed_types,
                                 std::vector<std::vector<int>> needs)
    : signature_(std::move(signature)),
      feed_types_(std::move(feed_types)),
      needs_(std::move(needs)),
      args_(signature_.feeds.size()),
      arg_waiters_(signature_.feeds.size()),
      rets_(signature_.fetches.size()),
      fetched_(signature_.fetches.size(), false) {}

void PartialRunState::GetArg(int index, CancellationManager* cancellation, std::function<void(StatusOr<Tensor>)> done) {
  StatusOr<Tensor> value = Tensor();
  {
    absl::MutexLock lock(&mu_);
    if (ended_.has_value()) {
      value = ended_->ok() ? Cancelled("The partial run has ended") : *ended_;
    } else if (args_[index].has_value()) {
      value = *args_[index];
    } else {
      // The callback may run when this object is gone, hence the weak pointer. CancelArg takes the lock that is held
      // here, so it cannot run before the waiter is stored.
      auto token = cancellation->Register([weak = weak_from_this(), index, cancellation] {
        if (auto self = weak.lock()) self->CancelArg(index, cancellation->reason());
      });
      if (token != CancellationManager::kNoToken) {
        arg_waiters_[index] = {std::move(done), cancellation, token};
        return;
      }
      value = cancellation->reason();
    }
  }
  done(std::move(value));
}

void PartialRunState::Answer(int index, StatusOr<Tensor> value, Answers* answers) {
  ArgWaiter waiter = std::exchange(arg_waiters_[index], {});
  if (!waiter.done) return;
  // Safe, because a waiter keeps its step alive, and the step its cancellation.
  waiter.cancellation->TryDeregister(waiter.token);
  answers->push_back([done = std::move(waiter.done), value = std::move(value)] { done(value); });
}

void PartialRunState::CancelArg(int index, const Status& reason) {
  Answers answers;
  {
    absl::MutexLock lock(&mu_);
    Answer(index, reason, &answers);
  }
  for (auto& answer : answers) answer();
}

void PartialRunState::PutRet(int index, StatusOr<Tensor> value) {
  Answers answers;
  {
    absl::MutexLock lock(&mu_);
    rets_[index] = std::move(value);
    CollectAnswers(&answers);
  }
  for (auto& answer : answers) answer();
}

Status PartialRunState::Check(std::span<const Feed> feeds, std::span<const std::string> fetches,
                              std::vector<int>* feed_indices, std::vector<int>* fetch_indices) {
  std::vector<bool> fed(args_.size());
  for (size_t i = 0; i < args_.size(); ++i) fed[i] = args_[i].has_value();
  for (const auto& [name, value] : feeds) {
    int index = IndexOf(signature_.feeds, name);
    if (index < 0) return InvalidArgument("The feed ", name, " was not specified in partial_run_setup.");
    if (fed[index]) return InvalidArgument("The feed ", name, " has already been fed.");
    if (feed_types_[index] != DType::kInvalid && value.dtype() != feed_types_[index]) {
      return InvalidArgument("Tensor fed for '", name, "' has type ", Name(value.dtype()), ", but must be ",
                             Name(feed_types_[index]));
    }
    fed[index] = true;
    feed_indices->push_back(index);
  }
  for (const std::string& name : fetches) {
    int index = IndexOf(signature_.fetches, name);
    if (index < 0) return InvalidArgument("The fetch ", name, " was not specified in partial_run_setup.");
    if (fetched_[index]) return InvalidArgument("The fetch ", name, " has already been fetched.");
    for (int feed : needs_[index]) {
      if (fed[feed]) continue;
      return InvalidArgument("Fetch ", name, " can't be computed from the feeds that have been fed so far.");
    }
    fetch_indices->push_back(index);
  }
  return OkStatus();
}

void PartialRunState::Call(std::span<const Feed> feeds, std::span<const std::string> fetches, Session::RunDone done) {
  std::vector<int> feed_indices;
  Request request;
  Answers answers;
  {
    absl::ReleasableMutexLock lock(&mu_);
    Status status = Check(feeds, fetches, &feed_indices, &request.fetches);
    if (!status.ok()) {
      lock.Release();
      return done(std::move(status), {});
    }
    for (size_t i = 0; i < feeds.size(); ++i) {
      int index = feed_indices[i];
      args_[index] = feeds[i].second;
      Answer(index, feeds[i].second, &answers);
    }
    for (int index : request.fetches) fetched_[index] = true;
    request.done = std::move(done);
    requests_.push_back(std::move(request));
    CollectAnswers(&answers);
  }
  for (auto& answer : answers) answer();
}

bool PartialRunState::IsComplete() const {
  return std::all_of(args_.begin(), args_.end(), [](const auto& arg) { return arg.has_value(); }) &&
         std::find(fetched_.begin(), fetched_.end(), false) == fetched_.end();
}

bool PartialRunState::complete() const {
  absl::MutexLock lock(&mu_);
  return IsComplete();
}

// A request is answered when all its fetches have arrived; the request that completes the run is answered only when the
// step has ended.
void PartialRunState::CollectAnswers(Answers* answers) {
  bool failed = ended_.has_value() && !ended_->ok();
  bool must_end = IsComplete();
  for (size_t i = 0; i < requests_.size();) {
    Request& request = requests_[i];
    Status status = failed ? *ended_ : OkStatus();
    std::vector<Tensor> values;
    bool ready = ended_.has_value() || !must_end;
    for (int index : request.fetches) {
      if (rets_[index].has_value()) {
        if (!rets_[index]->ok()) {
          status = rets_[index]->status();
          ready = true;
          break;
        }
        values.push_back(**rets_[index]);
      } else {
        ready = failed;
        if (ended_.has_value() && !failed) {
          status = Internal("The partial run ended without computing ", signature_.fetches[index]);
          ready = true;
        }
        break;
      }
    }
    if (!ready) {
      ++i;
      continue;
    }
    if (!status.ok()) values.clear();
    answers->push_back([done = std::move(request.done), status, values = std::move(values)] { done(status, values); });
    requests_.erase(requests_.begin() + i);
  }
}

void PartialRunState::StepEnded(const Status& status) {
  Answers answers;
  {
    absl::MutexLock lock(&mu_);
    ended_ = status;
    CollectAnswers(&answers);
  }
  for (auto& answer : answers) answer();
}

StatusOr<std::string> LocalSession::PartialRunSetup(std::span<const std::string> feeds,
                                                    std::span<const std::string> fetches,
                                                    std::span<const std::string> targets) {
  WEIR_RETURN_IF_ERROR(steps_->closed());
  StepSignature signature;
  signature.feeds.assign(feeds.begin(), feeds.end());
  signature.fetches.assign(fetches.begin(), fetches.end());
  signature.targets.assign(targets.begin(), targets.end());
  StatusOr<Graph> pruned = PrepareGraph(signature, {}, FeedShapes::kAny);
  if (!pruned.ok()) return pruned.status();
  WEIR_ASSIGN_OR_RETURN(std::vector<std::vector<int>> needs, FeedsOfFetches(*pruned, signature.fetches.size()));
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<CompiledStep> compiled, Compile(signature, {}, /*late_args=*/true));
  auto state = std::make_shared<PartialRunState>(signature, compiled->feed_types, std::move(needs));
  std::string handle;
  {
    absl::MutexLock lock(&partial_mu_);
    handle = Cat(next_partial_++);
    partial_runs_.emplace(handle, state);
  }
  ReadyStep ready;
  WEIR_RETURN_IF_ERROR(
      Prepare(StepOptions(), nullptr, compiled, &ready, [](std::vector<Tensor>*) { return OkStatus(); }));
  ready.config.timeout = absl::InfiniteDuration();  // each call has its own
  ready.config.exchange = state.get();
  ready.config.cancellation = state->cancellation();
  StartStep(std::move(ready), /*detach=*/true,
            [state, self = shared_from_this(), handle](Status status, std::vector<Tensor>) {
              // A finished run stays until everything was fetched. A failed one stays for good, so that later calls
              // report the failure.
              if (status.ok() && state->complete()) self->DropPartialRun(handle);
              state->StepEnded(status);
            });
  return handle;
}

void LocalSession::PartialRunAsync(const std::string& handle, const StepOptions& options, std::span<const Feed> feeds,
                                   std::span<const std::string> fetches, RunDone done) {
  std::shared_ptr<PartialRunState> state;
  {
    absl::MutexLock lock(&partial_mu_);
    auto found = partial_runs_.find(handle);
    if (found != partial_runs_.end()) state = found->second;
  }
  if (state == nullptr) return done(InvalidArgument("Must run 'setup' before performing partial runs!"), {});
  auto finish = [self = shared_from_this(), state, handle, done = std::move(done)](Status status,
                                                                                   std::vector<Tensor> out) {
    if (status.ok() && state->complete()) self->DropPartialRun(handle);
    done(std::move(status), std::move(out));
  };
  if (options.cancellation == nullptr) return state->Call(feeds, fetches, std::move(finish));
  // Cancelling a call cancels the whole run, because its step cannot go on without that call's feeds.
  CancellationManager* outer = options.cancellation;
  auto token = outer->Register([state, outer] { state->cancellation()->StartCancel(outer->reason()); });
  state->Call(feeds, fetches, [outer, token, finish](Status status, std::vector<Tensor> out) {
    if (token != CancellationManager::kNoToken) outer->TryDeregister(token);
    finish(std::move(status), std::move(out));
  });
}

void LocalSession::DropPartialRun(const std::string& handle) {
  absl::MutexLock lock(&partial_mu_);
  auto found = partial_runs_.find(handle);
  if (found != partial_runs_.end()) partial_runs_.erase(found);
}

}  // namespace weir
