// The arithmetic of cuDNN's recurrent layers, as its documentation has it, in double precision.
#ifndef TESTS_CUDA_EMULATOR_LIBRARIES_CUDNN_RNN_H_
#define TESTS_CUDA_EMULATOR_LIBRARIES_CUDNN_RNN_H_

#include <cstdint>
#include <vector>

#include "tests/cuda_emulator/libraries/emulator.h"
#include "weir/device/cuda/abi/cudnn_rnn_abi.h"

namespace weir::cuda {

struct CudnnDropoutDescOpaque {
  float dropout = 0;
  unsigned long long seed = 0;
};
struct CudnnTensorDescOpaque {
  CudnnDataType type = kCudnnFloat;
  std::vector<int> dims, strides;
};
struct CudnnRnnDescOpaque {
  bool is_set = false;
  CudnnRnnMode mode = kCudnnLstm;
  bool has_bias = true, bidirectional = false, skips_input = false, pads = false;
  CudnnDataType type = kCudnnFloat;
  int input_size = 0, hidden = 0, layers = 0;
  float dropout = 0;
  unsigned long long seed = 0;

  int gates() const { return mode == kCudnnLstm ? 4 : mode == kCudnnGru ? 3 : 1; }
  int directions() const { return bidirectional ? 2 : 1; }
  int pseudo_layers() const { return layers * directions(); }
  int InputSize(int layer) const { return layer == 0 ? input_size : hidden * directions(); }
};
struct CudnnRnnDataDescOpaque {
  CudnnDataType type = kCudnnFloat;
  CudnnRnnDataLayout layout = kCudnnSequenceMajorUnpacked;
  int time = 0, batch = 0, size = 0;
  std::vector<int> lengths;

  int64_t Offset(int64_t t, int64_t b) const {
    return (layout == kCudnnBatchMajorUnpacked ? b * time + t : t * batch + b) * size;
  }
};

}  // namespace weir::cuda

namespace weir::cuda_emulator {

// Where the matrices and biases of a linear layer lie, in elements of the weights. A matrix is [hidden, columns].
struct RnnWeight {
  int64_t matrix = -1, bias = -1;
  int64_t columns = 0;
};
RnnWeight FindRnnWeight(const cuda::CudnnRnnDescOpaque& rnn, int pseudo_layer, int linear_layer);
int64_t CountRnnWeights(const cuda::CudnnRnnDescOpaque& rnn);
// Numbers that a training step keeps for the way back.
int64_t CountRnnReserve(const cuda::CudnnRnnDescOpaque& rnn, int64_t time, int64_t batch);

// One call, with pointers to the host's memory. Those that are null are zeros, or are not wanted.
struct RnnCall {
  cuda::CudnnRnnDescOpaque rnn;
  cuda::CudnnRnnDataDescOpaque x_desc, y_desc;
  Element element = Element::kFloat;
  bool training = false;
  const void *x = nullptr, *hx = nullptr, *cx = nullptr, *weights = nullptr;
  void *y = nullptr, *hy = nullptr, *cy = nullptr;
  double* reserve = nullptr;  // of the call's own if it does not train
  // Backward.
  const void *dy = nullptr, *dhy = nullptr, *dcy = nullptr;
  void *dx = nullptr, *dhx = nullptr, *dcx = nullptr, *dweights = nullptr;
};
void RunRnnForward(const RnnCall& call);
void RunRnnBackwardData(const RnnCall& call);
// Adds to dweights.
void RunRnnBackwardWeights(const RnnCall& call);

}  // namespace weir::cuda_emulator

#endif  // TESTS_CUDA_EMULATOR_LIBRARIES_CUDNN_RNN_H_
