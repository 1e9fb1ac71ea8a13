// Discovery: asks tasks for their devices and waits until all have answered.
#ifndef WEIR_DISTRIBUTED_DISCOVERY_INTERNAL_H_
#define WEIR_DISTRIBUTED_DISCOVERY_INTERNAL_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "weir/base/cancellation.h"
#include "weir/distributed/worker_client_internal.h"
#include "weir/framework/device.h"

namespace weir {

struct FoundTask {
  std::string task;
  std::vector<DeviceInfo> devices;
};

// The tasks of `all` that match one of the filters ("/job:ps", "/job:worker/task:0"); all without filters.
// INVALID_ARGUMENT if a filter is not a device name.
StatusOr<std::vector<std::shared_ptr<WorkerClient>>> FilterTasks(const std::vector<std::shared_ptr<WorkerClient>>& all,
                                                                 const std::vector<std::string>& filters);
// True if the filters allow a task, or there are none.
StatusOr<bool> IsAllowed(const std::string& task, const std::vector<std::string>& filters);

// Never blocks. Every ten seconds it logs which tasks have not answered; after the deadline, DEADLINE_EXCEEDED names
// them. `done` is called once, with the tasks in the given order; `cancellation` must live until then.
using DiscoveryDone = std::function<void(StatusOr<std::vector<FoundTask>>)>;
void DiscoverDevices(const std::vector<std::shared_ptr<WorkerClient>>& tasks, absl::Time deadline,
                     CancellationManager* cancellation, DiscoveryDone done);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_DISCOVERY_INTERNAL_H_
