"""x[...]: Python's slices as StridedSlice."""

import numpy as np

from weir import _core
from weir.framework import dtypes
from weir.framework.conversion import convert_to_tensor
from weir.framework.raw_ops import raw_ops
from weir.framework.tensor import EagerTensor, Tensor

_MESSAGE = ("Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are "
            "valid indices, got {!r}")


def _check(index):
    if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
        return
    dtype = getattr(index, "dtype", None)
    if dtype is not None:
        shape = getattr(index, "shape", ())
        rank = len(shape) if not hasattr(shape, "rank") else shape.rank
        if dtypes.as_dtype(dtype).base_dtype in (dtypes.int32, dtypes.int64, dtypes.int16, dtypes.uint8, dtypes.int8,
                                                 dtypes.uint32, dtypes.uint16, dtypes.uint64) and rank in (0, None):
            return
    if hasattr(index, "value") and hasattr(index, "__index__"):  # a Dimension
        return
    raise TypeError(_MESSAGE.format(index))


def _pack(values, dtype, name="stack"):
    if all(not isinstance(v, Tensor) for v in values):
        array = np.asarray([int(v) for v in values], dtype=dtype.as_numpy_dtype)
        eager = _core.constant(array)
        if _core.current_graph() is None:
            return eager
        from weir.framework.conversion import _add_constant
        return _add_constant(eager, name)
    items = []
    for value in values:
        tensor = convert_to_tensor(value) if isinstance(value, Tensor) else convert_to_tensor(int(value), dtype)
        items.append(tensor if tensor.dtype is dtype else raw_ops.Cast(tensor, dtype))
    return raw_ops.Pack(values=items)


class Spec:
    """A key of x[key] as the arguments of StridedSlice."""

    def __init__(self, key):
        if not isinstance(key, tuple):
            key = tuple(key) if isinstance(key, list) else (key,)
        self.begin, self.end, self.strides = [], [], []
        self.masks = dict(begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0)
        self.dtype = dtypes.int32
        for i, index in enumerate(key):
            if isinstance(index, slice):
                for name, value, values in (("begin_mask", index.start, self.begin), ("end_mask", index.stop, self.end)):
                    if value is None:
                        values.append(0)
                        self.masks[name] |= 1 << i
                    else:
                        _check(value)
                        values.append(self._note(value))
                if index.step is None:
                    self.strides.append(1)
                else:
                    _check(index.step)
                    if isinstance(index.step, int) and index.step == 0:
                        raise _zero_step()
                    self.strides.append(self._note(index.step))
            elif index is Ellipsis:
                self._add(0, 0, 1)
                self.masks["ellipsis_mask"] |= 1 << i
            elif index is None:
                self._add(0, 0, 1)
                self.masks["new_axis_mask"] |= 1 << i
            else:
                _check(index)
                index = self._note(index)
                self._add(index, index + 1, 1)
                self.masks["shrink_axis_mask"] |= 1 << i

    def _add(self, begin, end, stride):
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)

    def _note(self, value):
        if isinstance(value, Tensor) or hasattr(value, "_should_act_as_resource_variable"):
            value = convert_to_tensor(value)
            if value.dtype is dtypes.int64:
                self.dtype = dtypes.int64
            if isinstance(value, EagerTensor) and _core.current_graph() is None:
                return int(value.numpy())
            return value
        value = int(value)
        if not -2**31 <= value < 2**31:
            self.dtype = dtypes.int64
        return value

    def tensors(self):
        return (_pack(self.begin, self.dtype), _pack(self.end, self.dtype, "stack_1"),
                _pack(self.strides, self.dtype, "stack_2"))


def _zero_step():
    from weir.framework import errors
    return errors.InvalidArgumentError(None, None, "strides[0] must be non-zero")


def _is_mask(key):
    return isinstance(key, (Tensor, np.ndarray)) and dtypes.as_dtype(key.dtype) is dtypes.bool


def slice_tensor(tensor, key, var=None):
    if _is_mask(key):
        from weir.ops import array
        return array.boolean_mask(tensor, key)
    spec = Spec(key)
    if not spec.begin:
        if isinstance(key, tuple):  # x[()]
            return raw_ops.Identity(tensor)
    graph = _core.current_graph()
    if graph is None:
        begin, end, strides = spec.tensors()
        return raw_ops.StridedSlice(input=tensor, begin=begin, end=end, strides=strides, **spec.masks)
    with graph.name_scope("strided_slice") as scope:
        begin, end, strides = spec.tensors()
        return raw_ops.StridedSlice(input=tensor, begin=begin, end=end, strides=strides, name=scope, **spec.masks)
