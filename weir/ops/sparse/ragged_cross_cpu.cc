// RaggedCross: all combinations of one value from each column, row by row, as a ragged tensor.
#include "weir/framework/kernel_registry.h"
#include "weir/ops/sparse/cross.h"
#include "weir/ops/sparse/register.h"

namespace weir {
namespace {

class RaggedCrossKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<RaggedCrossKernel>();
    auto count = [&](std::string_view attr) -> StatusOr<int> {
      WEIR_ASSIGN_OR_RETURN(std::vector<DType> types, init.Attr<std::vector<DType>>(attr));
      return static_cast<int>(types.size());
    };
    WEIR_ASSIGN_OR_RETURN(kernel->ragged_, count("ragged_values_types"));
    WEIR_ASSIGN_OR_RETURN(int splits, count("ragged_splits_types"));
    WEIR_ASSIGN_OR_RETURN(kernel->sparse_, init.Attr<int>("Nsparse"));
    WEIR_ASSIGN_OR_RETURN(int sparse_values, count("sparse_values_types"));
    WEIR_ASSIGN_OR_RETURN(kernel->dense_, count("dense_types"));
    if (splits != kernel->ragged_) {
      return InvalidArgument("ragged values and splits must have the same length, got ", kernel->ragged_, " and ",
                             splits);
    }
    if (sparse_values != kernel->sparse_) {
      return InvalidArgument("sparse indices and values must have the same length, got ", kernel->sparse_, " and ",
                             sparse_values);
    }
    WEIR_ASSIGN_OR_RETURN(kernel->order_, init.Attr<std::string>("input_order"));
    WEIR_RETURN_IF_ERROR(kernel->CheckOrder());
    WEIR_ASSIGN_OR_RETURN(bool hashed, init.Attr<bool>("hashed_output"));
    if (hashed != (init.output_type(0) == DType::kInt64)) {
      return InvalidArgument("out_values_type must be int64 exactly if hashed_output is set");
    }
    if (!hashed) {
      kernel->crosser_ = std::make_unique<TextCrosser>("_X_");
      return std::unique_ptr<Kernel>(std::move(kernel));
    }
    auto hasher = std::make_unique<HashCrosser>();
    WEIR_ASSIGN_OR_RETURN(int64_t buckets, init.Attr<int64_t>("num_buckets"));
    WEIR_ASSIGN_OR_RETURN(int64_t key, init.Attr<int64_t>("hash_key"));
    hasher->buckets = static_cast<uint64_t>(buckets);
    hasher->start = static_cast<uint64_t>(key);
    kernel->crosser_ = std::move(hasher);
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    std::vector<Column> columns;
    int ragged = 0, sparse = 0, dense = 0;
    const int first_sparse = 2 * ragged_, first_dense = first_sparse + 3 * sparse_;
    for (char kind : order_) {
      Column& column = columns.emplace_back();
      if (kind == 'R') {
        WEIR_ASSIGN_OR_RETURN(column, RaggedColumn(ctx.input(ragged), ctx.input(ragged_ + ragged)));
        ++ragged;
      } else if (kind == 'S') {
        const int at = first_sparse + sparse++;
        WEIR_ASSIGN_OR_RETURN(column,
                              SparseColumn(ctx.input(at), ctx.input(at + sparse_), ctx.input(at + 2 * sparse_)));
      } else {
        WEIR_ASSIGN_OR_RETURN(column, DenseColumn(ctx.input(first_dense + dense++)));
      }
    }
    WEIR_ASSIGN_OR_RETURN(int64_t rows, CountRows(columns));
    WEIR_ASSIGN_OR_RETURN(Combinations combinations, CountCombinations(columns, rows));
    if (ctx.output_type(1) == DType::kInt32 && combinations.total > std::numeric_limits<int32_t>::max()) {
      return InvalidArgument("Row splits of int32 cannot count ", combinations.total, " combinations");
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(0, Shape({combinations.total})));
    WEIR_ASSIGN_OR_RETURN(Tensor * splits, ctx.AllocateOutput(1, Shape({rows + 1})));
    PutCombinations(columns, combinations, *crosser_, *values);
    DispatchDType(splits->dtype(), TypeList<int32_t, int64_t>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* split = splits->data<T>();
      T end = 0;
      *split++ = 0;
      for (int64_t count : combinations.counts) *split++ = end = static_cast<T>(end + count);
    });
    return OkStatus();
  }

 private:
  Status CheckOrder() const {
    int ragged = 0, sparse = 0, dense = 0;
    for (char kind : order_) {
      if (kind != 'R' && kind != 'S' && kind != 'D')
        return InvalidArgument("Unexpected character in input_order: ", order_);
      ++(kind == 'R' ? ragged : kind == 'S' ? sparse : dense);
    }
    if (ragged == ragged_ && sparse == sparse_ && dense == dense_) return OkStatus();
    return InvalidArgument("input_order '", order_, "' does not name ", ragged_, " ragged, ", sparse_, " sparse and ",
                           dense_, " dense inputs");
  }

  int ragged_ = 0, sparse_ = 0, dense_ = 0;
  std::string order_;
  std::unique_ptr<Crosser> crosser_;
};

}  // namespace

void RegisterRaggedCrossKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("RaggedCross"), MakeKernel<RaggedCrossKernel>);
}

}  // namespace weir
