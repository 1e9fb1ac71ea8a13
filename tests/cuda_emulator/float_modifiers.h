// Rounding, flushing and saturation of floating-point instructions.
#ifndef WEIR_TESTS_CUDA_EMULATOR_FLOAT_MODIFIERS_H_
#define WEIR_TESTS_CUDA_EMULATOR_FLOAT_MODIFIERS_H_

#include "decoder.h"
#include "float16.h"

namespace cuda_emulator {

struct FloatModifiers {
  bool flush = false;     // .ftz: denormal numbers become zeros of their sign
  bool saturate = false;  // .sat: to [0, 1]
  bool rectify = false;   // .relu
  Rounding rounding = Rounding::kNearestEven;

  static FloatModifiers Of(const Statement& statement);
  bool IsPlain() const { return !flush && !saturate && !rectify && rounding == Rounding::kNearestEven; }
  int64_t ToImmediate() const { return flush | saturate << 1 | rectify << 2 | static_cast<int64_t>(rounding) << 3; }
  static FloatModifiers FromImmediate(int64_t bits) {
    return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, static_cast<Rounding>(bits >> 3 & 7)};
  }
};

bool DecodeHalf(Decoder& decoder, const Statement& statement);

}  // namespace cuda_emulator

#endif  // WEIR_TESTS_CUDA_EMULATOR_FLOAT_MODIFIERS_H_
