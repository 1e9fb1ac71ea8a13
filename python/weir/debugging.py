"""Assertions on values, shapes and types of tensors, and checks of numbers."""

import numpy as np

from weir import _core
from weir.framework import (TensorShape, as_dtype, control_dependencies, convert_to_tensor, errors, executing_eagerly,
                            get_static_value, is_tensor, raw_ops)
from weir.ops import array, dtypes, math
from weir.ops.generated import CheckNumerics as check_numerics  # noqa: F401


def Assert(condition, data, summarize=None, name=None):  # pylint: disable=invalid-name
    """Raises InvalidArgumentError with `data` in its message unless `condition` holds."""
    if executing_eagerly():
        if not bool(np.all(np.asarray(condition if not hasattr(condition, "numpy") else condition.numpy()))):
            shown = "\n".join(_shown(value, 3 if summarize is None else summarize) for value in data)
            raise errors.InvalidArgumentError(None, None, f"Expected '{convert_to_tensor(condition)!s}' to be true. Summarized "
                                              f"data: {shown}")
        return None
    data = [convert_to_tensor(value) for value in data]
    condition = convert_to_tensor(condition)
    if condition.shape.rank != 0:
        condition = math.reduce_all(condition)
    return raw_ops.Assert(condition=condition, data=data, summarize=3 if summarize is None else summarize,
                          name=name or "Assert")


def _shown(value, summarize):
    flat = np.asarray(convert_to_tensor(value).numpy()).reshape(-1)
    if 0 <= summarize < flat.size:
        return ", ".join(str(v) for v in flat[:summarize]) + ", ..."
    return ", ".join(str(v) for v in flat)


def _prefix(message):
    return f"{message}.  " if message else ""


def _described(name, tensor):
    """The line before a tensor's values in the message of an assertion."""
    if executing_eagerly():
        return f"{name} (shape={tensor.shape} dtype={tensor.dtype.name}) = "
    return f"{name} ({tensor.name}) = "


def _compare(x, y, holds, sign, name, message, summarize):
    """Asserts that a comparison holds for all elements."""
    x = convert_to_tensor(x, dtype_hint=y.dtype if is_tensor(y) else None, name="x")
    y = convert_to_tensor(y, dtype_hint=x.dtype, name="y")
    text = "" if message is None else message
    if executing_eagerly():
        result = holds(x, y)
        if bool(math.reduce_all(result)):
            return None
        count = 3 if summarize is None else summarize
        lines = [text, f"Condition x {sign} y did not hold."]
        if x.shape == y.shape or result.shape.rank:
            places = np.argwhere(~result.numpy())[:count] if result.shape.rank else None
            if places is not None and x.shape == result.shape and y.shape == result.shape:
                lines.append(f"Indices of first {len(places)} different values:\n{places}")
                lines.append(f"Corresponding x values:\n{x.numpy()[tuple(places.T)]}")
                lines.append(f"Corresponding y values:\n{y.numpy()[tuple(places.T)]}")
        for side, values in (("x", x.numpy().reshape(-1)[:count]), ("y", y.numpy().reshape(-1)[:count])):
            lines.append(f"First {len(values)} elements of {side}:\n{values}")
        raise errors.InvalidArgumentError(None, None, "\n".join(line for line in lines if line != "" or text))
    static_x, static_y = get_static_value(x), get_static_value(y)
    if static_x is not None and static_y is not None:
        value = get_static_value(math.reduce_all(holds(x, y)))
        if value is not None and not value:
            raise errors.InvalidArgumentError(None, None, f"{text}\nCondition x {sign} y did not hold: {static_x} and "
                                              f"{static_y}")
    data = [text, f"Condition x {sign} y did not hold element-wise:", "x =", x, "y =", y]
    return Assert(math.reduce_all(holds(x, y)), data, summarize, name)


def _comparison(public_name, op_name, sign, doc):
    def function(x, y, message=None, summarize=None, name=None):
        return _compare(x, y, lambda a, b: getattr(raw_ops, op_name)(x=a, y=b), sign, name, message, summarize)

    function.__name__ = function.__qualname__ = public_name
    function.__doc__ = doc
    return function


assert_equal = _comparison("assert_equal", "Equal", "==", "Asserts that `x` and `y` are equal, element by element.")
assert_none_equal = _comparison("assert_none_equal", "NotEqual", "!=", "Asserts that no elements are equal.")
assert_less = _comparison("assert_less", "Less", "<", "Asserts `x < y`, element by element.")
assert_less_equal = _comparison("assert_less_equal", "LessEqual", "<=", "Asserts `x <= y`, element by element.")
assert_greater = _comparison("assert_greater", "Greater", ">", "Asserts `x > y`, element by element.")
assert_greater_equal = _comparison("assert_greater_equal", "GreaterEqual", ">=",
                                   "Asserts `x >= y`, element by element.")


def _with_zero(x, op_name, sign, message, summarize, name, flip=False, line="\n"):
    """Asserts a comparison of `x` with zero."""
    x = convert_to_tensor(x, name="x")
    zero = array.zeros([], dtype=x.dtype)
    holds = getattr(raw_ops, op_name)
    holds = holds(x=zero, y=x) if flip else holds(x=x, y=zero)
    text = f"{_prefix(message)}\nCondition x {sign} 0 did not hold element-wise:"
    if not executing_eagerly():
        value = get_static_value(math.reduce_all(holds))
        if value is not None and not value:
            raise errors.InvalidArgumentError(None, None, f"{text}{line}{_described('x', x)}{get_static_value(x)}")
        return Assert(math.reduce_all(holds), [_prefix(message), f"Condition x {sign} 0 did not hold element-wise:",
                                               _described("x", x), x], summarize, name)
    if bool(math.reduce_all(holds)):
        return None
    count = 3 if summarize is None else summarize
    flat = np.asarray(x.numpy()).reshape(-1)
    shown = [str(v) for v in (flat if count < 0 else flat[:count])] + (["..."] if 0 <= count < flat.size else [])
    raise errors.InvalidArgumentError(None, None, f"{text}{line}{_described('x', x)}\n{shown}")


def assert_positive(x, message=None, summarize=None, name=None):
    """Asserts `x > 0`."""
    return _with_zero(x, "Less", ">", message, summarize, name, flip=True)


def assert_negative(x, message=None, summarize=None, name=None):
    """Asserts `x < 0`."""
    return _with_zero(x, "Less", "<", message, summarize, name)


def assert_non_negative(x, message=None, summarize=None, name=None):
    """Asserts `x >= 0`."""
    return _with_zero(x, "LessEqual", ">=", message, summarize, name, flip=True)


def assert_non_positive(x, message=None, summarize=None, name=None):
    """Asserts `x <= 0`."""
    return _with_zero(x, "LessEqual", "<=", message, summarize, name, line="")


def assert_near(x, y, rtol=None, atol=None, message=None, summarize=None, name=None):
    """Asserts `|x - y| <= atol + rtol * |y|`; both tolerances are ten times the type's precision by default."""
    x = convert_to_tensor(x)
    y = convert_to_tensor(y, dtype_hint=x.dtype)
    real = x.dtype.real_dtype if x.dtype.is_complex else x.dtype
    epsilon = 10 * np.finfo(real.as_numpy_dtype).eps if real != dtypes.bfloat16 else 0.08
    rtol = convert_to_tensor(epsilon if rtol is None else rtol, dtype=real)
    atol = convert_to_tensor(epsilon if atol is None else atol, dtype=real)
    holds = math.abs(x - y) <= atol + rtol * math.abs(y)
    text = [_prefix(message), f"x and y not equal to tolerance rtol = {rtol!s}, atol = {atol!s}", _described("x", x), x,
            _described("y", y), y]
    return Assert(math.reduce_all(holds), text, summarize, name)


def _fail(message, text):
    raise ValueError(_prefix(message) + text)


def _nothing(name):
    """What an assertion that holds already is: an operation in graphs."""
    return None if executing_eagerly() else raw_ops.NoOp(name=name or "static_checks_determined_all_ok")


def _name_of(x):
    return "" if executing_eagerly() else x.name


def assert_rank(x, rank, message=None, name=None):
    """Asserts that `x` has a rank."""
    x = convert_to_tensor(x)
    rank_value = get_static_value(rank) if is_tensor(rank) else rank
    if np.ndim(rank_value) != 0:
        raise ValueError("Rank must be a scalar.")
    if x.shape.rank is not None:
        if x.shape.rank != int(rank_value):
            _fail(message, f"Tensor {getattr(x, 'name', '') if not executing_eagerly() else ''} must have rank "
                  f"{int(rank_value)}.  Received rank {x.shape.rank}, shape {x.shape}")
        return _nothing(name)
    return Assert(math.equal(array.rank(x), rank), [message or "", "Tensor must have rank", rank], name=name)


def assert_rank_at_least(x, rank, message=None, name=None):
    """Asserts that `x` has at least a rank."""
    x = convert_to_tensor(x)
    rank_value = int(get_static_value(rank) if is_tensor(rank) else rank)
    if x.shape.rank is not None:
        if x.shape.rank < rank_value:
            _fail(message, f"Tensor {_name_of(x)} must have rank at least {rank_value}.  Received rank {x.shape.rank}, shape {x.shape}")
        return _nothing(name)
    return Assert(array.rank(x) >= rank_value, [message or "", "Tensor must have rank at least", rank], name=name)


def assert_rank_in(x, ranks, message=None, name=None):
    """Asserts that `x` has one of several ranks."""
    x = convert_to_tensor(x)
    values = [int(get_static_value(r) if is_tensor(r) else r) for r in ranks]
    if x.shape.rank is not None:
        if x.shape.rank not in values:
            _fail(message, f"Tensor {_name_of(x)} must have rank in {tuple(values)}.  Received rank {x.shape.rank}, shape {x.shape}")
        return _nothing(name)
    return Assert(math.reduce_any(math.equal(array.rank(x), values)), [message or "", "Tensor must have rank in", values],
                  name=name)


def assert_type(tensor, tf_type, message=None, name=None):
    """Asserts the type of a tensor."""
    del name
    tensor = convert_to_tensor(tensor)
    if tensor.dtype != as_dtype(tf_type):
        raise TypeError(f"{_prefix(message)}{_name_of(tensor) or 'tensor'} must be of type {as_dtype(tf_type)!r}; got {tensor.dtype!r}")


def assert_integer(x, message=None, name=None):
    """Asserts that `x` has an integer type."""
    del name
    x = convert_to_tensor(x)
    if not x.dtype.is_integer:
        raise TypeError(f"{_prefix(message)}Expected \"x\" to be integer type.  Found: tensor of dtype {x.dtype!s}"
                        if executing_eagerly() else
                        f"{_prefix(message)}Expected \"x\" to be integer type.  Found: {x.name} of dtype {x.dtype!s}")


def assert_scalar(tensor, message=None, name=None):
    """The tensor, after asserting that it is a scalar."""
    del name
    tensor = convert_to_tensor(tensor)
    if tensor.shape.rank not in (0, None):
        raise ValueError(f"{_prefix(message)}Expected scalar shape, saw shape: {tensor.shape}.")
    return tensor


def assert_proper_iterable(values):
    """Asserts that `values` is an iterable that is neither a tensor, an array nor a string."""
    if is_tensor(values) or isinstance(values, (np.ndarray, str, bytes)) or not hasattr(values, "__iter__"):
        raise TypeError(f"Expected argument \"values\" to be a \"proper\" iterable.  Found: {type(values)}")


def assert_same_float_dtype(tensors=None, dtype=None):
    """The common floating point type of tensors, float32 without any."""
    found = None if dtype is None else as_dtype(dtype).base_dtype
    first = None
    for tensor in tensors or []:
        if tensor is None:
            continue
        kind = convert_to_tensor(tensor).dtype.base_dtype
        if found is not None and kind != found:
            beside = f" as {first!s}" if first is not None else ""
            raise ValueError(f"{tensor!s}, type={kind!s}, must be of the same type ({found!s}){beside}.")
        found, first = kind, tensor if first is None else first
    found = found or dtypes.float32
    if not found.is_floating:
        raise ValueError(f"Expected floating point type, got {found}.")
    return found


def _tensor(value, word="Tensor"):
    value = convert_to_tensor(value)
    return f"{word} shape={value.shape} dtype={value.dtype.name}" if executing_eagerly() else f"{word} {value.name}"


def assert_shapes(shapes, data=None, summarize=None, message=None, name=None):
    """Asserts shapes by symbols: equal symbols are equal sizes, `...` any number of leading dimensions."""
    del data, summarize, name
    pairs = shapes.items() if isinstance(shapes, dict) else shapes
    sizes = {}
    for value, symbols in pairs:
        value = value.deref() if hasattr(value, "deref") else value
        actual = convert_to_tensor(value).shape
        symbols = list(symbols) if isinstance(symbols, (list, tuple, str, TensorShape)) else [symbols]
        if actual.rank is None:
            continue
        dims = actual.as_list()
        if symbols and symbols[0] in ("...", Ellipsis, "*"):
            symbols, dims = symbols[1:], dims[len(dims) - len(symbols) + 1:]
        if len(symbols) != len(dims):
            raise ValueError(f"{_prefix(message)}{_tensor(value)} must have rank {len(symbols)}.  Received rank "
                             f"{actual.rank}, shape {actual}")
        skipped = actual.rank - len(dims)
        for i, (symbol, size) in enumerate(zip(symbols, dims)):
            if size is None or symbol is None or symbol == ".":
                continue
            explicit = isinstance(symbol, int)
            expected, source, place = (symbol, None, 0) if explicit else sizes.setdefault(symbol, (size, value, i + skipped))
            if expected != size:
                by = "Specified explicitly.  " if explicit else \
                    f"Specified by {_tensor(source, 'tensor')} dimension {place}.  "
                raise ValueError(f"{_prefix(message)}{by}{_tensor(value)} dimension {i + skipped} must have size {expected}.  "
                                 f"Received size {size}, shape {actual}")


def is_numeric_tensor(tensor):
    """Whether a value is a tensor of numbers."""
    return is_tensor(tensor) and tensor.dtype.base_dtype.name in (
        "bfloat16 float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64 complex128 qint8 "
        "quint8 qint32").split()


def assert_all_finite(x, message, name=None):
    """`x`, after asserting that it has neither NaN nor infinity."""
    return raw_ops.CheckNumerics(tensor=x, message=message, name=name)


_log_device_placement = False
_check_numerics = False


def set_log_device_placement(enabled):
    """Whether the device of each op is logged as it runs."""
    global _log_device_placement
    _log_device_placement = bool(enabled)
    _core.set_policy("log_placement", _log_device_placement)


def get_log_device_placement():
    """Whether the device of each op is printed."""
    return _log_device_placement


def enable_traceback_filtering():
    """Tracebacks are always those of Python: nothing to switch."""


def disable_traceback_filtering():
    """Tracebacks are always those of Python: nothing to switch."""


def is_traceback_filtering_enabled():
    """False: tracebacks are not filtered."""
    return False


def with_dependencies(dependencies, value):
    """`value`, computed after `dependencies`."""
    with control_dependencies([d for d in dependencies if d is not None]):
        return array.identity(value)


def __getattr__(name):  # names of its namespaces, such as tf.debugging.experimental
    import weir
    return weir.names_of(__name__)(name)
