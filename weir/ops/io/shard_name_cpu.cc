#include <cstdio>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/io/register.h"

namespace weir {
namespace {

std::string FiveDigits(int32_t number) {
  char text[16];
  std::snprintf(text, sizeof(text), "%05d", number);
  return text;
}

Status CheckScalar(const Tensor& tensor, std::string_view what) {
  if (tensor.shape().IsScalar()) return OkStatus();
  return InvalidArgument(what, " must be a scalar, not of shape ", tensor.shape().ToString());
}

// The name of one shard, or the pattern of all.
template <bool kPattern>
class ShardNameKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      WEIR_RETURN_IF_ERROR(CheckScalar(ctx.input(i), i == 0                ? "basename"
                                                     : i == 1 && !kPattern ? "shard"
                                                                           : "num_shards"));
    }
    const std::string& basename = ctx.input(0).scalar<std::string>();
    std::string count = FiveDigits(ctx.input(kPattern ? 1 : 2).scalar<int32_t>());
    std::string shard = kPattern ? "?????" : FiveDigits(ctx.input(1).scalar<int32_t>());
    ctx.set_output(0, Tensor::Scalar(Cat(basename, "-", shard, "-of-", count)));
    return OkStatus();
  }
};

}  // namespace

void RegisterShardNameKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ShardedFilename"), MakeKernel<ShardNameKernel<false>>);
  registry.Add(KernelBuilder("ShardedFilespec"), MakeKernel<ShardNameKernel<true>>);
}

}  // namespace weir
