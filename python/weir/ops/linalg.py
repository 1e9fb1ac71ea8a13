"""Linear algebra beyond single ops: norms, decompositions in numpy's order, solvers, diagonals."""

import numpy as np

from weir.framework import convert_to_tensor, dispatch, is_tensor, raw_ops
from weir.framework.dispatch import scoped
from weir.ops import array, dtypes, math
from weir.ops.array import eye, tensor_diag_part  # noqa: F401
from weir.ops.dtypes import cast
from weir.ops.math import einsum, global_norm, l2_normalize, matmul, matvec, tensordot  # noqa: F401


def matrix_transpose(a, name="matrix_transpose", conjugate=False):
    """The last two dimensions of `a` exchanged, the elements conjugated if asked."""
    a = convert_to_tensor(a, name="a")
    known = a.shape.rank
    if known is not None:
        if known < 2:
            raise ValueError(f"Argument `a` should be a (batch) matrix with rank >= 2.  Received `a` = {a} with shape: "
                             f"{a.shape}")
        order = list(range(known - 2)) + [known - 1, known - 2]
    else:
        total = array.rank(a)
        order = array.concat([array.range(total - 2), [total - 1, total - 2]], 0)
    return array.transpose(a, order, conjugate=conjugate, name=name)


def adjoint(matrix, name=None):
    """The conjugate transpose of the last two dimensions."""
    return matrix_transpose(matrix, name=name or "adjoint", conjugate=True)


def trace(x, name=None):
    """The sum of the diagonal of each matrix."""
    x = convert_to_tensor(x, name="x")
    return math.reduce_sum(raw_ops.MatrixDiagPart(input=x), [-1], name=name)


def diag(diagonal, name="diag", k=0, num_rows=-1, num_cols=-1, padding_value=0, align="RIGHT_LEFT"):
    """Matrices with the given diagonal, or band of diagonals `k = (low, high)`."""
    diagonal = convert_to_tensor(diagonal)
    padding_value = _as_type(padding_value, diagonal.dtype)
    return raw_ops.MatrixDiagV3(diagonal=diagonal, k=k, num_rows=num_rows, num_cols=num_cols,
                                padding_value=padding_value, align=align, name=name)


def _as_type(value, dtype):
    if is_tensor(value):
        return value
    return array.constant(bool(value) if dtype == dtypes.bool else value, dtype=dtype)


def diag_part(input, name="diag_part", k=0, padding_value=0, align="RIGHT_LEFT"):  # pylint: disable=redefined-builtin
    """The diagonal of each matrix, or its diagonals from `k[0]` to `k[1]`."""
    input = convert_to_tensor(input)
    return raw_ops.MatrixDiagPartV3(input=input, k=k, padding_value=_as_type(padding_value, input.dtype), align=align,
                                    name=name)


def set_diag(input, diagonal, name="set_diag", k=0, align="RIGHT_LEFT"):  # pylint: disable=redefined-builtin
    """`input` with its diagonal, or a band of diagonals, replaced."""
    return raw_ops.MatrixSetDiagV3(input=input, diagonal=diagonal, k=k, align=align, name=name)


def svd(tensor, full_matrices=False, compute_uv=True, name=None):
    """The singular values s of each matrix, and u and v with `tensor = u @ diag(s) @ adjoint(v)`."""
    s, u, v = raw_ops.Svd(input=tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    if not compute_uv:
        return math.real(s)
    return math.real(s), u, v


def eigh(tensor, name=None):
    """Eigenvalues in ascending order and eigenvectors of self-adjoint matrices."""
    return raw_ops.SelfAdjointEigV2(input=tensor, compute_v=True, name=name)


def eigvalsh(tensor, name=None):
    """Eigenvalues of self-adjoint matrices in ascending order."""
    values, _ = raw_ops.SelfAdjointEigV2(input=tensor, compute_v=False, name=name)
    return values


def _complex_type(tensor):
    return dtypes.complex64 if tensor.dtype in (dtypes.float32, dtypes.complex64) else dtypes.complex128


def eig(tensor, name=None):
    """Eigenvalues and eigenvectors of square matrices, complex."""
    tensor = convert_to_tensor(tensor)
    return raw_ops.Eig(input=tensor, Tout=_complex_type(tensor), compute_v=True, name=name)


def eigvals(tensor, name=None):
    """Eigenvalues of square matrices, complex."""
    tensor = convert_to_tensor(tensor)
    values, _ = raw_ops.Eig(input=tensor, Tout=_complex_type(tensor), compute_v=False, name=name)
    return values


def logdet(matrix, name=None):
    """The logarithm of the determinant of positive definite matrices."""
    factor = raw_ops.Cholesky(input=matrix)
    return array.identity(
        2.0 * math.reduce_sum(raw_ops.Log(x=math.real(raw_ops.MatrixDiagPart(input=factor))), axis=[-1]), name=name)


def triangular_solve(matrix, rhs, lower=True, adjoint=False, name=None):  # pylint: disable=redefined-outer-name
    """Solves `matrix @ x = rhs` for triangular matrices."""
    return raw_ops.MatrixTriangularSolve(matrix=matrix, rhs=rhs, lower=lower, adjoint=adjoint, name=name)


def banded_triangular_solve(bands, rhs, lower=True, adjoint=False, name=None):  # pylint: disable=redefined-outer-name
    """Solves triangular systems whose matrices are given by their bands."""
    return raw_ops.BandedTriangularSolve(matrix=bands, rhs=rhs, lower=lower, adjoint=adjoint, name=name)


def cholesky_solve(chol, rhs, name=None):
    """Solves `A @ x = rhs` given the Cholesky factor of A."""
    half = raw_ops.MatrixTriangularSolve(matrix=chol, rhs=rhs, lower=True, adjoint=False)
    return raw_ops.MatrixTriangularSolve(matrix=chol, rhs=half, lower=True, adjoint=True, name=name)


def lstsq(matrix, rhs, l2_regularizer=0.0, fast=True, name=None):
    """Least squares solutions of `matrix @ x = rhs`: by normal equations if `fast`, else by an orthogonal one."""
    matrix, rhs = convert_to_tensor(matrix), convert_to_tensor(rhs)
    if fast and matrix.shape[-2:].is_fully_defined():
        rows, columns = matrix.shape[-2], matrix.shape[-1]
        lamda = cast(l2_regularizer, matrix.dtype)
        if rows >= columns:
            gram = matmul(matrix, matrix, adjoint_a=True)
            if l2_regularizer != 0:
                gram = gram + lamda * eye(columns, dtype=matrix.dtype)
            return cholesky_solve(raw_ops.Cholesky(input=gram), matmul(matrix, rhs, adjoint_a=True), name=name)
        gram = matmul(matrix, matrix, adjoint_b=True)
        if l2_regularizer != 0:
            gram = gram + lamda * eye(rows, dtype=matrix.dtype)
        return matmul(matrix, cholesky_solve(raw_ops.Cholesky(input=gram), rhs), adjoint_a=True, name=name)
    return raw_ops.MatrixSolveLs(matrix=matrix, rhs=rhs, l2_regularizer=convert_to_tensor(l2_regularizer, dtypes.float64),
                                 fast=fast, name=name)


@dispatch
@scoped("norm", names_result=False)
def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None):  # pylint: disable=redefined-builtin
    """The norm of vectors (one axis, or none: all elements) or of matrices (two axes)."""
    keepdims = bool(keepdims)
    matrices = (isinstance(axis, (list, tuple)) or (isinstance(axis, np.ndarray) and axis.ndim)) and len(axis) == 2
    if isinstance(axis, (list, tuple)) and not matrices:
        if len(axis) != 1:
            raise ValueError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}")
    if matrices:
        axis = tuple(int(i) for i in axis)
        if axis[0] == axis[1]:
            raise ValueError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}")
        known = ["euclidean", "fro", 1, 2, np.inf]
        if ord not in known:
            raise ValueError(f"'ord' must be a supported matrix norm in {known}, got {ord}")
    else:
        known = ["euclidean", 1, 2, np.inf]
        if ord not in known and not (isinstance(ord, (int, float)) and ord > 0):
            raise ValueError(f"'ord' must be a supported vector norm in {known}, got {ord}" if isinstance(ord, str) else
                             f"'ord' must be a real number greater than 0 or one of {known}, got {ord}")
    tensor = convert_to_tensor(tensor)
    if matrices and ord == 2:
        known_rank = tensor.shape.rank
        positions = [i if i >= 0 else i + known_rank for i in axis]
        others = [i for i in range(known_rank) if i not in positions]
        values = svd(array.transpose(tensor, others + positions), compute_uv=False)
        result = math.reduce_max(values, axis=-1)
        if keepdims:
            for i in sorted(positions):
                result = array.expand_dims(result, i)
        return result
    if ord in ("fro", "euclidean") or (ord == 2 and not matrices):
        square = tensor * math.conj(tensor)
        result = math.sqrt(math.reduce_sum(square, axis, keepdims=True))
        result = math.real(result) if tensor.dtype.is_complex else result
    else:
        magnitude = math.abs(tensor)
        if matrices and ord == 1:
            result = math.reduce_max(math.reduce_sum(magnitude, axis[0], keepdims=True), axis[1], keepdims=True)
        elif matrices:
            result = math.reduce_max(math.reduce_sum(magnitude, axis[1], keepdims=True), axis[0], keepdims=True)
        elif ord == 1:
            result = math.reduce_sum(magnitude, axis, keepdims=True)
        elif ord == np.inf:
            result = math.reduce_max(magnitude, axis, keepdims=True)
        else:
            result = math.pow(math.reduce_sum(math.pow(magnitude, ord), axis, keepdims=True), 1.0 / ord)
    if not keepdims:
        result = array.squeeze(result, None if axis is None else [axis] if isinstance(axis, int) else list(axis))
    return result if name is None else array.identity(result, name=name)


def normalize(tensor, ord="euclidean", axis=None, name=None):  # pylint: disable=redefined-builtin
    """`tensor` divided by its norm along `axis`, and that norm."""
    tensor = convert_to_tensor(tensor)
    length = norm(tensor, ord, axis, keepdims=True)
    length = cast(length, tensor.dtype)
    return array.identity(tensor / length, name=name), length


def _real_matrices(a):
    if not a.dtype.is_floating:
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {a.dtype.name}).")
    if a.shape.rank is not None and a.shape.rank < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {a.shape.rank}).")
    return a


def matrix_rank(a, tol=None, validate_args=False, name=None):
    """The number of singular values above a tolerance."""
    del validate_args
    a = _real_matrices(convert_to_tensor(a, dtype_hint=dtypes.float32))
    values = svd(a, compute_uv=False)
    if tol is None:
        largest_side = raw_ops.Max(input=array.shape(a)[-2:], axis=[0])
        tol = np.finfo(a.dtype.real_dtype.as_numpy_dtype).eps * cast(largest_side, values.dtype) * math.reduce_max(
            values, axis=-1, keepdims=True)
    return math.reduce_sum(cast(values > tol, dtypes.int32), axis=-1, name=name)


def pinv(a, rcond=None, validate_args=False, name=None):
    """The Moore-Penrose pseudo-inverse by singular values; those below `rcond` times the largest count as 0."""
    del validate_args
    a = _real_matrices(convert_to_tensor(a))
    real_type = a.dtype.real_dtype
    if rcond is None:
        sides = array.shape(a)[-2:]
        rcond = 10.0 * cast(raw_ops.Max(input=sides, axis=[0]), real_type) * np.finfo(real_type.as_numpy_dtype).eps
    rcond = cast(convert_to_tensor(rcond, dtype_hint=real_type), real_type)
    s, u, v = svd(a, full_matrices=False, compute_uv=True)
    cutoff = array.expand_dims(rcond * math.reduce_max(s, axis=-1), -1)
    s = array.where(s > cutoff, s, array.constant(np.inf, dtype=s.dtype))
    scaled = v / cast(array.expand_dims(s, -2), v.dtype)
    return matmul(scaled, u, adjoint_b=True, name=name)


def expm(input, name=None):  # pylint: disable=redefined-builtin
    """The matrix exponential, by scaling, a Pade approximation of order 13 and squaring."""
    matrix = convert_to_tensor(input, name="input")
    if matrix.shape.rank is not None and matrix.shape.rank < 2:
        raise ValueError(f"Shape {matrix.shape} must have rank at least 2")
    real_type = matrix.dtype.real_dtype if matrix.dtype.is_complex else matrix.dtype
    one_norm = math.reduce_max(math.reduce_sum(math.abs(matrix), axis=-2), axis=-1)
    one_norm = array.expand_dims(array.expand_dims(one_norm, -1), -1)
    theta = array.constant(5.371920351148152, dtype=real_type)
    log2 = raw_ops.Log(x=one_norm / theta) / array.constant(np.log(2.0), dtype=real_type)
    squarings = math.ceil(raw_ops.Maximum(x=array.constant(0.0, dtype=real_type), y=log2))
    squarings = array.where(raw_ops.IsFinite(x=squarings), squarings, array.zeros_like(squarings))
    a = matrix / cast(math.pow(array.constant(2.0, dtype=real_type), squarings), matrix.dtype)
    b = [64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
         10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0]
    identity = eye(array.shape(a)[-1], batch_shape=array.shape(a)[:-2], dtype=a.dtype)
    coefficient = lambda value: array.constant(value, dtype=a.dtype)  # noqa: E731
    a2 = matmul(a, a)
    a4 = matmul(a2, a2)
    a6 = matmul(a4, a2)
    odd = matmul(a6, a6 + coefficient(b[11]) * a4 + coefficient(b[9]) * a2)
    odd = odd + coefficient(b[7]) * a6 + coefficient(b[5]) * a4 + coefficient(b[3]) * a2 + coefficient(b[1]) * identity
    u = matmul(a, odd)
    even = matmul(a6, coefficient(b[12]) * a6 + coefficient(b[10]) * a4 + coefficient(b[8]) * a2)
    v = even + coefficient(b[6]) * a6 + coefficient(b[4]) * a4 + coefficient(b[2]) * a2 + coefficient(b[0]) * identity
    result = raw_ops.MatrixSolve(matrix=v - u, rhs=u + v)
    rounds = math.reduce_max(cast(squarings, dtypes.int32))
    counts = cast(squarings, dtypes.int32)
    from weir.ops import control_flow

    def square(i, value):
        return i + 1, array.where(i < counts, matmul(value, value), value)

    _, result = control_flow.while_loop(lambda i, _: i < rounds, square, (array.constant(0), result))
    return result if name is None else array.identity(result, name=name)


def _lu_parts(lower_upper):
    lower = raw_ops.MatrixBandPart(input=lower_upper, num_lower=-1, num_upper=0)
    lower = set_diag(lower, array.ones(array.shape(lower_upper)[:-1], dtype=lower_upper.dtype))
    upper = raw_ops.MatrixBandPart(input=lower_upper, num_lower=0, num_upper=-1)
    return lower, upper


def lu_reconstruct(lower_upper, perm, validate_args=False, name=None):
    """The matrices of which `lower_upper` and `perm` are the LU decomposition."""
    del validate_args
    lower_upper = convert_to_tensor(lower_upper, dtype_hint=dtypes.float32)
    perm = convert_to_tensor(perm, dtype_hint=dtypes.int32)
    lower, upper = _lu_parts(lower_upper)
    product = matmul(lower, upper)
    inverse = array.argsort(perm, axis=-1)
    if product.shape.rank == 2:
        return array.gather(product, raw_ops.InvertPermutation(x=perm), name=name)
    return array.gather(product, inverse, batch_dims=product.shape.rank - 2, axis=product.shape.rank - 2, name=name)


def lu_solve(lower_upper, perm, rhs, validate_args=False, name=None):
    """Solves `A @ x = rhs` given the LU decomposition of A."""
    del validate_args
    lower_upper = convert_to_tensor(lower_upper, dtype_hint=dtypes.float32)
    rhs = convert_to_tensor(rhs, dtype_hint=lower_upper.dtype)
    perm = convert_to_tensor(perm, dtype_hint=dtypes.int32)
    if rhs.shape.rank == 2 and perm.shape.rank == 1:
        permuted = array.gather(rhs, perm, axis=-2)
    else:
        batch = array.broadcast_dynamic_shape(array.shape(rhs)[:-2], array.shape(perm)[:-1])
        rhs = array.broadcast_to(rhs, array.concat([batch, array.shape(rhs)[-2:]], 0))
        perm = array.broadcast_to(perm, array.concat([batch, array.shape(perm)[-1:]], 0))
        permuted = array.gather(rhs, perm, batch_dims=perm.shape.rank - 1, axis=perm.shape.rank - 1)
    lower, upper = _lu_parts(lower_upper)
    half = triangular_solve(lower, permuted)
    return triangular_solve(upper, half, lower=False, name=name)


def lu_matrix_inverse(lower_upper, perm, validate_args=False, name=None):
    """The inverses of the matrices of which an LU decomposition is given."""
    lower_upper = convert_to_tensor(lower_upper, dtype_hint=dtypes.float32)
    identity = eye(array.shape(lower_upper)[-1], batch_shape=array.shape(lower_upper)[:-2], dtype=lower_upper.dtype)
    return lu_solve(lower_upper, perm, identity, validate_args=validate_args, name=name)


def _compact_diagonals(diagonals, diagonals_format):
    if diagonals_format == "compact":
        return convert_to_tensor(diagonals)
    if diagonals_format == "sequence":
        upper, main, lower = (convert_to_tensor(d) for d in diagonals)
        if upper.shape[-1] is not None and main.shape[-1] == upper.shape[-1] + 1:
            pads = [[0, 0]] * (main.shape.rank - 1)
            upper = array.pad(upper, pads + [[0, 1]])
            lower = array.pad(lower, pads + [[1, 0]])
        return array.stack([upper, main, lower], axis=-2)
    if diagonals_format == "matrix":
        return diag_part(diagonals, k=(-1, 1), padding_value=0.0, align="LEFT_RIGHT")
    raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")


def tridiagonal_matmul(diagonals, rhs, diagonals_format="compact", name=None):
    """The product of tridiagonal matrices and `rhs`."""
    compact = _compact_diagonals(diagonals, diagonals_format)
    upper, main, lower = (array.expand_dims(compact[..., i, :], -2) for i in range(3))
    return raw_ops.TridiagonalMatMul(superdiag=upper, maindiag=main, subdiag=lower, rhs=rhs, name=name)


def tridiagonal_solve(diagonals, rhs, diagonals_format="compact", transpose_rhs=False, conjugate_rhs=False, name=None,
                      partial_pivoting=True, perturb_singular=False):
    """Solves tridiagonal systems."""
    compact = _compact_diagonals(diagonals, diagonals_format)
    rhs = convert_to_tensor(rhs)
    is_vector = rhs.shape.rank == compact.shape.rank - 1
    if is_vector:
        if conjugate_rhs:
            rhs = math.conj(rhs)
        rhs = array.expand_dims(rhs, -1)
    elif transpose_rhs:
        rhs = matrix_transpose(rhs, conjugate=conjugate_rhs)
    elif conjugate_rhs:
        rhs = math.conj(rhs)
    result = raw_ops.TridiagonalSolve(diagonals=compact, rhs=rhs, partial_pivoting=partial_pivoting,
                                      perturb_singular=perturb_singular, name=name)
    if is_vector:
        return array.squeeze(result, -1)
    return matrix_transpose(result) if transpose_rhs else result
