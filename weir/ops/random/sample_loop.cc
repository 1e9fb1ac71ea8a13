#include "weir/ops/random/sample_loop.h"

#include "weir/device/cpu/index_input.h"

namespace weir::random {

StatusOr<SampleLoop> MakeSampleLoop(KernelContext& ctx, const Tensor& parameters, bool shape_is_whole,
                                    PhiloxSource& source) {
  WEIR_ASSIGN_OR_RETURN(Shape samples, ShapeInput(ctx.input(0), "shape"));
  if (shape_is_whole) {
    int rank = samples.rank() - parameters.rank();
    if (rank < 0 || samples.Slice(rank, samples.rank()) != parameters.shape()) {
      return InvalidArgument("Shape passed in must end with broadcasted shape.");
    }
    samples = samples.Slice(0, rank);
  }
  WEIR_ASSIGN_OR_RETURN(Shape shape, samples.Concat(parameters.shape()));
  SampleLoop loop;
  WEIR_ASSIGN_OR_RETURN(loop.output, ctx.AllocateOutput(0, shape));
  loop.num_parameters = parameters.num_elements();
  loop.num_samples = samples.num_elements();
  WEIR_ASSIGN_OR_RETURN(loop.philox,
                        source.Reserve(ctx, static_cast<uint64_t>(shape.num_elements()) * kBlocksPerOutput));
  return loop;
}

}  // namespace weir::random
