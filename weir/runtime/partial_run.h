// Private to the session: a step whose feeds and fetches are spread over several calls.
#ifndef WEIR_RUNTIME_PARTIAL_RUN_H_
#define WEIR_RUNTIME_PARTIAL_RUN_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/passes/prune.h"
#include "weir/runtime/executor.h"
#include "weir/runtime/session.h"

namespace weir {

// Thread-safe.
class PartialRunState : public StepExchange, public std::enable_shared_from_this<PartialRunState> {
 public:
  // `needs[i]`: the feeds that fetch i depends on.
  PartialRunState(StepSignature signature, std::vector<DType> feed_types, std::vector<std::vector<int>> needs);

  void GetArg(int index, CancellationManager* cancellation, std::function<void(StatusOr<Tensor>)> done) override;
  void PutRet(int index, StatusOr<Tensor> value) override;

  // One call: supplies the feeds and calls `done` when the fetches are available. INVALID_ARGUMENT if a name was not
  // declared or is used a second time, or if a fetch depends on a feed that has not been supplied.
  void Call(std::span<const Feed> feeds, std::span<const std::string> fetches, Session::RunDone done);
  // Must be called when the step has ended. Waiting callers receive its status.
  void StepEnded(const Status& status);
  // True once every feed was supplied and every fetch was requested.
  bool complete() const;
  CancellationManager* cancellation() { return &cancellation_; }

 private:
  struct Request {
    std::vector<int> fetches;
    Session::RunDone done;
  };
  // A node of the step that waits for its feed.
  struct ArgWaiter {
    std::function<void(StatusOr<Tensor>)> done;  // null: no node waits
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token token = CancellationManager::kNoToken;
  };
  using Answers = std::vector<std::function<void()>>;
  // Removes the waiter of a feed, if there is one, and adds an answer that resumes it.
  void Answer(int index, StatusOr<Tensor> value, Answers* answers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CancelArg(int index, const Status& reason);
  Status Check(std::span<const Feed> feeds, std::span<const std::string> fetches, std::vector<int>* feed_indices,
               std::vector<int>* fetch_indices) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CollectAnswers(Answers* answers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsComplete() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const StepSignature signature_;
  const std::vector<DType> feed_types_;
  const std::vector<std::vector<int>> needs_;
  CancellationManager cancellation_;
  mutable absl::Mutex mu_;
  std::vector<std::optional<Tensor>> args_ ABSL_GUARDED_BY(mu_);
  std::vector<ArgWaiter> arg_waiters_ ABSL_GUARDED_BY(mu_);
  std::vector<std::optional<StatusOr<Tensor>>> rets_ ABSL_GUARDED_BY(mu_);
  std::vector<bool> fetched_ ABSL_GUARDED_BY(mu_);
  std::vector<Request> requests_ ABSL_GUARDED_BY(mu_);
  std::optional<Status> ended_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_RUNTIME_PARTIAL_RUN_H_
