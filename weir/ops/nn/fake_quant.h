// What all kernels of FakeQuantWithMinMaxArgs, ...Vars, ...VarsPerChannel and their gradients read first.
#ifndef WEIR_OPS_NN_FAKE_QUANT_H_
#define WEIR_OPS_NN_FAKE_QUANT_H_

#include <vector>

#include "weir/framework/kernel.h"

namespace weir::nn {

// The range moved a little, so that zero is one of the levels.
struct FakeQuantLevels {
  float low = 0, high = 0, scale = 0;
  int32_t is_empty = 0;  // 1: a range from 0 to 0, everything is zero
  FakeQuantLevels(float min, float max, int lowest, int highest);
};

struct FakeQuant {
  enum class Range { kArgs, kVars, kPerChannel };
  Range range = Range::kArgs;
  bool is_gradient = false;
  int lowest = 0, highest = 255;
  float min = 0, max = 0;  // of kArgs

  static StatusOr<FakeQuant> Read(const KernelInit& init);
  int x_input() const { return is_gradient ? 1 : 0; }
  // One for each channel, or for all; checks the shapes of all inputs. The range is in the host's memory.
  StatusOr<std::vector<FakeQuantLevels>> ReadLevels(const KernelContext& ctx) const;
};

}  // namespace weir::nn

#endif  // WEIR_OPS_NN_FAKE_QUANT_H_
