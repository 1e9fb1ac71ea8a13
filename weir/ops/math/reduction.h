// Reductions over some axes of a tensor: one driver, and loops for each operation and type.
#ifndef WEIR_OPS_MATH_REDUCTION_H_
#define WEIR_OPS_MATH_REDUCTION_H_

#include "absl/container/inlined_vector.h"
#include "weir/framework/kernel_registry.h"

namespace weir {

// What a reduction does to accumulators. An accumulator may be wider than an element.
struct ReductionLoops {
  DType dtype;
  size_t accumulator_size;
  void (*start)(void* accumulators, int64_t n);
  void (*take_run)(const void* x, int64_t n, void* accumulator);                  // n elements into one accumulator
  void (*take_rows)(const void* x, int64_t n, void* accumulators);                // element i into accumulator i
  void (*merge)(const void* other, void* accumulator);                            // one accumulator into another
  void (*finish)(const void* accumulators, void* out, int64_t n, int64_t count);  // of `count` elements each
  bool keeps_single;  // the reduction of one element is that element
  // If there is one: rows of at most `kLongestRow` elements that lie one behind the other, from start to finish.
  void (*whole_rows)(const void* x, int64_t rows, int64_t n, void* out);
  static constexpr int64_t kLongestRow = 4096;
};

void RegisterReduction(KernelRegistry& registry, std::string_view op, std::span<const ReductionLoops> table);

// Which axes of a tensor are reduced.
using AxisMask = absl::InlinedVector<bool, 8>;

// Axes from a tensor of integers, brought into [0, rank); duplicates and strangers are INVALID_ARGUMENT.
StatusOr<AxisMask> ReducedAxes(const Tensor& axes, int rank);

}  // namespace weir

#endif  // WEIR_OPS_MATH_REDUCTION_H_
