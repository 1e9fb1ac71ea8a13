// Products of a sparse and a dense matrix.
#include "weir/device/cuda/device_code/elementwise.cuh"

struct SparseProduct {
  int64 count, rows, inner, columns;
  int32 adjoint_a, adjoint_b;
};

// The place that element i of the sparse matrix adds to and the row of the dense one that it takes; false if outside.
template <typename Index>
bool Place(const SparseProduct& p, const Index* indices, int64 i, int64& row, int64& k, unsigned* error) {
  row = indices[2 * i + (p.adjoint_a ? 1 : 0)];
  k = indices[2 * i + (p.adjoint_a ? 0 : 1)];
  if (row >= 0 && row < p.rows && k >= 0 && k < p.inner) return true;
  *error = 1;
  return false;
}
template <typename T>
wide<T> Term(const SparseProduct& p, const T* values, const T* b, int64 i, int64 k, int64 j) {
  typedef wide<T> C;
  const C value = (C)values[i], other = (C)b[p.adjoint_b ? j * p.inner + k : k * p.columns + j];
  return (p.adjoint_a ? Conj::Do(value) : value) * (p.adjoint_b ? Conj::Do(other) : other);
}

template <typename C>
void AddAtomically(C* to, C value) {
  if constexpr (IsComplex<C>::value) {
    atomicAdd(&to->real, value.real);
    atomicAdd(&to->imag, value.imag);
  } else {
    atomicAdd(to, value);
  }
}

template <typename T, typename Index>
__global__ void AddProducts(const SparseProduct p, const Index* indices, const T* values, const T* b, wide<T>* sums,
                            unsigned* error) {
  for (int64 i = GridFirst(); i < p.count * p.columns; i += GridStride()) {
    int64 row, k;
    if (!Place(p, indices, i / p.columns, row, k, error)) continue;
    const int64 j = i % p.columns;
    AddAtomically(sums + row * p.columns + j, Term(p, values, b, i / p.columns, k, j));
  }
}
// The same in the order of the elements: a thread for each column.
template <typename T, typename Index>
__global__ void AddProductsInOrder(const SparseProduct p, const Index* indices, const T* values, const T* b,
                                   wide<T>* sums, unsigned* error) {
  for (int64 j = GridFirst(); j < p.columns; j += GridStride()) {
    for (int64 i = 0; i < p.count; ++i) {
      int64 row, k;
      if (!Place(p, indices, i, row, k, error)) continue;
      wide<T>& sum = sums[row * p.columns + j];
      sum = sum + Term(p, values, b, i, k, j);
    }
  }
}
template <typename T>
__global__ void NarrowSums(const wide<T>* sums, T* out, int64 n) {
  for (int64 i = GridFirst(); i < n; i += GridStride()) out[i] = (T)sums[i];
}
