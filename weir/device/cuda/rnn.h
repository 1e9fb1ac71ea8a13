// Recurrent layers by cuDNN.
#ifndef WEIR_DEVICE_CUDA_RNN_H_
#define WEIR_DEVICE_CUDA_RNN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/device/cuda/abi/cudnn_rnn_abi.h"
#include "weir/device/cuda/launch.h"

namespace weir::cuda {

struct RecurrentLayers {
  CudnnRnnMode mode = kCudnnLstm;
  DType dtype = DType::kFloat;  // half, bfloat16, float or double
  bool bidirectional = false, skips_input = false;
  int64_t input_size = 0, hidden = 0, layers = 1;
  float dropout = 0;
  uint64_t seed = 0;

  int directions() const { return bidirectional ? 2 : 1; }
  // Linear layers of a cell: half of them take the input, the others the state.
  int linear_layers() const { return mode == kCudnnLstm ? 8 : mode == kCudnnGru ? 6 : 2; }
};

// The data of a call: x [time, batch, input_size] or, if not time-major, [batch, time, input_size].
struct RecurrentData {
  bool time_major = true;
  int64_t time = 0, batch = 0;
  std::vector<int> lengths;  // of each sequence, `batch` of them
};

// Where a matrix [rows, columns] and a bias [rows] are in the weights, in elements; -1 for one that is not there.
struct RecurrentWeight {
  int64_t matrix = -1, bias = -1, rows = 0, columns = 0;
};

// The random states of dropout between layers; they go on from call to call. Thread-safe.
class RecurrentDropout {
 public:
  ~RecurrentDropout();
  StatusOr<CudnnDropoutDesc> Get(KernelContext& ctx, CudnnHandle handle, float dropout, uint64_t seed);

 private:
  absl::Mutex mu_;
  CudnnDropoutDesc desc_ ABSL_GUARDED_BY(mu_) = nullptr;
  Tensor states_ ABSL_GUARDED_BY(mu_);
};

// Bytes of the weights.
StatusOr<int64_t> RecurrentWeightBytes(KernelContext& ctx, const RecurrentLayers& layers, RecurrentDropout& dropout);
// All linear layers of all pseudo layers (a direction of a layer each), pseudo layer by pseudo layer.
StatusOr<std::vector<RecurrentWeight>> RecurrentWeights(KernelContext& ctx, const RecurrentLayers& layers,
                                                        RecurrentDropout& dropout, DeviceAddress weights);

struct RecurrentTensors {
  DeviceAddress x = 0, h = 0, c = 0, weights = 0;  // c: of LSTMs
  DeviceAddress y = 0, last_h = 0, last_c = 0;
  DeviceAddress dy = 0, last_dh = 0, last_dc = 0;      // backward: given
  DeviceAddress dx = 0, dh = 0, dc = 0, dweights = 0;  // backward: made
};

// Enqueues the forward pass. Returns what the way back needs; none if it is not training.
StatusOr<Tensor> RunRecurrent(KernelContext& ctx, const RecurrentLayers& layers, const RecurrentData& data,
                              RecurrentDropout& dropout, bool training, const RecurrentTensors& tensors);
// `reserve` is what RunRecurrent returned; it is used up.
Status RunRecurrentBackward(KernelContext& ctx, const RecurrentLayers& layers, const RecurrentData& data,
                            RecurrentDropout& dropout, const RecurrentTensors& tensors, const Tensor& reserve);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_RNN_H_
