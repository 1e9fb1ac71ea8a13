// What operations share that draw `shape` samples for each element of a parameter tensor.
#ifndef WEIR_OPS_RANDOM_SAMPLE_LOOP_H_
#define WEIR_OPS_RANDOM_SAMPLE_LOOP_H_

#include "absl/functional/function_ref.h"
#include "weir/ops/random/philox_source.h"

namespace weir::random {

struct SampleLoop {
  Tensor* output = nullptr;  // shape of the samples, then that of the parameters
  int64_t num_parameters = 0;
  int64_t num_samples = 0;  // for each parameter
  Philox philox;

  // Calls `draw(parameter, stream, position of the result)` for every output. Each has a stream of its own, so the
  // results do not depend on how they are split over threads.
  void Run(KernelContext& ctx, double cost_ns, absl::FunctionRef<void(int64_t, Philox, int64_t)> draw) const {
    ctx.ParallelFor(num_parameters * num_samples, cost_ns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Philox own = philox;
        own.Skip(static_cast<uint64_t>(i) * kBlocksPerOutput);
        int64_t parameter = i / num_samples;
        draw(parameter, own, i % num_samples * num_parameters + parameter);
      }
    });
  }
};

// Reads the shape from input 0, allocates output 0 and reserves the stream. `shape_is_whole`: the shape is that of the
// output and ends with that of the parameters, as stateless operations have it.
StatusOr<SampleLoop> MakeSampleLoop(KernelContext& ctx, const Tensor& parameters, bool shape_is_whole,
                                    PhiloxSource& source);

}  // namespace weir::random

#endif  // WEIR_OPS_RANDOM_SAMPLE_LOOP_H_
