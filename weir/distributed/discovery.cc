#include <algorithm>
#include <set>

#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "weir/base/logging.h"
#include "weir/distributed/device_wire_internal.h"
#include "weir/distributed/discovery_internal.h"
#include "weir/proto/worker.pb.h"

namespace weir {
namespace {

constexpr absl::Duration kLogEvery = absl::Seconds(10);

class Discovery : public std::enable_shared_from_this<Discovery> {
 public:
  Discovery(const std::vector<std::shared_ptr<WorkerClient>>& tasks, absl::Time deadline,
            CancellationManager* cancellation, DiscoveryDone done)
      : tasks_(tasks),
        deadline_(deadline),
        cancellation_(cancellation),
        start_(absl::Now()),
        done_(std::move(done)),
        found_(tasks.size()),
        remaining_(tasks.size()) {}

  void Start() {
    if (tasks_.empty()) return done_(std::vector<FoundTask>());
    for (const auto& task : tasks_) silent_.insert(task->task());
    for (size_t i = 0; i < tasks_.size(); ++i) Ask(i);
  }

 private:
  // Makes one attempt; a task that does not answer yet is asked again.
  void Ask(size_t index) {
    auto response = std::make_shared<GetStatusResponse>();
    WorkerClient::Options options;
    options.deadline = std::min(deadline_, absl::Now() + kLogEvery);
    options.wait_for_ready = true;
    options.cancellation = cancellation_;
    tasks_[index]->Call(WorkerMethod::kGetStatus, GetStatusRequest(), response, options,
                        [self = shared_from_this(), index, response](const Status& status) {
                          self->Answered(index, status, *response);
                        });
  }

  void Answered(size_t index, const Status& status, const GetStatusResponse& response) {
    if (status.ok()) {
      found_[index].task = tasks_[index]->task();
      for (const DeviceAttributes& device : response.device_attributes()) {
        found_[index].devices.push_back(FromProto(device));
      }
      return End(index, OkStatus());
    }
    if (cancellation_ != nullptr && cancellation_->cancelled()) return End(index, cancellation_->reason());
    const bool silent = absl::IsDeadlineExceeded(status) || absl::IsUnavailable(status);
    if (!silent) return End(index, Annotate(status, Cat("Asking ", tasks_[index]->task(), " for its devices: ")));
    if (absl::Now() >= deadline_) {
      return End(index, DeadlineExceeded("No answer within ", absl::FormatDuration(absl::Now() - start_),
                                         " from these tasks of the cluster: ", Silent()));
    }
    WEIR_LOG(INFO) << "still waiting for an answer from " << tasks_[index]->task() << " at " << tasks_[index]->address()
                   << " (" << absl::FormatDuration(absl::Now() - start_) << ")";
    Ask(index);
  }

  std::string Silent() {
    absl::MutexLock lock(&mu_);
    return absl::StrJoin(silent_, ", ");
  }

  void End(size_t index, const Status& status) {
    {
      absl::MutexLock lock(&mu_);
      if (status.ok()) silent_.erase(tasks_[index]->task());
      if (status_.ok()) status_ = status;
      if (--remaining_ > 0) return;
    }
    if (!status_.ok()) return done_(status_);
    done_(std::move(found_));
  }

  const std::vector<std::shared_ptr<WorkerClient>> tasks_;
  const absl::Time deadline_;
  CancellationManager* const cancellation_;
  const absl::Time start_;
  const DiscoveryDone done_;
  std::vector<FoundTask> found_;
  absl::Mutex mu_;
  std::set<std::string> silent_;
  size_t remaining_;
  Status status_;
};

}  // namespace

StatusOr<bool> IsAllowed(const std::string& task, const std::vector<std::string>& filters) {
  if (filters.empty()) return true;
  WEIR_ASSIGN_OR_RETURN(DeviceName name, DeviceName::Parse(task));
  for (const std::string& filter : filters) {
    WEIR_ASSIGN_OR_RETURN(DeviceName pattern, DeviceName::Parse(filter));
    // A filter may name devices, but only its task counts.
    pattern.type.clear();
    pattern.id = -1;
    if (name.Matches(pattern)) return true;
  }
  return false;
}

StatusOr<std::vector<std::shared_ptr<WorkerClient>>> FilterTasks(const std::vector<std::shared_ptr<WorkerClient>>& all,
                                                                 const std::vector<std::string>& filters) {
  std::vector<std::shared_ptr<WorkerClient>> out;
  for (const auto& task : all) {
    WEIR_ASSIGN_OR_RETURN(bool allowed, IsAllowed(task->task(), filters));
    if (allowed) out.push_back(task);
  }
  return out;
}

void DiscoverDevices(const std::vector<std::shared_ptr<WorkerClient>>& tasks, absl::Time deadline,
                     CancellationManager* cancellation, DiscoveryDone done) {
  std::make_shared<Discovery>(tasks, deadline, cancellation, std::move(done))->Start();
}

}  // namespace weir
