// Sums of floats that are sent as int8: blocks of 256 numbers share a scale. The rounding error of a number is
// remembered and added to it in the next sum (error feedback), so that nothing is lost over many steps.
#ifndef WEIR_COLLECTIVE_QUANTIZED_REDUCE_H_
#define WEIR_COLLECTIVE_QUANTIZED_REDUCE_H_

#include <span>

#include "weir/collective/process_group.h"

namespace weir::collective {

// Works in place; results are equal bit for bit on every rank. `residual` has the length of `values`: the errors that
// earlier sums of these numbers left on this rank. A block that contains a NaN or infinity becomes NaN. Only for sums
// and averages.
Status ReduceQuantized(ProcessGroup& group, const ReduceOptions& options, std::span<float> values,
                       std::span<float> residual);

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_QUANTIZED_REDUCE_H_
