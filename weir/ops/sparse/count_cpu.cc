// Counts of the numbers in each row, as a sparse matrix [row, number]; the rows are those of a dense, a sparse or a
// ragged tensor. Counts of a single row without a batch are a vector.
#include <map>

#include "absl/strings/str_join.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/sparse/ragged_rows.h"
#include "weir/ops/sparse/register.h"
#include "weir/ops/sparse/sparse_input.h"

namespace weir {
namespace {

// Numbers and the row of each.
struct Rows {
  Tensor values, weights;  // no weights: each counts once
  std::vector<int64_t> row_of;
  int64_t count = 1;
  bool matrix = true;
  std::string_view name = "values";  // of them, in errors
};

Status CheckWeights(const Rows& rows) {
  if (rows.weights.num_elements() == 0 || rows.weights.shape() == rows.values.shape()) return OkStatus();
  return InvalidArgument("Weights and ", rows.name,
                         " must have the same shape. Weight shape: ", rows.weights.shape().ToString(), "; ", rows.name,
                         " shape: ", rows.values.shape().ToString());
}

StatusOr<Rows> DenseRows(KernelContext& ctx) {
  Rows rows{ctx.input(0), ctx.input(1)};
  if (rows.values.rank() < 1 || rows.values.rank() > 2) {
    return InvalidArgument("Input must be a 1 or 2-dimensional tensor. Got: ", rows.values.shape().ToString());
  }
  rows.name = "data";
  rows.matrix = rows.values.rank() == 2;
  rows.count = rows.matrix ? rows.values.dim(0) : 1;
  const int64_t width = rows.count > 0 ? rows.values.num_elements() / rows.count : 0;
  for (int64_t i = 0; i < rows.values.num_elements(); ++i) rows.row_of.push_back(i / width);
  return rows;
}

StatusOr<Rows> SparseRows(KernelContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(SparseInput sparse, MakeUnboundedSparse(ctx.input(0), ctx.input(1), ctx.input(2)));
  if (const std::optional<int64_t> row = sparse.FirstOutside()) {
    int d = 0;
    while (sparse.index(*row)[d] >= 0 && sparse.index(*row)[d] < sparse.shape.dim(d)) ++d;
    return InvalidArgument("Invalid index value at ", *row, ": dimension ", d, " has value ", sparse.index(*row)[d],
                           " which is not in [0, ", sparse.shape.dim(d),
                           ") (as given by dense shape Tensor<type: int64 shape: [", sparse.rank(),
                           "] values: ", absl::StrJoin(sparse.shape.dims(), " "), ">");
  }
  Rows rows{sparse.values, ctx.input(3)};
  if (sparse.rank() < 1) return InvalidArgument("dense_shape must have at least one dimension");
  rows.matrix = sparse.rank() > 1;
  rows.count = rows.matrix ? sparse.shape.dim(0) : 1;
  for (int64_t i = 0; i < sparse.count(); ++i) rows.row_of.push_back(rows.matrix ? sparse.index(i)[0] : 0);
  return rows;
}

StatusOr<Rows> RaggedRows(KernelContext& ctx) {
  Rows rows{ctx.input(1), ctx.input(2)};
  if (ctx.input(0).num_elements() < 2) {
    return InvalidArgument("Must provide at least 2 elements for the splits argument");
  }
  WEIR_ASSIGN_OR_RETURN(rows.row_of, RowsOfRagged(ctx.input(0), rows.values));
  rows.count = ctx.input(0).num_elements() - 1;
  return rows;
}

template <StatusOr<Rows> (*Read)(KernelContext&)>
class CountKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CountKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->min_length_, init.Attr<int64_t>("minlength"));
    WEIR_ASSIGN_OR_RETURN(kernel->max_length_, init.Attr<int64_t>("maxlength"));
    WEIR_ASSIGN_OR_RETURN(kernel->binary_, init.Attr<bool>("binary_output"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Rows rows, Read(ctx));
    WEIR_RETURN_IF_ERROR(CheckWeights(rows));
    Status status;
    DispatchDType(rows.values.dtype(), IndexTypes{}, [&](auto value_tag) {
      DispatchDType(rows.weights.dtype(), TypeList<int32_t, int64_t, float, double>{}, [&](auto weight_tag) {
        status = Count<typename decltype(value_tag)::type, typename decltype(weight_tag)::type>(ctx, rows);
      });
    });
    return status;
  }

 private:
  template <typename V, typename W>
  Status Count(KernelContext& ctx, const Rows& rows) const {
    const V* values = rows.values.data<V>();
    const W* weights = rows.weights.num_elements() > 0 ? rows.weights.data<W>() : nullptr;
    std::map<std::pair<int64_t, int64_t>, W> found;  // by row and number
    int64_t largest = 0;
    for (int64_t i = 0; i < rows.values.num_elements(); ++i) {
      const int64_t value = values[i];
      if (value < 0) return InvalidArgument("Input values must all be non-negative");
      if (max_length_ > 0 && value >= max_length_) continue;
      W& count = found[{rows.row_of[i], value}];
      count = binary_ ? W(1) : static_cast<W>(count + (weights != nullptr ? weights[i] : W(1)));
      largest = std::max(largest, value);
    }
    std::vector<int64_t> indices;
    std::vector<W> counts;
    for (const auto& [place, count] : found) {
      if (rows.matrix) indices.push_back(place.first);
      indices.push_back(place.second);
      counts.push_back(count);
    }
    const int64_t width = max_length_ > 0 ? max_length_ : std::max(largest + 1, min_length_);
    WEIR_ASSIGN_OR_RETURN(Tensor at, IndexMatrix(indices, static_cast<int64_t>(counts.size()), rows.matrix ? 2 : 1));
    ctx.set_output(0, std::move(at));
    ctx.set_output(1, Tensor::Vector<W>(counts));
    ctx.set_output(2, rows.matrix ? Tensor::Vector<int64_t>({rows.count, width}) : Tensor::Vector<int64_t>({width}));
    return OkStatus();
  }

  int64_t min_length_ = -1, max_length_ = -1;
  bool binary_ = false;
};

}  // namespace

void RegisterSparseCountKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("DenseCountSparseOutput"), MakeKernel<CountKernel<DenseRows>>);
  registry.Add(KernelBuilder("SparseCountSparseOutput"), MakeKernel<CountKernel<SparseRows>>);
  registry.Add(KernelBuilder("RaggedCountSparseOutput"), MakeKernel<CountKernel<RaggedRows>>);
}

}  // namespace weir
