// Array operations of GPUs that the host's kernels do: those that look at shapes only, and those that only move
// elements.
#include "weir/ops/cuda/register.h"

namespace weir::cuda {

void RegisterPortableArrayKernels(GpuRegistry& registry) {
  // Shapes, and the same memory under another shape.
  for (const char* op : {"Bitcast", "DebugGradientIdentity", "EnsureShape", "ExpandDims", "PlaceholderWithDefault",
                         "Rank", "Reshape", "Shape", "ShapeN", "Size", "Snapshot", "Squeeze"}) {
    registry.AddMoving(op);
  }
  for (const char* op : {"BatchToSpace",
                         "BatchToSpaceND",
                         "BroadcastTo",
                         "Concat",
                         "ConcatV2",
                         "DepthToSpace",
                         "Diag",
                         "DiagPart",
                         "Empty",
                         "Fill",
                         "Pack",
                         "Pad",
                         "PadV2",
                         "ParallelConcat",
                         "Reverse",
                         "ReverseV2",
                         "Roll",
                         "Slice",
                         "SpaceToBatch",
                         "SpaceToBatchND",
                         "SpaceToDepth",
                         "Split",
                         "SplitV",
                         "StridedSlice",
                         "StridedSliceGrad",
                         "TensorStridedSliceUpdate",
                         "Tile",
                         "Transpose",
                         "Unpack"}) {
    registry.AddPortable(op);
  }
  for (const char* op : {"BatchMatrixDiag", "BatchMatrixDiagPart", "BatchMatrixSetDiag", "DeepCopy", "MatrixDiag",
                         "MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3", "MatrixDiagV2", "MatrixDiagV3",
                         "MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3"}) {
    registry.AddPortable(op);
  }
  registry.AddPortable("ReverseSequence", {"seq_lengths"});
}

}  // namespace weir::cuda
