"""Linear algebra and Fourier transforms."""

import numpy as np

from .draw import TOLERANCES, cases


def square(d, low=1, high=4):
    n = d.int(low, high)
    return (*d.shape(0, 2, 3), n, n)


def general(d, shape):
    t = d.t("T").as_numpy_dtype
    return (d.T(shape, -1, 1) + 3 * np.eye(shape[-2], shape[-1])).astype(t)


def definite(d, shape):
    x = d.T(shape, -1, 1).astype("complex128" if d.t("T").is_complex else "float64")
    return (x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])).astype(d.t("T").as_numpy_dtype)


@cases("Cholesky", "SelfAdjointEigV2", "SelfAdjointEig", "MatrixSquareRoot", "MatrixLogarithm", tolerance=2e-4)
def definite_input(d):
    d.ignored = (1,) if d.op == "SelfAdjointEigV2" else ()
    given = dict(input=definite(d, square(d)))
    return dict(given, compute_v=False) if d.op == "SelfAdjointEigV2" else given


@cases("MatrixDeterminant", "LogMatrixDeterminant", "Lu", "MatrixInverse", "MatrixExponential", tolerance=2e-4)
def general_input(d):
    return dict(input=general(d, square(d)))


@cases("CholeskyGrad", tolerance=2e-4)
def cholesky_grad(d):
    shape = square(d)
    return dict(l=np.linalg.cholesky(definite(d, shape).astype("float64")).astype(d.t("T").as_numpy_dtype), grad=d.T(shape, -1, 1))


@cases("MatrixSolve", "MatrixTriangularSolve", tolerance=2e-4)
def solve(d):
    shape = square(d)
    return dict(matrix=general(d, shape), rhs=d.T((*shape[:-1], d.int(0, 3)), -1, 1))


@cases("MatrixSolveLs", tolerance=2e-3)
def solve_ls(d):
    rows, columns, lead = d.int(1, 5), d.int(1, 3), d.shape(0, 1)
    return dict(matrix=general(d, (*lead, rows, columns)), rhs=d.T((*lead, rows, d.int(1, 3)), -1, 1), l2_regularizer=np.float64(d.choice([0, 0.5])))


@cases("BandedTriangularSolve", tolerance=2e-4)
def banded(d):
    n, k, lead = d.int(2, 5), d.int(1, 2), d.shape(0, 1)
    return dict(matrix=(d.T((*lead, k, n), -1, 1) + 3).astype(d.t("T").as_numpy_dtype), rhs=d.T((*lead, n, d.int(1, 3)), -1, 1))


@cases("Qr", "Svd", tolerance=2e-4)
def factors(d):
    d.ignored = (1, 2) if d.op == "Svd" else ()
    rows = d.int(1, 4)
    given = dict(input=general(d, (*d.shape(0, 2, 3), rows, rows if d.op == "Qr" else d.int(1, 4))))
    return dict(given, compute_uv=False) if d.op == "Svd" else given


@cases("Eig", tolerance=1e-3)
def eig(d):
    d.ignored = (1,)
    out = "complex64" if d.t("T").name in ("float32", "complex64") else "complex128"
    return dict(input=general(d, square(d, 1, 2)), Tout=d.among("Tout", out))


@cases("TridiagonalSolve", tolerance=2e-4)
def tridiagonal(d):
    n, lead = d.int(1, 5), d.shape(0, 1)
    middle = np.asarray([[0], [4], [0]])
    return dict(diagonals=(d.T((*lead, 3, n), -1, 1) + middle).astype(d.t("T").as_numpy_dtype), rhs=d.T((*lead, n, d.int(1, 3)), -1, 1))


@cases("TridiagonalMatMul")
def tridiagonal_matmul(d):
    n, lead = d.int(1, 5), d.shape(0, 1)
    row = (*lead, 1, n)
    return dict(superdiag=d.T(row, -1, 1), maindiag=d.T(row, -1, 1), subdiag=d.T(row, -1, 1), rhs=d.T((*lead, n, d.int(1, 3)), -1, 1))


FOURIER = [f"{i}FFT{n}D".replace("1D", "") for i in ("", "I", "R", "IR") for n in (1, 2, 3)]


@cases(*FOURIER, tolerance=1e-4)
def fourier(d):
    rank = {"2D": 2, "3D": 3}.get(d.op[-2:], 1)
    shape = d.shape(0, 2) + tuple(d.int(1, 6) for _ in range(rank))
    # Mostly no longer than the input reaches.
    lengths = [d.int(1, n) if d.chance(0.95) else d.int(1, 7) for n in shape[-rank:]]
    if d.op.startswith("IR") and d.chance(0.95):
        lengths[-1] = d.int(1, 2 * shape[-1] - 1)
    if d.op.startswith("R"):
        return dict(input=d.T(shape, -3, 3, attr="Treal"), fft_length=d.i32(lengths), Tcomplex=d.among("Tcomplex", "complex64" if d.t("Treal").name == "float32" else "complex128"))
    if d.op.startswith("IR"):
        return dict(input=d.T(shape, -3, 3, attr="Tcomplex"), fft_length=d.i32(lengths), Treal=d.among("Treal", "float32" if d.t("Tcomplex").name == "complex64" else "float64"))
    return dict(input=d.T(shape, -3, 3, attr="Tcomplex"))


@cases("FFTND", "IFFTND", "RFFTND", "IRFFTND", tolerance=1e-4)
def fourier_nd(d):
    shape = d.shape(1, 3, zero=0)
    axes = [int(x) for x in d.random.permutation(len(shape))[: d.int(1, len(shape))]]
    length = [shape[a] for a in axes]
    if d.op.startswith("IR"):
        length[-1] = max(1, 2 * (shape[axes[-1]] - 1))
    given = dict(fft_length=d.i32(length), axes=d.i32(axes))
    if d.op == "RFFTND":
        return dict(given, input=d.T(shape, -3, 3, attr="Treal"), Tcomplex=d.among("Tcomplex", "complex64" if d.t("Treal").name == "float32" else "complex128"))
    given["input"] = d.T(shape, -3, 3, attr="Tcomplex")
    if d.op == "IRFFTND":
        given["Treal"] = d.among("Treal", "float32" if d.t("Tcomplex").name == "complex64" else "float64")
    return given


@cases("AudioSpectrogram")
def spectrogram(d):
    return dict(input=d.of("float32", (d.int(8, 40), d.int(1, 2)), -1, 1), window_size=d.int(4, 9), stride=d.int(1, 5))


@cases("Mfcc", tolerance=1e-3)
def mfcc(d):
    return dict(spectrogram=d.of("float32", (d.int(1, 2), d.int(1, 3), 33), 0, 5), sample_rate=d.i32(d.choice([8000, 16000])), dct_coefficient_count=d.int(3, 13), upper_frequency_limit=3900.0, lower_frequency_limit=20.0, filterbank_channel_count=d.int(5, 20))


TOLERANCES["Einsum"] = 1e-4
