// The loops of elementwise operations on floats, by name, for a kernel that runs several of them over one block of
// memory (ops/math/fused_elementwise_cpu.cc). Registering an operation's kernels offers its loop here.
#ifndef WEIR_DEVICE_CPU_FLOAT_LOOPS_H_
#define WEIR_DEVICE_CPU_FLOAT_LOOPS_H_

#include <optional>
#include <string_view>

#include "weir/device/cpu/elementwise.h"

namespace weir {

// Takes n numbers, gives one or as many.
using RowLoop = void (*)(const float* x, int64_t n, float* out);

// One of the loops is set; it takes floats and gives floats.
struct FloatLoop {
  UnaryLoop unary = nullptr;
  BinaryLoop binary = nullptr;
  RowLoop row = nullptr;  // along the last dimension
  double cost_ns = 0.5;
  bool broadcasts = true;   // false: the operands must have as many elements, and the result has the first one's shape
  bool same_shape = false;  // the operands must have one shape
  bool reduces = false;     // a row becomes one number
};

// Thread-safe. Offering an operation again changes nothing.
void OfferFloatLoop(std::string_view op, const FloatLoop& loop);
std::optional<FloatLoop> FindFloatLoop(std::string_view op);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_FLOAT_LOOPS_H_
