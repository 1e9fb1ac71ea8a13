// Environment: the registered ops and kernels, the devices and the thread pools that all sessions of a process (or of a
// server) share.
#ifndef WEIR_RUNTIME_ENVIRONMENT_H_
#define WEIR_RUNTIME_ENVIRONMENT_H_

#include <functional>
#include <memory>
#include <string_view>

#include "weir/base/export.h"
#include "weir/base/thread_pool.h"
#include "weir/framework/device.h"
#include "weir/framework/kernel_registry.h"
#include "weir/framework/op_registry.h"
#include "weir/graph/function_library.h"
#include "weir/passes/device_rewrites.h"
#include "weir/runtime/gpu_options.h"

namespace WEIR_PUBLIC weir {

class SessionConnector;

struct Environment {
  OpRegistry ops;
  KernelRegistry kernels;
  DeviceSet devices;
  DeviceRewrites rewrites;                         // by device type
  FunctionLibrary::Differentiator differentiator;  // for the functions of sessions; may be empty
  std::string task_name = "/job:localhost/replica:0/task:0";
  bool deterministic = false;                   // makes every session deterministic (session.h)
  std::shared_ptr<SessionConnector> connector;  // creates sessions in other processes (session.h); may be null

  Environment() = default;
  // Stops the background threads of resources before destroying anything that these threads use.
  ~Environment();

  // GPUs that `start` adds, once: when StartGpus is called, or with default options when a caller first asks for
  // devices other than the host. REQUIRES: the environment is not in use yet, and no session reads `devices` during the
  // call.
  using GpuStarter = std::function<Status(const GpuOptions&)>;
  void DeferGpus(GpuStarter start);
  // Starts the GPUs; may be called again after an error. If they are running already, returns CheckSameGpus. OK for an
  // environment whose list of devices was complete from the beginning.
  Status StartGpus(const GpuOptions& options);
  // The options for GPUs that are started without StartGpus. FAILED_PRECONDITION if they have been started.
  Status SetGpuOptions(const GpuOptions& options);

  // The pools of sessions without pools of their own. The first call creates the pool and determines its size; 0
  // threads means one for each processor that the process may use. The pools end with the environment.
  ThreadPool* InterOpPool(int threads);
  ThreadPool* IntraOpPool(int threads);

 private:
  GpuStarter start_gpus_;  // empty if nothing is deferred
  absl::Mutex mu_;
  GpuOptions gpu_options_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<ThreadPool> inter_op_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<ThreadPool> intra_op_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_RUNTIME_ENVIRONMENT_H_
