// Diagonals of batches of matrices: MatrixDiag, MatrixDiagPart, MatrixSetDiag, in their three versions.
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

// Diagonals `lower` to `upper` (0 the main one, positive above it), stored as rows from the uppermost down, each of the
// length of the longest and aligned left or right.
struct Band {
  int64_t lower = 0;
  int64_t upper = 0;
  int64_t rows = 0;  // of the matrix
  int64_t columns = 0;
  int64_t width = 0;  // of a stored diagonal
  bool upper_left = true;
  bool lower_left = true;

  int64_t count() const { return upper - lower + 1; }
  int64_t Length(int64_t d) const {
    return std::min(rows + std::min<int64_t>(0, d), columns - std::max<int64_t>(0, d));
  }
  int64_t Longest() const {
    return std::min(rows + std::min<int64_t>(upper, 0), columns - std::max<int64_t>(lower, 0));
  }
  // Copies the band between `batches` matrices and their stored diagonals, a diagonal at a time.
  Status Copy(const KernelContext& ctx, DType dtype, int64_t batches, const void* from, void* to,
              bool from_matrices) const {
    const auto size = static_cast<int64_t>(SizeOf(dtype));
    for (int64_t d = upper; d >= lower; --d) {
      const int64_t length = Length(d);
      if (length <= 0) continue;
      const bool left = (d >= 0 && upper_left) || (d <= 0 && lower_left);
      const int64_t stored = (upper - d) * width + (left ? 0 : width - length);
      const int64_t in_matrix = std::max<int64_t>(0, -d) * columns + std::max<int64_t>(0, d);
      const int64_t dims[] = {batches, length};
      const int64_t matrix_strides[] = {rows * columns, columns + 1}, stored_strides[] = {count() * width, 1};
      const char* source = static_cast<const char*>(from) + (from_matrices ? in_matrix : stored) * size;
      char* target = static_cast<char*>(to) + (from_matrices ? stored : in_matrix) * size;
      WEIR_RETURN_IF_ERROR(StridedCopy(ctx, dtype, dims, source, from_matrices ? matrix_strides : stored_strides,
                                       target, from_matrices ? stored_strides : matrix_strides));
    }
    return OkStatus();
  }
};

class BandKernel : public Kernel {
 public:
  template <typename K>
  static StatusOr<std::unique_ptr<Kernel>> MakeAligned(const KernelInit& init) {
    auto kernel = std::make_unique<K>();
    if (init.HasAttr("align")) {
      WEIR_ASSIGN_OR_RETURN(std::string align, init.Attr<std::string>("align"));
      kernel->upper_left_ = align == "LEFT_LEFT" || align == "LEFT_RIGHT";
      kernel->lower_left_ = align == "LEFT_LEFT" || align == "RIGHT_LEFT";
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

 protected:
  // Reads k, a scalar or a pair; the main diagonal where there is no such input.
  StatusOr<Band> ReadBand(KernelContext& ctx, int input) const {
    Band band;
    band.upper_left = upper_left_;
    band.lower_left = lower_left_;
    if (ctx.num_inputs() <= input) return band;
    const Tensor& k = ctx.input(input);
    if (k.rank() > 1)
      return InvalidArgument("diag_index must be a scalar or vector, received shape: ", k.shape().ToString());
    WEIR_ASSIGN_OR_RETURN(Dims values, IntElements(k, "diag_index"));
    if (values.size() < 1 || values.size() > 2) {
      return InvalidArgument("diag_index must have only one or two elements, received ", values.size(), " elements.");
    }
    band.lower = values[0];
    band.upper = values.back();
    if (band.lower > band.upper) {
      return InvalidArgument("lower_diag_index must not be larger than upper_diag_index: ", band.lower, " > ",
                             band.upper);
    }
    return band;
  }

  static Status CheckBand(const Band& band) {
    auto check = [&](const char* name, int64_t d) {
      if ((d > -band.rows && d < band.columns) || d == 0) return OkStatus();
      return InvalidArgument(name, " is out of bound: ", d, ". It must be between ", -band.rows, " and ", band.columns);
    };
    WEIR_RETURN_IF_ERROR(check("lower_diag_index", band.lower));
    return check("upper_diag_index", band.upper);
  }

  bool upper_left_ = true;
  bool lower_left_ = true;
};

class MatrixDiagPartKernel : public BandKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    return MakeAligned<MatrixDiagPartKernel>(init);
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    if (x.rank() < 2) return InvalidArgument("input must be at least 2-dim, received shape: ", x.shape().ToString());
    WEIR_ASSIGN_OR_RETURN(Band band, ReadBand(ctx, 1));
    band.rows = x.dim(x.rank() - 2);
    band.columns = x.dim(x.rank() - 1);
    WEIR_RETURN_IF_ERROR(CheckBand(band));
    band.width = band.Longest();
    Shape shape = x.shape().Slice(0, x.rank() - 2);
    const int64_t batches = shape.num_elements();
    if (band.count() > 1) WEIR_RETURN_IF_ERROR(shape.AddDim(band.count()));
    WEIR_RETURN_IF_ERROR(shape.AddDim(band.width));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (ctx.num_inputs() == 3) {
      if (ctx.input(2).num_elements() != 1) return InvalidArgument("padding_value must be a scalar");
      WEIR_RETURN_IF_ERROR(FillElements(ctx, x.dtype(), ctx.input(2).raw_data(), out->raw_data(), out->num_elements()));
    }
    if (x.num_elements() == 0) return OkStatus();
    return band.Copy(ctx, x.dtype(), batches, x.raw_data(), out->raw_data(), /*from_matrices=*/true);
  }
};

class MatrixDiagKernel : public BandKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) { return MakeAligned<MatrixDiagKernel>(init); }
  Status Compute(KernelContext& ctx) override {
    const Tensor diagonal = ctx.input(0);
    if (diagonal.rank() < 1) {
      return InvalidArgument("diagonal must be at least 1-dim, received shape: ", diagonal.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Band band, ReadBand(ctx, 1));
    int64_t rows = -1, columns = -1;
    if (ctx.num_inputs() == 5) {
      for (int i = 2; i < 4; ++i) {
        if (ctx.input(i).rank() != 0) return InvalidArgument(i == 2 ? "num_rows" : "num_cols", " must be a scalar");
      }
      WEIR_ASSIGN_OR_RETURN(rows, IntScalar(ctx.input(2), "num_rows"));
      WEIR_ASSIGN_OR_RETURN(columns, IntScalar(ctx.input(3), "num_cols"));
      if (ctx.input(4).rank() != 0) return InvalidArgument("padding_value must be a scalar");
    }
    const int rank = diagonal.rank(), outer = band.count() > 1 ? rank - 2 : rank - 1;
    if (outer < 0) {
      return InvalidArgument("diagonal must be at least 2-dim, received shape: ", diagonal.shape().ToString());
    }
    if (band.count() > 1 && diagonal.dim(rank - 2) != band.count()) {
      return InvalidArgument(
          "The number of diagonals provided in the input does not match the lower_diag_index and "
          "upper_diag_index range.");
    }
    band.width = diagonal.dim(rank - 1);
    const int64_t least_rows = band.width - std::min<int64_t>(band.upper, 0);
    const int64_t least_columns = band.width + std::max<int64_t>(band.lower, 0);
    if (rows != -1 && rows < least_rows) return InvalidArgument("The number of rows is too small.");
    if (columns != -1 && columns < least_columns) return InvalidArgument("The number of columns is too small.");
    if (rows == -1 && columns == -1) {
      rows = columns = std::max(least_rows, least_columns);
    } else if (rows == -1) {
      rows = least_rows;
    } else if (columns == -1) {
      columns = least_columns;
    }
    if (rows != least_rows && columns != least_columns) {
      return InvalidArgument(
          "The number of rows or columns is not consistent with the specified d_lower, d_upper, and "
          "diagonal.");
    }
    band.rows = rows;
    band.columns = columns;
    Shape shape = diagonal.shape().Slice(0, outer);
    const int64_t batches = shape.num_elements();
    WEIR_RETURN_IF_ERROR(shape.AddDim(rows));
    WEIR_RETURN_IF_ERROR(shape.AddDim(columns));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const DType dtype = diagonal.dtype();
    if (ctx.num_inputs() == 5) {
      WEIR_RETURN_IF_ERROR(FillElements(ctx, dtype, ctx.input(4).raw_data(), out->raw_data(), out->num_elements()));
    } else {
      WEIR_RETURN_IF_ERROR(ClearElements(ctx, *out));
    }
    if (diagonal.num_elements() == 0) return OkStatus();
    return band.Copy(ctx, dtype, batches, diagonal.raw_data(), out->raw_data(), /*from_matrices=*/false);
  }
};

class MatrixSetDiagKernel : public BandKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    return MakeAligned<MatrixSetDiagKernel>(init);
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor diagonal = ctx.input(1);
    const Shape shape = ctx.input(0).shape();
    if (shape.rank() < 2) return InvalidArgument("input must be at least 2-dim, received shape: ", shape.ToString());
    if (diagonal.rank() < 1) {
      return InvalidArgument("diagonal must be at least 1-dim, received shape: ", diagonal.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Band band, ReadBand(ctx, 2));
    band.rows = shape.dim(shape.rank() - 2);
    band.columns = shape.dim(shape.rank() - 1);
    WEIR_RETURN_IF_ERROR(CheckBand(band));
    band.width = band.Longest();
    Shape expected = shape.Slice(0, shape.rank() - 2);
    const int64_t batches = expected.num_elements();
    if (band.count() > 1) WEIR_RETURN_IF_ERROR(expected.AddDim(band.count()));
    WEIR_RETURN_IF_ERROR(expected.AddDim(band.width));
    if (!(diagonal.shape() == expected)) {
      return InvalidArgument(
          "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is not equal to "
          "the "
          "longests diagonal in range [lower_diag_index:upper_diag_index].\nInput shape: ",
          shape.ToString(), "\nDiagonal shape: ", diagonal.shape().ToString(),
          "\nExpected diagonal shape: ", expected.ToString());
    }
    Tensor x = ctx.TakeInput(0);
    if (!x.unique()) {
      WEIR_ASSIGN_OR_RETURN(x, CloneElements(ctx, x));
    }
    if (diagonal.num_elements() > 0) {
      WEIR_RETURN_IF_ERROR(
          band.Copy(ctx, x.dtype(), batches, diagonal.raw_data(), x.raw_data(), /*from_matrices=*/false));
    }
    ctx.set_output(0, std::move(x));
    return OkStatus();
  }
};

}  // namespace

void RegisterMatrixDiagKernels(KernelRegistry& registry) {
  for (std::string_view op : {"MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3", "BatchMatrixDiagPart"}) {
    registry.Add(KernelBuilder(op).Types("T", PlainTypes{}), MakeKernel<MatrixDiagPartKernel>);
  }
  for (std::string_view op : {"MatrixDiag", "MatrixDiagV2", "MatrixDiagV3", "BatchMatrixDiag"}) {
    registry.Add(KernelBuilder(op).Types("T", PlainTypes{}), MakeKernel<MatrixDiagKernel>);
  }
  for (std::string_view op : {"MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3", "BatchMatrixSetDiag"}) {
    registry.Add(KernelBuilder(op).Types("T", PlainTypes{}), MakeKernel<MatrixSetDiagKernel>);
  }
}

}  // namespace weir
