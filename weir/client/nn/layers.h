// The layers. Images are [batch, height, width, channels], sequences [batch, time, features]. Variables have the names
// and shapes of Keras: kernel, bias, gamma, beta, moving_mean ...
#ifndef WEIR_CLIENT_NN_LAYERS_H_
#define WEIR_CLIENT_NN_LAYERS_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/nn/layer.h"

namespace WEIR_PUBLIC weir {
namespace nn {

// One size for all dimensions, or one per dimension.
class Sizes {
 public:
  Sizes(int64_t all) : values_{all} {}
  Sizes(std::initializer_list<int64_t> each) : values_(each) {}
  // The sizes for this number of dimensions; an error is recorded in the scope.
  std::vector<int64_t> For(int dimensions, const Scope& scope) const;

 private:
  std::vector<int64_t> values_;
};

struct DenseOptions {
  Activation activation;
  bool use_bias = true;
  Initializer kernel_initializer = init::GlorotUniform();
  Initializer bias_initializer = init::Zeros();
  Regularizer kernel_regularizer;
  std::string name = "dense";
};
// x kernel + bias, along the last dimension.
LayerPtr Dense(int64_t units, const DenseOptions& options = {});

struct ConvOptions {
  Sizes strides = 1;
  std::string padding = "valid";  // or "same"
  Sizes dilations = 1;
  Activation activation;
  bool use_bias = true;
  Initializer kernel_initializer = init::GlorotUniform();
  Initializer bias_initializer = init::Zeros();
  Regularizer kernel_regularizer;
  std::string name;  // empty: named after the kind of layer
};
LayerPtr Conv1D(int64_t filters, const Sizes& kernel, const ConvOptions& options = {});
LayerPtr Conv2D(int64_t filters, const Sizes& kernel, const ConvOptions& options = {});
LayerPtr Conv3D(int64_t filters, const Sizes& kernel, const ConvOptions& options = {});
// Convolves each channel separately, with `multiplier` filters.
LayerPtr DepthwiseConv2D(const Sizes& kernel, int64_t multiplier = 1, const ConvOptions& options = {});
// The transpose of a convolution, which enlarges images.
LayerPtr Conv2DTranspose(int64_t filters, const Sizes& kernel, const ConvOptions& options = {});

struct PoolOptions {
  Sizes strides = 0;  // 0: the size of the window
  std::string padding = "valid";
};
LayerPtr MaxPool1D(const Sizes& window = 2, const PoolOptions& options = {});
LayerPtr MaxPool2D(const Sizes& window = 2, const PoolOptions& options = {});
LayerPtr MaxPool3D(const Sizes& window = 2, const PoolOptions& options = {});
LayerPtr AveragePool1D(const Sizes& window = 2, const PoolOptions& options = {});
LayerPtr AveragePool2D(const Sizes& window = 2, const PoolOptions& options = {});
LayerPtr AveragePool3D(const Sizes& window = 2, const PoolOptions& options = {});
// Averages over all dimensions except batch and channels.
LayerPtr GlobalAveragePool();
LayerPtr GlobalMaxPool();

struct BatchNormOptions {
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
};
LayerPtr BatchNorm(const BatchNormOptions& options = {});
// Normalizes over the last dimension.
LayerPtr LayerNorm(double epsilon = 1e-3);
// Normalizes over groups of channels.
LayerPtr GroupNorm(int64_t groups = 32, double epsilon = 1e-3);
LayerPtr Dropout(double rate, int64_t seed = 0);

LayerPtr Flatten();
// Sizes without the batch dimension; one may be -1.
LayerPtr Reshape(std::vector<int64_t> sizes);
LayerPtr Activate(Activation activation);
LayerPtr ZeroPadding2D(const Sizes& padding = 1);
// Repeats rows and columns.
LayerPtr UpSampling2D(int64_t factor = 2);
// Combine several inputs.
LayerPtr Add();
LayerPtr Concatenate(int64_t axis = -1);

// Maps integers [...] to vectors [..., size].
LayerPtr Embedding(int64_t vocabulary, int64_t size, Initializer initializer = init::RandomUniform());

struct RecurrentOptions {
  Activation activation = "tanh";
  Activation recurrent_activation = "sigmoid";
  bool return_sequences = false;
  bool go_backwards = false;
  bool unit_forget_bias = true;  // for an LSTM: initially 1
  Initializer kernel_initializer = init::GlorotUniform();
  Initializer recurrent_initializer = init::Orthogonal();
  std::string name;
  // Sequences of up to this length are unrolled; longer ones, and those of unknown length, use a loop.
  int64_t unroll_up_to = 64;
};
LayerPtr LSTM(int64_t units, const RecurrentOptions& options = {});
LayerPtr GRU(int64_t units, const RecurrentOptions& options = {});
LayerPtr SimpleRNN(int64_t units, const RecurrentOptions& options = {});
// One layer forwards and one backwards; their features are concatenated. `make` is called with go_backwards.
LayerPtr Bidirectional(const std::function<LayerPtr(bool go_backwards)>& make, bool sequences);

struct AttentionOptions {
  int64_t value_dim = 0;  // 0: key_dim
  bool use_bias = true;
  bool causal = false;  // positions only attend to earlier ones
  double dropout = 0;
};
// Takes the query and the value (and the key, if it differs): [batch, time, features] each. With a single input, it
// attends to itself.
LayerPtr MultiHeadAttention(int64_t heads, int64_t key_dim, const AttentionOptions& options = {});

}  // namespace nn
}  // namespace weir

#endif  // WEIR_CLIENT_NN_LAYERS_H_
