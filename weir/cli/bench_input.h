// The workloads of input and checkpoints: reading, parsing and batching records; saving and restoring variables.
#ifndef WEIR_CLI_BENCH_INPUT_H_
#define WEIR_CLI_BENCH_INPUT_H_

#include <functional>
#include <memory>
#include <string_view>

#include "weir/runtime/environment.h"

namespace weir {

bool IsInputWorkload(std::string_view name);
// Each call is one repetition: an epoch over 10,000 records, or one save or restore of 500 MB. The files are created in
// the system's temporary folder and removed with the function.
StatusOr<std::function<Status()>> PrepareInputWorkload(std::shared_ptr<Environment> environment, std::string_view name);

}  // namespace weir

#endif  // WEIR_CLI_BENCH_INPUT_H_
