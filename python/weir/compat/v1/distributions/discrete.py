"""Distributions of whole numbers: Bernoulli, Categorical."""

import weir as tf
from weir.compat.v1.distributions.base import NOT_REPARAMETERIZED, Distribution, RegisterKL, logits_and_probs
from weir.framework.graph import name_scope

_v1 = tf.compat.v1


class Bernoulli(Distribution):
    """1 with a probability, else 0."""

    def __init__(self, logits=None, probs=None, dtype=tf.int32, validate_args=False, allow_nan_stats=True, name="Bernoulli"):
        parameters = locals()
        with name_scope(name) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args=validate_args)
        super().__init__(tf.as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, scope or None)

    logits = property(lambda self: self._logits)
    probs = property(lambda self: self._probs)

    @classmethod
    def _param_shapes(cls, sample_shape):
        return {"logits": sample_shape}

    def _batch(self):
        return (self._logits,)

    def _sample_n(self, n, seed):
        drawn = tf.random.uniform(tf.concat([[n], self.batch_shape_tensor()], 0), dtype=self.probs.dtype, seed=seed)
        return tf.cast(drawn < self.probs, self.dtype)

    def _log_prob(self, event):
        event = tf.cast(event, self.logits.dtype)
        shape = tf.broadcast_dynamic_shape(tf.shape(event), tf.shape(self.logits))
        return -tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.broadcast_to(event, shape),
                                                        logits=tf.broadcast_to(self.logits, shape))

    def _entropy(self):
        return -self.logits * (tf.sigmoid(self.logits) - 1.0) + tf.math.softplus(-self.logits)

    def _mean(self):
        return tf.identity(self.probs)

    def _variance(self):
        return self._mean() * (1.0 - self.probs)

    def _mode(self):
        return tf.cast(self.probs > 0.5, self.dtype)


class Categorical(Distribution):
    """One of several classes."""

    def __init__(self, logits=None, probs=None, dtype=tf.int32, validate_args=False, allow_nan_stats=True,
                 name="Categorical"):
        parameters = locals()
        with name_scope(name) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, True, validate_args)
        super().__init__(tf.as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, scope or None)

    logits = property(lambda self: self._logits)
    probs = property(lambda self: self._probs)

    @property
    def event_size(self):
        """The number of classes."""
        return tf.shape(self._logits, name="event_size")[-1]

    @property
    def batch_shape(self):
        return self._logits.shape[:-1]

    def _batch(self):
        return (self._logits[..., 0],)

    def _sample_n(self, n, seed):
        flat = self.logits if self.logits.shape.rank == 2 else tf.reshape(self.logits, [-1, self.event_size])
        drawn = tf.cast(_v1.multinomial(flat, n, seed=seed), self.dtype)
        return tf.reshape(tf.transpose(drawn), tf.concat([[n], self.batch_shape_tensor()], 0))

    def _together(self, k):
        """Values and logits of one shape."""
        shape = tf.broadcast_dynamic_shape(tf.shape(k), tf.shape(self.logits)[:-1])
        return tf.broadcast_to(k, shape), tf.broadcast_to(self.logits, tf.concat([shape, [self.event_size]], 0))

    def _log_prob(self, k):
        k, logits = self._together(k)
        return -tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.cast(k, tf.int32), logits=logits)

    def _cdf(self, k):
        k, logits = self._together(k)
        below = tf.sequence_mask(tf.cast(k, tf.int32), maxlen=self.event_size, dtype=self.probs.dtype)
        return tf.reduce_sum(tf.nn.softmax(logits) * below, -1)

    def _entropy(self):
        return -tf.reduce_sum(tf.nn.log_softmax(self.logits) * self.probs, -1)

    def _mode(self):
        return tf.cast(tf.argmax(self.logits, -1), self.dtype)


@RegisterKL(Bernoulli, Bernoulli)
def _kl_bernoulli(a, b, name=None):
    del name
    zero = tf.math.softplus(-a.logits) - tf.math.softplus(-b.logits)
    one = tf.math.softplus(a.logits) - tf.math.softplus(b.logits)
    return -tf.sigmoid(a.logits) * zero - tf.sigmoid(-a.logits) * one


@RegisterKL(Categorical, Categorical)
def _kl_categorical(a, b, name=None):
    del name
    difference = tf.nn.log_softmax(a.logits) - tf.nn.log_softmax(b.logits)
    return tf.reduce_sum(tf.nn.softmax(a.logits) * difference, -1)
