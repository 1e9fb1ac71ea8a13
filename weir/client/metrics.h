// Metrics of a model in training. A metric turns every batch into a few sums; the sums of all batches are added outside
// the graph, and the metric computes its value from them.
#ifndef WEIR_CLIENT_METRICS_H_
#define WEIR_CLIENT_METRICS_H_

#include <functional>
#include <span>
#include <string>

#include "weir/base/export.h"
#include "weir/client/scope.h"

namespace WEIR_PUBLIC weir {

struct Metric {
  std::string name;
  // A float vector of sums over the batch.
  std::function<Output(const Scope& scope, const Output& labels, const Output& predictions)> sums;
  // Computes the metric from the accumulated sums.
  std::function<double(std::span<const double> sums)> result;
};

namespace metric {

// Labels are class numbers, compared with the largest prediction.
Metric SparseCategoricalAccuracy();
// Labels are distributions over classes.
Metric CategoricalAccuracy();
// Predictions above the threshold count as positive. For logits the threshold is 0.
Metric BinaryAccuracy(double threshold = 0.5);
Metric SparseTopKAccuracy(int k = 5);
Metric Precision(double threshold = 0.5);
Metric Recall(double threshold = 0.5);
// The area under the ROC curve, approximated with this number of thresholds.
Metric AUC(int thresholds = 200);
Metric MeanSquaredError();
Metric RootMeanSquaredError();
Metric MeanAbsoluteError();

}  // namespace metric

}  // namespace weir

#endif  // WEIR_CLIENT_METRICS_H_
