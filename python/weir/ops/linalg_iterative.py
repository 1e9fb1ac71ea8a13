"""tf.linalg.eigh_tridiagonal and tf.linalg.experimental.conjugate_gradient; n-dimensional Fourier transforms."""

import collections

import weir as tf

__all__ = ["eigh_tridiagonal", "conjugate_gradient", "fftnd", "ifftnd", "rfftnd", "irfftnd"]


def eigh_tridiagonal(alpha, beta, eigvals_only=True, select="a", select_range=None, tol=None, name=None):
    """Eigenvalues (and vectors) of Hermitian tridiagonal matrices: all, by value ("v") or by index ("i")."""
    del tol  # the dense solver is as exact as it gets
    with tf.name_scope(name or "eigh_tridiagonal"):
        alpha, beta = tf.convert_to_tensor(alpha, name="alpha"), tf.convert_to_tensor(beta, name="beta")
        if alpha.dtype != beta.dtype:
            raise TypeError("'alpha' and 'beta' must have the same type.")
        if select not in ("a", "v", "i"):
            raise ValueError("'select must have a value in {'a', 'i', 'v'}.")
        matrix = tf.linalg.diag(alpha) + tf.linalg.diag(beta, k=-1) + tf.linalg.diag(tf.math.conj(beta), k=1)
        if eigvals_only:
            values, vectors = tf.linalg.eigvalsh(matrix), None
        else:
            values, vectors = tf.linalg.eigh(matrix)
        if alpha.dtype.is_complex:
            values = tf.math.real(values)
        if select == "i":
            first, last = select_range
            values = values[..., first:last + 1]
            vectors = None if vectors is None else vectors[..., first:last + 1]
        elif select == "v":
            lower, upper = select_range
            if values.shape.rank != 1:
                raise ValueError("select='v' is for a single matrix")
            keep = tf.logical_and(values > tf.cast(lower, values.dtype), values <= tf.cast(upper, values.dtype))
            values = tf.boolean_mask(values, keep)
            vectors = None if vectors is None else tf.boolean_mask(vectors, keep, axis=1)
        return values if eigvals_only else (values, vectors)


_State = collections.namedtuple("CGState", ["i", "x", "r", "p", "gamma"])


def conjugate_gradient(operator, rhs, preconditioner=None, x=None, tol=1e-05, max_iter=20, name="conjugate_gradient"):
    """x with A x = rhs for a positive definite operator, by conjugate gradients: (i, x, r, p, gamma)."""
    if not (operator.is_self_adjoint and operator.is_positive_definite):
        raise ValueError("Expected a self-adjoint, positive definite operator.")
    with tf.name_scope(name):
        rhs = tf.expand_dims(tf.convert_to_tensor(rhs), -1)
        x = tf.zeros_like(rhs) if x is None else tf.expand_dims(tf.convert_to_tensor(x), -1)
        r = rhs - operator.matmul(x)
        p = r if preconditioner is None else preconditioner.matmul(r)

        def dot(a, b):
            return tf.squeeze(tf.matmul(a, b, adjoint_a=True), [-2, -1])
        limit = tol * tf.norm(rhs, axis=[-2, -1])

        def wide(value):
            return value[..., tf.newaxis, tf.newaxis]

        def body(i, x, r, p, gamma):
            z = operator.matmul(p)
            alpha = gamma / dot(p, z)
            x = x + wide(alpha) * p
            r = r - wide(alpha) * z
            q = r if preconditioner is None else preconditioner.matmul(r)
            new_gamma = dot(r, q)
            return i + 1, x, r, q + wide(new_gamma / gamma) * p, new_gamma

        def condition(i, x, r, p, gamma):
            return tf.logical_and(i < max_iter, tf.reduce_any(tf.norm(r, axis=[-2, -1]) > tf.cast(limit, tf.math.real(r).dtype)))
        state = tf.while_loop(condition, body, [tf.constant(0), x, r, p, dot(r, p)])
        return _State(state[0], tf.squeeze(state[1], -1), tf.squeeze(state[2], -1), tf.squeeze(state[3], -1), state[4])


def _lengths(x, fft_length, axes):
    axes = list(range(-x.shape.rank, 0)) if axes is None else axes
    axes = tf.convert_to_tensor(axes, tf.int32)
    if fft_length is None:
        places = tf.where(axes < 0, axes + tf.rank(x), axes)
        fft_length = tf.gather(tf.shape(x), places)
    return tf.convert_to_tensor(fft_length, tf.int32), axes


def fftnd(input_tensor, fft_length=None, axes=None, norm=None, name=None):
    """The Fourier transform over any dimensions."""
    del norm
    input_tensor = tf.convert_to_tensor(input_tensor)
    fft_length, axes = _lengths(input_tensor, fft_length, axes)
    return tf.raw_ops.FFTND(input=input_tensor, fft_length=fft_length, axes=axes, name=name)


def ifftnd(input_tensor, fft_length=None, axes=None, norm=None, name=None):
    """The inverse Fourier transform over any dimensions."""
    del norm
    input_tensor = tf.convert_to_tensor(input_tensor)
    fft_length, axes = _lengths(input_tensor, fft_length, axes)
    return tf.raw_ops.IFFTND(input=input_tensor, fft_length=fft_length, axes=axes, name=name)


def rfftnd(input_tensor, fft_length=None, axes=None, norm=None, name=None):
    """The Fourier transform of real numbers over any dimensions."""
    del norm
    input_tensor = tf.convert_to_tensor(input_tensor)
    fft_length, axes = _lengths(input_tensor, fft_length, axes)
    kind = tf.complex128 if input_tensor.dtype == tf.float64 else tf.complex64
    return tf.raw_ops.RFFTND(input=input_tensor, fft_length=fft_length, axes=axes, Tcomplex=kind, name=name)


def irfftnd(input_tensor, fft_length=None, axes=None, norm=None, name=None):
    """The inverse of `rfftnd`."""
    del norm
    input_tensor = tf.convert_to_tensor(input_tensor)
    if fft_length is None:
        fft_length, axes = _lengths(input_tensor, None, axes)
        fft_length = tf.concat([fft_length[:-1], 2 * (fft_length[-1:] - 1)], 0)
    fft_length, axes = _lengths(input_tensor, fft_length, axes)
    kind = tf.float64 if input_tensor.dtype == tf.complex128 else tf.float32
    return tf.raw_ops.IRFFTND(input=input_tensor, fft_length=fft_length, axes=axes, Treal=kind, name=name)
