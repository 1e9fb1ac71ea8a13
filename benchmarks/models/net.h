// Net: a network under construction for the benchmark - its parameters, and layers that emit operations.
//
// Images are NHWC and kernels HWIO. In training parameters are variables; in inference they are constants, as in a
// graph that was frozen to be served.
//
// A network for a GPU has operations that run well there: variables get their first values where they live, batch norms
// keep their moving averages themselves, and LSTM layers are cuDNN's.
#ifndef BENCHMARKS_MODELS_NET_H_
#define BENCHMARKS_MODELS_NET_H_

#include <string>
#include <utility>
#include <vector>

#include "benchmarks/models/random.h"
#include "weir/autodiff/emit.h"
#include "weir/autodiff/graph_emitter.h"

namespace weir::bench {

// First values: normal with this deviation, or all the same.
struct Initial {
  Shape shape;
  float deviation = 0;
  float value = 0;
};

struct Parameter {
  std::string name;
  Initial rule;
  Tensor initial;  // none if `rule` is to be followed on the device
  Value handle;    // of the variable
  Value value;     // what was read of it
  bool is_trained = true;
};

class Net {
 public:
  enum class Target { kHost, kGpu };
  Net(GraphEmitter& emitter, bool is_training, Target target = Target::kHost)
      : emitter_(emitter), is_training_(is_training), target_(target) {}

  GraphEmitter& emitter() { return emitter_; }
  bool is_training() const { return is_training_; }
  std::vector<Parameter>& parameters() { return parameters_; }
  // Effects of a step beside the optimizer's: moving averages.
  std::vector<NodeId>& updates() { return updates_; }
  // Adds one: AssignVariableOp or one of its kin.
  void Effect(std::string_view op, Value variable, Value value);

  // The nodes that were made since `begin` are a block for recomputation (weir/passes/recompute.h).
  NodeId begin() { return emitter_.graph().num_node_ids(); }
  void MarkBlock(NodeId begin);

  // Gives a parameter its first value now; the order of these calls, then of Declare, is that of the random numbers.
  void Reserve(const std::string& name, std::vector<int64_t> dims);
  // Matrices and kernels are normal with variance 2 / fan-in, tables normal with deviation 0.02, scales and variances
  // 1, the rest 0: the end of the name says which.
  Value Declare(const std::string& name, std::vector<int64_t> dims);
  // A variable of its own, not trained.
  Parameter& Variable(const std::string& name, Tensor initial, bool is_trained);
  Parameter& Variable(const std::string& name, const Initial& initial, bool is_trained);
  Value Constant(Tensor value) { return emitter_.Constant(std::move(value)); }
  Value Ints(std::vector<int64_t> values) { return Constant(emit::IntsTensor(values)); }

  // Half the window is padded unless `pad` says how much; with stride 1 that keeps the image's size.
  Value Conv(const std::string& name, Value x, int64_t size, int64_t out, int64_t stride = 1, int64_t pad = -1,
             bool has_bias = true);
  // A window of any height and width, without a bias; keeps the image's size.
  Value ConvStrip(const std::string& name, Value x, int64_t height, int64_t width, int64_t out);
  Value Dense(const std::string& name, Value x, int64_t out, bool has_bias = true);
  Value BatchNorm(const std::string& name, Value x, float epsilon = 1e-5f);
  Value LayerNorm(const std::string& name, Value x);
  Value Embed(const std::string& name, Value ids, int64_t rows, int64_t width);
  Value Lstm(const std::string& name, Value x, int64_t units);
  // The same for [steps, batch, width], which the result is, too.
  Value LstmBySteps(const std::string& name, Value x, int64_t units);
  Value CausalAttention(Value x, int64_t heads);
  Value MaxPool(Value x, int64_t size, int64_t stride, int64_t pad = 0);
  // Windows may reach over the edge of the image.
  Value MaxPoolSame(Value x, int64_t size, int64_t stride);
  Value AveragePoolSame(Value x, int64_t size);  // of stride 1
  Value Relu(Value x) { return emitter_.Op("Relu", {x}); }
  Value Gelu(Value x);
  // So many of the elements become zero, the others larger by as much.
  Value Dropout(Value x, float rate = 0.5f);
  Value MeanOfImage(Value x) { return emit::Mean(x, Ints({1, 2})); }
  Value Reshape(Value x, std::vector<int64_t> dims) { return emit::Reshape(x, Ints(std::move(dims))); }
  Value Flatten(Value x);

 private:
  Parameter& Variable(const std::string& name, const Initial& rule, bool is_trained, DType dtype);
  std::vector<Value> LstmSteps(const std::string& name, Value by_step, int64_t units);
  Value Pool(const char* op, Value x, int64_t size, int64_t stride, const char* padding);

  GraphEmitter& emitter_;
  const bool is_training_;
  const Target target_;
  NumpyRandom random_{1};
  std::vector<std::pair<std::string, Tensor>> reserved_;
  std::vector<Parameter> parameters_;
  std::vector<NodeId> updates_;
};

// Numbers from a normal distribution.
Tensor NormalTensor(const Shape& shape, float deviation, NumpyRandom& random);
// Integers from 0 to `limit` - 1, of type int32 or int64.
Tensor UniformInts(const Shape& shape, int64_t limit, NumpyRandom& random, DType dtype = DType::kInt32);
AttrList IntList(std::vector<int64_t> values);

}  // namespace weir::bench

#endif  // BENCHMARKS_MODELS_NET_H_
