"""Distributions of real numbers: Normal, Uniform, Laplace, Gamma, Exponential, Beta, StudentT."""

import math

import numpy as np

import weir as tf
from weir.compat.v1.distributions.base import (FULLY_REPARAMETERIZED, Distribution, RegisterKL, checked, new_seed,
                                               undefined_where)
from weir.framework.graph import name_scope

_v1 = tf.compat.v1


class _OfTwo(Distribution):
    """A distribution of two broadcast parameters."""

    def __init__(self, first, second, positive, parameters, validate_args, allow_nan_stats, name):
        """`first` and `second` are (name, value); those in `positive` must be."""
        with name_scope(name) as scope:
            values = {}
            for key, value in (first, second):
                values[key] = tf.convert_to_tensor(value, name=key)
                if validate_args and key in positive:
                    values[key] = checked(values[key], [tf.debugging.assert_positive(values[key])])
                else:
                    values[key] = tf.identity(values[key], name=key)
            _same_float_type(list(values.values()))
        for key, value in values.items():
            setattr(self, "_" + key, value)
        self._two = tuple(values.values())
        super().__init__(self._two[0].dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, scope or None)

    def _batch(self):
        return self._two

    def _like_batch(self, value):
        return value * tf.ones(self.batch_shape_tensor(), self.dtype)

    def _drawn_shape(self, n):
        return tf.concat([[n], self.batch_shape_tensor()], 0)


def _same_float_type(tensors):
    first = tensors[0]
    for tensor in tensors[1:]:
        if tensor.dtype != first.dtype:
            raise ValueError(f"{tensor}, type={tensor.dtype!r}, must be of the same type ({first.dtype!r}) as {first}.")
    if not first.dtype.is_floating:
        raise ValueError(f"Expected floating point type, got {first.dtype!r}.")


class Normal(_OfTwo):
    """The normal distribution."""

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Normal"):
        super().__init__(("loc", loc), ("scale", scale), ("scale",), locals(), validate_args, allow_nan_stats, name)

    loc = property(lambda self: self._loc)
    scale = property(lambda self: self._scale)

    @classmethod
    def _param_shapes(cls, sample_shape):
        return {"loc": sample_shape, "scale": sample_shape}

    def _sample_n(self, n, seed):
        return tf.random.normal(self._drawn_shape(n), 0.0, 1.0, self.dtype, seed=seed) * self.scale + self.loc

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _log_prob(self, x):
        return -0.5 * tf.square(self._z(x)) - (0.5 * math.log(2.0 * math.pi) + tf.math.log(self.scale))

    def _cdf(self, x):
        return _ndtr(self._z(x))

    def _log_cdf(self, x):
        return _log_ndtr(self._z(x))

    def _survival_function(self, x):
        return _ndtr(-self._z(x))

    def _log_survival_function(self, x):
        return _log_ndtr(-self._z(x))

    def _quantile(self, p):
        return tf.math.ndtri(p) * self.scale + self.loc

    def _entropy(self):
        return 0.5 * math.log(2.0 * math.pi) + 0.5 + tf.math.log(self.scale * tf.ones_like(self.loc))

    def _mean(self):
        return self.loc * tf.ones_like(self.scale)

    _mode = _mean

    def _stddev(self):
        return self.scale * tf.ones_like(self.loc)


def _ndtr(x):
    """The share of a normal distribution below x."""
    half_sqrt_2 = tf.constant(0.5 * math.sqrt(2.0), x.dtype)
    w = x * half_sqrt_2
    z = tf.abs(w)
    y = tf.where(z < half_sqrt_2, 1.0 + tf.math.erf(w), tf.where(w > 0.0, 2.0 - tf.math.erfc(z), tf.math.erfc(z)))
    return 0.5 * y


def _log_ndtr(x):
    """Its logarithm: far below the mean by an asymptotic series, far above by the rest."""
    upper, lower = (8.0, -20.0) if x.dtype == tf.float64 else (5.0, -10.0)
    below = tf.minimum(x, lower)
    square = tf.square(below)
    even, odd, factor = 0.0, 0.0, 1.0
    for i in range(1, 4):
        factor *= 2 * i - 1
        term = factor / tf.pow(square, float(i))
        even, odd = (even + term, odd) if i % 2 == 0 else (even, odd + term)
    series = -0.5 * square - tf.math.log(-below) - 0.5 * math.log(2.0 * math.pi) + tf.math.log(1.0 + even - odd)
    return tf.where(x > upper, -_ndtr(-x), tf.where(x > lower, tf.math.log(_ndtr(tf.maximum(x, lower))), series))


class Uniform(_OfTwo):
    """Numbers from `low` to below `high`."""

    def __init__(self, low=0.0, high=1.0, validate_args=False, allow_nan_stats=True, name="Uniform"):
        super().__init__(("low", low), ("high", high), (), locals(), validate_args, allow_nan_stats, name)
        if validate_args:
            self._low = checked(self._low, [tf.debugging.assert_less(
                self._low, self._high, message="uniform not defined when low >= high.")])

    low = property(lambda self: self._low)
    high = property(lambda self: self._high)

    @classmethod
    def _param_shapes(cls, sample_shape):
        return {"low": sample_shape, "high": sample_shape}

    def range(self, name="range"):
        """high - low"""
        with self._scope(name):
            return self.high - self.low

    def _sample_n(self, n, seed):
        return self.low + self.range() * tf.random.uniform(self._drawn_shape(n), dtype=self.dtype, seed=seed)

    def _prob(self, x):
        width = self.range() * tf.ones_like(x)
        inside = tf.where((x < self.low) | (x >= self.high), tf.zeros_like(width), tf.ones_like(width) / width)
        return tf.where(tf.math.is_nan(x), x, inside)

    def _cdf(self, x):
        shape = tf.broadcast_dynamic_shape(tf.shape(x), self.batch_shape_tensor())
        zeros, ones = tf.zeros(shape, self.dtype), tf.ones(shape, self.dtype)
        x = x * ones
        inside = tf.where(x < self.low * ones, zeros, (x - self.low) / self.range())
        return tf.where(x >= self.high, ones, inside)

    def _entropy(self):
        return tf.math.log(self.range())

    def _mean(self):
        return (self.low + self.high) / 2.0

    def _variance(self):
        return tf.square(self.range()) / 12.0

    def _stddev(self):
        return self.range() / math.sqrt(12.0)


class Laplace(_OfTwo):
    """Two exponential distributions back to back."""

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Laplace"):
        super().__init__(("loc", loc), ("scale", scale), ("scale",), locals(), validate_args, allow_nan_stats, name)

    loc = property(lambda self: self._loc)
    scale = property(lambda self: self._scale)
    _param_shapes = Normal.__dict__["_param_shapes"]

    def _sample_n(self, n, seed):
        kind = self.dtype.as_numpy_dtype
        drawn = tf.random.uniform(self._drawn_shape(n), np.nextafter(kind(-1.0), kind(0.0)), kind(1.0), self.dtype, seed=seed)
        return self.loc - self.scale * tf.sign(drawn) * tf.math.log1p(-tf.abs(drawn))

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _log_prob(self, x):
        return -tf.abs(self._z(x)) - (math.log(2.0) + tf.math.log(self.scale))

    def _cdf(self, x):
        z = self._z(x)
        return 0.5 + 0.5 * tf.sign(z) * (1.0 - tf.exp(-tf.abs(z)))

    def _log_cdf(self, x):
        z = self._z(x)
        return tf.where(z < 0.0, z - math.log(2.0), tf.math.log1p(-0.5 * tf.exp(-tf.abs(z))))

    def _log_survival_function(self, x):
        return self._log_cdf(2.0 * self.loc - x)

    def _entropy(self):
        return math.log(2.0) + 1.0 + tf.math.log(self.scale + tf.zeros_like(self.loc))

    def _mean(self):
        return self.loc + tf.zeros_like(self.scale)

    _mode = _mean

    def _stddev(self):
        return math.sqrt(2.0) * self.scale + tf.zeros_like(self.loc)


class Gamma(_OfTwo):
    """The distribution of waiting times for `concentration` events of a rate."""

    def __init__(self, concentration, rate, validate_args=False, allow_nan_stats=True, name="Gamma"):
        super().__init__(("concentration", concentration), ("rate", rate), ("concentration", "rate"), locals(),
                         validate_args, allow_nan_stats, name)

    concentration = property(lambda self: self._concentration)
    rate = property(lambda self: self._rate)

    @classmethod
    def _param_shapes(cls, sample_shape):
        return {"concentration": sample_shape, "rate": sample_shape}

    def _sample_n(self, n, seed):
        return tf.random.gamma([n], self.concentration, self.rate, self.dtype, seed=seed)

    def _log_prob(self, x):
        normalization = tf.math.lgamma(self.concentration) - self.concentration * tf.math.log(self.rate)
        return tf.math.xlogy(self.concentration - 1.0, x) - self.rate * x - normalization

    def _cdf(self, x):
        return tf.math.igamma(self._like_batch(self.concentration), self.rate * x)

    def _entropy(self):
        a = self.concentration
        return a - tf.math.log(self.rate) + tf.math.lgamma(a) + (1.0 - a) * tf.math.digamma(a)

    def _mean(self):
        return self.concentration / self.rate

    def _variance(self):
        return self.concentration / tf.square(self.rate)

    def _stddev(self):
        return tf.sqrt(self.concentration) / self.rate

    def _mode(self):
        return undefined_where(self, tf.broadcast_to(self.concentration > 1.0, self.batch_shape_tensor()),
                               (self.concentration - 1.0) / self.rate, "mode not defined when any concentration <= 1")


class Exponential(Gamma):
    """The distribution of waiting times for one event."""

    def __init__(self, rate, validate_args=False, allow_nan_stats=True, name="Exponential"):
        parameters = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        rate = tf.convert_to_tensor(rate, name="rate")
        super().__init__(tf.ones([], rate.dtype), rate, validate_args, allow_nan_stats, name)
        self._parameters = parameters

    @classmethod
    def _param_shapes(cls, sample_shape):
        return {"rate": sample_shape}

    def _sample_n(self, n, seed):
        kind = self.dtype.as_numpy_dtype
        drawn = tf.random.uniform(tf.concat([[n], tf.shape(self.rate)], 0), np.finfo(kind).tiny, kind(1.0), self.dtype,
                                  seed=seed)
        return -tf.math.log(drawn) / self.rate


class Beta(_OfTwo):
    """Numbers between 0 and 1."""

    def __init__(self, concentration1=None, concentration0=None, validate_args=False, allow_nan_stats=True, name="Beta"):
        super().__init__(("concentration1", concentration1), ("concentration0", concentration0),
                         ("concentration1", "concentration0"), locals(), validate_args, allow_nan_stats, name)
        self._total = self._concentration1 + self._concentration0

    concentration1 = property(lambda self: self._concentration1)
    concentration0 = property(lambda self: self._concentration0)
    total_concentration = property(lambda self: self._total)

    @classmethod
    def _param_shapes(cls, sample_shape):
        return {"concentration1": sample_shape, "concentration0": sample_shape}

    def _sample_n(self, n, seed):
        ones = tf.ones_like(self._total)
        first = tf.random.gamma([n], ones * self.concentration1, dtype=self.dtype, seed=seed)
        second = tf.random.gamma([n], ones * self.concentration0, dtype=self.dtype, seed=new_seed(seed, "beta"))
        return first / (first + second)

    def _normalization(self):
        return (tf.math.lgamma(self.concentration1) + tf.math.lgamma(self.concentration0)) - tf.math.lgamma(self._total)

    def _log_prob(self, x):
        return (tf.math.xlogy(self.concentration1 - 1.0, x) + (self.concentration0 - 1.0) * tf.math.log1p(-x)) - \
            self._normalization()

    def _cdf(self, x):
        return tf.math.betainc(self._like_batch(self.concentration1), self._like_batch(self.concentration0),
                               self._like_batch(x))

    def _entropy(self):
        a, b = self.concentration1, self.concentration0
        return self._normalization() - (a - 1.0) * tf.math.digamma(a) - (b - 1.0) * tf.math.digamma(b) + \
            (self._total - 2.0) * tf.math.digamma(self._total)

    def _mean(self):
        return self.concentration1 / self._total

    def _variance(self):
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self._total)

    def _mode(self):
        defined = (self.concentration1 > 1.0) & (self.concentration0 > 1.0)
        return undefined_where(self, defined, (self.concentration1 - 1.0) / (self._total - 2.0),
                               "Mode undefined for concentration1 <= 1 or concentration0 <= 1.")


class StudentT(Distribution):
    """Student's t: a normal distribution whose deviation is not known."""

    def __init__(self, df, loc, scale, validate_args=False, allow_nan_stats=True, name="StudentT"):
        parameters = locals()
        with name_scope(name) as scope:
            self._df = tf.identity(tf.convert_to_tensor(df, name="df"), name="df")
            self._loc = tf.identity(tf.convert_to_tensor(loc, name="loc"), name="loc")
            self._scale = tf.identity(tf.convert_to_tensor(scale, name="scale"), name="scale")
            _same_float_type([self._df, self._loc, self._scale])
            if validate_args:
                self._df = checked(self._df, [tf.debugging.assert_positive(self._df)])
        super().__init__(self._scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, scope or None)

    df = property(lambda self: self._df)
    loc = property(lambda self: self._loc)
    scale = property(lambda self: self._scale)

    @classmethod
    def _param_shapes(cls, sample_shape):
        return {"df": sample_shape, "loc": sample_shape, "scale": sample_shape}

    def _batch(self):
        return self._df, self._loc, self._scale

    def _sample_n(self, n, seed):
        shape = tf.concat([[n], self.batch_shape_tensor()], 0)
        normal = tf.random.normal(shape, dtype=self.dtype, seed=seed)
        df = self.df * tf.ones(self.batch_shape_tensor(), self.dtype)
        gamma = tf.random.gamma([n], 0.5 * df, beta=tf.constant(0.5, self.dtype), dtype=self.dtype,
                                seed=new_seed(seed, "student_t"))
        return normal * tf.math.rsqrt(gamma / df) * self.scale + self.loc

    def _log_prob(self, x):
        y = (x - self.loc) / self.scale
        unnormalized = -0.5 * (self.df + 1.0) * tf.math.log1p(tf.square(y) / self.df)
        normalization = tf.math.log(tf.abs(self.scale)) + 0.5 * tf.math.log(self.df) + 0.5 * math.log(math.pi) + \
            tf.math.lgamma(0.5 * self.df) - tf.math.lgamma(0.5 * (self.df + 1.0))
        return unnormalized - normalization

    def _cdf(self, x):
        y = (x - self.loc) / tf.abs(self.scale)
        tail = 0.5 * tf.math.betainc(0.5 * self.df + tf.zeros_like(y), tf.constant(0.5, self.dtype) + tf.zeros_like(y),
                                     self.df / (tf.square(y) + self.df))
        return tf.where(y < 0.0, tail, 1.0 - tail)

    def _entropy(self):
        ones = tf.ones(self.batch_shape_tensor(), self.dtype)
        half, df = 0.5 * (self.df * ones), self.df
        log_beta = tf.math.lgamma(half) + tf.math.lgamma(0.5 * ones) - tf.math.lgamma(half + 0.5)
        return tf.math.log(tf.abs(self.scale)) + 0.5 * tf.math.log(df) + log_beta + \
            0.5 * (df + 1.0) * (tf.math.digamma(0.5 * (df + 1.0)) - tf.math.digamma(0.5 * df))

    def _mean(self):
        ones = tf.ones(self.batch_shape_tensor(), self.dtype)
        return undefined_where(self, self.df * ones > 1.0, self.loc * ones, "mean not defined for components of df <= 1")

    def _mode(self):
        return self.loc * tf.ones(self.batch_shape_tensor(), self.dtype)

    def _variance(self):
        ones = tf.ones(self.batch_shape_tensor(), self.dtype)
        df = self.df * ones
        finite = df > 2.0
        variance = tf.where(finite, tf.square(self.scale) * df / tf.where(finite, df - 2.0, ones),
                            tf.fill(tf.shape(df), tf.constant(float("inf"), self.dtype)))
        return undefined_where(self, df > 1.0, variance, "variance not defined for components of df <= 1")


@RegisterKL(Normal, Normal)
def _kl_normal(a, b, name=None):
    del name
    ratio = tf.square(a.scale) / tf.square(b.scale)
    return tf.square(a.loc - b.loc) / (2.0 * tf.square(b.scale)) + 0.5 * (ratio - 1.0 - tf.math.log(ratio))


@RegisterKL(Gamma, Gamma)
def _kl_gamma(a, b, name=None):
    del name
    return ((a.concentration - b.concentration) * tf.math.digamma(a.concentration) + tf.math.lgamma(b.concentration) -
            tf.math.lgamma(a.concentration) + b.concentration * tf.math.log(a.rate) -
            b.concentration * tf.math.log(b.rate) + a.concentration * (b.rate / a.rate - 1.0))


@RegisterKL(Beta, Beta)
def _kl_beta(a, b, name=None):
    del name
    d1, d0 = b.concentration1 - a.concentration1, b.concentration0 - a.concentration0
    total = b.total_concentration - a.total_concentration
    return (b._normalization() - a._normalization() - tf.math.digamma(a.concentration1) * d1 -
            tf.math.digamma(a.concentration0) * d0 + tf.math.digamma(a.total_concentration) * total)
