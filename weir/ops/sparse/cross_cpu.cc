// SparseCross: all combinations of one value from each column, row by row.
#include <algorithm>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/sparse/cross.h"
#include "weir/ops/sparse/register.h"

namespace weir {
namespace {

class CrossKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CrossKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->sparse_, init.Attr<int64_t>("N"));
    WEIR_ASSIGN_OR_RETURN(std::vector<DType> sparse, init.Attr<std::vector<DType>>("sparse_types"));
    WEIR_ASSIGN_OR_RETURN(std::vector<DType> dense, init.Attr<std::vector<DType>>("dense_types"));
    if (static_cast<int64_t>(sparse.size()) != kernel->sparse_) {
      return InvalidArgument("Expected as many values as indices, got ", sparse.size(), " and ", kernel->sparse_);
    }
    kernel->dense_ = static_cast<int64_t>(dense.size());
    kernel->op_ = init.schema().name;
    if (kernel->op_ != "SparseCross") return std::unique_ptr<Kernel>(std::move(kernel));
    WEIR_ASSIGN_OR_RETURN(DType internal, init.Attr<DType>("internal_type"));
    WEIR_ASSIGN_OR_RETURN(kernel->hashed_, init.Attr<bool>("hashed_output"));
    WEIR_ASSIGN_OR_RETURN(kernel->buckets_, init.Attr<int64_t>("num_buckets"));
    WEIR_ASSIGN_OR_RETURN(kernel->hash_key_, init.Attr<int64_t>("hash_key"));
    if (kernel->hashed_ != (init.output_type(1) == DType::kInt64)) {
      return InvalidArgument("out_type must be int64 exactly if hashed_output is set");
    }
    // Numbers are only crossed as numbers.
    for (const std::vector<DType>& types : {sparse, dense}) {
      for (DType type : types) {
        if (type == DType::kInt64 && internal != DType::kInt64) {
          return InvalidArgument("Input values should be of internal type ", static_cast<int>(internal),
                                 " but received ", static_cast<int>(type));
        }
      }
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    std::vector<Column> columns;
    for (int64_t i = 0; i < sparse_; ++i) {
      const int at = static_cast<int>(i), step = static_cast<int>(sparse_);
      WEIR_ASSIGN_OR_RETURN(columns.emplace_back(),
                            SparseColumn(ctx.input(at), ctx.input(at + step), ctx.input(at + 2 * step)));
    }
    for (int64_t i = 0; i < dense_; ++i) {
      WEIR_ASSIGN_OR_RETURN(columns.emplace_back(), DenseColumn(ctx.input(static_cast<int>(3 * sparse_ + i))));
    }
    WEIR_ASSIGN_OR_RETURN(int64_t rows, CountRows(columns));
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Crosser> crosser, MakeCrosser(ctx));
    return Cross(ctx, columns, rows, *crosser);
  }

 private:
  StatusOr<std::unique_ptr<Crosser>> MakeCrosser(KernelContext& ctx) const {
    const int extra = static_cast<int>(3 * sparse_ + dense_);
    if (op_ == "SparseCrossV2") {
      if (!ctx.input(extra).shape().IsScalar()) {
        return InvalidArgument("Input separator should be a scalar. Received: ", ctx.input(extra).shape().ToString());
      }
      return std::unique_ptr<Crosser>(std::make_unique<TextCrosser>(ctx.input(extra).scalar<std::string>()));
    }
    if (op_ == "SparseCross" && !hashed_) return std::unique_ptr<Crosser>(std::make_unique<TextCrosser>("_X_"));
    auto hasher = std::make_unique<HashCrosser>();
    if (op_ == "SparseCross") {
      hasher->buckets = static_cast<uint64_t>(buckets_);
      hasher->start = static_cast<uint64_t>(hash_key_);
      return std::unique_ptr<Crosser>(std::move(hasher));
    }
    const Tensor &buckets = ctx.input(extra), &strong = ctx.input(extra + 1), &salt = ctx.input(extra + 2);
    if (buckets.num_elements() != 1 || strong.num_elements() != 1 || salt.num_elements() != 2) {
      return InvalidArgument("num_buckets and strong_hash should be scalars, salt should have two elements");
    }
    hasher->hashes_numbers = true;
    hasher->buckets = static_cast<uint64_t>(std::max<int64_t>(buckets.scalar<int64_t>(), 0));
    if (strong.scalar<bool>()) {
      hasher->key = {static_cast<uint64_t>(salt.data<int64_t>()[0]), static_cast<uint64_t>(salt.data<int64_t>()[1])};
    }
    return std::unique_ptr<Crosser>(std::move(hasher));
  }

  static Status Cross(KernelContext& ctx, const std::vector<Column>& columns, int64_t rows, const Crosser& crosser) {
    WEIR_ASSIGN_OR_RETURN(Combinations combinations, CountCombinations(columns, rows));
    WEIR_ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape({combinations.total, 2})));
    WEIR_ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, Shape({combinations.total})));
    PutCombinations(columns, combinations, crosser, *values);
    int64_t longest = 0;
    int64_t* index = indices->data<int64_t>();
    for (int64_t row = 0; row < rows; ++row) {
      longest = std::max(longest, combinations.counts[row]);
      for (int64_t k = 0; k < combinations.counts[row]; ++k) {
        *index++ = row;
        *index++ = k;
      }
    }
    ctx.set_output(2, Tensor::Vector<int64_t>({rows, longest}));
    return OkStatus();
  }

  std::string op_;
  int64_t sparse_ = 0, dense_ = 0;
  bool hashed_ = false;
  int64_t buckets_ = 0, hash_key_ = 0;
};

}  // namespace

void RegisterSparseCrossKernels(KernelRegistry& registry) {
  for (const char* op : {"SparseCross", "SparseCrossV2", "SparseCrossHashed"}) {
    registry.Add(KernelBuilder(op), MakeKernel<CrossKernel>);
  }
}

}  // namespace weir
