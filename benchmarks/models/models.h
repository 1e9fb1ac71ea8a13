// Networks that are trained or served, as the benchmark's sections `train` and `infer` define them.
#ifndef BENCHMARKS_MODELS_MODELS_H_
#define BENCHMARKS_MODELS_MODELS_H_

#include <memory>
#include <span>

#include "weir/cli/bench_library.h"

namespace weir::bench {

std::span<const ModelWorkload> ModelWorkloads();
// NOT_FOUND if it is none of these.
StatusOr<std::unique_ptr<ModelRunner>> MakeModelRunner(std::shared_ptr<Environment> environment,
                                                       const ModelWorkload& workload);

}  // namespace weir::bench

#endif  // BENCHMARKS_MODELS_MODELS_H_
