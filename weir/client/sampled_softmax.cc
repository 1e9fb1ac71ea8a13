#include "weir/client/losses.h"
#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/math_ops.h"
#include "weir/client/ops/nn_ops.h"
#include "weir/client/ops/random_ops.h"
#include "weir/client/ops/sparse_ops.h"
#include "weir/client/ops/state_ops.h"
#include "weir/client/tensor_math.h"

namespace weir::loss {
namespace {

// As good as minus infinity, but finite when it is added to something.
constexpr float kNever = -3.0e38f;

// Minus infinity where a drawn class is the label itself: it must not count twice.
Output AccidentalHits(const Scope& scope, const Output& labels, const Output& sampled, const Output& batch,
                      int64_t num_sampled) {
  auto hits = ops::ComputeAccidentalHits(scope, labels, sampled, 1);
  Output rows = ops::Cast(scope, hits.indices, DType::kInt64);
  Output places = ops::Pack(scope, InputList{rows, hits.ids}, {.axis = 1});
  Output shape = ops::Pack(scope, InputList{ops::Cast(scope, batch, DType::kInt64), num_sampled});
  Output never = ops::Fill(scope, ops::Shape(scope, hits.ids), Constant(scope, kNever));
  return ops::SparseToDense(scope, places, shape, never, Constant(scope, 0.0f), {.validate_indices = false});
}

}  // namespace

Output SampledSoftmax(const Scope& scope, const Variable& weights, const Variable& biases, const Output& labels,
                      const Output& inputs, int64_t num_sampled) {
  const Scope inside = scope.SubScope("sampled_softmax");
  if (weights.shape().rank() != 2 || biases.shape().rank() != 1 || weights.shape().dim(0) != biases.shape().dim(0)) {
    inside.Fail(InvalidArgument("a sampled softmax takes weights [classes, size] and biases [classes], not ",
                                weights.shape().ToString(), " and ", biases.shape().ToString()));
    return Output(inside, {});
  }
  Output true_classes = ops::Reshape(inside, labels, {-1, 1});
  auto drawn = ops::LogUniformCandidateSampler(inside, true_classes, 1, num_sampled, true, weights.shape().dim(0));
  Output sampled = ops::StopGradient(inside, drawn.sampled_candidates);
  Output batch = DimSize(inside, inputs, 0);
  // One look-up for all, so that the gradients are one set of rows.
  Output ids = ops::ConcatV2(inside, InputList{ops::Reshape(inside, labels, {-1}), sampled}, 0);
  Output rows = ops::ResourceGather(inside, weights.handle(), ids, weights.dtype());
  Output offsets = ops::ResourceGather(inside, biases.handle(), ids, biases.dtype());
  Output zero_and_zero = ops::Pack(inside, InputList{0, 0}), count_and_all = ops::Pack(inside, InputList{batch, -1});
  Output true_rows = ops::Slice(inside, rows, zero_and_zero, count_and_all);
  Output sampled_rows =
      ops::Slice(inside, rows, ops::Pack(inside, InputList{batch, 0}), Constant(inside, {-1, -1}, DType::kInt32));
  Output batch_vector = ops::Reshape(inside, batch, {1});
  Output true_offsets = ops::Slice(inside, offsets, Constant(inside, {0}, DType::kInt32), batch_vector);
  Output sampled_offsets = ops::Slice(inside, offsets, batch_vector, Constant(inside, {-1}, DType::kInt32));

  Output true_logits = ops::Sum(inside, inputs * true_rows, {1}) + true_offsets -
                       ops::Log(inside, ops::Reshape(inside, drawn.true_expected_count, {-1}));
  Output sampled_logits = ops::MatMul(inside, inputs, sampled_rows, {.transpose_b = true}) + sampled_offsets +
                          AccidentalHits(inside, true_classes, sampled, batch, num_sampled) -
                          ops::Log(inside, drawn.sampled_expected_count);
  Output logits = ops::ConcatV2(inside, InputList{ops::ExpandDims(inside, true_logits, 1), sampled_logits}, 1);
  // The label is the first of the row.
  Output first = ops::Fill(inside, batch_vector, Constant(inside, 0, DType::kInt64));
  return ops::SparseSoftmaxCrossEntropyWithLogits(inside, logits, first).loss;
}

}  // namespace weir::loss
