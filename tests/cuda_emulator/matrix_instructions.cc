// ldmatrix, mma and asynchronous copies into shared memory.
#include "handlers.h"
#include "warp_operations.h"

namespace cuda_emulator {

void PerformMatrixOperation(Thread*, uint32_t) {}

std::span<const OpcodeEntry> MatrixOpcodes() { return {}; }

}  // namespace cuda_emulator
