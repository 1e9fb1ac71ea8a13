// Command line flags that select GPUs and their options.
#ifndef WEIR_CLI_GPU_FLAGS_H_
#define WEIR_CLI_GPU_FLAGS_H_

#include <CLI/CLI.hpp>

#include "weir/runtime/gpu_options.h"

namespace weir {

// `options` must live as long as the command.
void AddGpuFlags(CLI::App* command, GpuOptions* options);

}  // namespace weir

#endif  // WEIR_CLI_GPU_FLAGS_H_
