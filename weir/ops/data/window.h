// A window: a dataset of elements in memory. It can be written into a checkpoint, where the position of a walk over
// windows needs it.
#ifndef WEIR_OPS_DATA_WINDOW_H_
#define WEIR_OPS_DATA_WINDOW_H_

#include <vector>

#include "weir/ops/data/dataset.h"

namespace weir {

DatasetPtr MakeWindow(ElementSpec spec, std::vector<Element> elements);
void RegisterWindowDecoder();

}  // namespace weir

#endif  // WEIR_OPS_DATA_WINDOW_H_
