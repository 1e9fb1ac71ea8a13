// Losses. Each is a function of labels and predictions and returns the mean over all examples, a scalar.
#ifndef WEIR_CLIENT_LOSSES_H_
#define WEIR_CLIENT_LOSSES_H_

#include <functional>

#include "weir/base/export.h"
#include "weir/client/variable.h"

namespace WEIR_PUBLIC weir {

using Loss = std::function<Output(const Scope& scope, const Output& labels, const Output& predictions)>;

namespace loss {

// Labels are class numbers; predictions are logits [..., classes], or probabilities.
Loss SparseCategoricalCrossentropy(bool from_logits = true);
// Labels are distributions over classes.
Loss CategoricalCrossentropy(bool from_logits = true, double label_smoothing = 0);
Loss BinaryCrossentropy(bool from_logits = true);
Loss MeanSquaredError();
Loss MeanAbsoluteError();
// Squared up to `delta`, linear beyond.
Loss Huber(double delta = 1);
Loss LogCosh();
// Labels are -1 and 1 (0 counts as -1).
Loss Hinge();
Loss KLDivergence();
Loss Poisson();

// The cross-entropy of a softmax over a large number of classes, estimated in training from `num_sampled` classes. They
// are sampled by rank (class 0 is the most frequent), and a step reads and modifies only their rows of `weights`
// [classes, size] and `biases` [classes]. `labels` is int64 [batch], `inputs` [batch, size]; returns one loss per
// example.
Output SampledSoftmax(const Scope& scope, const Variable& weights, const Variable& biases, const Output& labels,
                      const Output& inputs, int64_t num_sampled);

}  // namespace loss

}  // namespace weir

#endif  // WEIR_CLIENT_LOSSES_H_
