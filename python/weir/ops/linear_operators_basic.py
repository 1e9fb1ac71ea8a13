"""Linear operators of one matrix: full, diagonal, triangular, identities, zeros."""

import numpy as np

import weir as tf
from weir.framework import errors
from weir.ops.linear_operator import LinearOperator, broadcast_matrices
from weir.ops.linear_operator_spec import make_composite_tensor

__all__ = ["LinearOperatorFullMatrix", "LinearOperatorDiag", "LinearOperatorLowerTriangular", "LinearOperatorIdentity",
           "LinearOperatorScaledIdentity", "LinearOperatorZeros"]

_FLOATS = (tf.float16, tf.float32, tf.float64, tf.complex64, tf.complex128)


def convert_nonref(value, dtype=None, name=None):
    """A tensor; a variable stays one, so that the operator follows it."""
    return value if isinstance(value, tf.Variable) else tf.convert_to_tensor(value, dtype=dtype, name=name)


def maybe_adjoint(x, do):
    return tf.linalg.adjoint(x) if do else x


def assert_no_entries_with_modulus_zero(x, message):
    return tf.debugging.assert_less(tf.cast(0, x.dtype.real_dtype), tf.abs(x), message=message)


def assert_zero_imag_part(x, message):
    if not x.dtype.is_complex:
        return tf.no_op()
    return tf.debugging.assert_equal(tf.cast(0, x.dtype.real_dtype), tf.math.imag(x), message=message)


@make_composite_tensor
class LinearOperatorFullMatrix(LinearOperator):
    """A dense matrix."""

    _composite_tensor_fields = ("matrix",)

    def __init__(self, matrix, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorFullMatrix"):
        parameters = dict(locals())
        self._matrix = convert_nonref(matrix, name="matrix")
        if self._matrix.dtype not in _FLOATS:
            raise TypeError(f"Argument `matrix` must have dtype in {list(_FLOATS)}. Received: {self._matrix.dtype}.")
        if self._matrix.shape.rank is not None and self._matrix.shape.rank < 2:
            raise ValueError(f"Argument `matrix` must have at least 2 dimensions. Received: {self._matrix}.")
        super().__init__(dtype=self._matrix.dtype, is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint,
                         is_positive_definite=is_positive_definite, is_square=is_square, name=name, parameters=parameters)

    matrix = property(lambda self: self._matrix)

    def _shape(self):
        return self._matrix.shape

    def _shape_tensor(self):
        return tf.shape(self._matrix)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return tf.matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self):
        return tf.convert_to_tensor(self._matrix)


@make_composite_tensor
class LinearOperatorDiag(LinearOperator):
    """A diagonal matrix."""

    _composite_tensor_fields = ("diag",)

    def __init__(self, diag, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorDiag"):
        parameters = dict(locals())
        self._diag = convert_nonref(diag, name="diag")
        if self._diag.shape.rank is not None and self._diag.shape.rank < 1:
            raise ValueError(f"Argument diag must have at least 1 dimension.  Found: {self._diag}")
        if not self._diag.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        if is_square is False:
            raise ValueError("Only square diagonal operators currently supported.")
        super().__init__(dtype=self._diag.dtype, is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint,
                         is_positive_definite=is_positive_definite, is_square=True, name=name, parameters=parameters)

    diag = property(lambda self: self._diag)

    def _shape(self):
        return self._diag.shape.concatenate(self._diag.shape[-1:])

    def _shape_tensor(self):
        shape = tf.shape(self._diag)
        return tf.concat([shape, shape[-1:]], 0)

    def _assert_non_singular(self):
        return assert_no_entries_with_modulus_zero(
            tf.convert_to_tensor(self._diag), "Singular operator:  Diagonal contained zero values.")

    def _assert_positive_definite(self):
        if self.dtype.is_complex:
            message = ("Diagonal operator had diagonal entries with non-positive real part, thus was not positive "
                       "definite.")
        else:
            message = "Real diagonal operator had non-positive diagonal entries, thus was not positive definite."
        return tf.debugging.assert_positive(tf.math.real(self._diag), message=message)

    def _assert_self_adjoint(self):
        return assert_zero_imag_part(tf.convert_to_tensor(self._diag),
                                     "This diagonal operator contained non-zero imaginary values.   Thus it was not "
                                     "self-adjoint.")

    def _entries(self, adjoint=False):
        return tf.math.conj(self._diag) if adjoint else tf.convert_to_tensor(self._diag)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return tf.expand_dims(self._entries(adjoint), -1) * maybe_adjoint(x, adjoint_arg)

    def matvec(self, x, adjoint=False, name="matvec"):
        x = tf.convert_to_tensor(x, dtype=None if tf.is_tensor(x) else self.dtype)
        self._check_input_dtype(x)
        return self._entries(adjoint) * x

    def _determinant(self):
        return tf.reduce_prod(self._diag, axis=[-1])

    def _log_abs_determinant(self):
        out = tf.reduce_sum(tf.math.log(tf.abs(self._diag)), axis=[-1])
        return tf.cast(out, self.dtype) if self.dtype.is_complex else out

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return maybe_adjoint(rhs, adjoint_arg) * tf.expand_dims(1 / self._entries(adjoint), -1)

    def _to_dense(self):
        return tf.linalg.diag(self._diag)

    def _diag_part(self):
        return tf.convert_to_tensor(self._diag)

    def _add_to_tensor(self, x):
        return tf.linalg.set_diag(x, tf.linalg.diag_part(x) + self._diag)

    def _eigvals(self):
        return tf.convert_to_tensor(self._diag)

    def _cond(self):
        values = tf.abs(self._diag)
        return tf.cast(tf.reduce_max(values, axis=-1) / tf.reduce_min(values, axis=-1), self.dtype.real_dtype)

    def _adjoint(self):
        return LinearOperatorDiag(tf.math.conj(self._diag), is_non_singular=self.is_non_singular,
                                  is_self_adjoint=self.is_self_adjoint, is_positive_definite=self.is_positive_definite,
                                  is_square=True)

    def _inverse(self):
        return LinearOperatorDiag(1.0 / self._entries(), is_non_singular=self.is_non_singular,
                                  is_self_adjoint=self.is_self_adjoint, is_positive_definite=self.is_positive_definite,
                                  is_square=True)

    def _cholesky(self):
        return LinearOperatorDiag(tf.sqrt(self._diag), is_non_singular=True, is_self_adjoint=True,
                                  is_positive_definite=True, is_square=True)


@make_composite_tensor
class LinearOperatorLowerTriangular(LinearOperator):
    """The lower triangle of a matrix; what is above its diagonal is not read."""

    _composite_tensor_fields = ("tril",)

    def __init__(self, tril, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorLowerTriangular"):
        parameters = dict(locals())
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        self._tril = convert_nonref(tril, name="tril")
        if self._tril.shape.rank is not None and self._tril.shape.rank < 2:
            raise ValueError(f"Argument tril must have at least 2 dimensions.  Found: {self._tril}")
        super().__init__(dtype=self._tril.dtype, is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint,
                         is_positive_definite=is_positive_definite, is_square=True, name=name, parameters=parameters)

    tril = property(lambda self: self._tril)

    def _shape(self):
        return self._tril.shape

    def _shape_tensor(self):
        return tf.shape(self._tril)

    def _lower(self):
        return tf.linalg.band_part(self._tril, -1, 0)

    def _assert_non_singular(self):
        return assert_no_entries_with_modulus_zero(
            tf.linalg.diag_part(self._tril), "Singular operator:  Diagonal contained zero values.")

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return tf.matmul(self._lower(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _determinant(self):
        return tf.reduce_prod(tf.linalg.diag_part(self._tril), axis=[-1])

    def _log_abs_determinant(self):
        return tf.reduce_sum(tf.math.log(tf.abs(tf.linalg.diag_part(self._tril))), axis=[-1])

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        matrix, rhs = broadcast_matrices(self._lower(), maybe_adjoint(rhs, adjoint_arg))
        return tf.linalg.triangular_solve(matrix, rhs, lower=True, adjoint=adjoint)

    def _to_dense(self):
        return self._lower()

    def _eigvals(self):
        return tf.linalg.diag_part(self._tril)


class _Sized(LinearOperator):
    """Operators that are known by a size and a batch shape."""

    def _take_sizes(self, num_rows, batch_shape, assert_proper_shapes, num_columns=None):
        self._num_rows = tf.convert_to_tensor(num_rows, name="num_rows")
        self._rows = self._checked(self._num_rows, "num_rows")
        self._num_columns = self._num_rows if num_columns is None else tf.convert_to_tensor(num_columns, name="num_columns")
        self._columns = self._rows if num_columns is None else self._checked(self._num_columns, "num_columns")
        self._batch = None
        self._batch_static = tf.TensorShape([])
        if batch_shape is not None:
            self._batch = tf.convert_to_tensor(np.asarray(batch_shape, np.int32) if isinstance(batch_shape, (list, tuple))
                                               else batch_shape, name="batch_shape_arg")
            if not self._batch.dtype.is_integer:
                raise TypeError(f"Argument batch_shape must be integer type.  Found: {self._batch}")
            static = tf.get_static_value(self._batch)
            if static is None:
                self._batch_static = tf.TensorShape(None)
            else:
                if static.ndim != 1:
                    raise ValueError(f"Argument batch_shape must be a 1-D Tensor.  Found: {static}")
                if np.any(static < 0):
                    raise ValueError(f"Argument batch_shape must be non-negative.  Found:{static}")
                self._batch_static = tf.TensorShape(static)
        if assert_proper_shapes and self._rows is None:
            with tf.control_dependencies([tf.debugging.assert_non_negative(
                    self._num_rows, message="Argument num_rows must be non-negative.")]):
                self._num_rows = tf.identity(self._num_rows)

    @staticmethod
    def _checked(value, name):
        if not value.dtype.is_integer:
            raise TypeError(f"Argument {name} must be integer type.  Found: {value}")
        static = tf.get_static_value(value)
        if static is None:
            return None
        if static.ndim != 0:
            raise ValueError(f"Argument {name} must be a 0-D Tensor.  Found: {static}")
        if static < 0:
            raise ValueError(f"Argument {name} must be non-negative.  Found: {static}")
        return int(static)

    def _shape(self):
        return self._batch_static.concatenate(tf.TensorShape([self._rows, self._columns]))

    def _shape_tensor(self):
        sizes = tf.stack([tf.cast(self._num_rows, tf.int32), tf.cast(self._num_columns, tf.int32)])
        return sizes if self._batch is None else tf.concat([tf.cast(self._batch, tf.int32), sizes], 0)

    def _ones_diag(self):
        if self.shape.is_fully_defined():
            n = min(self.shape[-2], self.shape[-1])
            return tf.ones(self.batch_shape.as_list() + [n], dtype=self.dtype)
        return tf.ones(self.shape_tensor()[:-1], dtype=self.dtype)

    def _to_batch(self, x):
        """`x` with at least the batch shape of the operator."""
        if self._batch is None:
            return x
        special = tf.concat([self.batch_shape_tensor(), [1, 1]], 0)
        if self.batch_shape.is_fully_defined() and x.shape.is_fully_defined():
            shape = tf.broadcast_static_shape(x.shape, self.batch_shape.concatenate([1, 1]))
            return x if shape == x.shape else tf.broadcast_to(x, shape)
        return x + tf.zeros(special, dtype=x.dtype)


@make_composite_tensor
class LinearOperatorIdentity(_Sized):
    """The identity."""

    _composite_tensor_fields = ("num_rows", "batch_shape", "dtype", "assert_proper_shapes")
    _composite_tensor_prefer_static_fields = ("num_rows", "batch_shape")

    def __init__(self, num_rows, batch_shape=None, dtype=None, is_non_singular=True, is_self_adjoint=True,
                 is_positive_definite=True, is_square=True, assert_proper_shapes=False, name="LinearOperatorIdentity"):
        parameters = dict(locals())
        for value, what in ((is_self_adjoint, "self adjoint"), (is_non_singular, "non-singular"),
                            (is_positive_definite, "positive-definite"), (is_square, "square")):
            if not value:
                raise ValueError(f"An identity operator is always {what}.")
        super().__init__(dtype=dtype or tf.float32, is_non_singular=True, is_self_adjoint=True, is_positive_definite=True,
                         is_square=True, name=name, parameters=parameters)
        self._take_sizes(num_rows, batch_shape, assert_proper_shapes)

    def _assert_non_singular(self):
        return tf.no_op("assert_non_singular")

    def _assert_positive_definite(self):
        return tf.no_op("assert_positive_definite")

    def _assert_self_adjoint(self):
        return tf.no_op("assert_self_adjoint")

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._to_batch(maybe_adjoint(x, adjoint_arg))

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    def _determinant(self):
        return tf.ones(self.batch_shape_tensor(), dtype=self.dtype)

    def _log_abs_determinant(self):
        return tf.zeros(self.batch_shape_tensor(), dtype=self.dtype)

    def _trace(self):
        return tf.cast(self.domain_dimension_tensor(), self.dtype) * tf.ones(self.batch_shape_tensor(), dtype=self.dtype)

    def _diag_part(self):
        return self._ones_diag()

    def _to_dense(self):
        return tf.linalg.diag(self._ones_diag())

    def add_to_tensor(self, mat, name="add_to_tensor"):
        mat = tf.convert_to_tensor(mat, name="mat")
        return tf.linalg.set_diag(mat, tf.ones(tf.shape(mat)[:-1], self.dtype) + tf.linalg.diag_part(mat))

    def _eigvals(self):
        return self._ones_diag()

    def _cond(self):
        return tf.ones(self.batch_shape_tensor(), dtype=self.dtype)

    def _adjoint(self):
        return self

    def _inverse(self):
        return self

    def _cholesky(self):
        return LinearOperatorIdentity(self._num_rows, batch_shape=self._batch, dtype=self.dtype)


@make_composite_tensor
class LinearOperatorScaledIdentity(_Sized):
    """A number times the identity."""

    _composite_tensor_fields = ("num_rows", "multiplier", "assert_proper_shapes")
    _composite_tensor_prefer_static_fields = ("num_rows",)

    def __init__(self, num_rows, multiplier, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None,
                 is_square=True, assert_proper_shapes=False, name="LinearOperatorScaledIdentity"):
        parameters = dict(locals())
        self._multiplier = convert_nonref(multiplier, name="multiplier")
        if not self._multiplier.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        if not is_square:
            raise ValueError("A ScaledIdentity operator is always square.")
        super().__init__(dtype=self._multiplier.dtype.base_dtype, is_non_singular=is_non_singular,
                         is_self_adjoint=is_self_adjoint, is_positive_definite=is_positive_definite, is_square=True, name=name,
                         parameters=parameters)
        self._take_sizes(num_rows, None, assert_proper_shapes)

    multiplier = property(lambda self: self._multiplier)

    def _shape(self):
        return self._multiplier.shape.concatenate(tf.TensorShape([self._rows, self._rows]))

    def _shape_tensor(self):
        n = tf.cast(self._num_rows, tf.int32)
        return tf.concat([tf.shape(self._multiplier), [n, n]], 0)

    def _assert_non_singular(self):
        return tf.debugging.assert_positive(tf.abs(self._multiplier), message="LinearOperator was singular")

    def _assert_positive_definite(self):
        return tf.debugging.assert_positive(tf.math.real(self._multiplier),
                                            message="LinearOperator was not positive definite.")

    def _assert_self_adjoint(self):
        imaginary = tf.math.imag(self._multiplier)
        return tf.debugging.assert_equal(tf.zeros_like(imaginary), imaginary,
                                         message="LinearOperator was not self-adjoint")

    def _matrix(self, conjugate=False):
        value = tf.convert_to_tensor(self._multiplier)
        value = tf.math.conj(value) if conjugate else value
        return tf.expand_dims(tf.expand_dims(value, -1), -1)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return maybe_adjoint(x, adjoint_arg) * self._matrix(adjoint)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return maybe_adjoint(rhs, adjoint_arg) / self._matrix(adjoint)

    def _determinant(self):
        return tf.convert_to_tensor(self._multiplier) ** tf.cast(self._num_rows, self.dtype)

    def _log_abs_determinant(self):
        return tf.cast(self._num_rows, self.dtype.real_dtype) * tf.math.log(tf.abs(self._multiplier))

    def _trace(self):
        return tf.cast(self._num_rows, self.dtype) * self._multiplier

    def _diag_part(self):
        return tf.expand_dims(self._multiplier, -1) * tf.ones([self._num_rows], dtype=self.dtype)

    def _to_dense(self):
        return tf.linalg.diag(self._diag_part())

    def add_to_tensor(self, mat, name="add_to_tensor"):
        mat = tf.convert_to_tensor(mat, name="mat")
        return tf.linalg.set_diag(mat, tf.linalg.diag_part(mat) + tf.expand_dims(self._multiplier, -1))

    def _eigvals(self):
        return self._diag_part()

    def _cond(self):
        one = tf.ones_like(tf.convert_to_tensor(self._multiplier), dtype=self.dtype.real_dtype)
        return tf.where(tf.equal(tf.abs(self._multiplier), 0), np.nan * one, one)

    def _same(self, multiplier):
        return LinearOperatorScaledIdentity(self._num_rows, multiplier, is_non_singular=self.is_non_singular,
                                            is_self_adjoint=self.is_self_adjoint,
                                            is_positive_definite=self.is_positive_definite, is_square=True)

    def _adjoint(self):
        return self._same(tf.math.conj(self._multiplier))

    def _inverse(self):
        return self._same(1.0 / tf.convert_to_tensor(self._multiplier))

    def _cholesky(self):
        return LinearOperatorScaledIdentity(self._num_rows, tf.sqrt(self._multiplier), is_non_singular=True,
                                            is_self_adjoint=True, is_positive_definite=True, is_square=True)


@make_composite_tensor
class LinearOperatorZeros(_Sized):
    """Zeros."""

    _composite_tensor_fields = ("num_rows", "num_columns", "batch_shape", "dtype", "assert_proper_shapes")
    _composite_tensor_prefer_static_fields = ("num_rows", "num_columns", "batch_shape")

    def __init__(self, num_rows, num_columns=None, batch_shape=None, dtype=None, is_non_singular=False, is_self_adjoint=True,
                 is_positive_definite=False, is_square=True, assert_proper_shapes=False, name="LinearOperatorZeros"):
        parameters = dict(locals())
        if not is_self_adjoint and is_square:
            raise ValueError("A zero operator is always self adjoint.")
        if is_non_singular:
            raise ValueError("A zero operator is always singular.")
        if is_positive_definite:
            raise ValueError("A zero operator is always not positive-definite.")
        super().__init__(dtype=dtype or tf.float32, is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint,
                         is_positive_definite=is_positive_definite, is_square=is_square, name=name, parameters=parameters)
        self._take_sizes(num_rows, batch_shape, assert_proper_shapes, num_columns)
        if is_square and None not in (self._rows, self._columns) and self._rows != self._columns:
            raise ValueError("LinearOperatorZeros initialized as is_square=True, but got "
                             f"num_rows({self._rows}) != num_columns({self._columns})")

    def _fail(self, text):
        raise errors.InvalidArgumentError(None, None, text)

    def _assert_non_singular(self):
        self._fail("Zero operators are always non-invertible.")

    def _assert_positive_definite(self):
        self._fail("Zero operators are always non-positive definite.")

    def _assert_self_adjoint(self):
        return tf.no_op("assert_self_adjoint")

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = maybe_adjoint(x, adjoint_arg)
        rows = self.domain_dimension_tensor() if adjoint else self.range_dimension_tensor()
        batch = tf.broadcast_dynamic_shape(self.batch_shape_tensor(), tf.shape(x)[:-2])
        return tf.zeros(tf.concat([batch, [rows, tf.shape(x)[-1]]], 0), dtype=self.dtype)

    def _determinant(self):
        return tf.zeros(self.batch_shape_tensor(), dtype=self.dtype)

    _trace = _determinant

    def _diag_part(self):
        n = tf.minimum(self.range_dimension_tensor(), self.domain_dimension_tensor())
        return tf.zeros(tf.concat([self.batch_shape_tensor(), [n]], 0), dtype=self.dtype)

    def _to_dense(self):
        return tf.zeros(self.shape_tensor(), dtype=self.dtype)

    def add_to_tensor(self, mat, name="add_to_tensor"):
        return mat

    def _eigvals(self):
        return self._diag_part()


for _class in (LinearOperatorFullMatrix, LinearOperatorDiag, LinearOperatorLowerTriangular, LinearOperatorIdentity,
               LinearOperatorScaledIdentity, LinearOperatorZeros):
    _class.__module__ = "tensorflow.python.ops.linalg.linear_operator_" + {
        "FullMatrix": "full_matrix", "Diag": "diag", "LowerTriangular": "lower_triangular", "Identity": "identity",
        "ScaledIdentity": "identity", "Zeros": "zeros"}[_class.__name__[len("LinearOperator"):]]
