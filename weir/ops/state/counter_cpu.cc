// State that counts: CountUpTo, and the states of random generators.
#include "weir/framework/variable.h"
#include "weir/ops/state/register.h"
#include "weir/ops/state/update_variable.h"

namespace weir {
namespace {

class CountUpToKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CountUpToKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->limit_, init.Attr<int64_t>("limit"));
    WEIR_ASSIGN_OR_RETURN(kernel->dtype_, init.Attr<DType>("T"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    Tensor before;
    WEIR_RETURN_IF_ERROR(state::UpdateVariable(ctx, dtype_, [&](Tensor& tensor) -> Status {
      if (tensor.rank() != 0) return InvalidArgument("input is not a scalar: ", tensor.shape().ToString());
      Status status;
      DispatchDType(dtype_, IndexTypes{}, [&](auto tag) {
        using T = typename decltype(tag)::type;
        T& counter = *tensor.data<T>();
        if (counter >= limit_) {
          status = OutOfRange("Reached limit of ", limit_);
          return;
        }
        before = Tensor::Scalar<T>(counter);
        ++counter;
      });
      return status;
    }));
    ctx.set_output(0, std::move(before));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }

 private:
  int64_t limit_ = 0;
  DType dtype_ = DType::kInvalid;
};

constexpr int64_t kPhilox = 1;
constexpr int64_t kThreeFry = 2;
constexpr int64_t kAutoSelect = 3;
constexpr int64_t kPhiloxStateSize = 3;         // a 128-bit counter and a key
constexpr uint64_t kBlocksForEachOutput = 256;  // what one output may use of the stream

StatusOr<int64_t> ScalarInteger(const Tensor& tensor, std::string_view name) {
  if (tensor.rank() != 0) return InvalidArgument(name, " must have shape [], not ", tensor.shape().ToString());
  switch (tensor.dtype()) {
    case DType::kInt32:
      return tensor.scalar<int32_t>();
    case DType::kInt64:
      return tensor.scalar<int64_t>();
    case DType::kUInt64:
      return static_cast<int64_t>(tensor.scalar<uint64_t>());
    default:
      return InvalidArgument(name, " must be an integer, not ", Name(tensor.dtype()));
  }
}

// RngSkip, and RngReadAndSkip which also gives the state before.
class RngSkipKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(int64_t algorithm, ScalarInteger(ctx.input(1), "algorithm"));
    WEIR_ASSIGN_OR_RETURN(int64_t delta, ScalarInteger(ctx.input(2), "delta"));
    if (algorithm == kThreeFry) return Unimplemented("Non-XLA devices don't support the ThreeFry algorithm.");
    if (algorithm != kPhilox && algorithm != kAutoSelect) {
      return InvalidArgument("Unsupported algorithm id: ", algorithm);
    }
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<VariableResource> variable, LookUpResource<VariableResource>(ctx, 0));
    absl::MutexLock lock(&variable->mu);
    Tensor& tensor = variable->tensor;
    if (!tensor.has_value()) {
      const ResourceHandle& handle = ctx.input(0).scalar<ResourceHandle>();
      return UninitializedVariable(handle.container, handle.name);
    }
    if (tensor.dtype() != DType::kInt64) {
      return InvalidArgument("dtype of RNG state variable must be int64, not ", Name(tensor.dtype()));
    }
    if (tensor.rank() != 1) {
      return InvalidArgument("RNG state must have one and only one dimension, not ", tensor.rank());
    }
    if (tensor.dim(0) < kPhiloxStateSize) {
      return InvalidArgument("For the Philox algorithm, the size of state must be at least ", kPhiloxStateSize,
                             "; got ", tensor.dim(0));
    }
    if (ctx.num_outputs() > 0) {
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({kPhiloxStateSize})));
      std::copy_n(tensor.data<int64_t>(), kPhiloxStateSize, out->data<int64_t>());
    }
    WEIR_RETURN_IF_ERROR(variable->MakeWritable(ctx.device().allocator()));
    int64_t* counter = tensor.data<int64_t>();
    uint64_t low = static_cast<uint64_t>(counter[0]);
    uint64_t sum = low + static_cast<uint64_t>(delta) * kBlocksForEachOutput;
    if (sum < low) counter[1] = static_cast<int64_t>(static_cast<uint64_t>(counter[1]) + 1);
    counter[0] = static_cast<int64_t>(sum);
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

}  // namespace

void RegisterCounterKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("CountUpTo").Types("T", IndexTypes{}), MakeKernel<CountUpToKernel>);
  registry.Add(KernelBuilder("ResourceCountUpTo").Types("T", IndexTypes{}), MakeKernel<CountUpToKernel>);
  registry.Add(KernelBuilder("RngSkip"), MakeKernel<RngSkipKernel>);
  registry.Add(KernelBuilder("RngReadAndSkip"), MakeKernel<RngSkipKernel>);
}

}  // namespace weir
