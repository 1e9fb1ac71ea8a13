// Batches of matrices: the last two dimensions are a matrix, those before count matrices.
//
// Eigen does the decompositions. Each works on one matrix; the batch is spread over the pool. 16-bit floats are
// computed in float. To keep compilation short complex numbers are computed in double precision.
#ifndef WEIR_OPS_LINALG_MATRIX_BATCH_H_
#define WEIR_OPS_LINALG_MATRIX_BATCH_H_

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "absl/functional/function_ref.h"
#include "weir/device/cpu/arithmetic.h"
#include "weir/framework/kernel_registry.h"

namespace weir::linalg {

// What the frequent decompositions compute in; for the others see decompositions.h.
template <typename T>
using FastOf = std::conditional_t<kIsComplex<T>, std::complex<double>, ComputeType<T>>;

using SolverTypes = decltype(TypeList<float, double>{} + ComplexTypes{});

// Where the matrices of an input are.
struct Batch {
  Shape outer;  // without the matrix
  int64_t rows = 0;
  int64_t columns = 0;

  int64_t count() const { return outer.num_elements(); }
  int64_t size() const { return rows * columns; }
  bool is_square() const { return rows == columns; }
};

// The matrices of the first `num_inputs` inputs, which must have the same outer dimensions.
StatusOr<std::vector<Batch>> BatchInputs(const KernelContext& ctx, int num_inputs);
StatusOr<Batch> SquareInput(const KernelContext& ctx);
// `batch.outer` and then these dimensions.
StatusOr<Shape> WithOuter(const Shape& outer, std::initializer_list<int64_t> dims);

// Calls body(i) for every matrix, in parallel; one costs about `operations` floating-point operations. The error of
// the matrix that comes first is returned.
Status ForMatrices(const KernelContext& ctx, int64_t count, double operations, absl::FunctionRef<Status(int64_t)> body);
inline double Cube(int64_t n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }

// Matrix `i` of `size` elements as complex numbers in double precision.
template <typename T>
std::vector<std::complex<double>> Widened(const Tensor& tensor, int64_t i, int64_t size) {
  std::vector<std::complex<double>> out(static_cast<size_t>(size));
  const T* from = tensor.data<T>() + i * size;
  for (int64_t k = 0; k < size; ++k) out[k] = static_cast<std::complex<double>>(Widen(from[k]));
  return out;
}
// Back to the type of a tensor; of a real one the imaginary parts, which are zero, are dropped.
template <typename C, typename T>
void Narrow(const std::vector<C>& from, T* to) {
  for (size_t k = 0; k < from.size(); ++k) {
    if constexpr (kIsComplex<T> || !kIsComplex<C>) {
      to[k] = static_cast<T>(from[k]);
    } else {
      to[k] = static_cast<T>(static_cast<ComputeType<T>>(from[k].real()));
    }
  }
}
template <typename C>
bool AllFinite(const std::vector<C>& values) {
  return std::ranges::all_of(values,
                             [](const C& x) { return std::isfinite(std::real(x)) && std::isfinite(std::imag(x)); });
}

}  // namespace weir::linalg

#endif  // WEIR_OPS_LINALG_MATRIX_BATCH_H_
