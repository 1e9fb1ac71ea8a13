// Containers of tensors in a GPU's memory: lists, TensorArrays, stacks, staging areas, optionals. They are objects of
// the host; the host's kernels hand the tensors in and out, and what is done to the elements the GPU does.
#include <string>

#include "weir/base/strings.h"
#include "weir/ops/cuda/register.h"

namespace weir::cuda {

void RegisterContainerKernels(GpuRegistry& registry) {
  for (const char* op : {"TensorListConcat",       "TensorListConcatLists",   "TensorListConcatV2",
                         "TensorListElementShape", "TensorListFromTensor",    "TensorListGather",
                         "TensorListGetItem",      "TensorListLength",        "TensorListPopBack",
                         "TensorListPushBack",     "TensorListPushBackBatch", "TensorListReserve",
                         "TensorListResize",       "TensorListScatter",       "TensorListScatterIntoExistingList",
                         "TensorListScatterV2",    "TensorListSetItem",       "TensorListSplit",
                         "TensorListStack",        "EmptyTensorList",         "OptionalFromValue",
                         "OptionalGetValue",       "OptionalHasValue",        "OptionalNone"}) {
    registry.AddContainer(op);
  }
  for (std::string version : {"", "V2", "V3"}) {
    for (const char* what : {"", "Concat", "Gather", "Grad", "Read", "Scatter", "Size", "Split", "Write"}) {
      registry.AddContainer(Cat("TensorArray", what, version));
    }
  }
  for (const char* op : {"TensorArrayGradWithShape", "TensorArrayPack", "TensorArrayUnpack", "StackPop", "StackPopV2",
                         "StackPush", "StackPushV2"}) {
    registry.AddContainer(op);
  }
  for (const char* op : {"Stage", "StagePeek", "Unstage", "MapPeek", "MapStage", "MapUnstage", "MapUnstageNoKey",
                         "OrderedMapPeek", "OrderedMapStage", "OrderedMapUnstage", "OrderedMapUnstageNoKey",
                         "StageClear", "MapClear", "OrderedMapClear"}) {
    registry.AddMoving(op);
  }
  registry.AddVariants("AddN");
  registry.AddVariants("ZerosLike");
}

}  // namespace weir::cuda
