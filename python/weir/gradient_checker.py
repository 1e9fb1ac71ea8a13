"""tf.test.compute_gradient and compat.v1's: derivatives as the gradients say, and by small differences."""

import numpy as np

__all__ = ["compute_gradient", "max_error", "compute_gradient_v1", "compute_gradient_error"]


def _real(array):
    """A flat view in which a complex number counts as two."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.float32 if flat.dtype == np.complex64 else np.float64) if np.iscomplexobj(flat) else flat


def _basis(shape, dtype, k):
    made = np.zeros(shape, dtype)
    _real(made)[k] = 1
    return made


def _number(dtype):
    return np.float64 if dtype.name in ("bfloat16", "float16") else dtype


def compute_gradient(f, x, delta=None):
    """Jacobians of `f` by each of `x`: (by gradients, by differences); lists of arrays [size of y, size of x]."""
    from weir.framework.graph import eager_mode
    if not isinstance(x, (list, tuple)):
        raise ValueError(f"`x` must be a list or tuple of tensors to compute gradient for. Received type {type(x)}.")
    delta = 1.0 / 1024 if delta is None else delta
    with eager_mode():
        from weir.framework import convert_to_tensor
        inputs = [convert_to_tensor(v) for v in x]
        arrays = [np.array(t.numpy()) for t in inputs]
        pairs = [(_by_gradient(f, inputs, i), _by_difference(f, arrays, i, delta)) for i in range(len(arrays))]
    return [p[0] for p in pairs], [p[1] for p in pairs]


def _by_gradient(f, inputs, i):
    from weir.eager.tape import GradientTape
    from weir.framework import convert_to_tensor
    with GradientTape(persistent=True) as tape:
        tape.watch(inputs[i])
        y = f(*inputs)
    columns = _real(inputs[i].numpy()).size
    y_value = np.array(convert_to_tensor(y).numpy())
    count = _real(y_value).size
    out = np.zeros((count, columns), _number(_real(inputs[i].numpy()).dtype))
    for k in range(count):
        grad = tape.gradient(y, inputs[i], output_gradients=convert_to_tensor(_basis(y_value.shape, y_value.dtype, k)))
        if grad is not None:
            out[k] = _real(convert_to_tensor(grad).numpy())
    return out


def _by_difference(f, arrays, i, delta):
    from weir.framework import convert_to_tensor

    def value(moved):
        return _real(convert_to_tensor(f(*[convert_to_tensor(a) for a in moved])).numpy()).astype(np.float64)
    size = _real(arrays[i]).size
    columns = []
    for k in range(size):
        ends = []
        for sign in (1, -1):
            moved = [np.array(a) for a in arrays]
            flat = _real(moved[i])
            flat[k] += np.asarray(sign * delta, flat.dtype)
            moved[i] = flat.view(arrays[i].dtype).reshape(arrays[i].shape)
            ends.append((value(moved), float(flat[k])))
        columns.append((ends[0][0] - ends[1][0]) / (2 * delta))
    dtype = _number(_real(arrays[i]).dtype)
    if not columns:
        return np.zeros((value(arrays).size, 0), dtype)
    return np.stack(columns, axis=1).astype(dtype)


def max_error(grad1, grad2):
    """The largest difference between two lists of Jacobians."""
    error = 0.0
    for a, b in zip(grad1, grad2):
        if a.size or b.size:
            error = max(error, np.fabs(a - b).max())
    return error


def _jacobians(session, x, x_shape, y, y_shape, x_value, delta, extra):
    from weir.framework import convert_to_tensor
    from weir.compat.v1.graph_ops import placeholder
    from weir.eager.tape import gradients
    dy = placeholder(y.dtype, shape=y_shape)
    grad = gradients(y, x, grad_ys=dy)[0]
    x_value = np.asarray(x_value)
    y_type = np.dtype(y.dtype.as_numpy_dtype)
    columns, rows = _real(x_value).size, _real(np.zeros(y_shape, y_type)).size
    analytic = np.zeros((columns, rows), _number(_real(x_value).dtype))
    if grad is not None:
        grad = convert_to_tensor(grad)
        for k in range(rows):
            analytic[:, k] = _real(session.run(grad, {**extra, x: x_value, dy: _basis(y_shape, y_type, k)}))
    numeric = np.zeros_like(analytic)
    for k in range(columns):
        ends = []
        for sign in (1, -1):
            moved = np.array(x_value)
            flat = _real(moved)
            flat[k] += np.asarray(sign * delta, flat.dtype)
            moved = flat.view(x_value.dtype).reshape(x_value.shape)
            ends.append(_real(session.run(y, {**extra, x: moved})).astype(np.float64))
        numeric[k] = (ends[0] - ends[1]) / (2 * delta)
    return analytic, numeric


def compute_gradient_v1(x, x_shape, y, y_shape, x_init_value=None, delta=1e-3, init_targets=None, extra_feed_dict=None):
    """Jacobians [size of x, size of y] of y by x in a graph: (by gradients, by differences)."""
    from weir.compat.v1.session import get_default_session
    session = get_default_session()
    for target in init_targets or []:
        session.run(target)
    several = isinstance(x, list)
    xs, shapes = (x, x_shape) if several else ([x], [x_shape])
    if x_init_value is None:
        values = [np.random.random_sample(tuple(s)).astype(t.dtype.as_numpy_dtype) for t, s in zip(xs, shapes)]
    else:
        values = x_init_value if several else [x_init_value]
    extra = dict(extra_feed_dict or {})
    out = []
    for tensor, value in zip(xs, values):
        others = {t: v for t, v in zip(xs, values) if t is not tensor}
        out.append(_jacobians(session, tensor, value.shape, y, tuple(y_shape), value, delta, {**extra, **others}))
    return out if several else out[0]


def compute_gradient_error(x, x_shape, y, y_shape, x_init_value=None, delta=1e-3, init_targets=None, extra_feed_dict=None):
    """The largest difference between the Jacobians of compute_gradient."""
    found = compute_gradient_v1(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    pairs = found if isinstance(found, list) else [found]
    return max((float(np.fabs(a - n).max()) if a.size else 0.0) for a, n in pairs)
