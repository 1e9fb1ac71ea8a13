#include "weir/runtime/unfinished_runs.h"

#include "absl/synchronization/notification.h"

namespace weir {
namespace {

// A program that never reads a result must not exhaust the memory.
constexpr size_t kMostRuns = 1024;

}  // namespace

Status Await(DeviceRun& run) {
  absl::Notification ended;
  Status status;
  run.WhenDone([&](Status end) {
    status = std::move(end);
    ended.Notify();
  });
  ended.WaitForNotification();
  return status;
}

void UnfinishedRuns::Keep(Device& device, std::shared_ptr<DeviceRun> run, std::string_view op) {
  if (!run->may_fail_late()) return;
  std::vector<Run> full;
  {
    absl::MutexLock lock(&mu_);
    std::vector<Run>& runs = runs_[&device];
    runs.push_back({std::move(run), std::string(op)});
    if (runs.size() < kMostRuns) return;
    full.swap(runs);
  }
  Await(*full.back().run).IgnoreError();  // the other runs were enqueued before it
  std::erase_if(full, [](const Run& run) { return run.run->SoFar().ok(); });
  if (full.empty()) return;
  absl::MutexLock lock(&mu_);
  std::vector<Run>& runs = runs_[&device];
  runs.insert(runs.begin(), std::make_move_iterator(full.begin()), std::make_move_iterator(full.end()));
}

std::vector<UnfinishedRuns::Run> UnfinishedRuns::Take(const Device& device) {
  absl::MutexLock lock(&mu_);
  auto found = runs_.find(&device);
  return found == runs_.end() ? std::vector<Run>() : std::exchange(found->second, {});
}

Status UnfinishedRuns::FirstError(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    Status status = run.run->SoFar();
    if (!status.ok()) return run.op.empty() ? status : Annotate(status, "", Cat(" [Op:", run.op, "]"));
  }
  return OkStatus();
}

}  // namespace weir
