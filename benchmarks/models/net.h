// Net: a network under construction for the benchmark - its parameters, and layers that emit operations.
//
// Images are NHWC and kernels HWIO. In training parameters are variables; in inference they are constants, as in a
// graph that was frozen to be served.
#ifndef BENCHMARKS_MODELS_NET_H_
#define BENCHMARKS_MODELS_NET_H_

#include <string>
#include <utility>
#include <vector>

#include "benchmarks/models/random.h"
#include "weir/autodiff/emit.h"
#include "weir/autodiff/graph_emitter.h"

namespace weir::bench {

struct Parameter {
  std::string name;
  Tensor initial;
  Value handle;  // of the variable
  Value value;   // what was read of it
  bool is_trained = true;
};

class Net {
 public:
  Net(GraphEmitter& emitter, bool is_training) : emitter_(emitter), is_training_(is_training) {}

  GraphEmitter& emitter() { return emitter_; }
  bool is_training() const { return is_training_; }
  std::vector<Parameter>& parameters() { return parameters_; }
  // Effects of a step beside the optimizer's: moving averages.
  std::vector<NodeId>& updates() { return updates_; }

  // Gives a parameter its first value now; the order of these calls, then of Declare, is that of the random numbers.
  void Reserve(const std::string& name, std::vector<int64_t> dims);
  // Matrices and kernels are normal with variance 2 / fan-in, tables normal with deviation 0.02, scales and variances
  // 1, the rest 0: the end of the name says which.
  Value Declare(const std::string& name, std::vector<int64_t> dims);
  // A variable of its own, not trained.
  Parameter& Variable(const std::string& name, Tensor initial, bool is_trained);
  Value Constant(Tensor value) { return emitter_.Constant(std::move(value)); }
  Value Ints(std::vector<int64_t> values) { return Constant(emit::IntsTensor(values)); }

  Value Conv(const std::string& name, Value x, int64_t size, int64_t out, int64_t stride = 1, int64_t pad = -1,
             bool has_bias = true);
  Value Dense(const std::string& name, Value x, int64_t out, bool has_bias = true);
  Value BatchNorm(const std::string& name, Value x);
  Value LayerNorm(const std::string& name, Value x);
  Value Embed(const std::string& name, Value ids, int64_t rows, int64_t width);
  Value Lstm(const std::string& name, Value x, int64_t units);
  Value CausalAttention(Value x, int64_t heads);
  Value MaxPool(Value x, int64_t size, int64_t stride, int64_t pad = 0);
  Value Relu(Value x) { return emitter_.Op("Relu", {x}); }
  Value Gelu(Value x);
  Value Dropout(Value x);
  Value MeanOfImage(Value x) { return emit::Mean(x, Ints({1, 2})); }
  Value Reshape(Value x, std::vector<int64_t> dims) { return emit::Reshape(x, Ints(std::move(dims))); }
  Value Flatten(Value x);

 private:
  GraphEmitter& emitter_;
  const bool is_training_;
  NumpyRandom random_{1};
  std::vector<std::pair<std::string, Tensor>> reserved_;
  std::vector<Parameter> parameters_;
  std::vector<NodeId> updates_;
};

// Numbers from a normal distribution.
Tensor NormalTensor(const Shape& shape, float deviation, NumpyRandom& random);
AttrList IntList(std::vector<int64_t> values);

}  // namespace weir::bench

#endif  // BENCHMARKS_MODELS_NET_H_
