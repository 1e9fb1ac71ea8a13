// Environment: what all sessions of a process (or of a server) share: known operations, kernels, devices and threads.
#ifndef WEIR_RUNTIME_ENVIRONMENT_H_
#define WEIR_RUNTIME_ENVIRONMENT_H_

#include <memory>
#include <string_view>

#include "weir/base/thread_pool.h"
#include "weir/framework/device.h"
#include "weir/framework/kernel_registry.h"
#include "weir/framework/op_registry.h"
#include "weir/graph/function_library.h"
#include "weir/passes/device_rewrites.h"

namespace weir {

class SessionConnector;

struct Environment {
  OpRegistry ops;
  KernelRegistry kernels;
  DeviceSet devices;
  DeviceRewrites rewrites;                         // by type of device
  FunctionLibrary::Differentiator differentiator;  // of the sessions' functions; may be empty
  std::string task_name = "/job:localhost/replica:0/task:0";
  bool deterministic = false;                   // every session is (session.h)
  std::shared_ptr<SessionConnector> connector;  // for sessions of other processes (session.h); null: there are none

  Environment() = default;
  // Ends what resources do in threads of their own before anything that they use goes.
  ~Environment();

  // The pools of sessions that do not ask for their own, made at first use and sized by the first asker. `threads` 0:
  // one per core.
  ThreadPool* InterOpPool(int threads);
  ThreadPool* IntraOpPool(int threads);

 private:
  absl::Mutex mu_;
  std::unique_ptr<ThreadPool> inter_op_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<ThreadPool> intra_op_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_RUNTIME_ENVIRONMENT_H_
