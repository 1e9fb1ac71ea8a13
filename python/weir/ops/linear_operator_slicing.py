"""Slices of batches of linear operators: `operator[1:]`, `operator[..., 0]`."""

import numpy as np

import weir as tf

__all__ = ["slice_operator"]

# How many dimensions of a component are those of one matrix; the others are its batch.
_MATRIX_DIMENSIONS = {"matrix": 2, "tril": 2, "diag": 1, "multiplier": 0, "u": 2, "v": 2, "diag_update": 1,
                      "reflection_axis": 1, "perm": 1, "col": 1, "row": 1}


def slice_operator(operator, slices):
    """The operator of the chosen matrices of its batch."""
    slices = slices if isinstance(slices, tuple) else (slices,)
    return _sliced(operator, slices, operator.batch_shape)


def _sliced(operator, slices, batch_shape):
    spec = operator._type_spec
    arguments = dict(spec._non_tensor_params, **spec._to_components(operator))
    for name, value in arguments.items():
        if name == "batch_shape":
            arguments[name] = _sliced_shape(value, slices, batch_shape)
        elif name in spec._component_specs:
            arguments[name] = tf.nest.map_structure(
                lambda part: _sliced_component(operator, name, part, slices, batch_shape), value)
    return type(operator)(**arguments)


def _sliced_component(operator, name, value, slices, batch_shape):
    if hasattr(value, "_composite_tensor_fields"):
        return _sliced(value, slices, batch_shape)
    own = _MATRIX_DIMENSIONS.get(name)
    if own is None:
        own = operator.block_depth if name == "spectrum" else 1 if operator.diagonals_format == "sequence" else 2
    value = tf.convert_to_tensor(value)
    missing = batch_shape.rank - (value.shape.rank - own)
    value = tf.reshape(value, tf.concat([[1] * missing, tf.shape(value)], 0)) if missing else value
    return value[tuple(_for_broadcast(slices, value.shape[:batch_shape.rank], batch_shape)) + (slice(None),) * own]


def _for_broadcast(slices, shape, batch_shape):
    """The slices of one dimension each; a dimension of size 1 that stands for a longer one stays as it is."""
    consumed = sum(1 for s in slices if s is not Ellipsis and s is not tf.newaxis)
    if consumed > batch_shape.rank:
        raise IndexError(f"Too many indices for a batch of shape {batch_shape}: {slices}")
    rest = [slice(None)] * (batch_shape.rank - consumed)
    at = next((i for i, s in enumerate(slices) if s is Ellipsis), len(slices))
    expanded = list(slices[:at]) + rest + list(slices[at + 1:])
    dimension, out = 0, []
    for s in expanded:
        if s is not tf.newaxis:
            if shape[dimension] == 1 and batch_shape[dimension] != 1:
                s = slice(None) if isinstance(s, slice) else 0
            dimension += 1
        out.append(s)
    return out


def _sliced_shape(shape, slices, batch_shape):
    shape = [] if shape is None else list(tf.TensorShape(tf.get_static_value(shape) if tf.is_tensor(shape) else shape))
    full = np.broadcast_to(np.zeros(shape or ()), batch_shape.as_list())
    return list(full[tuple(_for_broadcast(slices, tf.TensorShape(full.shape), batch_shape))].shape)
