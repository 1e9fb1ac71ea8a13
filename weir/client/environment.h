// An Environment with everything that is linked in: operations, kernels and this machine's devices.
#ifndef WEIR_CLIENT_ENVIRONMENT_H_
#define WEIR_CLIENT_ENVIRONMENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/base/status.h"
#include "weir/client/gpu_devices.h"
#include "weir/runtime/environment.h"

namespace WEIR_PUBLIC weir {

struct EnvironmentOptions {
  std::string task_name = "/job:localhost/replica:0/task:0";  // what the devices' names begin with
  int num_cpu_devices = 1;
  std::vector<std::string> libraries;  // files of operations, kernels and devices to load (load_library.h)
  std::string file_root;       // graphs may touch files below this folder only, in the whole process; empty: any
  int64_t memory_limit = 0;    // bytes that the host's tensors may take together, in the whole process; 0: any
  GpuOptions gpu;              // which GPUs to use, and how
  bool deterministic = false;  // what steps compute never depends on the number of threads
};

StatusOr<std::shared_ptr<Environment>> MakeEnvironment(const EnvironmentOptions& options = {});
// One of default options, made at first use and shared by the process. Its GPUs start with the first session or
// operation, as that session's options say.
std::shared_ptr<Environment> DefaultEnvironment();

}  // namespace weir

#endif  // WEIR_CLIENT_ENVIRONMENT_H_
