"""tf.linalg.LinearOperator: batches of matrices known by what they do.

A class of operators gives its shape, what it does to a matrix, and whatever it can do better than by its dense matrix.
"""

import contextlib

import numpy as np

import weir as tf
from weir.framework import CompositeTensor
from weir.module import Module

__all__ = ["LinearOperator"]


def _hint(value, name):
    if value is not None and not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"Argument `{name}` must be None or a bool. Found: {value}.")
    return value


class LinearOperator(Module, CompositeTensor):
    """A batch of [range, domain] matrices; hints say what is known of them."""

    _composite_tensor_fields = ()  # the arguments that make the operator again, beside its hints
    _composite_tensor_prefer_static_fields = ()  # ... those of them that stay Python values where they are known
    _type_spec = None  # @make_composite_tensor gives a class its own

    def __init__(self, dtype, graph_parents=None, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None,
                 is_square=None, name=None, parameters=None):
        if graph_parents is not None:
            for i, value in enumerate(graph_parents):
                if value is None or not (tf.is_tensor(value)):
                    raise ValueError(f"Graph parent item {i} is not a Tensor; {value}.")
        for value, what in ((is_non_singular, "is_non_singular"), (is_self_adjoint, "is_self_adjoint"),
                            (is_positive_definite, "is_positive_definite"), (is_square, "is_square")):
            _hint(value, what)
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        if is_non_singular:
            if is_square is False:
                raise ValueError("A non-singular matrix is always square.")
            is_square = True
        if is_self_adjoint:
            if is_square is False:
                raise ValueError("A self-adjoint matrix is always square.")
            is_square = True
        super().__init__(name=name or type(self).__name__)
        self._dtype = tf.as_dtype(dtype) if dtype is not None else dtype
        self._graph_parents = [] if graph_parents is None else list(graph_parents)
        self._is_non_singular = is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        self._is_square = is_square
        self._parameters = {k: v for k, v in (parameters or {}).items() if k not in ("self", "__class__")}
        self._given_name = name or type(self).__name__

    @contextlib.contextmanager
    def _name_scope(self, name=None):
        with tf.name_scope(self.name + ("/" + name if name else "")):
            yield

    # What is known.

    parameters = property(lambda self: dict(self._parameters))
    dtype = property(lambda self: self._dtype)
    name = property(lambda self: self._given_name)
    graph_parents = property(lambda self: self._graph_parents)
    is_non_singular = property(lambda self: self._is_non_singular)
    is_self_adjoint = property(lambda self: self._is_self_adjoint)
    is_positive_definite = property(lambda self: self._is_positive_definite)
    shape = property(lambda self: self._shape())
    batch_shape = property(lambda self: self.shape[:-2])
    tensor_rank = property(lambda self: self.shape.ndims)
    domain_dimension = property(lambda self: self.shape[-1] if self.shape.rank is not None else None)
    range_dimension = property(lambda self: self.shape[-2] if self.shape.rank is not None else None)
    H = property(lambda self: self.adjoint())

    @property
    def is_square(self):
        """Whether the matrices are square: by the shape where it is known, else by the hint."""
        rows, columns = self.range_dimension, self.domain_dimension
        if rows is not None and columns is not None:
            found = rows == columns
            if self._is_square is not None and self._is_square != found:
                raise ValueError(f"User provided is_square hint conflicts with static shape: {self.shape}")
            return found
        return self._is_square

    def shape_tensor(self, name="shape_tensor"):
        """The shape as a tensor of int32."""
        with self._name_scope(name):
            if self.shape.is_fully_defined():
                return tf.constant(self.shape.as_list(), dtype=tf.int32)
            return self._shape_tensor()

    def batch_shape_tensor(self, name="batch_shape_tensor"):
        return self.shape_tensor()[:-2]

    def tensor_rank_tensor(self, name="tensor_rank_tensor"):
        return tf.size(self.shape_tensor())

    def domain_dimension_tensor(self, name="domain_dimension_tensor"):
        if self.domain_dimension is not None:
            return tf.convert_to_tensor(self.domain_dimension)
        return self.shape_tensor()[-1]

    def range_dimension_tensor(self, name="range_dimension_tensor"):
        if self.range_dimension is not None:
            return tf.convert_to_tensor(self.range_dimension)
        return self.shape_tensor()[-2]

    def _shape(self):
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self):
        raise NotImplementedError("_shape_tensor is not implemented.")

    # Checks that may run with the graph.

    def assert_non_singular(self, name="assert_non_singular"):
        """An operation that fails where the operator may be singular."""
        with self._name_scope(name):
            return self._assert_non_singular()

    def _assert_non_singular(self):
        if self.dtype.real_dtype in (tf.float32, tf.float16):
            limit = 1e-6 if self.dtype.real_dtype == tf.float32 else 1e-3
        else:
            limit = 1e-12
        return tf.debugging.assert_less(self.cond(), tf.cast(1.0 / limit, self.dtype.real_dtype),
                                        message="Singular matrix up to precision epsilon.")

    def assert_positive_definite(self, name="assert_positive_definite"):
        """An operation that fails unless the operator is positive definite."""
        with self._name_scope(name):
            return self._assert_positive_definite()

    def _assert_positive_definite(self):
        if self.is_self_adjoint:
            return tf.debugging.assert_positive(tf.linalg.diag_part(tf.linalg.cholesky(self.to_dense())),
                                                message="Matrix was not positive definite.")
        raise NotImplementedError("assert_positive_definite is not implemented.")

    def assert_self_adjoint(self, name="assert_self_adjoint"):
        """An operation that fails unless the operator is its own adjoint."""
        with self._name_scope(name):
            return self._assert_self_adjoint()

    def _assert_self_adjoint(self):
        dense = self.to_dense()
        return tf.debugging.assert_equal(dense, tf.linalg.adjoint(dense),
                                         message="Matrix was not equal to its adjoint.")

    # Products.

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        raise NotImplementedError("_matmul is not implemented.")

    def matmul(self, x, adjoint=False, adjoint_arg=False, name="matmul"):
        """A x, or the operator A B of two operators."""
        if isinstance(x, LinearOperator):
            left = self.adjoint() if adjoint else self
            right = x.adjoint() if adjoint_arg else x
            if None not in (right.range_dimension, left.domain_dimension) and right.range_dimension != left.domain_dimension:
                raise ValueError("Operators are incompatible. Expected `x` to have dimension "
                                 f"{left.domain_dimension} but got {right.range_dimension}.")
            from weir.ops import linear_operator_algebra
            with self._name_scope(name):
                return linear_operator_algebra.matmul(left, right)
        with self._name_scope(name):
            x = tf.convert_to_tensor(x, dtype=None if tf.is_tensor(x) else self.dtype, name="x")
            self._check_input_dtype(x)
            own, other = -2 if adjoint else -1, -1 if adjoint_arg else -2
            if self.shape.rank is not None and x.shape.rank is not None:
                if x.shape.rank < 2:
                    raise ValueError(f"Dimensions are not compatible: x has shape {x.shape}")
                tf.TensorShape([self.shape[own]]).assert_is_compatible_with(tf.TensorShape([x.shape[other]]))
            return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def __matmul__(self, other):
        return self.matmul(other)

    def _check_input_dtype(self, x):
        if x.dtype.base_dtype != self.dtype.base_dtype:
            raise TypeError(f"Argument `arg` must have dtype={self.dtype} but was {x.dtype}.")

    def matvec(self, x, adjoint=False, name="matvec"):
        """A x for vectors x."""
        with self._name_scope(name):
            x = tf.convert_to_tensor(x, dtype=None if tf.is_tensor(x) else self.dtype, name="x")
            self._check_input_dtype(x)
            return tf.squeeze(self.matmul(tf.expand_dims(x, -1), adjoint=adjoint), -1)

    # Properties of the matrix.

    def _check_square(self, what):
        if self.is_square is False:
            raise NotImplementedError(f"{what} not implemented for an operator that is expected to not be square.")

    def determinant(self, name="det"):
        """The determinant of each matrix."""
        self._check_square("Determinant")
        with self._name_scope(name):
            return self._determinant()

    def _determinant(self):
        if self._can_use_cholesky():
            return tf.exp(self.log_abs_determinant())
        return tf.linalg.det(self.to_dense())

    def log_abs_determinant(self, name="log_abs_det"):
        """The logarithm of the determinant's absolute value."""
        self._check_square("Determinant")
        with self._name_scope(name):
            return self._log_abs_determinant()

    def _log_abs_determinant(self):
        if self._can_use_cholesky():
            diagonal = tf.linalg.diag_part(tf.linalg.cholesky(self.to_dense()))
            return 2 * tf.reduce_sum(tf.math.log(diagonal), axis=[-1])
        return tf.linalg.slogdet(self.to_dense()).log_abs_determinant

    def _can_use_cholesky(self):
        return self.is_self_adjoint and self.is_positive_definite

    def solve(self, rhs, adjoint=False, adjoint_arg=False, name="solve"):
        """x with A x = rhs; for an operator `rhs`, the operator A^-1 rhs."""
        if self.is_non_singular is False:
            raise NotImplementedError("Exact solve not implemented for an operator that is expected to be singular.")
        if self.is_square is False:
            raise NotImplementedError("Exact solve not implemented for an operator that is expected to not be square.")
        if isinstance(rhs, LinearOperator):
            left = self.adjoint() if adjoint else self
            right = rhs.adjoint() if adjoint_arg else rhs
            if None not in (right.range_dimension, left.domain_dimension) and right.range_dimension != left.domain_dimension:
                raise ValueError("Operators are incompatible. Expected `rhs` to have dimension "
                                 f"{left.domain_dimension} but got {right.range_dimension}.")
            from weir.ops import linear_operator_algebra
            with self._name_scope(name):
                return linear_operator_algebra.matmul(left.inverse(), right)
        with self._name_scope(name):
            rhs = tf.convert_to_tensor(rhs, dtype=None if tf.is_tensor(rhs) else self.dtype, name="rhs")
            self._check_input_dtype(rhs)
            own, other = -1 if adjoint else -2, -1 if adjoint_arg else -2
            if self.shape.rank is not None and rhs.shape.rank is not None:
                tf.TensorShape([self.shape[own]]).assert_is_compatible_with(tf.TensorShape([rhs.shape[other]]))
            return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        rhs = tf.linalg.adjoint(rhs) if adjoint_arg else rhs
        if self._can_use_cholesky():
            factor, rhs = broadcast_matrices(tf.linalg.cholesky(self.to_dense()), rhs)
            return tf.linalg.cholesky_solve(factor, rhs)
        dense, rhs = broadcast_matrices(self.to_dense(), rhs)
        return tf.linalg.solve(dense, rhs, adjoint=adjoint)

    def solvevec(self, rhs, adjoint=False, name="solve"):
        """As `solve` for vectors."""
        with self._name_scope(name):
            rhs = tf.convert_to_tensor(rhs, dtype=None if tf.is_tensor(rhs) else self.dtype, name="rhs")
            self._check_input_dtype(rhs)
            own = self.domain_dimension if adjoint else self.range_dimension
            if rhs.shape.rank is not None and None not in (own, rhs.shape[-1]) and own != rhs.shape[-1]:
                raise ValueError(f"Dimensions {own} and {rhs.shape[-1]} are not compatible")
            return tf.squeeze(self.solve(tf.expand_dims(rhs, -1), adjoint=adjoint), -1)

    def adjoint(self, name="adjoint"):
        """The operator of the conjugate transpose."""
        if self.is_self_adjoint is True:
            return self
        with self._name_scope(name):
            return self._adjoint()

    def _adjoint(self):
        from weir.ops.linear_operators_composed import LinearOperatorAdjoint
        return LinearOperatorAdjoint(self, is_non_singular=self.is_non_singular, is_self_adjoint=self.is_self_adjoint,
                                     is_positive_definite=self.is_positive_definite, is_square=self.is_square)

    def inverse(self, name="inverse"):
        """The operator of the inverse."""
        if self.is_square is False:
            raise ValueError("Cannot take the Inverse: This operator represents a non square matrix.")
        if self.is_non_singular is False:
            raise ValueError("Cannot take the Inverse: This operator represents a singular matrix.")
        with self._name_scope(name):
            return self._inverse()

    def _inverse(self):
        from weir.ops.linear_operators_composed import LinearOperatorInversion
        return LinearOperatorInversion(self, is_non_singular=self.is_non_singular, is_self_adjoint=self.is_self_adjoint,
                                       is_positive_definite=self.is_positive_definite, is_square=self.is_square)

    def cholesky(self, name="cholesky"):
        """The operator L, lower triangular, with A = L L^H."""
        if not self._can_use_cholesky():
            raise ValueError("Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix.")
        with self._name_scope(name):
            return self._cholesky()

    def _cholesky(self):
        from weir.ops.linear_operators_basic import LinearOperatorLowerTriangular
        return LinearOperatorLowerTriangular(tf.linalg.cholesky(self.to_dense()), is_non_singular=True,
                                             is_self_adjoint=False, is_square=True)

    def to_dense(self, name="to_dense"):
        """The matrices as a tensor."""
        with self._name_scope(name):
            return self._to_dense()

    def _to_dense(self):
        batch = self.batch_shape.as_list() if self.batch_shape.is_fully_defined() else self.batch_shape_tensor()
        n = self.domain_dimension if self.domain_dimension is not None else self.domain_dimension_tensor()
        return self.matmul(tf.eye(n, batch_shape=batch, dtype=self.dtype))

    def diag_part(self, name="diag_part"):
        """The diagonals."""
        with self._name_scope(name):
            return self._diag_part()

    def _diag_part(self):
        return tf.linalg.diag_part(self.to_dense())

    def trace(self, name="trace"):
        """The sum of the diagonal."""
        with self._name_scope(name):
            return self._trace()

    def _trace(self):
        return tf.reduce_sum(self.diag_part(), axis=-1)

    def add_to_tensor(self, x, name="add_to_tensor"):
        """A + x as a tensor."""
        with self._name_scope(name):
            x = tf.convert_to_tensor(x, dtype=None if tf.is_tensor(x) else self.dtype, name="x")
            self._check_input_dtype(x)
            return self._add_to_tensor(x)

    def _add_to_tensor(self, x):
        return self.to_dense() + x

    def eigvals(self, name="eigvals"):
        """The eigenvalues of a self-adjoint operator."""
        if not self.is_self_adjoint:
            raise NotImplementedError("Only self-adjoint matrices are supported.")
        with self._name_scope(name):
            return self._eigvals()

    def _eigvals(self):
        return tf.linalg.eigvalsh(self.to_dense())

    def cond(self, name="cond"):
        """The condition number: the quotient of the largest and the smallest singular value."""
        with self._name_scope(name):
            return self._cond()

    def _cond(self):
        if self.is_self_adjoint:
            values = tf.abs(self.eigvals())
            return tf.reduce_max(values, axis=-1) / tf.reduce_min(values, axis=-1)
        values = tf.linalg.svd(self.to_dense(), compute_uv=False)
        return tf.reduce_max(values, axis=-1) / tf.reduce_min(values, axis=-1)

    def __getitem__(self, slices):
        """The operator of some of the batch's matrices."""
        from weir.ops.linear_operator_slicing import slice_operator
        return slice_operator(self, slices)


def broadcast_matrices(a, b):
    """Two tensors with equal batch shapes."""
    if a.shape[:-2].is_fully_defined() and b.shape[:-2].is_fully_defined():
        if a.shape[:-2] == b.shape[:-2]:
            return a, b
        batch = tf.broadcast_static_shape(a.shape[:-2], b.shape[:-2]).as_list()
        return (tf.broadcast_to(a, batch + a.shape[-2:].as_list()) if a.shape[-2:].is_fully_defined() else
                tf.broadcast_to(a, tf.concat([batch, tf.shape(a)[-2:]], 0)),
                tf.broadcast_to(b, batch + b.shape[-2:].as_list()) if b.shape[-2:].is_fully_defined() else
                tf.broadcast_to(b, tf.concat([batch, tf.shape(b)[-2:]], 0)))
    batch = tf.broadcast_dynamic_shape(tf.shape(a)[:-2], tf.shape(b)[:-2])
    return (tf.broadcast_to(a, tf.concat([batch, tf.shape(a)[-2:]], 0)),
            tf.broadcast_to(b, tf.concat([batch, tf.shape(b)[-2:]], 0)))


LinearOperator.__module__ = "tensorflow.python.ops.linalg.linear_operator"
