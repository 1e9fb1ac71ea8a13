// Single operations of the benchmark, each a graph of placeholders and one node.
#ifndef BENCHMARKS_MODELS_OPS_H_
#define BENCHMARKS_MODELS_OPS_H_

#include <string>
#include <string_view>

#include "weir/cli/bench_library.h"

namespace weir::bench {

// As Library::MeasureOps.
Status MeasureOps(std::string_view filter, double seconds, const std::string& folder, Measure measure);

}  // namespace weir::bench

#endif  // BENCHMARKS_MODELS_OPS_H_
