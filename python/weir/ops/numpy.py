"""The part of `tf.experimental.numpy` that there is."""

import numpy as np

from weir.framework import as_dtype, convert_to_tensor
from weir.ops import array
from weir.ops.dtypes import cast

__all__ = ["finfo", "iinfo", "result_type", "select"]


def _numpy_type(dtype):
    return as_dtype(dtype).as_numpy_dtype


def finfo(dtype):
    """The limits of a floating point type."""
    kind = _numpy_type(dtype)
    if np.dtype(kind).kind != "f":
        import ml_dtypes
        return ml_dtypes.finfo(kind)
    return np.finfo(kind)


def iinfo(dtype):
    """The limits of an integer type."""
    return np.iinfo(_numpy_type(dtype))


def result_type(*arrays_and_dtypes):
    """The type that numpy's rules give for operations on all of these."""
    return np.result_type(*[v.dtype.as_numpy_dtype if hasattr(v, "dtype") and hasattr(v.dtype, "as_numpy_dtype") else v
                            for v in arrays_and_dtypes])


def select(condlist, choicelist, default=0):
    """For each place the element of the first choice whose condition holds."""
    if len(condlist) != len(choicelist):
        raise ValueError(f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})")
    if not condlist:
        raise ValueError("condlist must be non-empty")
    choices = [convert_to_tensor(c) for c in choicelist]
    kind = as_dtype(np.result_type(*[c.dtype.as_numpy_dtype for c in choices],
                                   default if not hasattr(default, "dtype") else as_dtype(default.dtype).as_numpy_dtype))
    output = cast(convert_to_tensor(default), kind)
    for condition, choice in zip(reversed(condlist), reversed(choices)):
        output = array.where(convert_to_tensor(condition), cast(choice, kind), output)
    return output
