"""Random matrices for tests of linear operators."""

import numpy as np

import weir as tf

__all__ = ["random_normal", "random_normal_correlated_columns", "random_positive_definite_matrix", "random_sign_uniform",
           "random_tril_matrix", "random_uniform"]


def _seeds(seed):
    state = np.random.RandomState(seed) if seed is not None else np.random
    return [int(s) for s in state.randint(1, 2 ** 31 - 1, size=3)]


def random_normal(shape, mean=0.0, stddev=1.0, dtype=tf.float32, seed=None):
    """Gaussian numbers, real or complex."""
    dtype, seeds = tf.as_dtype(dtype), _seeds(seed)
    real = tf.random.normal(shape, mean=mean, stddev=stddev, dtype=dtype.real_dtype, seed=seeds[0])
    if not dtype.is_complex:
        return real
    return tf.complex(real, tf.random.normal(shape, mean=mean, stddev=stddev, dtype=dtype.real_dtype, seed=seeds[1]))


def random_uniform(shape, minval=None, maxval=None, dtype=tf.float32, seed=None):
    """Numbers of an interval, real or complex."""
    dtype, seeds = tf.as_dtype(dtype), _seeds(seed)
    bounds = {"minval": 0 if minval is None else minval, "maxval": maxval}
    real = tf.random.uniform(shape, dtype=dtype.real_dtype, seed=seeds[0], **bounds)
    if not dtype.is_complex:
        return real
    return tf.complex(real, tf.random.uniform(shape, dtype=dtype.real_dtype, seed=seeds[1], **bounds))


def random_sign_uniform(shape, minval=None, maxval=None, dtype=tf.float32, seed=None):
    """Numbers of an interval, each with a random sign."""
    dtype = tf.as_dtype(dtype)
    unsigned = random_uniform(shape, minval=minval, maxval=maxval, dtype=dtype, seed=seed)
    signs = tf.sign(tf.random.uniform(shape, minval=-1.0, maxval=1.0, seed=_seeds(seed)[2]))
    return unsigned * tf.cast(signs, dtype)


def random_positive_definite_matrix(shape, dtype, oversampling_ratio=4, force_well_conditioned=False):
    """Positive definite matrices; well-conditioned if asked for."""
    dtype = tf.as_dtype(dtype)
    shape = tf.convert_to_tensor(shape, tf.int32) if not tf.is_tensor(shape) else shape
    if force_well_conditioned:
        diagonal = random_uniform(shape[:-1], 1.0, 2.0, dtype.real_dtype)
        q = tf.linalg.qr(random_normal(shape, dtype=dtype))[0]
        return tf.matmul(q * tf.cast(diagonal, dtype)[..., tf.newaxis, :], q, adjoint_b=True)
    samples = random_normal(tf.concat([shape[:-1], [oversampling_ratio * shape[-1]]], 0), dtype=dtype)
    scale = tf.cast(tf.sqrt(tf.cast(tf.maximum(oversampling_ratio * shape[-1], 1), dtype.real_dtype)), dtype)
    samples /= scale
    return tf.matmul(samples, samples, adjoint_b=True)


def random_tril_matrix(shape, dtype, force_well_conditioned=False, remove_upper=True):
    """Lower triangular matrices; with a diagonal away from 0 if asked for."""
    dtype = tf.as_dtype(dtype)
    matrix = random_normal(shape, dtype=dtype)
    if remove_upper:
        matrix = tf.linalg.band_part(matrix, -1, 0)
    if force_well_conditioned:
        size = tf.cast(tf.shape(matrix)[-1], dtype.real_dtype)
        matrix /= tf.cast(tf.sqrt(tf.maximum(size, 1)), dtype)
        diagonal = random_sign_uniform(tf.shape(matrix)[:-1], 1.0, 2.0, dtype)
        matrix = tf.linalg.set_diag(matrix, diagonal)
    return matrix


def random_normal_correlated_columns(shape, mean=0.0, stddev=1.0, dtype=tf.float32, eps=1e-4, seed=None):
    """Matrices whose last columns are nearly sums of the first."""
    dtype = tf.as_dtype(dtype)
    shape = list(tf.TensorShape(shape)) if not tf.is_tensor(shape) else shape
    rows, columns = shape[-2], shape[-1]
    base = random_normal(list(shape[:-2]) + [rows, max(columns // 2, 1)], mean, stddev, dtype, seed)
    rest = columns - base.shape[-1]
    if rest <= 0:
        return base
    mixed = tf.matmul(base, random_normal(list(shape[:-2]) + [base.shape[-1], rest], dtype=dtype, seed=seed))
    noise = eps * random_normal(list(shape[:-2]) + [rest if rows is None else rows, rest], dtype=dtype, seed=seed)
    return tf.concat([base, mixed + noise], -1)
