"""Variables that are cut into parts along their first dimension, each on a parameter server of its own."""

from weir.trackable import Trackable

__all__ = ["ShardedVariable"]


class ShardedVariable(Trackable):
    """Several variables that are one: as a tensor it is their concatenation."""

    is_sharded_variable = True  # for tf.nn.embedding_lookup

    def __init__(self, variables, name="ShardedVariable"):
        if not variables:
            raise ValueError("Argument `variables` must not be an empty list")
        self._variables, self._name = list(variables), name
        first = self._variables[0]
        for other in self._variables[1:]:
            if other.dtype != first.dtype or other.shape[1:] != first.shape[1:]:
                raise ValueError("All variables of a ShardedVariable have one type, and equal shapes but for the first "
                                 "dimension")

    variables = property(lambda self: self._variables)
    name = property(lambda self: self._name)
    dtype = property(lambda self: self._variables[0].dtype)
    trainable = property(lambda self: self._variables[0].trainable)

    @property
    def shape(self):
        """The shape of the whole."""
        import weir as tf
        rest = self._variables[0].shape.as_list()[1:]
        return tf.TensorShape([sum(v.shape.as_list()[0] for v in self._variables)] + rest)

    def get_shape(self):
        return self.shape

    def __iter__(self):
        return iter(self._variables)

    def __len__(self):
        return len(self._variables)

    def _offsets(self):
        begin, out = 0, []
        for variable in self._variables:
            out.append(begin)
            begin += variable.shape.as_list()[0]
        return out

    # As a tensor.

    def __tf_tensor__(self, dtype=None, name=None):
        import weir as tf
        value = tf.concat([v.read_value() for v in self._variables], 0)
        if dtype is not None and tf.as_dtype(dtype) != value.dtype:
            raise ValueError(f"Incompatible type conversion requested to type {tf.as_dtype(dtype).name!r} for a "
                             f"ShardedVariable of type {value.dtype.name!r}")
        return value

    def numpy(self):
        """The whole as an array."""
        return self.__tf_tensor__().numpy()

    def __array__(self, dtype=None, copy=None):
        import numpy as np
        return np.asarray(self.numpy(), dtype=dtype)

    def __getitem__(self, key):
        return self.__tf_tensor__()[key]

    def sparse_read(self, indices, name=None):
        """The rows of these numbers."""
        import weir as tf
        return tf.gather(self.__tf_tensor__(), indices, name=name)

    # Updates: each part gets its rows.

    def _for_all(self, method, value):
        import weir as tf
        value = tf.broadcast_to(tf.convert_to_tensor(value, self.dtype), self.shape)
        for begin, variable in zip(self._offsets(), self._variables):
            getattr(variable, method)(value[begin:begin + variable.shape.as_list()[0]])
        return self

    def assign(self, value, use_locking=None, name=None, read_value=True):
        return self._for_all("assign", value)

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        return self._for_all("assign_add", delta)

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        return self._for_all("assign_sub", delta)

    def _scatter_into(self, method, sparse_delta):
        import weir as tf
        for begin, variable in zip(self._offsets(), self._variables):
            own = tf.where((sparse_delta.indices >= begin) & (sparse_delta.indices < begin + variable.shape.as_list()[0]))
            own = tf.reshape(own, [-1])
            indices = tf.gather(sparse_delta.indices, own) - tf.cast(begin, sparse_delta.indices.dtype)
            getattr(variable, method)(tf.IndexedSlices(tf.gather(sparse_delta.values, own), indices))
        return self

    def scatter_add(self, sparse_delta, use_locking=False, name=None):
        return self._scatter_into("scatter_add", sparse_delta)

    def scatter_sub(self, sparse_delta, use_locking=False, name=None):
        return self._scatter_into("scatter_sub", sparse_delta)

    def scatter_update(self, sparse_delta, use_locking=False, name=None):
        return self._scatter_into("scatter_update", sparse_delta)

    def __repr__(self):
        lines = "\n".join(f"  {i}: {v!r}" for i, v in enumerate(self._variables))
        return f"ShardedVariable:{{\n{lines}\n}}"

    # Checkpoints have the whole under one name.

    def _serialize_to_tensors(self):
        return {"VARIABLE_VALUE": self.__tf_tensor__}

    def _restore_from_tensors(self, restored_tensors):
        self.assign(restored_tensors["VARIABLE_VALUE"])

    def _gather_saveables_for_checkpoint(self):
        return {"VARIABLE_VALUE": self}

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        return {}


def _operator(name):
    def binary(self, other):
        return getattr(self.__tf_tensor__(), name)(other)
    return binary


for _name in ("add", "sub", "mul", "truediv", "matmul", "radd", "rsub", "rmul", "rtruediv", "rmatmul", "pow", "mod",
              "floordiv", "lt", "le", "gt", "ge"):
    setattr(ShardedVariable, f"__{_name}__", _operator(f"__{_name}__"))
ShardedVariable.__neg__ = lambda self: -self.__tf_tensor__()
ShardedVariable.__module__ = "tensorflow.python.distribute.sharded_variable"
