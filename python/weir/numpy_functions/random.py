"""tf.experimental.numpy.random"""

from weir.framework import as_dtype
from weir.numpy_functions.types import array, default_float
from weir.ops import random as random_ops


def seed(s):
    """Makes the numbers that follow the same every time."""
    from weir.framework.random_seed import set_seed
    set_seed(int(array(s, "int32")))


def randn(*args):
    """Normally distributed numbers in the shape of the arguments."""
    return standard_normal(args or None)


def standard_normal(size=None):
    """Normally distributed numbers."""
    return random_ops.normal(_shape(size), dtype=as_dtype(default_float()))


def uniform(low=0.0, high=1.0, size=None):
    """Evenly distributed numbers of [low, high)."""
    dtype = as_dtype(default_float())
    return random_ops.uniform(_shape(size), minval=array(low, dtype), maxval=array(high, dtype), dtype=dtype)


def rand(*size):
    """Evenly distributed numbers of [0, 1) in the shape of the arguments."""
    return uniform(0.0, 1.0, size)


def random(size=None):
    """Evenly distributed numbers of [0, 1)."""
    return uniform(0.0, 1.0, size)


def poisson(lam=1.0, size=None):
    """Numbers of Poisson's distribution."""
    return random_ops.poisson(_shape(size), lam=lam, dtype="int64")


def randint(low, high=None, size=None, dtype=None):
    """Integers of [low, high), or of [0, low)."""
    if high is None:
        low, high = 0, low
    dtype = as_dtype(dtype or "int64")
    accepted = dtype if dtype.name in ("int32", "int64") else as_dtype("int32")
    out = random_ops.uniform(_shape(size), minval=low, maxval=high, dtype=accepted)
    return array(out, dtype)


def _shape(size):
    if size is None:
        return []
    return [size] if isinstance(size, int) else size
