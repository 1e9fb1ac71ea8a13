"""Weights of losses and metrics, and labels beside predictions: ops.weights_broadcast_ops, ops.confusion_matrix."""

from weir.framework import control_dependencies, convert_to_tensor, get_static_value, name_scope, raw_ops

__all__ = ["assert_broadcastable", "broadcast_weights", "remove_squeezable_dimensions"]

_REFUSAL = "weights can not be broadcast to values."


def _tensor(value, name):
    with name_scope(name) as scope:
        import weir
        tensor = convert_to_tensor(value, name=scope)
        return tensor, weir.shape(tensor, name="shape"), weir.rank(tensor, name="rank")


def assert_broadcastable(weights, values):
    """Weights are a scalar, or of the rank of values with dimensions of 1 or values' own; else an error, at once if the
    shapes are known, else by the operation that this gives."""
    import weir
    with name_scope("assert_broadcastable") as scope:
        weights, weights_shape, weights_rank = _tensor(weights, "weights")
        values, values_shape, values_rank = _tensor(values, "values")
        if weights.shape.rank is not None and values.shape.rank is not None:
            if weights.shape.rank == 0:
                return raw_ops.NoOp(name="static_scalar_check_success")
            if weights.shape.rank != values.shape.rank:
                raise ValueError(f"{_REFUSAL} values.rank={values.shape.rank}. weights.rank={weights.shape.rank}. "
                                 f"values.shape={values.shape}. weights.shape={weights.shape}. Received weights={weights}, "
                                 f"values={values}")
            of_weights, of_values = get_static_value(weights_shape), get_static_value(values_shape)
            if of_weights is not None and of_values is not None:
                for i, (one, other) in enumerate(zip(of_weights, of_values)):
                    if one not in (1, other):
                        raise ValueError(f"{_REFUSAL} Mismatch at dim {i}. values.shape={of_values}, weights.shape="
                                         f"{of_weights}. Received weights={weights}, values={values}")
                return raw_ops.NoOp(name="static_dims_check_success")
        is_scalar = weir.equal(0, weights_rank, name="is_scalar")
        data = [_REFUSAL, "weights.shape=", getattr(weights, "name", ""), weights_shape, "values.shape=",
                getattr(values, "name", ""), values_shape, "is_scalar=", is_scalar]

        def dims_fit():
            return weir.reduce_all(weir.logical_or(weir.equal(weights_shape, 1), weir.equal(weights_shape, values_shape)))

        fits = weir.cond(is_scalar, lambda: is_scalar,
                         lambda: weir.cond(weir.equal(values_rank, weights_rank), dims_fit, lambda: weir.constant(False)))
        return weir.debugging.Assert(fits, data, name=scope)


def broadcast_weights(weights, values):
    """Weights in the shape of values."""
    import weir
    with name_scope("broadcast_weights") as scope:
        values = convert_to_tensor(values, name="values")
        weights = convert_to_tensor(weights, dtype=values.dtype.base_dtype, name="weights")
        if weights.shape.is_fully_defined() and values.shape.is_fully_defined() and \
                weights.shape.is_compatible_with(values.shape):
            return weights
        check = assert_broadcastable(weights, values)
        with control_dependencies([] if check is None else [check]):
            return weir.multiply(weights, weir.ones_like(values), name=scope)


def remove_squeezable_dimensions(labels, predictions, expected_rank_diff=0, name=None):
    """Both, the one with a last dimension of 1 too many without it."""
    import weir
    with name_scope(name or "remove_squeezable_dimensions"):
        predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
        ranks = predictions.shape.rank, labels.shape.rank

        def has_one(tensor):
            return tensor.shape.rank is None or tensor.shape[-1:].is_compatible_with([1])

        if None not in ranks:
            difference = ranks[0] - ranks[1] - expected_rank_diff
            if difference == 1 and has_one(predictions):
                predictions = weir.squeeze(predictions, [-1])
            elif difference == -1 and has_one(labels):
                labels = weir.squeeze(labels, [-1])
            return labels, predictions
        difference = weir.rank(predictions) - weir.rank(labels)
        if ranks[0] is None or has_one(predictions):
            kept = predictions
            predictions = weir.cond(weir.equal(expected_rank_diff + 1, difference), lambda: weir.squeeze(kept, [-1]),
                                    lambda: kept)
        if ranks[1] is None or has_one(labels):
            whole = labels
            labels = weir.cond(weir.equal(expected_rank_diff - 1, difference), lambda: weir.squeeze(whole, [-1]),
                               lambda: whole)
        return labels, predictions
