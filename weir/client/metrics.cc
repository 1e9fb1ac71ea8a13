#include "weir/client/metrics.h"

#include <cmath>
#include <vector>

#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/math_ops.h"
#include "weir/client/ops/nn_ops.h"
#include "weir/client/tensor_math.h"

namespace weir::metric {
namespace {

Output Float(const Scope& scope, const Output& x) {
  return x.dtype() == DType::kFloat ? x : ops::Cast(scope, x, DType::kFloat);
}

Output Flat(const Scope& scope, const Output& x) { return ops::Reshape(scope, Float(scope, x), {-1}); }

// Sum and count of a tensor: what a mean needs.
Output SumAndCount(const Scope& scope, const Output& values) {
  Output numbers = Float(scope, values);
  Output count = ops::Cast(scope, ops::Size(scope, numbers), DType::kFloat);
  return ops::Pack(scope, InputList{Sum(scope, numbers), count});
}

double Ratio(double a, double b) { return b == 0 ? 0 : a / b; }
double MeanOf(std::span<const double> sums) { return Ratio(sums[0], sums[1]); }

template <typename F>
Metric MeanMetric(const char* name, F values) {
  return {name,
          [=](const Scope& scope, const Output& labels, const Output& predictions) {
            const Scope inside = scope.SubScope(name);
            return SumAndCount(inside, values(inside, labels, predictions));
          },
          MeanOf};
}

Output ClassOf(const Scope& scope, const Output& x) {
  return ops::ArgMax(scope, x, -1, {.output_type = DType::kInt64});
}

// Labels may come as [batch, 1].
Output Numbers(const Scope& scope, const Output& labels, const Output& predictions) {
  Output numbers = labels.dtype() == DType::kInt64 ? labels : ops::Cast(scope, labels, DType::kInt64);
  const PartialShape shape = labels.shape();
  if (shape.has_rank() && shape.rank() == predictions.shape().rank() && shape.rank() > 0) {
    numbers = ops::Squeeze(scope, numbers, {.squeeze_dims = {-1}});
  }
  return numbers;
}

// True positives, and all that the denominator counts.
Metric PositiveRatio(const char* name, double threshold, bool of_predicted) {
  return {name,
          [=](const Scope& scope, const Output& labels, const Output& predictions) {
            const Scope inside = scope.SubScope(name);
            Output truth = Float(inside, Flat(inside, labels) > 0.5);
            Output said = Float(inside, Flat(inside, predictions) > threshold);
            return ops::Pack(inside, InputList{Sum(inside, truth * said), Sum(inside, of_predicted ? said : truth)});
          },
          MeanOf};
}

}  // namespace

Metric SparseCategoricalAccuracy() {
  return MeanMetric("accuracy", [](const Scope& scope, const Output& labels, const Output& predictions) {
    return ops::Equal(scope, ClassOf(scope, predictions), Numbers(scope, labels, predictions));
  });
}

Metric CategoricalAccuracy() {
  return MeanMetric("accuracy", [](const Scope& scope, const Output& labels, const Output& predictions) {
    return ops::Equal(scope, ClassOf(scope, predictions), ClassOf(scope, labels));
  });
}

Metric BinaryAccuracy(double threshold) {
  return MeanMetric("accuracy", [=](const Scope& scope, const Output& labels, const Output& predictions) {
    return ops::Equal(scope, Float(scope, predictions > threshold), Float(scope, labels));
  });
}

Metric SparseTopKAccuracy(int k) {
  return MeanMetric("top_k_accuracy", [=](const Scope& scope, const Output& labels, const Output& predictions) {
    return ops::InTopKV2(scope, Float(scope, predictions), Numbers(scope, labels, predictions), int64_t{k});
  });
}

Metric Precision(double threshold) { return PositiveRatio("precision", threshold, true); }
Metric Recall(double threshold) { return PositiveRatio("recall", threshold, false); }

Metric AUC(int thresholds) {
  const int count = std::max(thresholds, 2);
  auto sums = [count](const Scope& scope, const Output& labels, const Output& predictions) {
    const Scope inside = scope.SubScope("auc");
    std::vector<float> limits(count);
    for (int i = 0; i < count; ++i) limits[i] = static_cast<float>(i) / static_cast<float>(count - 1);
    limits.front() = -1e-7f;  // so that everything is above the first and nothing above the last
    limits.back() = 1 + 1e-7f;
    Output truth = ops::Reshape(inside, Float(inside, Flat(inside, labels) > 0.5), {-1, 1});
    Output above = Float(inside, ops::Reshape(inside, Flat(inside, predictions), {-1, 1}) > Input(limits));
    Output positives = ops::Sum(inside, above * truth, {0}), negatives = ops::Sum(inside, above * (1 - truth), {0});
    return ops::ConcatV2(inside, InputList{positives, negatives}, 0);
  };
  auto result = [count](std::span<const double> sums) {
    auto positives = sums.subspan(0, count), negatives = sums.subspan(count, count);
    double area = 0;
    for (int i = 0; i + 1 < count; ++i) {
      area += (negatives[i] - negatives[i + 1]) * (positives[i] + positives[i + 1]) / 2;
    }
    return Ratio(area, positives[0] * negatives[0]);
  };
  return {"auc", sums, result};
}

Metric MeanSquaredError() {
  return MeanMetric("mse", [](const Scope& scope, const Output& labels, const Output& predictions) {
    return ops::SquaredDifference(scope, Float(scope, predictions), Float(scope, labels));
  });
}

Metric RootMeanSquaredError() {
  Metric out = MeanSquaredError();
  out.name = "rmse";
  out.result = [](std::span<const double> sums) { return std::sqrt(MeanOf(sums)); };
  return out;
}

Metric MeanAbsoluteError() {
  return MeanMetric("mae", [](const Scope& scope, const Output& labels, const Output& predictions) {
    return ops::Abs(scope, Float(scope, predictions) - Float(scope, labels));
  });
}

}  // namespace weir::metric
