// What training adds to a model of the benchmark: a loss, gradients and updates.
#ifndef BENCHMARKS_MODELS_TRAINING_H_
#define BENCHMARKS_MODELS_TRAINING_H_

#include <tuple>
#include <vector>

#include "benchmarks/models/net.h"

namespace weir::bench {

Value MeanCrossEntropy(Net& net, Value logits, Value labels);
// Labels are 0 and 1, as floats.
Value MeanLogisticLoss(Net& net, Value logits, Value labels);
// `features` are what the output layer would multiply; 512 log-uniform candidates stand for all classes.
Value MeanSampledSoftmax(Net& net, Value features, Value labels);

struct Optimizer {
  enum class Kind { kDescent, kMomentum, kAdam };
  Kind kind = Kind::kDescent;
  float rate = 0.01f;
  float clip = 0;  // global norm; 0: none
};

// Adds the gradients of the trained parameters and their updates; returns the nodes to run.
StatusOr<std::vector<NodeId>> AddTraining(Net& net, Value loss, const Optimizer& optimizer);

// A placeholder and the assignment that takes it, for every variable of the net.
using InitialValues = std::vector<std::tuple<NodeId, NodeId, Tensor>>;
StatusOr<InitialValues> AddInitialisers(Net& net);

}  // namespace weir::bench

#endif  // BENCHMARKS_MODELS_TRAINING_H_
