// cuDNN's engines for a graph: which there are, what they promise, and how they can be set.
#ifndef WEIR_DEVICE_CUDA_DNN_ENGINES_H_
#define WEIR_DEVICE_CUDA_DNN_ENGINES_H_

#include <vector>

#include "weir/device/cuda/dnn_graph.h"

namespace weir::cuda {

// Up to `most` engines that are allowed and take a finalized graph of operations, the likely fastest first. One that
// has the knobs of `settings` comes once for each of them, not as the heuristics would set it.
StatusOr<std::vector<DnnEngine>> FindEngines(const CudnnFunctions& dnn, CudnnHandle handle, const DnnDescriptor& graph,
                                             const std::vector<DnnSetting>& settings, const DnnEngineLimits& limits,
                                             size_t most);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_DNN_ENGINES_H_
