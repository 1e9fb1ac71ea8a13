// An Environment with everything that is linked in: operations, kernels and the devices of this machine.
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
  std::string task_name = "/job:localhost/replica:0/task:0";  // the prefix of the devices' names
  int num_cpu_devices = 1;
  std::vector<std::string> libraries;  // files of operations, kernels and devices to load (load_library.h)
  std::string file_root;               // if set, graphs of the whole process may only access files in this folder
  int64_t memory_limit = 0;            // limit for all host tensors of the process, in bytes; 0: none
  GpuOptions gpu;                      // which GPUs to use, and how
  bool deterministic = false;          // results of steps never depend on the number of threads
};

StatusOr<std::shared_ptr<Environment>> MakeEnvironment(const EnvironmentOptions& options = {});
// An environment with default options, shared by the process. Its GPUs are started by the first session or operation,
// with that session's options.
std::shared_ptr<Environment> DefaultEnvironment();

}  // namespace weir

#endif  // WEIR_CLIENT_ENVIRONMENT_H_
