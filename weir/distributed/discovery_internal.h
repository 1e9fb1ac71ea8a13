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

// Those of `all` that one of the filters ("/job:ps", "/job:worker/task:0") allows; no filter: all. INVALID_ARGUMENT for
// a filter that is no device name.
StatusOr<std::vector<std::shared_ptr<WorkerClient>>> FilterTasks(const std::vector<std::shared_ptr<WorkerClient>>& all,
                                                                 const std::vector<std::string>& filters);
// True if the filters allow a task, or there are none.
StatusOr<bool> IsAllowed(const std::string& task, const std::vector<std::string>& filters);

// Never blocks. Logs every ten seconds who is silent; at the deadline DEADLINE_EXCEEDED names them. `cancellation` must
// live until `done` is called, once, with the tasks in the order given.
using DiscoveryDone = std::function<void(StatusOr<std::vector<FoundTask>>)>;
void DiscoverDevices(const std::vector<std::shared_ptr<WorkerClient>>& tasks, absl::Time deadline,
                     CancellationManager* cancellation, DiscoveryDone done);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_DISCOVERY_INTERNAL_H_
