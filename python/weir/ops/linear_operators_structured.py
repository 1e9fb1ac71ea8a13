"""Linear operators with a structure of their own: circulant, Toeplitz, tridiagonal, Householder, permutation."""

import numpy as np

import weir as tf
from weir.ops.linear_operator import LinearOperator, broadcast_matrices
from weir.ops.linear_operator_spec import make_composite_tensor
from weir.ops.linear_operators_basic import assert_no_entries_with_modulus_zero, convert_nonref, maybe_adjoint

__all__ = ["LinearOperatorCirculant", "LinearOperatorCirculant2D", "LinearOperatorCirculant3D", "LinearOperatorHouseholder",
           "LinearOperatorPermutation", "LinearOperatorToeplitz", "LinearOperatorTridiag"]


class _Circulant(LinearOperator):
    """F^-1 S F with the (nested) Fourier transform F and a spectrum S."""

    _depth = 1

    def __init__(self, spectrum, input_output_dtype=tf.complex64, is_non_singular=None, is_self_adjoint=None,
                 is_positive_definite=None, is_square=True, name=None):
        parameters = dict(locals())
        self._spectrum = convert_nonref(spectrum, name="spectrum")
        if self._spectrum.dtype not in (tf.float16, tf.float32, tf.float64, tf.complex64, tf.complex128):
            raise TypeError(f"Argument `spectrum` must have a floating or complex dtype. Found: {self._spectrum.dtype}")
        if self._spectrum.shape.rank is not None and self._spectrum.shape.rank < self._depth:
            raise ValueError(f"Argument spectrum must have at least {self._depth} dimensions.  Found: {self._spectrum}")
        if is_square is False:
            raise ValueError("A [[nested] block] circulant operator is always square.")
        if not self._spectrum.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real spectrum always corresponds to a self-adjoint operator.")
            is_self_adjoint = True
        super().__init__(dtype=tf.as_dtype(input_output_dtype), is_non_singular=is_non_singular,
                         is_self_adjoint=is_self_adjoint, is_positive_definite=is_positive_definite, is_square=True,
                         name=name or type(self).__name__, parameters=parameters)

    block_depth = property(lambda self: self._depth)
    spectrum = property(lambda self: self._spectrum)
    block_shape = property(lambda self: self._spectrum.shape[-self._depth:])

    def block_shape_tensor(self):
        return tf.shape(self._spectrum)[-self._depth:]

    def _shape(self):
        shape = self._spectrum.shape
        if shape.rank is None:
            return tf.TensorShape(None)
        size = shape[-self._depth:].num_elements()
        return shape[:-self._depth].concatenate(tf.TensorShape([size, size]))

    def _shape_tensor(self):
        shape = tf.shape(self._spectrum)
        size = tf.reduce_prod(shape[-self._depth:])
        return tf.concat([shape[:-self._depth], [size, size]], 0)

    def _work_dtype(self):
        wide = self.dtype in (tf.complex128, tf.float64) or self._spectrum.dtype in (tf.complex128, tf.float64)
        return tf.complex128 if wide else tf.complex64

    def _complex_spectrum(self):
        return tf.cast(self._spectrum, self._work_dtype())

    def _transform(self, x, inverse=False):
        forward, back = {1: (tf.signal.fft, tf.signal.ifft), 2: (tf.signal.fft2d, tf.signal.ifft2d),
                         3: (tf.signal.fft3d, tf.signal.ifft3d)}[self._depth]
        return (back if inverse else forward)(tf.cast(x, self._work_dtype()))

    def _multiply(self, x, spectrum):
        """Columns of x through the transform, the spectrum and back."""
        columns = tf.linalg.matrix_transpose(x)  # [..., columns, n]
        shape = tf.shape(columns)
        blocks = tf.reshape(columns, tf.concat([shape[:-1], self.block_shape_tensor()], 0))
        multiplier = tf.expand_dims(spectrum, -self._depth - 1)
        result = self._transform(self._transform(blocks) * multiplier, inverse=True)
        count = tf.rank(result) - self._depth
        flat = tf.reshape(result, tf.concat([tf.shape(result)[:count], shape[-1:]], 0))
        made = tf.cast(tf.linalg.matrix_transpose(flat), self.dtype)
        if self.shape.rank is not None and x.shape.rank is not None:
            batch = tf.broadcast_static_shape(self.batch_shape, x.shape[:-2])
            made.set_shape(batch.concatenate(x.shape[-2:]))
        return made

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        spectrum = self._complex_spectrum()
        return self._multiply(maybe_adjoint(x, adjoint_arg), tf.math.conj(spectrum) if adjoint else spectrum)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        spectrum = self._complex_spectrum()
        return self._multiply(maybe_adjoint(rhs, adjoint_arg), 1 / (tf.math.conj(spectrum) if adjoint else spectrum))

    def _axes(self):
        return list(range(-self._depth, 0))

    def _determinant(self):
        return tf.cast(tf.reduce_prod(self._spectrum, axis=self._axes()), self.dtype)

    def _log_abs_determinant(self):
        return tf.cast(tf.reduce_sum(tf.math.log(tf.abs(self._spectrum)), axis=self._axes()), self.dtype)

    def _trace(self):
        return tf.cast(tf.reduce_sum(self._spectrum, axis=self._axes()), self.dtype)

    def _flat_spectrum(self):
        shape = tf.shape(self._spectrum)
        return tf.reshape(self._spectrum, tf.concat([shape[:-self._depth], [-1]], 0))

    def _eigvals(self):
        return tf.convert_to_tensor(self._spectrum) if self._depth == 1 else self._flat_spectrum()

    def _cond(self):
        values = tf.abs(self._flat_spectrum())
        return tf.cast(tf.reduce_max(values, axis=-1) / tf.reduce_min(values, axis=-1), self.dtype.real_dtype)

    def _diag_part(self):
        n = self.domain_dimension_tensor()
        mean = tf.reduce_sum(self._complex_spectrum(), axis=self._axes()) / tf.cast(n, self._work_dtype())
        return tf.cast(tf.expand_dims(mean, -1) * tf.ones([n], self._work_dtype()), self.dtype)

    def convolution_kernel(self, name="convolution_kernel"):
        """The kernel whose periodic convolution the operator is: the inverse transform of the spectrum."""
        return tf.cast(self._transform(self._complex_spectrum(), inverse=True), self.dtype)

    def assert_hermitian_spectrum(self, name="assert_hermitian_spectrum"):
        """An operation that fails unless the spectrum is Hermitian, as that of real operators is."""
        kernel = self._transform(self._complex_spectrum(), inverse=True)
        scale = tf.reduce_max(tf.abs(self._spectrum))
        limit = tf.cast(1e-6 if self._work_dtype() == tf.complex64 else 1e-12, scale.dtype) * (scale + 1)
        return tf.debugging.assert_less(tf.abs(tf.math.imag(kernel)), limit, message="Spectrum was not Hermitian")

    def _assert_non_singular(self):
        return assert_no_entries_with_modulus_zero(tf.convert_to_tensor(self._spectrum),
                                                   "Singular operator:  Spectrum contained zero values.")

    def _assert_positive_definite(self):
        message = "Not positive definite:  Real part of spectrum was not all positive."
        return tf.debugging.assert_positive(tf.math.real(self._spectrum), message=message)

    def _assert_self_adjoint(self):
        imaginary = tf.math.imag(self._complex_spectrum())
        return tf.debugging.assert_equal(imaginary, tf.zeros_like(imaginary),
                                         message="Not self-adjoint:  The spectrum contained non-zero imaginary part.")

    def _hints(self):
        return {"is_non_singular": self.is_non_singular, "is_self_adjoint": self.is_self_adjoint,
                "is_positive_definite": self.is_positive_definite, "is_square": True}

    def _adjoint(self):
        return type(self)(tf.math.conj(self._spectrum), input_output_dtype=self.dtype, **self._hints())

    def _inverse(self):
        return type(self)(1.0 / tf.convert_to_tensor(self._spectrum), input_output_dtype=self.dtype, **self._hints())


@make_composite_tensor
class LinearOperatorCirculant(_Circulant):
    """A circulant matrix, given by its spectrum."""

    _composite_tensor_fields = ("spectrum", "input_output_dtype")

    _depth = 1

    def __init__(self, spectrum, input_output_dtype=tf.complex64, is_non_singular=None, is_self_adjoint=None,
                 is_positive_definite=None, is_square=True, name="LinearOperatorCirculant"):
        super().__init__(spectrum, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)


@make_composite_tensor
class LinearOperatorCirculant2D(_Circulant):
    """A block circulant matrix with circulant blocks."""

    _composite_tensor_fields = ("spectrum", "input_output_dtype")

    _depth = 2

    def __init__(self, spectrum, input_output_dtype=tf.complex64, is_non_singular=None, is_self_adjoint=None,
                 is_positive_definite=None, is_square=True, name="LinearOperatorCirculant2D"):
        super().__init__(spectrum, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)


@make_composite_tensor
class LinearOperatorCirculant3D(_Circulant):
    """A nested block circulant matrix of three levels."""

    _composite_tensor_fields = ("spectrum", "input_output_dtype")

    _depth = 3

    def __init__(self, spectrum, input_output_dtype=tf.complex64, is_non_singular=None, is_self_adjoint=None,
                 is_positive_definite=None, is_square=True, name="LinearOperatorCirculant3D"):
        super().__init__(spectrum, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)


@make_composite_tensor
class LinearOperatorHouseholder(LinearOperator):
    """I - 2 v v^H for a vector v, taken with length one."""

    _composite_tensor_fields = ("reflection_axis",)

    def __init__(self, reflection_axis, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorHouseholder"):
        parameters = dict(locals())
        self._axis = convert_nonref(reflection_axis, name="reflection_axis")
        if self._axis.shape.rank is not None and self._axis.shape.rank < 1:
            raise ValueError(f"Argument reflection_axis must have at least 1 dimension.  Found: {self._axis}")
        if is_self_adjoint is False:
            raise ValueError("A Householder operator is always self adjoint.")
        if is_positive_definite is True:
            raise ValueError("A Householder operator is always non-positive definite.")
        if is_square is False:
            raise ValueError("A Householder operator is always square.")
        super().__init__(dtype=self._axis.dtype, is_non_singular=is_non_singular, is_self_adjoint=True,
                         is_positive_definite=False, is_square=True, name=name, parameters=parameters)

    reflection_axis = property(lambda self: self._axis)

    def _shape(self):
        return self._axis.shape.concatenate(self._axis.shape[-1:])

    def _shape_tensor(self):
        shape = tf.shape(self._axis)
        return tf.concat([shape, shape[-1:]], 0)

    def _assert_non_singular(self):
        return tf.no_op("assert_non_singular")

    def _assert_positive_definite(self):
        raise tf.errors.InvalidArgumentError(None, None, "Householder operators are always non-positive definite.")

    def _assert_self_adjoint(self):
        return tf.no_op("assert_self_adjoint")

    def _unit(self):
        axis = tf.convert_to_tensor(self._axis)
        return axis / tf.norm(axis, axis=-1, keepdims=True)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = maybe_adjoint(x, adjoint_arg)
        unit = tf.expand_dims(self._unit(), -1)
        return x - 2 * unit * tf.matmul(unit, x, adjoint_a=True)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _trace(self):
        shape = self.shape_tensor()
        return tf.cast(self.domain_dimension_tensor() - 2, self.dtype) * tf.ones(shape[:-2], self.dtype)

    def _determinant(self):
        return -tf.ones(self.batch_shape_tensor(), self.dtype)

    def _log_abs_determinant(self):
        return tf.zeros(self.batch_shape_tensor(), self.dtype)

    def _diag_part(self):
        unit = self._unit()
        return 1.0 - 2 * unit * tf.math.conj(unit)

    def _to_dense(self):
        unit = tf.expand_dims(self._unit(), -1)
        matrix = -2 * tf.matmul(unit, unit, adjoint_b=True)
        return tf.linalg.set_diag(matrix, 1.0 + tf.linalg.diag_part(matrix))

    def _eigvals(self):
        shape = tf.shape(self._axis)
        ones = tf.ones(tf.concat([shape[:-1], [shape[-1] - 1]], 0), self.dtype)
        return tf.concat([-tf.ones(tf.concat([shape[:-1], [1]], 0), self.dtype), ones], -1)

    def _cond(self):
        return tf.ones(self.batch_shape_tensor(), self.dtype)

    def _inverse(self):
        return self


@make_composite_tensor
class LinearOperatorPermutation(LinearOperator):
    """Rows in the order of a permutation."""

    _composite_tensor_fields = ("perm", "dtype")

    def __init__(self, perm, dtype=tf.float32, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None,
                 is_square=None, name="LinearOperatorPermutation"):
        parameters = dict(locals())
        self._perm = convert_nonref(perm, name="perm")
        if not self._perm.dtype.is_integer:
            raise TypeError(f"Argument `perm` must be integer dtype. Received: {self._perm}.")
        if self._perm.shape.rank is not None and self._perm.shape.rank < 1:
            raise ValueError(f"Argument `perm` must have at least 1 dimension. Received: {self._perm}.")
        static = tf.get_static_value(self._perm) if not isinstance(self._perm, tf.Variable) else None
        if static is not None and not np.all(np.sort(static, axis=-1) == np.arange(static.shape[-1])):
            raise ValueError(f"Argument `perm` must be a vector of unique integers from 0 to {static.shape[-1] - 1}.")
        if is_self_adjoint is False and static is not None and static.shape[-1] < 2:
            raise ValueError("A permutation of fewer than two rows is self adjoint.")
        if is_positive_definite:
            raise ValueError("A Permutation operator is not positive definite in general.")
        if is_non_singular is False:
            raise ValueError("A Permutation operator is always non-singular.")
        if is_square is False:
            raise ValueError("A Permutation operator is always square.")
        super().__init__(dtype=tf.as_dtype(dtype), is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint,
                         is_positive_definite=is_positive_definite, is_square=True, name=name, parameters=parameters)

    perm = property(lambda self: self._perm)

    def _shape(self):
        return self._perm.shape.concatenate(self._perm.shape[-1:])

    def _shape_tensor(self):
        shape = tf.shape(self._perm)
        return tf.concat([shape, shape[-1:]], 0)

    def _assert_non_singular(self):
        return tf.no_op("assert_non_singular")

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        perm = tf.convert_to_tensor(self._perm)
        if adjoint:
            perm = tf.argsort(perm, axis=-1)
        x = maybe_adjoint(x, adjoint_arg)
        batch = tf.broadcast_dynamic_shape(tf.shape(perm)[:-1], tf.shape(x)[:-2])
        static = tf.broadcast_static_shape(perm.shape[:-1], x.shape[:-2])
        x = tf.broadcast_to(x, tf.concat([batch, tf.shape(x)[-2:]], 0))
        perm = tf.broadcast_to(perm, tf.concat([batch, tf.shape(perm)[-1:]], 0))
        x.set_shape(static.concatenate(x.shape[-2:]))
        perm.set_shape(static.concatenate(perm.shape[-1:]))
        return tf.gather(x, perm, axis=-2, batch_dims=static.rank)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._matmul(rhs, not adjoint, adjoint_arg)

    def _determinant(self):
        perm = tf.convert_to_tensor(self._perm)
        inversions = tf.reduce_sum(tf.cast(tf.linalg.band_part(tf.cast(
            tf.expand_dims(perm, -1) > tf.expand_dims(perm, -2), tf.int32), 0, -1), self.dtype.real_dtype), axis=[-2, -1])
        return tf.cast(1 - 2 * tf.math.floormod(inversions, 2), self.dtype)

    def _log_abs_determinant(self):
        return tf.zeros(self.batch_shape_tensor(), dtype=self.dtype.real_dtype)

    def _to_dense(self):
        perm = tf.convert_to_tensor(self._perm)
        return tf.cast(tf.equal(tf.range(tf.shape(perm)[-1], dtype=perm.dtype), tf.expand_dims(perm, -1)), self.dtype)

    def _diag_part(self):
        perm = tf.convert_to_tensor(self._perm)
        return tf.cast(tf.equal(tf.range(tf.shape(perm)[-1], dtype=perm.dtype), perm), self.dtype)

    def _cond(self):
        return tf.ones(self.batch_shape_tensor(), dtype=self.dtype)


@make_composite_tensor
class LinearOperatorToeplitz(LinearOperator):
    """A matrix whose diagonals are constant, given by its first column and row."""

    _composite_tensor_fields = ("col", "row")

    def __init__(self, col, row, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorToeplitz"):
        parameters = dict(locals())
        self._col, self._row = convert_nonref(col, name="col"), convert_nonref(row, name="row")
        for value, what in ((self._col, "column"), (self._row, "row")):
            if value.shape.rank is not None and value.shape.rank < 1:
                raise ValueError(f"Argument {what} must have at least 1 dimension.  Found: {value}")
        if self._row.dtype != self._col.dtype:
            raise TypeError(f"Argument `col` must have dtype {self._row.dtype} but was {self._col.dtype}")
        if is_square is False:
            raise ValueError("Only square Toeplitz operators currently supported.")
        super().__init__(dtype=self._row.dtype, is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint,
                         is_positive_definite=is_positive_definite, is_square=True, name=name, parameters=parameters)

    col = property(lambda self: self._col)
    row = property(lambda self: self._row)

    def _shape(self):
        shape = tf.broadcast_static_shape(self._row.shape, self._col.shape)
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self):
        shape = tf.broadcast_dynamic_shape(tf.shape(self._row), tf.shape(self._col))
        return tf.concat([shape, shape[-1:]], 0)

    def _vectors(self):
        row, col = tf.convert_to_tensor(self._row), tf.convert_to_tensor(self._col)
        shape = tf.broadcast_dynamic_shape(tf.shape(row), tf.shape(col))
        return tf.broadcast_to(row, shape), tf.broadcast_to(col, shape)

    def _assert_self_adjoint(self):
        return tf.debugging.assert_equal(self.row, self.col, message="row and col are not the same, and so this operator is "
                                                                     "not self-adjoint.")

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        row, col = self._vectors()
        if adjoint:
            row, col = tf.math.conj(col), tf.math.conj(row)
        x = maybe_adjoint(x, adjoint_arg)
        wide = tf.complex128 if self.dtype in (tf.float64, tf.complex128) else tf.complex64
        # The first column of the circulant matrix of twice the size that holds this one.
        column = tf.concat([col, tf.zeros_like(col[..., :1]), tf.reverse(row[..., 1:], axis=[-1])], axis=-1)
        padded = tf.concat([x, tf.zeros_like(x)], axis=-2)
        transformed = tf.signal.fft(tf.cast(tf.linalg.matrix_transpose(padded), wide))
        product = transformed * tf.expand_dims(tf.signal.fft(tf.cast(column, wide)), -2)
        result = tf.linalg.matrix_transpose(tf.signal.ifft(product))[..., :tf.shape(row)[-1], :]
        made = tf.cast(result, self.dtype)
        if self.shape.rank is not None and x.shape.rank is not None:
            batch = tf.broadcast_static_shape(self.batch_shape, x.shape[:-2])
            made.set_shape(batch.concatenate(tf.TensorShape([self.range_dimension, x.shape[-1]])))
        return made

    def _trace(self):
        return tf.cast(self.domain_dimension_tensor(), self.dtype) * self._vectors()[1][..., 0]

    def _diag_part(self):
        col = self._vectors()[1]
        return tf.expand_dims(col[..., 0], -1) * tf.ones([self.domain_dimension_tensor()], self.dtype)

    def _to_dense(self):
        row, col = self._vectors()
        n = tf.shape(row)[-1]
        places = tf.expand_dims(tf.range(n), -1) - tf.range(n) + n - 1  # 0 is the row's last element
        values = tf.concat([tf.reverse(row[..., 1:], axis=[-1]), col], axis=-1)
        made = tf.gather(values, places, axis=-1)
        made.set_shape(self.shape)
        return made


@make_composite_tensor
class LinearOperatorTridiag(LinearOperator):
    """A matrix with three diagonals: "compact" [3, n], "sequence" of three vectors, or "matrix"."""

    _composite_tensor_fields = ("diagonals", "diagonals_format")

    def __init__(self, diagonals, diagonals_format="compact", is_non_singular=None, is_self_adjoint=None,
                 is_positive_definite=None, is_square=None, name="LinearOperatorTridiag"):
        parameters = dict(locals())
        if diagonals_format not in ("compact", "sequence", "matrix"):
            raise ValueError("Argument `diagonals_format` must be one of ('compact', 'matrix', 'sequence'). Received : "
                             f"{diagonals_format}.")
        self._diagonals_format = diagonals_format
        if diagonals_format == "sequence":
            self._diagonals = [convert_nonref(d, name="diagonals") for d in diagonals]
            dtype = self._diagonals[0].dtype
        else:
            self._diagonals = convert_nonref(diagonals, name="diagonals")
            dtype = self._diagonals.dtype
        if is_square is False:
            raise ValueError("Only square tridiagonal operators supported.")
        super().__init__(dtype=dtype, is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint,
                         is_positive_definite=is_positive_definite, is_square=True, name=name, parameters=parameters)

    diagonals = property(lambda self: self._diagonals)
    diagonals_format = property(lambda self: self._diagonals_format)

    def _shape(self):
        if self._diagonals_format == "matrix":
            return self._diagonals.shape
        if self._diagonals_format == "sequence":
            shape = self._diagonals[1].shape
            batch = tf.broadcast_static_shape(tf.broadcast_static_shape(self._diagonals[0].shape[:-1], shape[:-1]),
                                              self._diagonals[2].shape[:-1])
            return batch.concatenate([shape[-1], shape[-1]])
        shape = self._diagonals.shape
        return shape[:-2].concatenate([shape[-1], shape[-1]]) if shape.rank is not None else shape

    def _shape_tensor(self):
        if self._diagonals_format == "matrix":
            return tf.shape(self._diagonals)
        if self._diagonals_format == "sequence":
            shapes = [tf.shape(d) for d in self._diagonals]
            batch = tf.broadcast_dynamic_shape(tf.broadcast_dynamic_shape(shapes[0][:-1], shapes[1][:-1]), shapes[2][:-1])
            return tf.concat([batch, [shapes[1][-1], shapes[1][-1]]], 0)
        shape = tf.shape(self._diagonals)
        return tf.concat([shape[:-2], [shape[-1], shape[-1]]], 0)

    def _compact(self):
        """[..., 3, n]: above, on and below the diagonal, aligned to the left above and to the right below."""
        if self._diagonals_format == "compact":
            return tf.convert_to_tensor(self._diagonals)
        if self._diagonals_format == "matrix":
            return tf.linalg.diag_part(self._diagonals, k=(-1, 1), align="LEFT_RIGHT")
        above, main, below = [tf.convert_to_tensor(d) for d in self._diagonals]
        if None not in (main.shape[-1], above.shape[-1]) and above.shape[-1] == main.shape[-1] - 1:
            above = tf.pad(above, [[0, 0]] * (above.shape.rank - 1) + [[0, 1]])
        if None not in (main.shape[-1], below.shape[-1]) and below.shape[-1] == main.shape[-1] - 1:
            below = tf.pad(below, [[0, 0]] * (below.shape.rank - 1) + [[1, 0]])
        shape = tf.broadcast_dynamic_shape(tf.broadcast_dynamic_shape(tf.shape(above), tf.shape(main)), tf.shape(below))
        return tf.stack([tf.broadcast_to(d, shape) for d in (above, main, below)], axis=-2)

    def _assert_self_adjoint(self):
        compact = self._compact()
        return tf.debugging.assert_equal(compact[..., 0, :-1], tf.math.conj(compact[..., 2, 1:]),
                                         message="This tridiagonal operator has non-conjugate subdiagonal and "
                                                 "superdiagonal.")

    def _parts(self, adjoint):
        compact = self._compact()
        above, main, below = compact[..., 0, :-1], compact[..., 1, :], compact[..., 2, 1:]
        if adjoint:
            above, main, below = tf.math.conj(below), tf.math.conj(main), tf.math.conj(above)
        return above, main, below

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        above, main, below = self._parts(adjoint)
        x = maybe_adjoint(x, adjoint_arg)
        result = tf.expand_dims(main, -1) * x
        high = tf.expand_dims(above, -1) * x[..., 1:, :]
        low = tf.expand_dims(below, -1) * x[..., :-1, :]
        zero = tf.zeros_like(result[..., :1, :])
        return result + tf.concat([high, zero], -2) + tf.concat([zero, low], -2)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        above, main, below = self._parts(adjoint)
        rhs = maybe_adjoint(rhs, adjoint_arg)
        zero = tf.zeros_like(main[..., :1])
        compact = tf.stack([tf.concat([above, zero], -1), main, tf.concat([zero, below], -1)], axis=-2)
        compact, rhs = broadcast_matrices(compact, rhs)
        return tf.linalg.tridiagonal_solve(compact, rhs, diagonals_format="compact")

    def _diag_part(self):
        if self._diagonals_format == "matrix":
            return tf.linalg.diag_part(self._diagonals)
        if self._diagonals_format == "sequence":
            return tf.broadcast_to(self._diagonals[1], self.shape_tensor()[:-1])
        return tf.convert_to_tensor(self._diagonals)[..., 1, :]

    def _to_dense(self):
        if self._diagonals_format == "matrix":
            return tf.convert_to_tensor(self._diagonals)
        return tf.linalg.diag(self._compact(), k=(-1, 1), align="LEFT_RIGHT")


for _name in __all__:
    globals()[_name].__module__ = "tensorflow.python.ops.linalg.linear_operator_" + (
        "circulant" if "Circulant" in _name else _name[len("LinearOperator"):].lower())
