"""Distributions of vectors: Dirichlet, Multinomial, DirichletMultinomial."""

import weir as tf
from weir.compat.v1.distributions.base import (FULLY_REPARAMETERIZED, NOT_REPARAMETERIZED, Distribution, RegisterKL,
                                               checked, logits_and_probs, new_seed, undefined_where)
from weir.framework.graph import name_scope

_v1 = tf.compat.v1


def _log_combinations(total, counts):
    """The logarithm of the number of ways to put `total` things into groups of these sizes."""
    return tf.math.lgamma(total + 1.0) - tf.reduce_sum(tf.math.lgamma(counts + 1.0), -1)


def _diagonal(matrix, values):
    return tf.linalg.set_diag(matrix, values)


class _OverSimplex(Distribution):
    """A distribution whose events are vectors, as long as the last dimension of its parameter."""

    def _long(self):
        raise NotImplementedError

    @property
    def event_shape(self):
        return self._long().shape[-1:]

    @property
    def batch_shape(self):
        return self._long().shape[:-1]

    def _batch(self):
        return (tf.reduce_sum(self._long(), -1),)

    def event_shape_tensor(self, name="event_shape_tensor"):
        with self._scope(name):
            return tf.shape(self._long())[-1:]

    def _concentration_of(self, given, validate_args):
        concentration = tf.convert_to_tensor(given, name="concentration")
        if validate_args:
            concentration = checked(concentration, [tf.debugging.assert_positive(
                concentration, message="Concentration parameter must be positive.")])
        return concentration


class Dirichlet(_OverSimplex):
    """Vectors of probabilities."""

    def __init__(self, concentration, validate_args=False, allow_nan_stats=True, name="Dirichlet"):
        parameters = locals()
        with name_scope(name) as scope:
            self._concentration = self._concentration_of(concentration, validate_args)
            self._total = tf.reduce_sum(self._concentration, -1)
        super().__init__(self._concentration.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         scope or None)

    concentration = property(lambda self: self._concentration)
    total_concentration = property(lambda self: self._total)

    def _long(self):
        return self._concentration

    def _sample_n(self, n, seed):
        drawn = tf.random.gamma([n], self.concentration, dtype=self.dtype, seed=seed)
        return drawn / tf.reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, x):
        return tf.reduce_sum(tf.math.xlogy(self.concentration - 1.0, x), -1) - tf.math.lbeta(self.concentration)

    def _entropy(self):
        k = tf.cast(self.event_shape_tensor()[0], self.dtype)
        return tf.math.lbeta(self.concentration) + (self._total - k) * tf.math.digamma(self._total) - tf.reduce_sum(
            (self.concentration - 1.0) * tf.math.digamma(self.concentration), -1)

    def _mean(self):
        return self.concentration / self._total[..., tf.newaxis]

    def _scale(self):
        return tf.math.rsqrt(1.0 + self._total[..., tf.newaxis])

    def _covariance(self):
        x = self._scale() * self._mean()
        return _diagonal(tf.matmul(-x[..., tf.newaxis], x[..., tf.newaxis, :]), self._variance())

    def _variance(self):
        scale = self._scale()
        x = scale * self._mean()
        return x * (scale - x)

    def _mode(self):
        k = tf.cast(self.event_shape_tensor()[0], self.dtype)
        mode = (self.concentration - 1.0) / (self._total[..., tf.newaxis] - k)
        defined = tf.broadcast_to(tf.reduce_all(self.concentration > 1.0, -1, keepdims=True), tf.shape(mode))
        return undefined_where(self, defined, mode, "Mode undefined when any concentration <= 1")


class Multinomial(_OverSimplex):
    """How often each class was drawn."""

    def __init__(self, total_count, logits=None, probs=None, validate_args=False, allow_nan_stats=True, name="Multinomial"):
        parameters = locals()
        with name_scope(name) as scope:
            self._total_count = tf.convert_to_tensor(total_count, name="total_count")
            if validate_args:
                self._total_count = checked(self._total_count, [tf.debugging.assert_non_negative(
                    self._total_count, message="total_count must be non-negative.")])
            self._logits, self._probs = logits_and_probs(logits, probs, True, validate_args)
            self._mean_val = self._total_count[..., tf.newaxis] * self._probs
        super().__init__(self._probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, scope or None)

    total_count = property(lambda self: self._total_count)
    logits = property(lambda self: self._logits)
    probs = property(lambda self: self._probs)

    def _long(self):
        return self._mean_val

    def _sample_n(self, n, seed):
        k = self.event_shape_tensor()[0]
        counts = tf.ones_like(self.logits[..., 0], dtype=tf.int32) * tf.cast(self.total_count, tf.int32)
        logits = tf.ones_like(counts[..., tf.newaxis], dtype=self.logits.dtype) * self.logits

        def one(arguments):
            row, count = arguments
            drawn = tf.reshape(_v1.multinomial(row[tf.newaxis], n * count, seed=seed), [n, -1])
            return tf.reduce_sum(tf.one_hot(drawn, k, dtype=self.dtype), -2)
        rows = tf.map_fn(one, (tf.reshape(logits, [-1, k]), tf.reshape(counts, [-1])), fn_output_signature=self.dtype)
        return tf.reshape(tf.transpose(rows, [1, 0, 2]), tf.concat([[n], self.batch_shape_tensor(), [k]], 0))

    def _log_prob(self, counts):
        return tf.reduce_sum(counts * tf.nn.log_softmax(self.logits), -1) + _log_combinations(self.total_count, counts)

    def _mean(self):
        return tf.identity(self._mean_val)

    def _covariance(self):
        p = self.probs * tf.ones_like(self.total_count)[..., tf.newaxis]
        return _diagonal(-tf.matmul(self._mean_val[..., tf.newaxis], p[..., tf.newaxis, :]), self._variance())

    def _variance(self):
        p = self.probs * tf.ones_like(self.total_count)[..., tf.newaxis]
        return self._mean_val - self._mean_val * p


class DirichletMultinomial(_OverSimplex):
    """How often each class was drawn, where the probabilities were drawn first."""

    def __init__(self, total_count, concentration, validate_args=False, allow_nan_stats=True, name="DirichletMultinomial"):
        parameters = locals()
        with name_scope(name) as scope:
            self._total_count = tf.convert_to_tensor(total_count, name="total_count")
            self._concentration = self._concentration_of(concentration, validate_args)
            self._total = tf.reduce_sum(self._concentration, -1)
        super().__init__(self._concentration.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         scope or None)

    total_count = property(lambda self: self._total_count)
    concentration = property(lambda self: self._concentration)
    total_concentration = property(lambda self: self._total)

    def _long(self):
        return self._concentration

    def _sample_n(self, n, seed):
        k = self.event_shape_tensor()[0]
        logits = tf.reshape(tf.math.log(tf.random.gamma([n], self.concentration, dtype=self.dtype, seed=seed)), [-1, k])
        drawn = _v1.multinomial(logits, tf.cast(self.total_count, tf.int32), seed=new_seed(seed, "dirichlet_multinomial"))
        counts = tf.reduce_sum(tf.one_hot(drawn, k, dtype=self.dtype), -2)
        return tf.reshape(counts, tf.concat([[n], self.batch_shape_tensor(), [k]], 0))

    def _log_prob(self, counts):
        ordered = tf.math.lbeta(self.concentration + counts) - tf.math.lbeta(self.concentration)
        return ordered + _log_combinations(self.total_count, counts)

    def _mean(self):
        return self.total_count * (self.concentration / self._total[..., tf.newaxis])

    def _scale(self):
        total = self._total[..., tf.newaxis]
        return tf.sqrt((1.0 + total / self.total_count[..., tf.newaxis]) / (1.0 + total))

    def _covariance(self):
        x = self._scale() * self._mean()
        return _diagonal(tf.matmul(-x[..., tf.newaxis], x[..., tf.newaxis, :]), self._variance())

    def _variance(self):
        scale = self._scale()
        x = scale * self._mean()
        return x * (self.total_count * scale - x)


@RegisterKL(Dirichlet, Dirichlet)
def _kl_dirichlet(a, b, name=None):
    del name
    digamma = tf.math.digamma(a.concentration) - tf.math.digamma(tf.reduce_sum(a.concentration, -1, keepdims=True))
    difference = tf.reduce_sum((a.concentration - b.concentration) * digamma, -1)
    return difference - tf.math.lbeta(a.concentration) + tf.math.lbeta(b.concentration)
