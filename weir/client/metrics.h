// Metrics: what people look at while a model trains. A metric turns every batch into a few sums; sums of batches are
// added up outside the graph, and the metric says what they mean.
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
  // The metric from all sums added up.
  std::function<double(std::span<const double> sums)> result;
};

namespace metric {

// Classes by number against the largest prediction.
Metric SparseCategoricalAccuracy();
// Classes as distributions.
Metric CategoricalAccuracy();
// Yes or no: predictions above the threshold are yes. For logits the threshold is 0.
Metric BinaryAccuracy(double threshold = 0.5);
Metric SparseTopKAccuracy(int k = 5);
Metric Precision(double threshold = 0.5);
Metric Recall(double threshold = 0.5);
// The area under the curve of true against false positives, from as many thresholds.
Metric AUC(int thresholds = 200);
Metric MeanSquaredError();
Metric RootMeanSquaredError();
Metric MeanAbsoluteError();

}  // namespace metric

}  // namespace weir

#endif  // WEIR_CLIENT_METRICS_H_
