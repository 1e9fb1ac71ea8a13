// The operations of a whole warp. Their instruction is followed by an element with the slot of the second destination
// (d), that of the mask (a), and the operation (immediate).
#ifndef WEIR_TESTS_CUDA_EMULATOR_WARP_OPERATIONS_H_
#define WEIR_TESTS_CUDA_EMULATOR_WARP_OPERATIONS_H_

#include "decoder.h"
#include "machine.h"

namespace cuda_emulator {

enum class WarpOperation : uint8_t {
  kBarrier,
  kShuffleUp,
  kShuffleDown,
  kShuffleXor,
  kShuffleIndex,
  kVoteAll,
  kVoteAny,
  kVoteUniform,
  kVoteBallot,
  kMatchAny32,
  kMatchAny64,
  kMatchAll32,
  kMatchAll64,
  kElect,
  kReduceAdd,
  kReduceMinUnsigned,
  kReduceMaxUnsigned,
  kReduceMinSigned,
  kReduceMaxSigned,
  kReduceAnd,
  kReduceOr,
  kReduceXor,
  kMatrix
};

// Matrix operations of a warp (matrix_instructions.cc); `operation` describes one and is kept by the function.
void EmitMatrixOperation(Decoder& decoder, const void* operation);
void PerformMatrixOperation(Thread* lanes, uint32_t mask);

}  // namespace cuda_emulator

#endif  // WEIR_TESTS_CUDA_EMULATOR_WARP_OPERATIONS_H_
