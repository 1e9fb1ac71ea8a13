"""tf.linalg.LinearOperator*: each against its dense matrix, and what is known of results."""

import unittest

import numpy as np

import weir as tf

L = tf.linalg
_RANDOM = np.random.RandomState(0)
_MATRIX = _RANDOM.randn(2, 3, 3) + 3 * np.eye(3)
_SPD = _MATRIX @ np.swapaxes(_MATRIX, -1, -2) + np.eye(3)
_DIAG = np.abs(_RANDOM.randn(3)) + 0.5


def _full(matrix, **hints):
    return L.LinearOperatorFullMatrix(matrix, **hints)


def _spd():
    return _full(_SPD, is_self_adjoint=True, is_positive_definite=True)


OPERATORS = {
    "full": lambda: _full(_MATRIX),
    "spd": _spd,
    "diag": lambda: L.LinearOperatorDiag(_DIAG, is_positive_definite=True),
    "complex": lambda: L.LinearOperatorDiag(np.array([1 + 2j, 3 - 1j])),
    "triangular": lambda: L.LinearOperatorLowerTriangular(_MATRIX),
    "identity": lambda: L.LinearOperatorIdentity(3, batch_shape=[2], dtype=tf.float64),
    "scaled": lambda: L.LinearOperatorScaledIdentity(3, np.float64([2.0, 3.0])),
    "composition": lambda: L.LinearOperatorComposition([_full(_MATRIX), L.LinearOperatorDiag(_DIAG)]),
    "adjoint": lambda: L.LinearOperatorAdjoint(_full(_MATRIX)),
    "inversion": lambda: L.LinearOperatorInversion(_full(_MATRIX)),
    "blocks": lambda: L.LinearOperatorBlockDiag([_spd(), L.LinearOperatorDiag(_DIAG, is_positive_definite=True)]),
    "kronecker": lambda: L.LinearOperatorKronecker([_spd(), _spd()]),
    "kronecker of three": lambda: L.LinearOperatorKronecker([_full(_MATRIX), L.LinearOperatorDiag(_DIAG), _full(_MATRIX[0])]),
    "lower blocks": lambda: L.LinearOperatorBlockLowerTriangular(
        [[_full(_MATRIX)], [_full(_RANDOM.randn(2, 2, 3)), _full(_MATRIX[:, :2, :2])]]),
    "update": lambda: L.LinearOperatorLowRankUpdate(L.LinearOperatorDiag(_DIAG, is_positive_definite=True),
                                                    u=_MATRIX[0, :, :2], diag_update=np.float64([1.0, 2.0]),
                                                    is_diag_update_positive=True),
    "householder": lambda: L.LinearOperatorHouseholder(_MATRIX[0]),
    "permutation": lambda: L.LinearOperatorPermutation([[2, 0, 1], [0, 2, 1]], dtype=tf.float64),
    "toeplitz": lambda: L.LinearOperatorToeplitz(np.float64([5, 2, 3]), np.float64([5, -2, -3])),
    "tridiagonal": lambda: L.LinearOperatorTridiag(np.float64([[1, 2, 0], [5, 6, 7], [0, 1, 2]])),
    "circulant": lambda: L.LinearOperatorCirculant(np.array([1 + 2j, 3, 4 - 1j]), input_output_dtype=tf.complex128),
    "circulant of two": lambda: L.LinearOperatorCirculant2D(_MATRIX[0, :2] + 1j, input_output_dtype=tf.complex128),
    "circulant of three": lambda: L.LinearOperatorCirculant3D(np.arange(1, 9).reshape(2, 2, 2) + 0j,
                                                              input_output_dtype=tf.complex128),
}


def _dense(operator):
    """The matrix column by column, by products alone."""
    n = operator.domain_dimension
    eye = np.eye(n, dtype=operator.dtype.as_numpy_dtype)
    return np.stack([operator.matvec(eye[i]).numpy() for i in range(n)], axis=-1)


class Operators(unittest.TestCase):
    def check(self, found, expected):
        np.testing.assert_allclose(found.numpy(), np.broadcast_to(expected, found.shape), rtol=1e-9, atol=1e-9)

    def test_like_their_matrices(self):
        for name, make in OPERATORS.items():
            with self.subTest(name):
                operator = make()
                matrix = _dense(operator)
                n = operator.domain_dimension
                x = _RANDOM.randn(n, 2).astype(operator.dtype.as_numpy_dtype)
                adjoint = np.conj(np.swapaxes(matrix, -1, -2))
                self.check(operator.to_dense(), matrix)
                self.check(operator.matmul(x), matrix @ x)
                self.check(operator.matmul(x, adjoint=True), adjoint @ x)
                self.check(operator.matmul(x.T.conj(), adjoint_arg=True), matrix @ x)
                self.check(operator.solve(x), np.linalg.solve(matrix, np.broadcast_to(x, matrix.shape[:-1] + (2,))))
                self.check(operator.solve(x, adjoint=True),
                           np.linalg.solve(adjoint, np.broadcast_to(x, matrix.shape[:-1] + (2,))))
                self.check(operator.determinant(), np.linalg.det(matrix))
                self.check(tf.math.real(operator.log_abs_determinant()), np.log(np.abs(np.linalg.det(matrix))))
                self.check(operator.diag_part(), np.diagonal(matrix, axis1=-2, axis2=-1))
                self.check(operator.trace(), np.trace(matrix, axis1=-2, axis2=-1))
                self.check(operator.add_to_tensor(np.ones_like(matrix)), matrix + 1)
                self.check(operator.adjoint().to_dense(), adjoint)
                self.check(operator.inverse().to_dense(), np.linalg.inv(matrix))
                self.check(operator.cond(), np.linalg.cond(matrix))
                self.assertEqual(operator.shape_tensor().numpy().tolist(), operator.shape.as_list())
                if operator.is_self_adjoint and operator.is_positive_definite:
                    self.check(operator.cholesky().to_dense(), np.linalg.cholesky(matrix))

    def test_products_of_operators(self):
        two, three = L.LinearOperatorDiag([2.0, 3.0]), L.LinearOperatorScaledIdentity(2, 3.0)
        self.assertIsInstance(two @ three, L.LinearOperatorDiag)
        self.assertEqual((three @ two).diag.numpy().tolist(), [6.0, 9.0])
        self.assertIsInstance(two @ _full([[1.0, 2.0], [3.0, 4.0]]), L.LinearOperatorComposition)
        self.assertIs(two.matmul(L.LinearOperatorIdentity(2)), two)

    def test_names(self):
        self.assertEqual(OPERATORS["composition"]().name, "LinearOperatorFullMatrix_o_LinearOperatorDiag")
        self.assertEqual(OPERATORS["blocks"]().name, "LinearOperatorFullMatrix_ds_LinearOperatorDiag")
        self.assertEqual(OPERATORS["adjoint"]().name, "LinearOperatorFullMatrix_adjoint")

    def test_contradictions(self):
        with self.assertRaisesRegex(ValueError, "A real diagonal operator is always self adjoint."):
            L.LinearOperatorDiag([1.0], is_self_adjoint=False)
        with self.assertRaisesRegex(ValueError, "A positive definite matrix is always non-singular."):
            _full([[1.0]], is_positive_definite=True, is_non_singular=False)
        with self.assertRaisesRegex(ValueError, "must have at least 2 dimensions"):
            _full([1.0])
        with self.assertRaisesRegex(ValueError, "Cannot take the Cholesky decomposition"):
            _full([[1.0]]).cholesky()
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "Singular operator"):
            L.LinearOperatorDiag([1.0, 0.0]).assert_non_singular()

    def test_in_a_function_of_any_shape(self):
        @tf.function(input_signature=[tf.TensorSpec(None, tf.float64), tf.TensorSpec(None, tf.float64)])
        def solve(matrix, x):
            return L.LinearOperatorFullMatrix(matrix).solve(x)
        np.testing.assert_allclose(solve(_MATRIX, np.ones((2, 3, 1))), np.linalg.solve(_MATRIX, np.ones((2, 3, 1))))

    def test_gradients(self):
        x = tf.Variable([2.0, 4.0])
        with tf.GradientTape() as tape:
            y = L.LinearOperatorDiag(x).log_abs_determinant()
        self.assertEqual(tape.gradient(y, x).numpy().tolist(), [0.5, 0.25])


if __name__ == "__main__":
    unittest.main()
