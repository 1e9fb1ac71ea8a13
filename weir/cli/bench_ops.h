// Single operations of the benchmark, each a graph of placeholders and one node.
#ifndef WEIR_CLI_BENCH_OPS_H_
#define WEIR_CLI_BENCH_OPS_H_

#include <string>
#include <string_view>
#include <vector>

#include "weir/runtime/session.h"

namespace weir::bench {

// Prints a line for every operation whose name contains `filter`: its name and the least milliseconds of a run. With a
// folder, also writes the graphs there as NAME.pb, for another program to run: node `y` is the operation, floats are
// fed to placeholders `x0`, `x1` ..., integers below N to `i0_below_N`.
Status MeasureOps(std::string_view filter, double seconds, const std::string& folder);

}  // namespace weir::bench

#endif  // WEIR_CLI_BENCH_OPS_H_
