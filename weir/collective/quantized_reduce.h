// Sums of floats that travel as int8: blocks of 256 numbers share a scale. What a number loses by that is remembered,
// and added to it in the next sum (error feedback), so that over many steps nothing is lost.
#ifndef WEIR_COLLECTIVE_QUANTIZED_REDUCE_H_
#define WEIR_COLLECTIVE_QUANTIZED_REDUCE_H_

#include <span>

#include "weir/collective/process_group.h"

namespace weir::collective {

// In place; the same bits on every rank. `residual` is as long as `values`: what earlier sums of these numbers have
// lost on this rank. A block with a number that is not finite becomes NaN. Only sums and averages.
Status ReduceQuantized(ProcessGroup& group, const ReduceOptions& options, std::span<float> values,
                       std::span<float> residual);

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_QUANTIZED_REDUCE_H_
