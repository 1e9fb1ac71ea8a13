// Losses: what training makes small. Each is a function of labels and predictions and gives the mean over all examples,
// a scalar.
#ifndef WEIR_CLIENT_LOSSES_H_
#define WEIR_CLIENT_LOSSES_H_

#include <functional>

#include "weir/base/export.h"
#include "weir/client/variable.h"

namespace WEIR_PUBLIC weir {

using Loss = std::function<Output(const Scope& scope, const Output& labels, const Output& predictions)>;

namespace loss {

// Labels are the numbers of classes; predictions are logits [..., classes], or probabilities.
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

// The crossentropy of a softmax over very many classes, estimated while training from `num_sampled` classes drawn by
// their rank (class 0 is the most frequent) instead of all: a step reads and changes only those rows of `weights`
// [classes, size] and `biases` [classes]. `labels` is int64 [batch], `inputs` [batch, size]; one loss an example.
Output SampledSoftmax(const Scope& scope, const Variable& weights, const Variable& biases, const Output& labels,
                      const Output& inputs, int64_t num_sampled);

}  // namespace loss

}  // namespace weir

#endif  // WEIR_CLIENT_LOSSES_H_
