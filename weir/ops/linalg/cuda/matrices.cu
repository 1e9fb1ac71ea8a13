// What is around the decompositions of matrices, and solving with triangular and tridiagonal ones.
#include "weir/device/cuda/device_code/block.cuh"

template <typename T>
struct RealPart {
  typedef T type;
};
template <typename R>
struct RealPart<complex<R>> {
  typedef R type;
};
template <typename T>
using real_part = typename RealPart<T>::type;

template <typename T>
real_part<T> SizeOf(T x) {
  if constexpr (IsComplex<T>::value)
    return Modulus(x);
  else
    return fabs(x);
}
template <typename T>
T NotANumber() {
  return T((real_part<T>)__int_as_float(0x7fc00000));
}
template <typename T>
bool IsFiniteNumber(T x) {
  if constexpr (IsComplex<T>::value)
    return x.real - x.real == 0 && x.imag - x.imag == 0;
  else
    return x - x == 0;
}

// The solver takes a factor of one element with the imaginary part that it was given.
template <typename R>
__global__ void MakeDiagonalReal(complex<R>* a, int64 n, int64 batch) {
  for (int64 i = GridFirst(); i < n * batch; i += GridStride()) a[i / n * n * n + i % n * (n + 1)].imag = 0;
}

// The lower triangle, with zeros above; NaN where there is no decomposition.
template <typename T>
__global__ void FinishCholesky(T* a, const int32* info, int64 n, int64 total) {
  for (int64 i = GridFirst(); i < total; i += GridStride()) {
    const int64 r = i / n % n, c = i % n;
    if (c > r)
      a[i] = T(0);
    else if (info[i / n / n] != 0)
      a[i] = NotANumber<T>();
  }
}

// The diagonal of a matrix of LU factors has no zero and no NaN.
template <typename T>
__global__ void CheckInvertible(const T* lu, int64 n, int64 batch, unsigned* error) {
  for (int64 i = GridFirst(); i < n * batch; i += GridStride()) {
    if (!(SizeOf(lu[i / n * n * n + i % n * (n + 1)]) > 0)) *error = 1;
  }
}

// Row exchanges, counted from 1, as the order of the rows.
template <typename Index>
__global__ void OrderOfPivots(const int32* pivots, Index* order, int64 n, int64 batch) {
  for (int64 b = GridFirst(); b < batch; b += GridStride()) {
    Index* p = order + b * n;
    for (int64 i = 0; i < n; ++i) p[i] = (Index)i;
    for (int64 i = 0; i < n; ++i) {
      const int64 j = pivots[b * n + i] - 1;
      const Index other = p[i];
      p[i] = p[j];
      p[j] = other;
    }
  }
}

template <typename T, bool kLog>
__global__ void Determinants(const T* lu, const int32* pivots, T* first, T* log_size, int64 n, int64 batch) {
  typedef real_part<T> R;
  for (int64 b = GridFirst(); b < batch; b += GridStride()) {
    T sign = T(1);
    double total = 0;
    for (int64 i = 0; i < n; ++i) {
      const T pivot = lu[b * n * n + i * (n + 1)];
      const R size = SizeOf(pivot);
      if (size == 0)
        sign = T(0);
      else if constexpr (IsComplex<T>::value)
        sign = sign * T(pivot.real / size, pivot.imag / size);
      else
        sign = sign * (pivot / size);
      total += log((double)size);
      if (pivots[b * n + i] != i + 1) sign = -sign;
    }
    if constexpr (kLog) {
      first[b] = sign;
      log_size[b] = T((R)total);
    } else if constexpr (IsComplex<T>::value) {
      const R size = (R)exp(total);
      first[b] = T(sign.real * size, sign.imag * size);
    } else {
      first[b] = (T)(sign * exp(total));
    }
  }
}

template <typename T>
__global__ void UnitMatrices(T* a, int64 n, int64 total) {
  for (int64 i = GridFirst(); i < total; i += GridStride()) a[i] = T(i / n % n == i % n ? 1 : 0);
}
template <typename T>
__global__ void ConjugateInPlace(T* a, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) a[i] = Conj::Do(a[i]);
}
template <typename T>
__global__ void FromReal(const real_part<T>* from, T* to, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) to[i] = T(from[i]);
}
inline __global__ void CheckInfo(const int32* info, int64 n, unsigned* error) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) {
    if (info[i] != 0) *error = 1;
  }
}

// Clears matrices that are not finite, and says which: a block for each.
template <typename T>
__global__ void ClearStrange(T* a, int32* strange, int64 size, int64 batch) {
  for (int64 b = blockIdx.x; b < batch; b += gridDim.x) {
    int32 found = 0;
    for (int64 i = threadIdx.x; i < size; i += blockDim.x) found |= !IsFiniteNumber(a[b * size + i]);
    found = BlockMax(found);
    for (int64 i = threadIdx.x; found && i < size; i += blockDim.x) a[b * size + i] = T(0);
    if (threadIdx.x == 0) strange[b] = found;
  }
}
template <typename T>
__global__ void MarkStrange(T* values, const int32* strange, int64 size, int64 total) {
  for (int64 i = GridFirst(); i < total; i += GridStride()) {
    if (strange[i / size]) values[i] = NotANumber<T>();
  }
}

template <typename T>
T SumOfBlock(T value) {
  if constexpr (IsComplex<T>::value)
    return T(BlockSum(value.real), BlockSum(value.imag));
  else
    return BlockSum(value);
}

// A block for each column of the right-hand sides; rows one after the other.
template <typename T>
__global__ void SolveTriangular(const T* a, const int64* a_of, const T* b, const int64* b_of, T* x, int64 n, int64 k,
                                int64 batch, int32 lower, int32 adjoint) {
  for (int64 block = blockIdx.x; block < batch * k; block += gridDim.x) {
    const int64 matrix = block / k, column = block % k;
    const T* from = a + a_of[matrix] * n * n;
    const T* rhs = b + b_of[matrix] * n * k + column;
    T* to = x + matrix * n * k + column;
    const bool forward = lower != adjoint;
    for (int64 step = 0; step < n; ++step) {
      const int64 i = forward ? step : n - 1 - step;
      T part = T(0);
      for (int64 done = threadIdx.x; done < step; done += blockDim.x) {
        const int64 j = forward ? done : n - 1 - done;
        const T element = adjoint ? Conj::Do(from[j * n + i]) : from[i * n + j];
        part = part + element * to[j * k];
      }
      const T sum = SumOfBlock(part);
      if (threadIdx.x == 0) {
        const T diagonal = adjoint ? Conj::Do(from[i * n + i]) : from[i * n + i];
        to[i * k] = (rhs[i * k] - sum) / diagonal;
      }
      __syncthreads();
    }
  }
}

template <typename T>
__global__ void MultiplyTridiagonal(const T* above, const T* main, const T* below, const T* x, T* y, int64 m, int64 n,
                                    int64 total) {
  for (int64 i = GridFirst(); i < total; i += GridStride()) {
    const int64 r = i / n % m, at = i / n;
    T sum = main[at] * x[i];
    if (r + 1 < m) sum = sum + above[at] * x[i + n];
    if (r > 0) sum = sum + below[at] * x[i - n];
    y[i] = sum;
  }
}

template <typename T>
struct System {
  const T *above, *main, *below, *rhs;
  T* x;
  int64 n, k;
};
template <typename T>
void FillNotANumber(const System<T>& s) {
  for (int64 i = 0; i < s.n * s.k; ++i) s.x[i] = NotANumber<T>();
}
// Elimination without row exchanges. `upper` has n places.
template <typename T>
void SolveInOrder(const System<T>& s, T* upper) {
  T pivot = s.main[0];
  if (pivot == T(0)) return FillNotANumber(s);
  for (int64 c = 0; c < s.k; ++c) s.x[c] = s.rhs[c] / pivot;
  for (int64 i = 1; i < s.n; ++i) {
    upper[i - 1] = s.above[i - 1] / pivot;
    pivot = s.main[i] - s.below[i] * upper[i - 1];
    if (pivot == T(0)) return FillNotANumber(s);
    for (int64 c = 0; c < s.k; ++c) {
      s.x[i * s.k + c] = (s.rhs[i * s.k + c] - s.below[i] * s.x[(i - 1) * s.k + c]) / pivot;
    }
  }
  for (int64 i = s.n - 2; i >= 0; --i) {
    for (int64 c = 0; c < s.k; ++c) s.x[i * s.k + c] = s.x[i * s.k + c] - upper[i] * s.x[(i + 1) * s.k + c];
  }
}

template <typename R>
constexpr R SmallestNormal() {
  return sizeof(R) == 4 ? (R)1.17549435e-38 : (R)2.2250738585072014e-308;
}
// Moves a pivot away from zero until neither its inverse nor the quotient of `largest` overflows.
template <typename T>
T AwayFromZero(T pivot, real_part<T> step, real_part<T> largest) {
  typedef real_part<T> R;
  const R smallest = SmallestNormal<R>();
  step = step > smallest ? step : smallest;
  R first;
  if constexpr (IsComplex<T>::value)
    first = pivot.real;
  else
    first = pivot;
  if (signbit(first)) step = -step;
  for (R size = SizeOf(pivot); size < R(1); size = SizeOf(pivot), step *= 2) {
    const bool overflows = size < smallest ? size == R(0) || largest * smallest > size : largest > size / smallest;
    if (!overflows) break;
    pivot = pivot + T(step);
  }
  return pivot;
}
// Elimination with exchanges of neighbouring rows, which fill a second diagonal above the main one. `upper` has 3 n
// places.
template <typename T>
void SolveWithExchanges(const System<T>& s, bool perturb, T* upper) {
  typedef real_part<T> R;
  const int64 n = s.n, k = s.k;
  auto set = [&](int64 i, T a, T b, T c) {
    upper[3 * i] = a;
    upper[3 * i + 1] = b;
    upper[3 * i + 2] = c;
  };
  set(0, s.main[0], s.above[0], T(0));
  for (int64 c = 0; c < k; ++c) s.x[c] = s.rhs[c];
  for (int64 i = 0; i + 1 < n; ++i) {
    const T row0 = upper[3 * i], row1 = upper[3 * i + 1];
    const T below = s.below[i + 1], main = s.main[i + 1], above = i + 2 < n ? s.above[i + 1] : T(0);
    if (SizeOf(row0) >= SizeOf(below)) {
      T factor = T(0);
      if (row0 != T(0))
        factor = below / row0;
      else if (!perturb)
        return FillNotANumber(s);
      set(i + 1, main - factor * row1, above, T(0));
      for (int64 c = 0; c < k; ++c) s.x[(i + 1) * k + c] = s.rhs[(i + 1) * k + c] - factor * s.x[i * k + c];
    } else {
      const T factor = row0 / below;
      set(i + 1, row1 - factor * main, -(factor * above), T(0));
      set(i, below, main, above);
      for (int64 c = 0; c < k; ++c) {
        const T other = s.rhs[(i + 1) * k + c];
        s.x[(i + 1) * k + c] = s.x[i * k + c] - factor * other;
        s.x[i * k + c] = other;
      }
    }
  }
  R step = 0;
  if (perturb) {
    for (int64 i = 0; i < n; ++i) {
      const R sizes[] = {SizeOf(s.main[i]), i + 1 < n ? SizeOf(s.above[i]) : R(0), i > 0 ? SizeOf(s.below[i]) : R(0)};
      for (R size : sizes) step = size > step ? size : step;
    }
    step *= sizeof(R) == 4 ? (R)1.1920929e-07 : (R)2.220446049250313e-16;
  } else if (upper[3 * (n - 1)] == T(0)) {
    return FillNotANumber(s);
  }
  for (int64 i = n - 1; i >= 0; --i) {
    R largest = 0;
    for (int64 c = 0; c < k; ++c) {
      T& x = s.x[i * k + c];
      if (i + 1 < n) x = x - upper[3 * i + 1] * s.x[(i + 1) * k + c];
      if (i + 2 < n) x = x - upper[3 * i + 2] * s.x[(i + 2) * k + c];
      largest = SizeOf(x) > largest ? SizeOf(x) : largest;
    }
    const T pivot = perturb ? AwayFromZero(upper[3 * i], step, largest) : upper[3 * i];
    for (int64 c = 0; c < k; ++c) s.x[i * k + c] = s.x[i * k + c] / pivot;
  }
}
// A thread for each system. Diagonals: three rows of n.
template <typename T>
__global__ void SolveTridiagonal(const T* diagonals, const T* rhs, T* x, T* scratch, int64 n, int64 k, int64 batch,
                                 int32 pivoting, int32 perturb) {
  for (int64 b = GridFirst(); b < batch; b += GridStride()) {
    const T* d = diagonals + b * 3 * n;
    const System<T> system = {d, d + n, d + 2 * n, rhs + b * n * k, x + b * n * k, n, k};
    if (pivoting)
      SolveWithExchanges(system, perturb, scratch + b * 3 * n);
    else
      SolveInOrder(system, scratch + b * 3 * n);
  }
}
