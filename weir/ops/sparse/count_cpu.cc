// Counts of the numbers in each row, as a sparse matrix [row, number].
#include <map>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/sparse/register.h"
#include "weir/ops/sparse/sparse_input.h"

namespace weir {
namespace {

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
    const Tensor values = ctx.input(0), weights = ctx.input(1);
    if (values.rank() < 1 || values.rank() > 2) {
      return InvalidArgument("Input must be a 1 or 2-dimensional tensor. Got: ", values.shape().ToString());
    }
    const bool weighted = weights.num_elements() > 0;
    if (weighted && !(weights.shape() == values.shape())) {
      return InvalidArgument("Weights and data must have the same shape. Weight shape: ", weights.shape().ToString(),
                             "; data shape: ", values.shape().ToString());
    }
    const int64_t rows = values.rank() == 2 ? values.dim(0) : 1;
    Status status;
    DispatchDType(values.dtype(), IndexTypes{}, [&](auto value_tag) {
      DispatchDType(weights.dtype(), TypeList<int32_t, int64_t, float, double>{}, [&](auto weight_tag) {
        status =
            Count<typename decltype(value_tag)::type, typename decltype(weight_tag)::type>(ctx, values, weights, rows);
      });
    });
    return status;
  }

 private:
  template <typename V, typename W>
  Status Count(KernelContext& ctx, const Tensor& values, const Tensor& weights, int64_t rows) const {
    const bool matrix = values.rank() == 2;
    const int64_t row_size = rows > 0 ? values.num_elements() / rows : 0;
    std::vector<int64_t> indices;
    std::vector<W> counts;
    int64_t largest = 0;
    for (int64_t row = 0; row < rows; ++row) {
      std::map<int64_t, W> found;
      for (int64_t i = row * row_size; i < (row + 1) * row_size; ++i) {
        const int64_t value = values.data<V>()[i];
        if (value < 0) return InvalidArgument("Input values must all be non-negative");
        if (max_length_ > 0 && value >= max_length_) continue;
        W& count = found[value];
        count = binary_ ? W(1) : static_cast<W>(count + (weights.num_elements() > 0 ? weights.data<W>()[i] : W(1)));
      }
      for (const auto& [value, count] : found) {
        if (matrix) indices.push_back(row);
        indices.push_back(value);
        counts.push_back(count);
        largest = std::max(largest, value);
      }
    }
    const int64_t width = max_length_ > 0 ? max_length_ : std::max(largest + 1, min_length_);
    WEIR_ASSIGN_OR_RETURN(Tensor at, IndexMatrix(indices, static_cast<int64_t>(counts.size()), matrix ? 2 : 1));
    ctx.set_output(0, std::move(at));
    ctx.set_output(1, Tensor::Vector<W>(counts));
    ctx.set_output(2, matrix ? Tensor::Vector<int64_t>({rows, width}) : Tensor::Vector<int64_t>({width}));
    return OkStatus();
  }

  int64_t min_length_ = -1, max_length_ = -1;
  bool binary_ = false;
};

}  // namespace

void RegisterSparseCountKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("DenseCountSparseOutput"), MakeKernel<CountKernel>);
}

}  // namespace weir
