"""tensorflow.python.ops.data_flow_ops.StagingArea: tensors that wait for a later step."""

from weir.framework import TensorShape, as_dtype, convert_to_tensor
from weir.framework.raw_ops import raw_ops

__all__ = ["StagingArea"]


class StagingArea:
    """A queue of tuples of tensors, of any or a given capacity."""

    _count = 0

    def __init__(self, dtypes, shapes=None, names=None, shared_name=None, capacity=0, memory_limit=0):
        self._dtypes = [as_dtype(d) for d in dtypes]
        self._shapes = [TensorShape(s) for s in shapes] if shapes is not None else [TensorShape(None)] * len(self._dtypes)
        self._names = list(names) if names else None
        if shared_name is None:
            StagingArea._count += 1
            shared_name = f"StagingArea_{StagingArea._count}"
        self._options = {"shared_name": shared_name, "capacity": capacity, "memory_limit": memory_limit}

    dtypes = property(lambda self: self._dtypes)
    shapes = property(lambda self: self._shapes)
    names = property(lambda self: self._names)
    capacity = property(lambda self: self._options["capacity"])
    memory_limit = property(lambda self: self._options["memory_limit"])

    def put(self, values, name=None):
        """An operation that adds a tuple, a list, or a dictionary where the area has names."""
        if isinstance(values, dict):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            values = [values[n] for n in self._names]
        elif self._names:
            raise ValueError("Expected dict with keys " + str(self._names))
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        values = [convert_to_tensor(v, dtype=d) for v, d in zip(values, self._dtypes)]
        for value, shape in zip(values, self._shapes):
            shape.assert_is_compatible_with(value.shape)
        return raw_ops.Stage(values=values, name=name, **self._options)

    def _result(self, tensors):
        tensors = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
        for tensor, shape in zip(tensors, self._shapes):
            tensor.set_shape(shape)
        return dict(zip(self._names, tensors)) if self._names else tensors

    def get(self, name=None):
        """The oldest tuple; waits for one."""
        return self._result(raw_ops.Unstage(dtypes=self._dtypes, name=name, **self._options))

    def peek(self, index, name=None):
        """The tuple at an index, which stays."""
        return self._result(raw_ops.StagePeek(index=index, dtypes=self._dtypes, name=name, **self._options))

    def size(self, name=None):
        """How many tuples wait."""
        return raw_ops.StageSize(dtypes=self._dtypes, name=name, **self._options)

    def clear(self, name=None):
        """An operation that drops all tuples."""
        return raw_ops.StageClear(dtypes=self._dtypes, name=name, **self._options)


