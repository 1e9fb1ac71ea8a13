// RandomShuffle and StatelessShuffle: the rows of dimension 0 in another order.
#include <numeric>

#include "weir/ops/random/philox_source.h"
#include "weir/ops/random/register.h"
#include "weir/tensor/copy_elements.h"

namespace weir {
namespace {

class ShuffleKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ShuffleKernel>();
    WEIR_RETURN_IF_ERROR(kernel->source_.Init(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& value = ctx.input(0);
    int64_t rows = value.rank() == 0 ? 1 : value.dim(0);
    const bool is_plain = rows <= 1 || value.num_elements() <= 1;
    // One number a swap, four a block.
    WEIR_ASSIGN_OR_RETURN(Philox philox, source_.Reserve(ctx, is_plain ? 0 : static_cast<uint64_t>(rows + 2) / 4));
    if (is_plain) {
      ctx.set_output(0, value);
      return OkStatus();
    }
    PhiloxNumbers numbers(philox);
    std::vector<int64_t> order(static_cast<size_t>(rows));
    std::iota(order.begin(), order.end(), 0);
    for (int64_t i = 0; i + 1 < rows; ++i) {
      std::swap(order[i], order[i + static_cast<int64_t>(numbers.Next() % static_cast<uint64_t>(rows - i))]);
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, value.shape()));
    int64_t row_size = value.num_elements() / rows;
    for (int64_t i = 0; i < rows; ++i) CopyElements(value, order[i] * row_size, *out, i * row_size, row_size);
    return OkStatus();
  }

 private:
  random::PhiloxSource source_;
};

}  // namespace

void RegisterRandomShuffleKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("RandomShuffle"), MakeKernel<ShuffleKernel>);
  registry.Add(KernelBuilder("StatelessShuffle"), MakeKernel<ShuffleKernel>);
}

}  // namespace weir
