// Sums of many tensors of one shape.
#include "weir/device/cpu/elementwise.h"
#include "weir/device/cpu/float_loops.h"
#include "weir/device/cpu/kernel_arithmetic.h"
#include "weir/ops/math/kernel_shapes.h"
#include "weir/ops/math/register.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

struct AddOp {
  template <typename T>
  static T Do(T a, T b) {
    return WrapAdd(a, b);
  }
};

class AddNKernel : public Kernel {
 public:
  explicit AddNKernel(BinaryLoop loop) : loop_(loop) {}
  Status Compute(KernelContext& ctx) override {
    WEIR_RETURN_IF_ERROR(CheckAddends(ctx));
    if (ctx.num_inputs() == 1) {
      ctx.set_output(0, ctx.TakeInput(0));
      return OkStatus();
    }
    const int64_t n = ctx.input(0).num_elements();
    const int64_t size = static_cast<int64_t>(SizeOf(ctx.input(0).dtype()));
    absl::InlinedVector<const char*, 8> from;
    for (int i = 0; i < ctx.num_inputs(); ++i) from.push_back(static_cast<const char*>(ctx.input(i).raw_data()));
    // Only the first two may lend their memory: they are read before the output is written.
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocateOutput({0, 1}, 0, Shape(ctx.input(0).shape())));
    char* to = static_cast<char*>(out->raw_data());
    auto sum = [&](int64_t begin, int64_t end) {
      constexpr int64_t kBlock = 4096;  // elements that stay in cache while all inputs are added
      for (int64_t i = begin; i < end; i += kBlock) {
        int64_t count = std::min(kBlock, end - i), at = i * size;
        loop_(from[0] + at, from[1] + at, to + at, count, 1, 1);
        for (size_t k = 2; k < from.size(); ++k) loop_(to + at, from[k] + at, to + at, count, 1, 1);
      }
    };
    if (n < 4096) {
      sum(0, n);
    } else {
      ctx.ParallelFor(n, 0.3 * from.size(), sum);
    }
    return OkStatus();
  }

 private:
  const BinaryLoop loop_;
};

class AddNVariantKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_RETURN_IF_ERROR(CheckAddends(ctx));
    if (ctx.num_inputs() == 1) {
      ctx.set_output(0, ctx.input(0));
      return OkStatus();
    }
    KernelArithmetic arithmetic(ctx);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, ctx.input(0).shape()));
    for (int64_t i = 0; i < out->num_elements(); ++i) {
      std::shared_ptr<VariantValue> sum = ctx.input(0).data<Variant>()[i].value();
      for (int k = 1; k < ctx.num_inputs(); ++k) {
        const VariantValue* term = ctx.input(k).data<Variant>()[i].get();
        if (sum == nullptr || term == nullptr) return InvalidArgument("AddN of an empty variant");
        WEIR_ASSIGN_OR_RETURN(sum, sum->Add(*term, arithmetic));
      }
      out->data<Variant>()[i] = Variant(std::move(sum));
    }
    return OkStatus();
  }
};

StatusOr<std::unique_ptr<Kernel>> MakeAddN(const KernelInit& init) {
  WEIR_ASSIGN_OR_RETURN(BinaryLoop loop, FindLoop(BinaryTable<AddOp>(NumberTypes{}), init));
  return std::make_unique<AddNKernel>(loop);
}

}  // namespace

void RegisterAddNKernels(KernelRegistry& registry) {
  OfferFloatLoop("AddN",
                 {.binary = BinaryTable<AddOp>(TypeList<float>{})[0].loop, .broadcasts = false, .same_shape = true});
  registry.Add(KernelBuilder("AddN").Types("T", NumberTypes{}), MakeAddN);
  registry.Add(KernelBuilder("AddN").Types("T", TypeList<Variant>{}), MakeKernel<AddNVariantKernel>);
  registry.Add(KernelBuilder("AccumulateNV2").Types("T", NumberTypes{}), MakeAddN);
}

}  // namespace weir
