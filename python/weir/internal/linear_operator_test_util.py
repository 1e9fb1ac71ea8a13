"""tensorflow.python.ops.linalg.linear_operator_test_util: what tests of linear operators derive from.

A test class gives an operator and its dense matrix (`operator_and_matrix`); `add_tests` gives the class a test for each
method, type and shape, which compares the operator's result with the matrix's.
"""

import itertools

import numpy as np

import weir as tf
from weir.framework.graph import Graph, executing_eagerly
from weir.internal.linear_operator_test_data import (random_normal, random_normal_correlated_columns,
                                                     random_positive_definite_matrix, random_sign_uniform,
                                                     random_tril_matrix, random_uniform)
from weir.test_case import TestCase

__all__ = ["CheckTapeSafeSkipOptions", "LinearOperatorDerivedClassTest", "NonSquareLinearOperatorDerivedClassTest",
           "OperatorShapesInfo", "SquareLinearOperatorDerivedClassTest", "add_tests", "random_normal",
           "random_normal_correlated_columns", "random_positive_definite_matrix", "random_sign_uniform",
           "random_tril_matrix", "random_uniform"]

linalg = tf.linalg


class OperatorShapesInfo:
    """The shape of an operator to test, and what else `operator_and_matrix` wants to know of it."""

    def __init__(self, shape, **kwargs):
        self.shape = shape
        self.__dict__.update(kwargs)


class CheckTapeSafeSkipOptions:
    """Results whose gradients check_tape_safe leaves out."""

    DETERMINANT = "determinant"
    DIAG_PART = "diag_part"
    LOG_ABS_DETERMINANT = "log_abs_determinant"
    TRACE = "trace"


class LinearOperatorDerivedClassTest(TestCase):
    """The base of test classes, one for each class of operators."""

    _atol = {tf.float16: 1e-3, tf.float32: 1e-6, tf.float64: 1e-12, tf.complex64: 1e-6, tf.complex128: 1e-12}
    _rtol = dict(_atol)

    def assertAC(self, x, y, check_dtype=False):
        """Close, within what the type of the values can give."""
        dtype = tf.as_dtype(x.dtype)
        self.assertAllClose(x, y, atol=self._atol[dtype], rtol=self._rtol[dtype])
        if check_dtype:
            self.assertDTypeEqual(x, np.asarray(y).dtype)

    @staticmethod
    def adjoint_options():
        return [False, True]

    @staticmethod
    def adjoint_arg_options():
        return [False, True]

    @staticmethod
    def dtypes_to_test():
        return [tf.float32, tf.float64, tf.complex64, tf.complex128]

    @staticmethod
    def use_placeholder_options():
        return [False, True]

    @staticmethod
    def use_blockwise_arg():
        return False

    @staticmethod
    def operator_shapes_infos():
        raise NotImplementedError("operator_shapes_infos has not been implemented.")

    def operator_and_matrix(self, shapes_info, dtype, use_placeholder, ensure_self_adjoint_and_pd=False):
        raise NotImplementedError("Not implemented yet.")

    def make_rhs(self, operator, adjoint, with_batch=True):
        raise NotImplementedError("make_rhs is not defined.")

    def make_x(self, operator, adjoint, with_batch=True):
        raise NotImplementedError("make_x is not defined.")

    @staticmethod
    def skip_these_tests():
        return []

    @staticmethod
    def optional_tests():
        return ["operator_matmul_with_same_type", "operator_solve_with_same_type"]

    def assertRaisesError(self, msg):
        """An error with this message, eager or from a graph."""
        if executing_eagerly():
            return self.assertRaisesRegex(Exception, msg)
        return self.assertRaisesOpError(msg)

    def check_convert_variables_to_tensors(self, operator):
        """All variables of the operator can be replaced by tensors."""
        parts = tf.nest.flatten(operator, expand_composites=True)
        tensors = [tf.convert_to_tensor(part) for part in parts]
        again = tf.nest.pack_sequence_as(operator, tensors, expand_composites=True)
        self.assertEmpty(again.variables)
        self.assertAllClose(again.to_dense(), operator.to_dense())

    def check_tape_safe(self, operator, skip_options=None):
        """Each result has a gradient by the operator's variables."""
        skip_options = skip_options or []
        self.assertNotEmpty(operator.trainable_variables)

        def differentiated(function):
            with tf.GradientTape() as tape:
                result = function()
            gradients = tape.gradient(result, operator.trainable_variables)
            for gradient in gradients:
                self.assertIsNotNone(gradient)
            return gradients

        if operator.is_square:
            if CheckTapeSafeSkipOptions.DETERMINANT not in skip_options:
                differentiated(operator.determinant)
            if CheckTapeSafeSkipOptions.LOG_ABS_DETERMINANT not in skip_options:
                differentiated(operator.log_abs_determinant)
            if CheckTapeSafeSkipOptions.TRACE not in skip_options:
                differentiated(operator.trace)
            differentiated(lambda: operator.solve(self.make_rhs(operator, adjoint=False)))
        if CheckTapeSafeSkipOptions.DIAG_PART not in skip_options:
            differentiated(operator.diag_part)
        differentiated(operator.to_dense)
        differentiated(lambda: operator.matmul(self.make_x(operator, adjoint=False)))


# The tests: (self, operator, matrix, shapes_info, dtype, use_placeholder).


def _to_dense(test, operator, matrix, **_):
    dense = operator.to_dense()
    if not tf.is_tensor(dense) or dense.shape.is_fully_defined():
        test.assertAllEqual(matrix.shape, dense.shape)
    test.assertAC(*test.evaluate([dense, matrix]))


def _det(test, operator, matrix, **_):
    test.assertAC(*test.evaluate([operator.determinant(), linalg.det(matrix)]))


def _log_abs_det(test, operator, matrix, **_):
    test.assertAC(*test.evaluate([operator.log_abs_determinant(), linalg.slogdet(matrix)[1]]))


def _cholesky(test, operator, matrix, **_):
    found, expected = test.evaluate([operator.cholesky().to_dense(), linalg.cholesky(matrix)])
    test.assertAC(found, expected)


def _eigvalsh(test, operator, matrix, **_):
    found, expected = test.evaluate([tf.sort(tf.math.real(operator.eigvals()), axis=-1), linalg.eigvalsh(matrix)])
    test.assertAllClose(found, np.real(expected), atol=1e-3 if expected.dtype.itemsize <= 8 else 1e-9, rtol=1e-4)


def _cond(test, operator, matrix, dtype, **_):
    found, dense = test.evaluate([operator.cond(), matrix])
    values = np.linalg.svd(dense, compute_uv=False)
    test.assertAllClose(found, values[..., 0] / values[..., -1], rtol=1e-3 if dtype.real_dtype == tf.float32 else 1e-9)


def _trace(test, operator, matrix, **_):
    test.assertAC(*test.evaluate([operator.trace(), linalg.trace(matrix)]))


def _inverse(test, operator, matrix, **_):
    test.assertAC(*test.evaluate([operator.inverse().to_dense(), linalg.inv(matrix)]))


def _adjoint(test, operator, matrix, **_):
    test.assertAC(*test.evaluate([operator.adjoint().to_dense(), linalg.adjoint(matrix)]))
    test.assertAC(*test.evaluate([operator.H.to_dense(), linalg.adjoint(matrix)]))


def _diag_part(test, operator, matrix, **_):
    test.assertAC(*test.evaluate([operator.diag_part(), linalg.diag_part(matrix)]))


def _add_to_tensor(test, operator, matrix, **_):
    test.assertAC(*test.evaluate([operator.add_to_tensor(2 * matrix), 3 * matrix]))


def _matmul(test, operator, matrix, with_batch=True, **_):
    for adjoint, adjoint_arg in itertools.product(test.adjoint_options(), test.adjoint_arg_options()):
        x = test.make_x(operator, adjoint=adjoint, with_batch=with_batch)
        given = linalg.adjoint(x) if adjoint_arg else x
        found = operator.matmul(given, adjoint=adjoint, adjoint_arg=adjoint_arg)
        expected = linalg.matmul(matrix, x, adjoint_a=adjoint)
        test.assertAC(*test.evaluate([found, expected]))


def _matmul_with_broadcast(test, operator, matrix, **_):
    _matmul(test, operator, matrix, with_batch=False)


def _solve(test, operator, matrix, with_batch=True, **_):
    for adjoint, adjoint_arg in itertools.product(test.adjoint_options(), test.adjoint_arg_options()):
        rhs = test.make_rhs(operator, adjoint=adjoint, with_batch=with_batch)
        given = linalg.adjoint(rhs) if adjoint_arg else rhs
        found = operator.solve(given, adjoint=adjoint, adjoint_arg=adjoint_arg)
        batched = rhs + tf.zeros(tf.concat([tf.shape(matrix)[:-2], [1, 1]], 0), rhs.dtype)
        expected = linalg.solve(matrix, batched, adjoint=adjoint)
        test.assertAC(*test.evaluate([found, expected]))


def _solve_with_broadcast(test, operator, matrix, **_):
    _solve(test, operator, matrix, with_batch=False)


def _slicing(test, operator, matrix, shapes_info, **_):
    batch = shapes_info.shape[:-2]
    if not batch:
        return
    slices = (0, slice(None, 1), slice(1, None), (..., 0), (..., slice(None, 2)))
    for chosen in slices:
        found, expected = test.evaluate([operator[chosen].to_dense(), matrix[(chosen if isinstance(chosen, tuple) else (
            chosen, ...)) + (slice(None), slice(None))]])
        test.assertAC(found, expected)


def _composite_tensor(test, operator, matrix, **_):
    parts = tf.nest.flatten(operator, expand_composites=True)
    again = tf.nest.pack_sequence_as(operator, parts, expand_composites=True)
    test.assertAC(*test.evaluate([again.to_dense(), matrix]))

    @tf.function
    def dense(given):
        return given.to_dense()
    test.assertAC(*test.evaluate([dense(operator), matrix]))


_TESTS = {
    "to_dense": _to_dense, "det": _det, "log_abs_det": _log_abs_det, "cholesky": _cholesky, "eigvalsh": _eigvalsh,
    "cond": _cond, "trace": _trace, "inverse": _inverse, "adjoint": _adjoint, "diag_part": _diag_part,
    "add_to_tensor": _add_to_tensor, "matmul": _matmul, "matmul_with_broadcast": _matmul_with_broadcast, "solve": _solve,
    "solve_with_broadcast": _solve_with_broadcast, "composite_tensor": _composite_tensor, "slicing": _slicing,
}
_POSITIVE_DEFINITE = {"cholesky", "eigvalsh"}
_NOT_EMPTY = {"cond"}


def _make_test(name, check, shapes_info, dtype, use_placeholder):
    def test(self):
        with Graph().as_default() if use_placeholder or not executing_eagerly() else tf.init_scope(), \
                self.session():
            tf.compat.v1.set_random_seed(42)
            options = {"ensure_self_adjoint_and_pd": True} if name in _POSITIVE_DEFINITE else {}
            operator, matrix = self.operator_and_matrix(shapes_info, dtype, use_placeholder=use_placeholder, **options)
            check(self, operator, matrix, shapes_info=shapes_info, dtype=dtype, use_placeholder=use_placeholder)
    return test


def add_tests(test_cls):
    """Gives a test class a test for each method, shape and type that it does not skip."""
    skipped = set(test_cls.skip_these_tests())
    for name, check in _TESTS.items():
        if name in skipped:
            continue
        options = itertools.product(test_cls.use_placeholder_options(), enumerate(test_cls.operator_shapes_infos()),
                                    test_cls.dtypes_to_test())
        for use_placeholder, (number, shapes_info), dtype in options:
            if name == "slicing" and use_placeholder:
                continue  # which dimensions are the batch's must be known
            if name in _NOT_EMPTY and 0 in tuple(shapes_info.shape)[-2:]:
                continue
            label = f"test_{name}_{number}_{dtype.name}" + ("_placeholder" if use_placeholder else "")
            setattr(test_cls, label, _make_test(name, check, shapes_info, dtype, use_placeholder))


class SquareLinearOperatorDerivedClassTest(LinearOperatorDerivedClassTest):
    """Tests of operators that are square."""

    @staticmethod
    def operator_shapes_infos():
        return [OperatorShapesInfo(shape) for shape in ((0, 0), (1, 1), (1, 3, 3), (3, 4, 4), (2, 1, 4, 4))]

    def make_rhs(self, operator, adjoint, with_batch=True):
        return self.make_x(operator, adjoint=not adjoint, with_batch=with_batch)

    def make_x(self, operator, adjoint, with_batch=True):
        """A matrix that the operator can multiply."""
        systems = self._get_num_systems(operator)
        rows = tf.convert_to_tensor(operator.domain_dimension_tensor())
        batch = operator.batch_shape_tensor() if with_batch else tf.zeros([0], tf.int32)
        return random_normal(tf.concat([batch, [rows, systems]], 0), dtype=operator.dtype)

    def _get_num_systems(self, operator):
        return 1 if operator.tensor_rank is None or operator.tensor_rank % 2 else 2


class NonSquareLinearOperatorDerivedClassTest(LinearOperatorDerivedClassTest):
    """Tests of operators that are not square."""

    @staticmethod
    def skip_these_tests():
        return ["cholesky", "eigvalsh", "inverse", "solve", "solve_with_broadcast", "det", "log_abs_det"]

    @staticmethod
    def operator_shapes_infos():
        return [OperatorShapesInfo(shape) for shape in ((2, 1), (1, 2), (1, 3, 2), (3, 3, 4), (2, 1, 2, 4))]

    def make_rhs(self, operator, adjoint, with_batch=True):
        raise NotImplementedError("make_rhs not implemented because we don't test solve")

    def make_x(self, operator, adjoint, with_batch=True):
        """A matrix that the operator, or its adjoint, can multiply."""
        systems = self._get_num_systems(operator)
        rows = operator.range_dimension_tensor() if adjoint else operator.domain_dimension_tensor()
        batch = operator.batch_shape_tensor() if with_batch else tf.zeros([0], tf.int32)
        return random_normal(tf.concat([batch, [tf.convert_to_tensor(rows), systems]], 0), dtype=operator.dtype)

    def _get_num_systems(self, operator):
        return 1 if operator.tensor_rank is None or operator.tensor_rank % 2 else 2
