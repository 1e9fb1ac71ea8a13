"""Sets in the last dimension of tensors, sparse or dense."""

from weir.framework import convert_to_tensor, raw_ops
from weir.ops.sparse import SparseTensor


def _operation(a, b, operation, validate_indices):
    sparse_a, sparse_b = isinstance(a, SparseTensor), isinstance(b, SparseTensor)
    if not sparse_a:
        a = convert_to_tensor(a)
    if not sparse_b:
        b = convert_to_tensor(b)
    if sparse_a and not sparse_b:
        # The op takes the dense set first.
        if operation == "a-b":
            operation = "b-a"
        a, b, sparse_a, sparse_b = b, a, False, True
    if sparse_a:
        parts = raw_ops.SparseToSparseSetOperation(
            set1_indices=a.indices, set1_values=a.values, set1_shape=a.dense_shape, set2_indices=b.indices,
            set2_values=b.values, set2_shape=b.dense_shape, set_operation=operation, validate_indices=validate_indices)
    elif sparse_b:
        parts = raw_ops.DenseToSparseSetOperation(set1=a, set2_indices=b.indices, set2_values=b.values,
                                                  set2_shape=b.dense_shape, set_operation=operation,
                                                  validate_indices=validate_indices)
    else:
        parts = raw_ops.DenseToDenseSetOperation(set1=a, set2=b, set_operation=operation,
                                                 validate_indices=validate_indices)
    return SparseTensor(*parts)


def intersection(a, b, validate_indices=True):
    """What is in both sets."""
    return _operation(a, b, "intersection", validate_indices)


def union(a, b, validate_indices=True):
    """What is in either set."""
    return _operation(a, b, "union", validate_indices)


def difference(a, b, aminusb=True, validate_indices=True):
    """What is in one set only: in `a`, or in `b` if not `aminusb`."""
    return _operation(a, b, "a-b" if aminusb else "b-a", validate_indices)


def size(a, validate_indices=True):
    """The number of distinct elements of each set."""
    if not isinstance(a, SparseTensor):
        raise TypeError("Expected `SparseTensor`, got %s." % a)
    return raw_ops.SetSize(set_indices=a.indices, set_values=a.values, set_shape=a.dense_shape,
                           validate_indices=validate_indices)
