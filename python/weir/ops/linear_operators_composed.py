"""Linear operators made of others: adjoint, inverse, products, updates of low rank."""

from functools import reduce
from operator import add, mul

import weir as tf
from weir.ops.linear_operator import LinearOperator, broadcast_matrices
from weir.ops.linear_operator_spec import make_composite_tensor
from weir.ops.linear_operators_basic import LinearOperatorDiag, LinearOperatorIdentity, convert_nonref, maybe_adjoint

__all__ = ["LinearOperatorAdjoint", "LinearOperatorInversion", "LinearOperatorComposition", "LinearOperatorLowRankUpdate"]


def joined_names(operators, joint):
    return joint.join(op.name for op in operators)


def common_dtype(operators):
    if not operators:
        raise ValueError(f"Expected a non-empty list of operators. Found: {operators}")
    dtype = operators[0].dtype
    for op in operators:
        if op.dtype != dtype:
            raise TypeError("Expected all operators to have the same dtype.  Found: "
                            f"{[(o.name, o.dtype) for o in operators]}")
    return dtype


@make_composite_tensor
class LinearOperatorAdjoint(LinearOperator):
    """The conjugate transpose of an operator."""

    _composite_tensor_fields = ("operator",)

    def __init__(self, operator, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name=None):
        parameters = dict(locals())
        self._operator = operator

        def combine(given, own, what):
            if own is False and given or own and given is False:
                raise ValueError(f"The given {what} hint {given} contradicts that of the operator: {own}")
            return own if given is None else given
        is_square = combine(is_square, operator.is_square, "is_square")
        is_non_singular = combine(is_non_singular, operator.is_non_singular, "is_non_singular")
        is_self_adjoint = combine(is_self_adjoint, operator.is_self_adjoint, "is_self_adjoint")
        is_positive_definite = combine(is_positive_definite, operator.is_positive_definite, "is_positive_definite")
        super().__init__(dtype=operator.dtype, is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint,
                         is_positive_definite=is_positive_definite, is_square=is_square,
                         name=name or operator.name + "_adjoint", parameters=parameters)

    operator = property(lambda self: self._operator)

    def _shape(self):
        shape = self._operator.shape
        return shape if shape.rank is None else shape[:-2].concatenate([shape[-1], shape[-2]])

    def _shape_tensor(self):
        shape = self._operator.shape_tensor()
        return tf.concat([shape[:-2], [shape[-1], shape[-2]]], 0)

    def _assert_non_singular(self):
        return self._operator.assert_non_singular()

    def _assert_positive_definite(self):
        return self._operator.assert_positive_definite()

    def _assert_self_adjoint(self):
        return self._operator.assert_self_adjoint()

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self):
        return tf.math.conj(self._operator.determinant())

    def _log_abs_determinant(self):
        return self._operator.log_abs_determinant()

    def _trace(self):
        return tf.math.conj(self._operator.trace())

    def _to_dense(self):
        return tf.linalg.adjoint(self._operator.to_dense())

    def _diag_part(self):
        return tf.math.conj(self._operator.diag_part())

    def _add_to_tensor(self, x):
        return self.to_dense() + x

    def _eigvals(self):
        values = self._operator.eigvals()
        return tf.math.conj(values) if values.dtype.is_complex else values

    def _cond(self):
        return self._operator.cond()

    def _adjoint(self):
        return self._operator


@make_composite_tensor
class LinearOperatorInversion(LinearOperator):
    """The inverse of an operator."""

    _composite_tensor_fields = ("operator",)

    def __init__(self, operator, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name=None):
        parameters = dict(locals())
        self._operator = operator
        if operator.is_square is False or is_square is False:
            raise ValueError(f"operator {operator.name} must be square" if operator.is_square is False else
                             "is_square must be True or None.")
        if operator.is_non_singular is False or is_non_singular is False:
            raise ValueError("operator must be non-singular: is_non_singular must be True or None.")
        is_self_adjoint = operator.is_self_adjoint if is_self_adjoint is None else is_self_adjoint
        is_positive_definite = operator.is_positive_definite if is_positive_definite is None else is_positive_definite
        is_non_singular = operator.is_non_singular if is_non_singular is None else is_non_singular
        super().__init__(dtype=operator.dtype, is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint,
                         is_positive_definite=is_positive_definite, is_square=True, name=name or operator.name + "_inv",
                         parameters=parameters)

    operator = property(lambda self: self._operator)

    def _shape(self):
        return self._operator.shape

    def _shape_tensor(self):
        return self._operator.shape_tensor()

    def _assert_non_singular(self):
        return self._operator.assert_non_singular()

    def _assert_positive_definite(self):
        return self._operator.assert_positive_definite()

    def _assert_self_adjoint(self):
        return self._operator.assert_self_adjoint()

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self):
        return 1.0 / self._operator.determinant()

    def _log_abs_determinant(self):
        return -1.0 * self._operator.log_abs_determinant()

    def _eigvals(self):
        return 1.0 / self._operator.eigvals()

    def _cond(self):
        return self._operator.cond()

    def _inverse(self):
        return self._operator


@make_composite_tensor
class LinearOperatorComposition(LinearOperator):
    """The product of operators: the last is applied first."""

    _composite_tensor_fields = ("operators",)

    def __init__(self, operators, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name=None):
        parameters = dict(locals())
        self._operators = list(operators)
        dtype = common_dtype(self._operators)
        if all(op.is_non_singular for op in self._operators):
            if is_non_singular is False:
                raise ValueError("The composition of non-singular operators is always non-singular.")
            is_non_singular = True
        if is_square is None:
            is_square = self._infer_square()
        super().__init__(dtype=dtype, is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint,
                         is_positive_definite=is_positive_definite, is_square=is_square,
                         name=name or joined_names(self._operators, "_o_"), parameters=parameters)

    operators = property(lambda self: self._operators)

    def _infer_square(self):
        return True if all(op.is_square for op in self._operators) else None

    def _shape(self):
        first, last = self._operators[0], self._operators[-1]
        for left, right in zip(self._operators, self._operators[1:]):
            tf.TensorShape([left.domain_dimension]).assert_is_compatible_with(tf.TensorShape([right.range_dimension]))
        batch = self._operators[0].batch_shape
        for op in self._operators[1:]:
            batch = tf.broadcast_static_shape(batch, op.batch_shape)
        return batch.concatenate(tf.TensorShape([first.range_dimension, last.domain_dimension]))

    def _shape_tensor(self):
        batch = self._operators[0].batch_shape_tensor()
        for op in self._operators[1:]:
            batch = tf.broadcast_dynamic_shape(batch, op.batch_shape_tensor())
        return tf.concat([batch, [self._operators[0].range_dimension_tensor(),
                                  self._operators[-1].domain_dimension_tensor()]], 0)

    def _assert_non_singular(self):
        if all(op.is_square for op in self._operators):
            return tf.group(*[op.assert_non_singular() for op in self._operators])
        return super()._assert_non_singular()

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        result = x
        for i, op in enumerate(self._operators if adjoint else reversed(self._operators)):
            result = op.matmul(result, adjoint=adjoint, adjoint_arg=adjoint_arg and i == 0)
        return result

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        result = rhs
        for i, op in enumerate(reversed(self._operators) if adjoint else self._operators):
            result = op.solve(result, adjoint=adjoint, adjoint_arg=adjoint_arg and i == 0)
        return result

    def _determinant(self):
        return reduce(mul, (op.determinant() for op in self._operators))

    def _log_abs_determinant(self):
        return reduce(add, (op.log_abs_determinant() for op in self._operators))


@make_composite_tensor
class LinearOperatorLowRankUpdate(LinearOperator):
    """L + U D V^H with a diagonal D."""

    _composite_tensor_fields = ("base_operator", "u", "diag_update", "v", "is_diag_update_positive")

    def __init__(self, base_operator, u, diag_update=None, v=None, is_diag_update_positive=None, is_non_singular=None,
                 is_self_adjoint=None, is_positive_definite=None, is_square=None, name="LinearOperatorLowRankUpdate"):
        parameters = dict(locals())
        dtype = base_operator.dtype
        if diag_update is not None and is_diag_update_positive and dtype.is_complex:
            tf.compat.v1.logging.warn("Note: setting is_diag_update_positive with a complex dtype means that diagonal is "
                                      "real and positive.")
        if diag_update is None:
            if is_diag_update_positive is False:
                raise ValueError("Default diagonal is the identity, which is positive.  However, user set "
                                 "'is_diag_update_positive' to False.")
            is_diag_update_positive = True
        symmetric = base_operator.is_self_adjoint and v is None and (is_diag_update_positive or not dtype.is_complex)
        if symmetric and is_self_adjoint is None:
            is_self_adjoint = True
        if base_operator.is_positive_definite and v is None and is_diag_update_positive:
            if is_positive_definite is False:
                raise ValueError("Arguments imply that the operator is positive definite")
            is_positive_definite = True
        self._base_operator = base_operator
        self._u = convert_nonref(u, name="u")
        self._v = self._u if v is None else convert_nonref(v, name="v")
        self._diag_update = None if diag_update is None else convert_nonref(diag_update, name="diag_update")
        self._is_diag_update_positive = is_diag_update_positive
        for value in (self._u, self._v, self._diag_update):
            if value is not None and value.dtype != dtype:
                raise TypeError(f"All parameters must have the dtype of the base operator, {dtype}; found {value.dtype}")
        super().__init__(dtype=dtype, is_non_singular=is_non_singular, is_self_adjoint=is_self_adjoint,
                         is_positive_definite=is_positive_definite, is_square=is_square, name=name, parameters=parameters)
        if self._diag_update is None:
            rank = self._u.shape[-1] if self._u.shape[-1] is not None else tf.shape(self._u)[-1]
            self._diag_operator = LinearOperatorIdentity(num_rows=rank, dtype=dtype)
        else:
            self._diag_operator = LinearOperatorDiag(self._diag_update, is_positive_definite=is_diag_update_positive)

    u = property(lambda self: self._u)
    v = property(lambda self: self._v)
    base_operator = property(lambda self: self._base_operator)
    diag_update = property(lambda self: self._diag_update)
    diag_operator = property(lambda self: self._diag_operator)
    is_diag_update_positive = property(lambda self: self._is_diag_update_positive)

    def _shape(self):
        batch = tf.broadcast_static_shape(self._base_operator.batch_shape, self._diag_operator.batch_shape)
        batch = tf.broadcast_static_shape(batch, self._u.shape[:-2])
        batch = tf.broadcast_static_shape(batch, self._v.shape[:-2])
        return batch.concatenate(self._base_operator.shape[-2:])

    def _shape_tensor(self):
        batch = self._base_operator.batch_shape_tensor()
        for other in (self._diag_operator.batch_shape_tensor(), tf.shape(self._u)[:-2], tf.shape(self._v)[:-2]):
            batch = tf.broadcast_dynamic_shape(batch, other)
        return tf.concat([batch, self._base_operator.shape_tensor()[-2:]], 0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        u, v = (self._v, self._u) if adjoint else (self._u, self._v)
        base = self._base_operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = tf.matmul(v, x, adjoint_a=True, adjoint_b=adjoint_arg)
        return base + tf.matmul(u, self._diag_operator.matmul(inner, adjoint=adjoint))

    def _capacitance(self):
        """D^-1 + V^H L^-1 U."""
        inner = tf.matmul(self._v, self._base_operator.solve(self._u), adjoint_a=True)
        return self._diag_operator.inverse().add_to_tensor(inner)

    def _uses_cholesky(self):
        return self.is_positive_definite and self.is_self_adjoint and self._u is self._v

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        u, v = (self._v, self._u) if adjoint else (self._u, self._v)
        start = self._base_operator.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = tf.matmul(v, start, adjoint_a=True)
        capacitance, inner = broadcast_matrices(self._capacitance(), inner)
        middle = tf.linalg.solve(capacitance, inner, adjoint=adjoint)
        return start - self._base_operator.solve(tf.matmul(u, middle), adjoint=adjoint)

    def _determinant(self):
        if self.is_positive_definite:
            return tf.exp(self.log_abs_determinant())
        return (tf.linalg.det(self._capacitance()) * self._diag_operator.determinant() *
                self._base_operator.determinant())

    def _log_abs_determinant(self):
        return (tf.linalg.slogdet(self._capacitance()).log_abs_determinant + self._diag_operator.log_abs_determinant() +
                self._base_operator.log_abs_determinant())

    def _diag_part(self):
        product = self._diag_operator.matmul(tf.linalg.adjoint(self._v))
        return self._base_operator.diag_part() + tf.reduce_sum(self._u * tf.linalg.matrix_transpose(product), axis=-1)

    def _trace(self):
        return tf.reduce_sum(self.diag_part(), axis=-1)


_MODULES = {"Adjoint": "adjoint", "Inversion": "inversion", "Composition": "composition", "LowRankUpdate": "low_rank_update"}
for _name in __all__:
    globals()[_name].__module__ = "tensorflow.python.ops.linalg.linear_operator_" + _MODULES[_name[len("LinearOperator"):]]
