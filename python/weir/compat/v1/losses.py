"""tf.losses of compat.v1: losses with weights, gathered in the collection LOSSES."""

from weir.framework import convert_to_tensor, dtypes, raw_ops
from weir.framework.graph import GraphKeys, executing_eagerly, get_default_graph, name_scope
from weir.ops import array, math, nn

__all__ = ["Reduction"]


class Reduction:
    """How the losses of elements become one number."""
    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_OVER_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"

    @classmethod
    def all(cls):
        return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS,
                cls.SUM_BY_NONZERO_WEIGHTS)

    @classmethod
    def validate(cls, key):
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


def _divide(total, count):
    return raw_ops.DivNoNan(x=total, y=count, name="value")


def add_loss(loss, loss_collection=GraphKeys.LOSSES):
    """Puts a loss into the collection."""
    if loss_collection and not executing_eagerly():
        get_default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope=None, loss_collection=GraphKeys.LOSSES):
    return get_default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope=None):
    return get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope=None, name="total_regularization_loss"):
    found = get_regularization_losses(scope)
    return math.add_n(found, name=name) if found else array.constant(0.0)


def get_total_loss(add_regularization_losses=True, name="total_loss", scope=None):
    """The sum of all losses of the graph."""
    found = get_losses(scope)
    if add_regularization_losses:
        found = found + get_regularization_losses(scope)
    return math.add_n(found, name=name)


def compute_weighted_loss(losses, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
                          reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    """Losses times weights, made one number as `reduction` says."""
    Reduction.validate(reduction)
    with name_scope(scope or "weighted_loss"):
        losses = convert_to_tensor(losses)
        kind = losses.dtype
        losses = math.cast(losses, dtypes.float32)
        weights = math.cast(weights, dtypes.float32)
        rank, own = weights.shape.rank, losses.shape.rank
        if rank not in (None, 0) and own is not None and rank != own:
            raise ValueError(f"weights can not be broadcast to values. values.rank={own}. weights.rank={rank}. "
                             f"values.shape={losses.shape}. weights.shape={weights.shape}.")
        weighted = losses * weights
        if reduction == Reduction.NONE:
            loss = weighted
        else:
            loss = math.reduce_sum(weighted)
            if reduction == Reduction.MEAN:
                loss = _divide(loss, math.reduce_sum(array.ones_like(losses) * weights))
            elif reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
                loss = _divide(loss, _present(losses, weights))
            elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
                loss = _divide(loss, math.cast(array.size(losses), dtypes.float32))
        loss = math.cast(loss, kind)
        add_loss(loss, loss_collection)
        return loss


def _present(losses, weights):
    present = array.where(math.equal(weights, 0.0), array.zeros_like(weights), array.ones_like(weights))
    return math.reduce_sum(array.ones_like(losses) * present)


def _pair(labels, predictions):
    if labels is None:
        raise ValueError("Argument `labels` must not be None.")
    if predictions is None:
        raise ValueError("Argument `predictions` must not be None.")
    predictions = math.cast(predictions, dtypes.float32)
    labels = math.cast(labels, dtypes.float32)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions


def absolute_difference(labels, predictions, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
                        reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    with name_scope(scope or "absolute_difference") as scope:
        labels, predictions = _pair(labels, predictions)
        return compute_weighted_loss(math.abs(predictions - labels), weights, scope, loss_collection, reduction)


def mean_squared_error(labels, predictions, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
                       reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    with name_scope(scope or "mean_squared_error") as scope:
        labels, predictions = _pair(labels, predictions)
        return compute_weighted_loss(raw_ops.SquaredDifference(x=predictions, y=labels), weights, scope, loss_collection,
                                     reduction)


def cosine_distance(labels, predictions, axis=None, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
                    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS, dim=None):
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify argument `axis`.")
    with name_scope(scope or "cosine_distance_loss") as scope:
        labels, predictions = _pair(labels, predictions)
        losses = 1 - math.reduce_sum(predictions * labels, axis=axis, keepdims=True)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def hinge_loss(labels, logits, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
               reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    with name_scope(scope or "hinge_loss") as scope:
        labels, logits = _pair(labels, logits)
        losses = raw_ops.Relu(features=1 - (2 * labels - 1) * logits)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def huber_loss(labels, predictions, weights=1.0, delta=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
               reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    with name_scope(scope or "huber_loss") as scope:
        labels, predictions = _pair(labels, predictions)
        error = math.abs(predictions - labels)
        near = raw_ops.Minimum(x=error, y=float(delta))
        return compute_weighted_loss(0.5 * near * near + delta * (error - near), weights, scope, loss_collection, reduction)


def log_loss(labels, predictions, weights=1.0, epsilon=1e-7, scope=None, loss_collection=GraphKeys.LOSSES,
             reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    with name_scope(scope or "log_loss") as scope:
        labels, predictions = _pair(labels, predictions)
        losses = -labels * raw_ops.Log(x=predictions + epsilon) - (1 - labels) * raw_ops.Log(x=1 - predictions + epsilon)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def mean_pairwise_squared_error(labels, predictions, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES):
    """The mean, over examples, of squared differences between all pairs of their errors."""
    with name_scope(scope or "mean_pairwise_squared_error") as scope:
        labels, predictions = _pair(labels, predictions)
        weights = math.cast(weights, dtypes.float32)
        differences = predictions - labels
        axes = array.range(1, array.rank(differences))
        sum_squares = math.reduce_sum(raw_ops.Square(x=differences), axis=axes, keepdims=True)
        ones = array.ones_like(differences)
        present = array.where(math.equal(weights, 0.0), array.zeros_like(weights), array.ones_like(weights))
        count = math.reduce_sum(ones * present, axis=axes, keepdims=True)
        first = 2.0 * _divide(sum_squares, raw_ops.Maximum(x=count - 1, y=0.0))
        total = math.reduce_sum(differences, axis=axes, keepdims=True)
        second = 2.0 * _divide(raw_ops.Square(x=total), raw_ops.Maximum(x=count * (count - 1), y=0.0))
        loss = math.reduce_sum((first - second) * weights)
        some = math.reduce_sum(count) > 0
        loss = array.where(some, loss, array.zeros_like(loss))
        add_loss(loss, loss_collection)
        return loss


def sigmoid_cross_entropy(multi_class_labels, logits, weights=1.0, label_smoothing=0, scope=None,
                          loss_collection=GraphKeys.LOSSES, reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    with name_scope(scope or "sigmoid_cross_entropy_loss") as scope:
        logits = convert_to_tensor(logits)
        labels = math.cast(multi_class_labels, logits.dtype)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        return compute_weighted_loss(nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits), weights, scope,
                                     loss_collection, reduction)


def softmax_cross_entropy(onehot_labels, logits, weights=1.0, label_smoothing=0, scope=None,
                          loss_collection=GraphKeys.LOSSES, reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    with name_scope(scope or "softmax_cross_entropy_loss") as scope:
        logits = convert_to_tensor(logits)
        labels = math.cast(onehot_labels, logits.dtype)
        if label_smoothing > 0:
            classes = math.cast(array.shape(labels)[-1], logits.dtype)
            labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
        labels = raw_ops.StopGradient(input=labels)
        return compute_weighted_loss(nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits), weights, scope,
                                     loss_collection, reduction)


def sparse_softmax_cross_entropy(labels, logits, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
                                 reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
    with name_scope(scope or "sparse_softmax_cross_entropy_loss") as scope:
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        if labels.shape.rank is not None and labels.shape.rank == logits.shape.rank:
            labels = array.squeeze(labels, [-1])
        losses = nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)
