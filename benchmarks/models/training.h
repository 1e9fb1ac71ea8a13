// What training adds to a model of the benchmark: a loss, gradients and updates.
#ifndef BENCHMARKS_MODELS_TRAINING_H_
#define BENCHMARKS_MODELS_TRAINING_H_

#include <vector>

#include "benchmarks/models/net.h"
#include "weir/runtime/session.h"

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
  float clip = 0;        // global norm; 0: none
  float loss_scale = 1;  // gradients are so many times too large until they are applied; without clipping and descent
};

// Adds the gradients of the trained parameters and their updates; returns the nodes to run.
StatusOr<std::vector<NodeId>> AddTraining(Net& net, Value loss, const Optimizer& optimizer);

// How every variable of the net gets its first value: the assignment, and if the value comes from the host the
// placeholder that it is fed to; else kNoNode.
struct InitialValue {
  NodeId placeholder, assignment;
  Tensor value;
};
using InitialValues = std::vector<InitialValue>;
StatusOr<InitialValues> AddInitialisers(Net& net);
// Runs the assignments in the session of that graph.
Status Initialise(Session& session, const Graph& graph, const InitialValues& initial);

}  // namespace weir::bench

#endif  // BENCHMARKS_MODELS_TRAINING_H_
