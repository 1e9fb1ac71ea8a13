"""tf.compat: classes of Python's and NumPy's numbers, dimensions, and forward compatibility."""

import contextlib
import datetime
import numbers

import numpy as np

__all__ = ["integral_types", "real_types", "complex_types", "bytes_or_text_types", "dimension_value", "dimension_at_index",
           "forward_compatible", "forward_compatibility_horizon"]

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


def dimension_value(dimension):
    """The size of a dimension, for shapes of TensorFlow 1 and 2 alike."""
    from weir.framework.shapes import Dimension
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape, index):
    """The dimension at an index; an unknown one where the rank is unknown."""
    from weir.framework.shapes import Dimension
    if shape.rank is None:
        return Dimension(None)
    return shape.dims[index]


_RELEASE = datetime.date(2026, 3, 1)  # of TensorFlow 2.21
_horizon = [None]


def forward_compatible(year, month, day):
    """Whether what changed on this day may be relied on."""
    limit = _horizon[0] or _RELEASE
    return limit > datetime.date(year, month, day)


@contextlib.contextmanager
def forward_compatibility_horizon(year, month, day):
    """Inside, `forward_compatible` is true for days before this one."""
    before, _horizon[0] = _horizon[0], datetime.date(year, month, day)
    try:
        yield
    finally:
        _horizon[0] = before
