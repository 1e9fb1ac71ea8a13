"""tf.experimental.numpy: NumPy's functions over tensors, with NumPy's rules for types.

Arrays are tensors. Where TensorFlow's functions refuse operands of different types, these promote them as NumPy does;
Python integers and floats become int64 and float64 unless an array beside them has another type.
"""

import math as _math

import numpy as _np

from weir.framework import Tensor as ndarray  # noqa: F401
from weir.numpy_functions.arrays import *  # noqa: F401,F403
from weir.numpy_functions.elementwise import *  # noqa: F401,F403
from weir.numpy_functions.reductions import *  # noqa: F401,F403
from weir.numpy_functions import random  # noqa: F401
from weir.numpy_functions.types import finfo, iinfo  # noqa: F401

bool_, object_, inexact = _np.bool_, _np.object_, _np.inexact
int8, int16, int32, int64, int_ = _np.int8, _np.int16, _np.int32, _np.int64, _np.int64
uint8, uint16, uint32, uint64 = _np.uint8, _np.uint16, _np.uint32, _np.uint64
float16, float32, float64, float_ = _np.float16, _np.float32, _np.float64, _np.float64
complex64, complex128, complex_ = _np.complex64, _np.complex128, _np.complex128
string_, unicode_ = _np.bytes_, _np.str_
issubdtype = _np.issubdtype
e, pi, inf, newaxis = _math.e, _math.pi, _math.inf, None


def experimental_enable_numpy_behavior(prefer_float32=False, dtype_conversion_mode="legacy"):
    """Gives tensors NumPy's methods (`x.reshape(...)`, `x.T`, `x.astype(...)`)."""
    from weir.numpy_functions import behaviour
    behaviour.enable(prefer_float32, dtype_conversion_mode)
