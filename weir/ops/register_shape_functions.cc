#include "weir/ops/shape_tools.h"

namespace weir {

void RegisterDataShapes(OpRegistry& registry);  // data/data_shapes.cc

void RegisterBuiltinShapeFunctions(OpRegistry& registry) {
  RegisterArrayShapes(registry);
  RegisterArrayIndexShapes(registry);
  RegisterArrayBlockShapes(registry);
  RegisterMathShapes(registry);
  RegisterControlFlowShapes(registry);
  RegisterStateShapes(registry);
  RegisterQueueShapes(registry);
  RegisterNnShapes(registry);
  RegisterRandomShapes(registry);
  RegisterTrainShapes(registry);
  RegisterSparseShapes(registry);
  RegisterStringShapes(registry);
  RegisterLinalgShapes(registry);
  RegisterExtendedNnShapes(registry);
  RegisterImageShapes(registry);
  RegisterIoShapes(registry);
  RegisterTableShapes(registry);
  RegisterAudioShapes(registry);
  RegisterCollectiveShapes(registry);
  RegisterDataShapes(registry);
}

}  // namespace weir
