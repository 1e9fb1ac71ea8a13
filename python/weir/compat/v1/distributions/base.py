"""What all distributions of tf.compat.v1.distributions have: shapes, samples, probabilities, statistics, divergences."""

import contextlib
import hashlib

import weir as tf
from weir.framework.graph import executing_eagerly, name_scope

__all__ = ["Distribution", "FULLY_REPARAMETERIZED", "NOT_REPARAMETERIZED", "RegisterKL", "ReparameterizationType",
           "checked", "cross_entropy", "kl_divergence", "logits_and_probs", "new_seed", "undefined_where"]


class ReparameterizationType:
    """Whether samples are differentiable functions of the parameters."""

    def __init__(self, rep_type):
        self._rep_type = rep_type

    def __repr__(self):
        return f"<Reparameterization Type: {self._rep_type}>"

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


def new_seed(seed, salt):
    """Another seed, which the first one and a word decide."""
    if seed is None:
        return None
    return int(hashlib.md5((str(seed) + salt).encode()).hexdigest()[:8], 16) & 0x7FFFFFFF


def checked(value, assertions):
    """The value, after assertions that only graphs have as operations."""
    assertions = [a for a in assertions if a is not None]
    if not assertions:
        return tf.identity(value)
    with tf.control_dependencies(assertions):
        return tf.identity(value)


def logits_and_probs(logits=None, probs=None, multidimensional=False, validate_args=False):
    """Both of log-odds and probabilities, one of which is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Must pass probs or logits, but not both.")
    if probs is None:
        logits = tf.convert_to_tensor(logits, name="logits")
        if not logits.dtype.is_floating:
            raise TypeError("logits must having floating type.")
        return logits, tf.nn.softmax(logits) if multidimensional else tf.sigmoid(logits)
    probs = tf.convert_to_tensor(probs, name="probs")
    if not probs.dtype.is_floating:
        raise TypeError("probs must having floating type.")
    if validate_args:
        one = tf.constant(1.0, probs.dtype)
        found = [tf.debugging.assert_non_negative(probs)]
        found.append(tf.debugging.assert_near(tf.reduce_sum(probs, -1), one, message="probs does not sum to 1.")
                     if multidimensional else
                     tf.debugging.assert_less_equal(probs, one, message="probs has components greater than 1."))
        probs = checked(probs, found)
    return (tf.math.log(probs) if multidimensional else tf.math.log(probs) - tf.math.log1p(-probs)), probs


def undefined_where(distribution, condition, value, message):
    """The value, NaN where the statistic is not defined; or an error, if NaN is not allowed."""
    if distribution.allow_nan_stats:
        nan = tf.fill(tf.shape(value), tf.constant(float("nan"), value.dtype))
        return tf.where(condition, value, nan)
    return checked(value, [tf.debugging.assert_equal(condition, tf.ones_like(condition), message=message)])


class Distribution:
    """A distribution, or a batch of them; `sample`, `log_prob` and the statistics are functions of its parameters."""

    _event = ()  # the shape of one event, where it does not depend on the parameters

    def __init__(self, dtype, reparameterization_type, validate_args, allow_nan_stats, parameters, name):
        self._dtype, self._reparameterization_type = dtype, reparameterization_type
        self._validate_args, self._allow_nan_stats = validate_args, allow_nan_stats
        self._parameters = {k: v for k, v in parameters.items() if k not in ("self", "__class__")}
        self._name = None if executing_eagerly() else name

    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype)
    reparameterization_type = property(lambda self: self._reparameterization_type)
    allow_nan_stats = property(lambda self: self._allow_nan_stats)
    validate_args = property(lambda self: self._validate_args)
    parameters = property(lambda self: dict(self._parameters))

    # Shapes.

    def _batch(self):
        """Tensors whose broadcast shape is that of the batch."""
        raise NotImplementedError

    @property
    def batch_shape(self):
        """The static shape of the batch."""
        shape = tf.TensorShape([])
        for part in self._batch():
            shape = tf.broadcast_static_shape(shape, part.shape)
        return shape

    @property
    def event_shape(self):
        """The static shape of one event."""
        return tf.TensorShape(self._event)

    def batch_shape_tensor(self, name="batch_shape_tensor"):
        """The shape of the batch as a tensor."""
        with self._scope(name):
            if self.batch_shape.is_fully_defined():
                return tf.constant(self.batch_shape.as_list(), tf.int32, name="batch_shape")
            shape = tf.constant([], tf.int32)
            for part in self._batch():
                shape = tf.broadcast_dynamic_shape(shape, tf.shape(part))
            return shape

    def event_shape_tensor(self, name="event_shape_tensor"):
        """The shape of one event as a tensor."""
        with self._scope(name):
            return tf.constant(self.event_shape.as_list(), tf.int32, name="event_shape")

    def is_scalar_event(self, name="is_scalar_event"):
        with self._scope(name):
            return tf.constant(self.event_shape.rank == 0, name="is_scalar_event")

    def is_scalar_batch(self, name="is_scalar_batch"):
        with self._scope(name):
            if self.batch_shape.rank is not None:
                return tf.constant(self.batch_shape.rank == 0, name="is_scalar_batch")
            return tf.equal(tf.size(self.batch_shape_tensor()), 0)

    @classmethod
    def _param_shapes(cls, sample_shape):
        raise NotImplementedError("_param_shapes not implemented")

    @classmethod
    def param_shapes(cls, sample_shape, name="DistributionParamShapes"):
        """The shapes of parameters for which `sample()` has a shape."""
        with name_scope(name):
            return cls._param_shapes(tf.convert_to_tensor(sample_shape, tf.int32))

    @classmethod
    def param_static_shapes(cls, sample_shape):
        shapes = cls.param_shapes(tf.TensorShape(sample_shape).as_list())
        return {name: tf.TensorShape(tf.get_static_value(shape)) for name, shape in shapes.items()}

    def copy(self, **override_parameters_kwargs):
        """The same distribution with other parameters."""
        return type(self)(**dict(self._parameters, **override_parameters_kwargs))

    @contextlib.contextmanager
    def _scope(self, name):
        with name_scope(self._name or type(self).__name__), name_scope(name):
            yield

    # Samples and probabilities.

    def _sample_n(self, n, seed):
        raise NotImplementedError(f"sample is not implemented: {type(self).__name__}")

    def sample(self, sample_shape=(), seed=None, name="sample"):
        """Samples of a shape, before the shapes of the batch and the event."""
        with self._scope(name):
            sample_shape = tf.convert_to_tensor(sample_shape, tf.int32, name="sample_shape")
            wanted = tf.reshape(sample_shape, [-1])
            drawn = self._sample_n(tf.reduce_prod(wanted), seed)
            known = tf.get_static_value(wanted)
            shape = tf.concat([wanted, tf.shape(drawn)[1:]], 0)
            result = tf.reshape(drawn, shape)
            if known is not None and not executing_eagerly():
                result.set_shape(tf.TensorShape([int(k) for k in known]).concatenate(drawn.shape[1:]))
            return result

    def _value(self, value):
        return tf.convert_to_tensor(value, dtype_hint=self.dtype, name="value")

    def _first_of(self, operation, value, *ways):
        """The result of the first way that the distribution has: [(method, what makes the wanted of its result)]."""
        for method, finish in ways:
            own = getattr(self, method, None)
            if own is not None:
                return finish(own(value))
        raise NotImplementedError(f"{operation} is not implemented: {type(self).__name__}")

    def log_prob(self, value, name="log_prob"):
        """The logarithm of the density, or of the mass."""
        with self._scope(name):
            return self._first_of("log_prob", self._value(value), ("_log_prob", _same), ("_prob", tf.math.log))

    def prob(self, value, name="prob"):
        with self._scope(name):
            return self._first_of("prob", self._value(value), ("_prob", _same), ("_log_prob", tf.exp))

    def log_cdf(self, value, name="log_cdf"):
        with self._scope(name):
            return self._first_of("log_cdf", self._value(value), ("_log_cdf", _same), ("_cdf", tf.math.log))

    def cdf(self, value, name="cdf"):
        with self._scope(name):
            return self._first_of("cdf", self._value(value), ("_cdf", _same), ("_log_cdf", tf.exp))

    def log_survival_function(self, value, name="log_survival_function"):
        with self._scope(name):
            return self._first_of("log_survival_function", self._value(value), ("_log_survival_function", _same),
                                  ("_cdf", lambda cdf: tf.math.log1p(-cdf)),
                                  ("_log_cdf", lambda log_cdf: tf.math.log1p(-tf.exp(log_cdf))))

    def survival_function(self, value, name="survival_function"):
        with self._scope(name):
            return self._first_of("survival_function", self._value(value), ("_survival_function", _same),
                                  ("_cdf", lambda cdf: 1.0 - cdf), ("_log_cdf", lambda log_cdf: 1.0 - tf.exp(log_cdf)))

    def quantile(self, value, name="quantile"):
        with self._scope(name):
            return self._first_of("quantile", self._value(value), ("_quantile", _same))

    # Statistics.

    def _statistic(self, name):
        own = getattr(self, "_" + name, None)
        if own is None:
            raise NotImplementedError(f"{name} is not implemented: {type(self).__name__}")
        return own()

    def entropy(self, name="entropy"):
        with self._scope(name):
            return self._statistic("entropy")

    def mean(self, name="mean"):
        with self._scope(name):
            return self._statistic("mean")

    def mode(self, name="mode"):
        with self._scope(name):
            return self._statistic("mode")

    def covariance(self, name="covariance"):
        with self._scope(name):
            return self._statistic("covariance")

    def variance(self, name="variance"):
        with self._scope(name):
            if hasattr(self, "_variance"):
                return self._variance()
            if hasattr(self, "_stddev"):
                return tf.square(self._stddev())
            return self._statistic("variance")

    def stddev(self, name="stddev"):
        with self._scope(name):
            return self._stddev() if hasattr(self, "_stddev") else tf.sqrt(self._statistic("variance"))

    def cross_entropy(self, other, name="cross_entropy"):
        with self._scope(name):
            return cross_entropy(self, other)

    def kl_divergence(self, other, name="kl_divergence"):
        with self._scope(name):
            return kl_divergence(self, other, self.allow_nan_stats)

    def __str__(self):
        return (f'tfp.distributions.{type(self).__name__}("{self.name}", batch_shape={self.batch_shape}, '
                f"event_shape={self.event_shape}, dtype={self.dtype.name})")

    def __repr__(self):
        return (f"<tfp.distributions.{type(self).__name__} '{self.name}' batch_shape={self.batch_shape} "
                f"event_shape={self.event_shape} dtype={self.dtype.name}>")


def _same(value):
    return value


_DIVERGENCES = {}


class RegisterKL:
    """A decorator of functions (a, b, name) that give the divergence of one class from another."""

    def __init__(self, dist_cls_a, dist_cls_b):
        self._key = dist_cls_a, dist_cls_b

    def __call__(self, kl_fn):
        if not callable(kl_fn):
            raise TypeError("kl_fn must be callable, received: %s" % kl_fn)
        if self._key in _DIVERGENCES:
            raise ValueError(f"KL({self._key[0].__name__} || {self._key[1].__name__}) has already been registered to: "
                             f"{_DIVERGENCES[self._key]}")
        _DIVERGENCES[self._key] = kl_fn
        return kl_fn


def kl_divergence(distribution_a, distribution_b, allow_nan_stats=True, name=None):
    """The Kullback-Leibler divergence of one distribution from another."""
    ways = [(i + j, kl) for (a, b), kl in _DIVERGENCES.items()
            for i, x in enumerate(type(distribution_a).__mro__) if x is a
            for j, y in enumerate(type(distribution_b).__mro__) if y is b]
    if not ways:
        raise NotImplementedError("No KL(distribution_a || distribution_b) registered for distribution_a type "
                                  f"{type(distribution_a).__name__} and distribution_b type "
                                  f"{type(distribution_b).__name__}")
    with name_scope("KullbackLeibler"):
        result = min(ways, key=lambda way: way[0])[1](distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return result
        return checked(result, [tf.debugging.assert_equal(
            tf.reduce_any(tf.math.is_nan(result)), False, message="KL calculation between the distributions returned NaN "
            "values")])


def cross_entropy(ref, other, allow_nan_stats=True, name=None):
    """The entropy of the first and its divergence from the second."""
    return ref.entropy() + kl_divergence(ref, other, allow_nan_stats=allow_nan_stats, name=name)
