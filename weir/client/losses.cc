#include "weir/client/losses.h"

#include <cmath>

#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/math_ops.h"
#include "weir/client/ops/nn_ops.h"
#include "weir/client/ops/sparse_ops.h"
#include "weir/client/tensor_math.h"

namespace weir::loss {
namespace {

constexpr double kTiny = 1e-7;

Output Clip(const Scope& scope, const Output& x, double low, double high) {
  return ops::Minimum(scope, ops::Maximum(scope, x, low), high);
}

Output Like(const Scope& scope, const Output& labels, const Output& predictions) {
  return labels.dtype() == predictions.dtype() ? labels : ops::Cast(scope, labels, predictions.dtype());
}

// A loss of numbers against numbers, an element at a time.
template <typename F>
Loss Elementwise(const char* name, F function) {
  return [=](const Scope& scope, const Output& labels, const Output& predictions) {
    const Scope inside = scope.SubScope(name);
    return Mean(inside, function(inside, Like(inside, labels, predictions), predictions));
  };
}

}  // namespace

Loss SparseCategoricalCrossentropy(bool from_logits) {
  return [=](const Scope& scope, const Output& labels, const Output& predictions) {
    const Scope inside = scope.SubScope("sparse_categorical_crossentropy");
    Output logits = from_logits ? predictions : ops::Log(inside, Clip(inside, predictions, kTiny, 1 - kTiny));
    const PartialShape shape = logits.shape();
    Output numbers = labels;
    if (shape.has_rank() && (shape.rank() > 2 || labels.shape().rank() == shape.rank())) {
      // The operation takes one row an example.
      const int64_t classes = shape.dim(shape.rank() - 1);
      if (shape.rank() > 2) logits = ops::Reshape(inside, logits, {int64_t{-1}, classes});
      numbers = ops::Reshape(inside, labels, {-1});
    }
    if (numbers.dtype() != DType::kInt32 && numbers.dtype() != DType::kInt64) {
      numbers = ops::Cast(inside, numbers, DType::kInt32);
    }
    return Mean(inside, ops::SparseSoftmaxCrossEntropyWithLogits(inside, logits, numbers).loss);
  };
}

Loss CategoricalCrossentropy(bool from_logits, double label_smoothing) {
  return [=](const Scope& scope, const Output& labels, const Output& predictions) {
    const Scope inside = scope.SubScope("categorical_crossentropy");
    Output targets = Like(inside, labels, predictions);
    if (label_smoothing != 0) {
      const PartialShape shape = predictions.shape();
      const double classes =
          shape.has_rank() && shape.rank() > 0 ? static_cast<double>(shape.dim(shape.rank() - 1)) : 0;
      if (classes <= 0) scope.Fail(InvalidArgument("label smoothing needs a known number of classes"));
      targets = targets * (1 - label_smoothing) + label_smoothing / std::max(classes, 1.0);
    }
    if (from_logits) return Mean(inside, ops::SoftmaxCrossEntropyWithLogits(inside, predictions, targets).loss);
    Output sum = ops::Sum(inside, predictions, {-1}, {.keep_dims = true});
    Output logs = ops::Log(inside, Clip(inside, predictions / sum, kTiny, 1 - kTiny));
    return Mean(inside, -ops::Sum(inside, targets * logs, {-1}));
  };
}

Loss BinaryCrossentropy(bool from_logits) {
  return Elementwise("binary_crossentropy", [=](const Scope& scope, const Output& z, const Output& x) {
    if (from_logits) {
      // max(x, 0) - x z + log(1 + exp(-|x|)), which never overflows.
      return ops::Relu(scope, x) - x * z + ops::Log1p(scope, ops::Exp(scope, -ops::Abs(scope, x)));
    }
    Output p = Clip(scope, x, kTiny, 1 - kTiny);
    return -(z * ops::Log(scope, p) + (1 - z) * ops::Log(scope, 1 - p));
  });
}

Loss MeanSquaredError() {
  return Elementwise("mean_squared_error", [](const Scope& scope, const Output& y, const Output& p) {
    return ops::SquaredDifference(scope, p, y);
  });
}

Loss MeanAbsoluteError() {
  return Elementwise("mean_absolute_error",
                     [](const Scope& scope, const Output& y, const Output& p) { return ops::Abs(scope, p - y); });
}

Loss Huber(double delta) {
  return Elementwise("huber", [=](const Scope& scope, const Output& y, const Output& p) {
    Output error = ops::Abs(scope, p - y);
    return ops::SelectV2(scope, error <= delta, 0.5 * ops::Square(scope, error), delta * error - 0.5 * delta * delta);
  });
}

Loss LogCosh() {
  return Elementwise("log_cosh", [](const Scope& scope, const Output& y, const Output& p) {
    Output x = p - y;
    return x + ops::Softplus(scope, -2 * x) - std::log(2.0);
  });
}

Loss Hinge() {
  return Elementwise("hinge", [](const Scope& scope, const Output& y, const Output& p) {
    Output sign = ops::SelectV2(scope, y > 0, ops::OnesLike(scope, y), -ops::OnesLike(scope, y));
    return ops::Relu(scope, 1 - sign * p);
  });
}

Loss KLDivergence() {
  return [](const Scope& scope, const Output& labels, const Output& predictions) {
    const Scope inside = scope.SubScope("kl_divergence");
    Output y = Clip(inside, Like(inside, labels, predictions), kTiny, 1), p = Clip(inside, predictions, kTiny, 1);
    return Mean(inside, ops::Sum(inside, y * ops::Log(inside, y / p), {-1}));
  };
}

Loss Poisson() {
  return Elementwise("poisson", [](const Scope& scope, const Output& y, const Output& p) {
    return p - y * ops::Log(scope, p + kTiny);
  });
}

}  // namespace weir::loss
