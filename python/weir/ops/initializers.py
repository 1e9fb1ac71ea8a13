"""Initial values of variables: tf.zeros_initializer and its kin, and those of compat.v1.

TensorFlow 2's take the type when they are called, TensorFlow 1's when they are made.
"""

import math as _math

import numpy as np

from weir.framework import as_dtype, convert_to_tensor, dtypes, raw_ops
from weir.framework.shapes import as_shape
from weir.ops import array, linalg, math, random

__all__ = ["Initializer", "zeros_initializer", "ones_initializer", "constant_initializer",
           "random_uniform_initializer", "random_normal_initializer"]


def _fans(shape):
    """How many numbers go into and come out of a unit: the last two dimensions, times the rest."""
    if len(shape) < 1:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    rest = int(np.prod(shape[:-2], dtype=np.int64))
    return shape[-2] * rest, shape[-1] * rest


class Initializer:
    """Gives the initial value of a variable of a shape."""

    dtype = dtypes.float32

    def __call__(self, shape, dtype=None, **kwargs):
        raise NotImplementedError

    def get_config(self):
        return {}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


class zeros_initializer(Initializer):
    def __call__(self, shape, dtype=dtypes.float32, **kwargs):
        return array.zeros(shape, as_dtype(dtype or self.dtype))


class ones_initializer(Initializer):
    def __call__(self, shape, dtype=dtypes.float32, **kwargs):
        return array.ones(shape, as_dtype(dtype or self.dtype))


class constant_initializer(Initializer):
    def __init__(self, value=0, support_partition=False):
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(f"Invalid type for initial value: {type(value).__name__}. Expected Python scalar, list or "
                            "tuple of values, or numpy.ndarray.")
        self.value = value

    def __call__(self, shape, dtype=None, **kwargs):
        dtype = None if dtype is None else as_dtype(dtype)
        shape = as_shape(shape).as_list()
        array_value = np.asarray(self.value)
        if array_value.size == int(np.prod(shape, dtype=np.int64)):
            array_value = array_value.reshape(shape)
        elif array_value.size != 1:
            raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, but got {array_value.shape}.")
        if dtype is None and array_value.dtype == np.float64:
            dtype = dtypes.float32
        return array.fill(shape, convert_to_tensor(array_value.reshape([]), dtype)) if array_value.size == 1 else \
            convert_to_tensor(array_value, dtype)

    def get_config(self):
        return {"value": self.value}


class random_uniform_initializer(Initializer):
    def __init__(self, minval=-0.05, maxval=0.05, seed=None):
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(self, shape, dtype=dtypes.float32, **kwargs):
        dtype = as_dtype(dtype or self.dtype)
        high = self.maxval if self.maxval is not None else 1.0
        if self.seed is not None:  # every call with the same seed gives the same values
            return random.stateless_uniform(shape, [self.seed, 0], self.minval, high, dtype)
        return random.uniform(shape, self.minval, high, dtype)

    def get_config(self):
        return {"minval": self.minval, "maxval": self.maxval, "seed": self.seed}


class random_normal_initializer(Initializer):
    def __init__(self, mean=0.0, stddev=0.05, seed=None):
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, shape, dtype=dtypes.float32, **kwargs):
        dtype = as_dtype(dtype or self.dtype)
        if self.seed is not None:
            return random.stateless_normal(shape, [self.seed, 0], self.mean, self.stddev, dtype)
        return random.normal(shape, self.mean, self.stddev, dtype)

    def get_config(self):
        return {"mean": self.mean, "stddev": self.stddev, "seed": self.seed}


# Those of compat.v1.

class _Typed:
    """Takes the type when it is made; one given to the call goes before it."""

    def _type(self, dtype):
        return as_dtype(dtype) if dtype is not None else self.dtype


class Zeros(_Typed, Initializer):
    def __init__(self, dtype=dtypes.float32):
        self.dtype = as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return array.zeros(shape, self._type(dtype))


class Ones(_Typed, Initializer):
    def __init__(self, dtype=dtypes.float32):
        self.dtype = as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return array.ones(shape, self._type(dtype))


class Constant(_Typed, Initializer):
    def __init__(self, value=0, dtype=dtypes.float32, verify_shape=False):
        constant_initializer(value)
        self.value, self.dtype, self._verify = value, as_dtype(dtype), verify_shape

    def __call__(self, shape, dtype=None, partition_info=None, verify_shape=None):
        dtype, shape = self._type(dtype), as_shape(shape)
        value = np.asarray(self.value)
        if value.ndim == 0 or not shape.is_fully_defined() or tuple(shape.as_list()) == value.shape:
            return constant_initializer(self.value)(shape, dtype)
        if self._verify if verify_shape is None else verify_shape:
            raise TypeError(f"Expected Tensor's shape: {tuple(shape.as_list())}, but got {value.shape}.")
        count = shape.num_elements()
        if value.size > count:
            raise ValueError(f"Too many elements provided. Needed at most {count}, but received {value.size}")
        flat = np.concatenate([value.reshape(-1), np.repeat(value.reshape(-1)[-1:], count - value.size)])  # the last goes on
        return constant_initializer(flat.reshape(shape.as_list()))(shape, dtype)


class RandomUniform(_Typed, Initializer):
    def __init__(self, minval=0.0, maxval=None, seed=None, dtype=dtypes.float32):
        self.minval, self.maxval, self.seed, self.dtype = minval, maxval, seed, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return random.uniform(shape, self.minval, 1.0 if self.maxval is None else self.maxval, self._type(dtype),
                              seed=self.seed)


class RandomNormal(_Typed, Initializer):
    def __init__(self, mean=0.0, stddev=1.0, seed=None, dtype=dtypes.float32):
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return random.normal(shape, self.mean, self.stddev, self._type(dtype), seed=self.seed)


class TruncatedNormal(RandomNormal):
    def __call__(self, shape, dtype=None, partition_info=None):
        return random.truncated_normal(shape, self.mean, self.stddev, self._type(dtype), seed=self.seed)


class UniformUnitScaling(_Typed, Initializer):
    def __init__(self, factor=1.0, seed=None, dtype=dtypes.float32):
        self.factor, self.seed, self.dtype = factor, seed, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        full = partition_info.full_shape if partition_info is not None else as_shape(shape).as_list()
        size = float(np.prod(full[:-1])) if len(full) > 1 else 1.0
        limit = _math.sqrt(3 / max(1.0, size)) * self.factor
        return random.uniform(shape, -limit, limit, self._type(dtype), seed=self.seed)


class VarianceScaling(_Typed, Initializer):
    def __init__(self, scale=1.0, mode="fan_in", distribution="truncated_normal", seed=None, dtype=dtypes.float32):
        if scale <= 0.0:
            raise ValueError(f"Argument `scale` must be a positive float. Received: {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Argument `mode` should be one of ('fan_in', 'fan_out', 'fan_avg'). Received: {mode}")
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError("Argument `distribution` should be one of ('normal', uniform', 'truncated_normal', "
                             f"'untruncated_normal'). Received: {distribution}")
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed
        self.dtype = as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        full = partition_info.full_shape if partition_info is not None else as_shape(shape).as_list()
        fan_in, fan_out = _fans([int(d) for d in full])
        count = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[self.mode]
        scale = self.scale / max(1.0, count)
        kind = self._type(dtype)
        if self.distribution in ("normal", "truncated_normal"):
            # Of a normal distribution that is cut at two deviations, 0.8796 of the deviation is left.
            return random.truncated_normal(shape, 0.0, _math.sqrt(scale) / 0.87962566103423978, kind, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return random.normal(shape, 0.0, _math.sqrt(scale), kind, seed=self.seed)
        limit = _math.sqrt(3.0 * scale)
        return random.uniform(shape, -limit, limit, kind, seed=self.seed)


class GlorotUniform(VarianceScaling):
    def __init__(self, seed=None, dtype=dtypes.float32):
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


class GlorotNormal(VarianceScaling):
    def __init__(self, seed=None, dtype=dtypes.float32):
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


def lecun_normal(seed=None):
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed=None):
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def he_normal(seed=None):
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed=None):
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


class Orthogonal(_Typed, Initializer):
    def __init__(self, gain=1.0, seed=None, dtype=dtypes.float32):
        self.gain, self.seed, self.dtype = gain, seed, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        shape = as_shape(shape).as_list()
        if len(shape) < 2:
            raise ValueError(f"The tensor to initialize, specified by argument `shape` must be at least two-dimensional. "
                             f"Received shape={shape}")
        rows = int(np.prod(shape[:-1]))
        flat = (max(rows, shape[-1]), min(rows, shape[-1]))
        q, r = raw_ops.Qr(input=random.normal(flat, dtype=self._type(dtype), seed=self.seed), full_matrices=False)
        q = q * math.sign(linalg.diag_part(r))
        if rows < shape[-1]:
            q = array.transpose(q)
        return self.gain * array.reshape(q, shape)


class Identity(_Typed, Initializer):
    def __init__(self, gain=1.0, dtype=dtypes.float32):
        self.gain, self.dtype = gain, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        shape = as_shape(shape).as_list()
        if len(shape) != 2:
            raise ValueError("The tensor to initialize, specified by argument `shape` must be at least two-dimensional. "
                             f"Received shape={shape}")
        return convert_to_tensor(self.gain * np.eye(*shape), self._type(dtype))


for _class in (zeros_initializer, ones_initializer, constant_initializer, random_uniform_initializer,
               random_normal_initializer):
    _class.__module__ = "tensorflow.python.ops.init_ops_v2"
