"""compat.v1: values that may be sparse, ragged placeholders, files beside a program, functions of graphs."""

import os

from weir.framework import convert_to_tensor, is_tensor
from weir.framework.raw_ops import raw_ops

__all__ = ["convert_to_tensor_or_sparse_tensor", "convert_to_tensor_or_indexed_slices", "sparse_merge", "ragged_constant_value",
           "ragged_placeholder", "get_path_to_datafile", "get_data_files_path", "load_resource", "readahead_file_path",
           "get_root_dir_with_all_resources", "wrap_function", "xla_compile", "batch_scatter_update"]


def convert_to_tensor_or_sparse_tensor(value, dtype=None, name=None):
    """A SparseTensor of a SparseTensor or its value, else a tensor."""
    from weir.ops.sparse import SparseTensor, SparseTensorValue
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        if dtype and value.dtype != dtype:
            raise RuntimeError(f"Sparse dtype mismatch. Requested: {dtype}, actual: {value.dtype.name}.")
        return value
    return convert_to_tensor(value, dtype=dtype, name=name)


def convert_to_tensor_or_indexed_slices(value, dtype=None, name=None):
    """IndexedSlices as they are, else a tensor."""
    from weir.ops.indexed_slices import IndexedSlices
    if isinstance(value, IndexedSlices):
        if dtype and not value.dtype.is_compatible_with(dtype):
            raise ValueError(f"Incompatible tensor conversion requested to `dtype` {dtype} for `value` ({value}) with dtype "
                             f"{value.dtype.name}")
        return value
    return convert_to_tensor(value, dtype=dtype, name=name)


def sparse_merge(sp_ids, sp_values, vocab_size, name=None, already_sorted=False):
    """A SparseTensor with the ids of one as its last indices and the values of another."""
    import weir as tf
    ids = list(sp_ids) if isinstance(sp_ids, (list, tuple)) else [sp_ids]
    sizes = list(vocab_size) if isinstance(vocab_size, (list, tuple)) else [vocab_size]
    if len(ids) != len(sizes):
        raise ValueError(f"sp_ids and vocab_size have to have equal lengths. Received {len(ids)} and {len(sizes)}.")
    with tf.name_scope(name or "SparseMerge"):
        columns = [tf.expand_dims(tf.cast(part.values, tf.int64), 1) for part in ids]
        indices = tf.concat([ids[0].indices[:, :-1], *columns], axis=1)
        shape = tf.concat([ids[0].dense_shape[:-1], tf.cast(tf.stack(sizes), tf.int64)], 0)
        result = tf.SparseTensor(indices, sp_values.values, shape)
        return result if already_sorted else tf.sparse.reorder(result)


def ragged_constant_value(pylist, dtype=None, ragged_rank=None, inner_shape=None, row_splits_dtype="int64"):
    """A RaggedTensorValue of nested lists; an array where nothing is ragged."""
    import weir as tf
    from weir.compat.v1.session import RaggedTensorValue
    from weir.framework.graph import eager_mode
    with eager_mode():
        made = tf.ragged.constant(pylist, dtype=dtype, ragged_rank=ragged_rank, inner_shape=inner_shape,
                                  row_splits_dtype=tf.as_dtype(row_splits_dtype))

        def value(part):
            if isinstance(part, tf.RaggedTensor):
                return RaggedTensorValue(value(part.values), part.row_splits.numpy())
            return part.numpy()
        return value(made)


def ragged_placeholder(dtype, ragged_rank, value_shape=None, name=None):
    """A RaggedTensor whose parts are fed."""
    import weir as tf
    v1 = tf.compat.v1
    if ragged_rank == 0:
        return v1.placeholder(dtype, value_shape, name)
    with tf.name_scope(name or "RaggedPlaceholder"):
        result = v1.placeholder(dtype, tf.TensorShape([None]).concatenate(value_shape), "flat_values")
        for i in reversed(range(ragged_rank)):
            result = tf.RaggedTensor.from_row_splits(result, v1.placeholder(tf.int64, [None], f"row_splits_{i}"),
                                                     validate=False)
        return result


def get_data_files_path():
    """The folder of the file that calls this."""
    import inspect
    return os.path.dirname(os.path.abspath(inspect.stack()[1].filename))


def get_path_to_datafile(path):
    """A path beside the file that calls this."""
    import inspect
    return os.path.join(os.path.dirname(os.path.abspath(inspect.stack()[1].filename)), path)


def get_root_dir_with_all_resources():
    return get_data_files_path()


def load_resource(path):
    """The bytes of a file relative to the working folder."""
    with open(path, "rb") as file:
        return file.read()


def readahead_file_path(path, readahead="128M"):
    del readahead
    return path


def wrap_function(fn, signature, name=None):
    """A function of a TensorFlow 1 style `fn`, traced once for `signature`; its variables are kept."""
    from weir.eager.function import function
    del name
    return function(fn, autograph=False).get_concrete_function(*signature)


def xla_compile(computation, inputs=None):
    """The outputs of `computation(*inputs)`, as a list."""
    result = computation(*(inputs or []))
    if result is None:
        return []
    return list(result) if isinstance(result, (list, tuple)) else [result]


def batch_scatter_update(ref, indices, updates, use_locking=True, name=None):
    """Rows of each batch entry of a variable become those of `updates`."""
    import weir as tf
    indices = tf.convert_to_tensor(indices)
    batch = tf.shape(indices)
    grids = tf.meshgrid(*[tf.range(batch[i], dtype=indices.dtype) for i in range(indices.shape.rank - 1)], indexing="ij") \
        if indices.shape.rank > 1 else []
    places = [tf.broadcast_to(tf.expand_dims(g, -1), batch) for g in grids] + [indices]
    return ref.scatter_nd_update(tf.stack(places, axis=-1), updates, name=name)


def is_sparse(value):
    return not is_tensor(value) and hasattr(value, "dense_shape")


def check_numerics_ops():
    """An operation that checks all floating point tensors of the default graph."""
    import weir as tf
    from weir.framework.graph import executing_eagerly, get_default_graph
    if executing_eagerly():
        raise RuntimeError("add_check_numerics_ops() is not compatible with eager execution. To check for Inf's and NaN's "
                           "under eager execution, call tf.debugging.enable_check_numerics() once before executing the "
                           "checked operations.")
    checks = []
    for op in get_default_graph().get_operations():
        for output in op.outputs:
            if output.dtype in (tf.float16, tf.float32, tf.float64):
                checks.append(raw_ops.CheckNumerics(tensor=output, message=f"{op.name}:{output._index}"))
    return tf.group(*checks)
