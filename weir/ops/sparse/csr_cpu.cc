// Sparse matrices by rows (CSR), as variants: made of sparse tensors, and back.
#include "weir/framework/kernel_registry.h"
#include "weir/ops/sparse/register.h"
#include "weir/ops/sparse/sparse_input.h"
#include "weir/tensor/copy_elements.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

// A matrix, or a batch of them.
class CsrMatrix : public VariantValue {
 public:
  static constexpr std::string_view kTypeName = "tensorflow::CSRSparseMatrix";
  std::string_view type_name() const override { return kTypeName; }

  int64_t batch() const { return shape.rank() == 3 ? shape.dim(0) : 1; }
  int64_t rows() const { return shape.dim(shape.rank() - 2); }
  int64_t columns() const { return shape.dim(shape.rank() - 1); }
  // Where the elements of a row begin in `values`. `row` may be one past the last.
  int64_t begin(int64_t matrix, int64_t row) const {
    return batch_pointers[matrix] + row_pointers[matrix * (rows() + 1) + row];
  }

  Shape shape;
  std::vector<int32_t> batch_pointers;  // [batch + 1], into `values`
  std::vector<int32_t> row_pointers;    // [batch * (rows + 1)], from each matrix's begin
  std::vector<int32_t> column_indices;
  Tensor values;
};

class ToCsrKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(SparseInput input, ReadSparse(ctx, 0, /*ordered=*/true));
    const int rank = input.rank();
    if (rank != 2 && rank != 3) return InvalidArgument("SparseTensor must have rank 2 or 3; but got rank: ", rank);
    auto out = std::make_shared<CsrMatrix>();
    out->shape = input.shape;
    out->values = input.values;
    for (int d = 0; d < rank; ++d) {
      if (input.shape.dim(d) >= INT32_MAX) return InvalidArgument("The matrix is too large: ", input.shape.ToString());
    }
    // Pointers are kept for every row, also for empty ones.
    constexpr int64_t kMaxRows = int64_t{1} << 28;
    std::optional<int64_t> pointers = CheckedMultiply(out->batch(), out->rows() + 1);
    if (!pointers || *pointers > kMaxRows) return InvalidArgument("Too many rows: ", input.shape.ToString());
    out->batch_pointers.assign(static_cast<size_t>(out->batch()) + 1, 0);
    out->row_pointers.assign(static_cast<size_t>(*pointers), 0);
    for (int64_t i = 0; i < input.count(); ++i) {
      const int64_t* index = input.index(i);
      const int64_t matrix = rank == 3 ? index[0] : 0;
      ++out->batch_pointers[matrix + 1];
      ++out->row_pointers[matrix * (out->rows() + 1) + index[rank - 2] + 1];
      out->column_indices.push_back(static_cast<int32_t>(index[rank - 1]));
    }
    for (int64_t b = 0; b < out->batch(); ++b) {
      out->batch_pointers[b + 1] += out->batch_pointers[b];
      int32_t* row = out->row_pointers.data() + b * (out->rows() + 1);
      for (int64_t r = 0; r < out->rows(); ++r) row[r + 1] += row[r];
    }
    ctx.set_output(0, Tensor::Scalar(Variant(std::move(out))));
    return OkStatus();
  }
};

StatusOr<const CsrMatrix*> MatrixInput(KernelContext& ctx, DType dtype) {
  const Tensor& input = ctx.input(0);
  if (!input.shape().IsScalar()) {
    return InvalidArgument("A sparse matrix must be a scalar variant, got ", input.shape().ToString());
  }
  const auto* matrix = input.scalar<Variant>().get_if<CsrMatrix>();
  if (matrix == nullptr) return InvalidArgument("The variant does not hold a CSRSparseMatrix");
  if (matrix->values.dtype() != dtype) {
    return InvalidArgument("dtype of input is not equal to 'type': ", Name(matrix->values.dtype()), " vs. ",
                           Name(dtype));
  }
  return matrix;
}

class CsrToDenseKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const CsrMatrix* matrix, MatrixInput(ctx, ctx.output_type(0)));
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(ctx.output_type(0), matrix->shape));
    for (int64_t b = 0; b < matrix->batch(); ++b) {
      for (int64_t r = 0; r < matrix->rows(); ++r) {
        for (int64_t i = matrix->begin(b, r); i < matrix->begin(b, r + 1); ++i) {
          const int64_t place = (b * matrix->rows() + r) * matrix->columns() + matrix->column_indices[i];
          CopyElements(matrix->values, i, out, place, 1);
        }
      }
    }
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }
};

class CsrToSparseKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const CsrMatrix* matrix, MatrixInput(ctx, ctx.output_type(1)));
    const int rank = matrix->shape.rank();
    std::vector<int64_t> indices;
    for (int64_t b = 0; b < matrix->batch(); ++b) {
      for (int64_t r = 0; r < matrix->rows(); ++r) {
        for (int64_t i = matrix->begin(b, r); i < matrix->begin(b, r + 1); ++i) {
          if (rank == 3) indices.push_back(b);
          indices.push_back(r);
          indices.push_back(matrix->column_indices[i]);
        }
      }
    }
    WEIR_ASSIGN_OR_RETURN(Tensor index, IndexMatrix(indices, matrix->values.num_elements(), rank));
    ctx.set_output(0, std::move(index));
    ctx.set_output(1, matrix->values);
    ctx.set_output(2, ShapeVector(matrix->shape));
    return OkStatus();
  }
};

}  // namespace

void RegisterCsrKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("SparseTensorToCSRSparseMatrix"), MakeKernel<ToCsrKernel>);
  registry.Add(KernelBuilder("CSRSparseMatrixToDense"), MakeKernel<CsrToDenseKernel>);
  registry.Add(KernelBuilder("CSRSparseMatrixToSparseTensor"), MakeKernel<CsrToSparseKernel>);
}

}  // namespace weir
