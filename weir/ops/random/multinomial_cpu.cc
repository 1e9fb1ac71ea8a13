// Multinomial and StatelessMultinomial: classes drawn from unnormalised log-probabilities.
#include "weir/device/cpu/arithmetic.h"
#include "weir/ops/random/distributions.h"
#include "weir/ops/random/multinomial.h"
#include "weir/ops/random/philox_source.h"
#include "weir/ops/random/register.h"

namespace weir {
namespace {

// Running sums of exp(logit - max) over the finite logits.
template <typename T>
void CumulativeWeights(const T* logits, std::vector<double>& sums) {
  double max = std::numeric_limits<double>::lowest();
  for (size_t i = 0; i < sums.size(); ++i) {
    double logit = static_cast<double>(Widen(logits[i]));
    if (std::isfinite(logit)) max = std::max(max, logit);
  }
  double total = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    double logit = static_cast<double>(Widen(logits[i]));
    if (std::isfinite(logit)) total += std::exp(logit - max);
    sums[i] = total;
  }
}

class MultinomialKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<MultinomialKernel>();
    WEIR_RETURN_IF_ERROR(kernel->source_.Init(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& logits = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Shape shape, random::MultinomialShape(ctx));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    WEIR_ASSIGN_OR_RETURN(Philox philox, source_.Reserve(ctx, random::MultinomialBlocks(shape)));
    if (shape.num_elements() == 0) return OkStatus();
    const int64_t rows = shape.dim(0), num_samples = shape.dim(1);
    // One stream over all rows, as TensorFlow has it with one thread: the result then depends on nothing else.
    PhiloxNumbers numbers(philox);
    std::vector<double> sums(static_cast<size_t>(logits.dim(1)));
    for (int64_t row = 0; row < rows; ++row) {
      DispatchDType(logits.dtype(), FloatTypes{}, [&](auto tag) {
        using T = typename decltype(tag)::type;
        CumulativeWeights(logits.data<T>() + row * logits.dim(1), sums);
      });
      for (int64_t i = 0; i < num_samples; ++i) {
        uint32_t x0 = numbers.Next();
        double draw = random::UniformDouble(x0, numbers.Next()) * sums.back();
        int64_t found = std::upper_bound(sums.begin(), sums.end(), draw) - sums.begin();
        if (out->dtype() == DType::kInt32) {
          out->data<int32_t>()[row * num_samples + i] = static_cast<int32_t>(found);
        } else {
          out->data<int64_t>()[row * num_samples + i] = found;
        }
      }
    }
    return OkStatus();
  }

 private:
  random::PhiloxSource source_;
};

}  // namespace

StatusOr<Shape> random::MultinomialShape(KernelContext& ctx) {
  const Tensor& logits = ctx.input(0);
  const Tensor& count = ctx.input(1);
  if (!logits.shape().IsMatrix()) {
    return InvalidArgument("logits should be a matrix, got shape ", logits.shape().ToString());
  }
  if (!count.shape().IsScalar()) {
    return InvalidArgument("num_samples should be a scalar, got shape ", count.shape().ToString());
  }
  int64_t num_samples = count.scalar<int32_t>();
  if (num_samples < 0) return InvalidArgument("num_samples should be non-negative, got ", num_samples);
  if (logits.dim(0) > 0 && logits.dim(1) <= 0) {
    return InvalidArgument("num_classes should be positive, got ", logits.dim(1));
  }
  const int64_t dims[] = {logits.dim(0), num_samples};
  return Shape::Make(dims);
}

uint64_t random::MultinomialBlocks(const Shape& shape) {
  const uint64_t rounded = static_cast<uint64_t>(shape.dim(1) + 3) / 4 * 4;
  return static_cast<uint64_t>(shape.dim(0)) * rounded * 2 * kBlocksPerOutput;
}

void RegisterMultinomialKernels(KernelRegistry& registry) {
  for (std::string_view op : {"Multinomial", "StatelessMultinomial"}) {
    registry.Add(KernelBuilder(op).Types("T", FloatTypes{}).Types("output_dtype", IndexTypes{}),
                 MakeKernel<MultinomialKernel>);
  }
}

}  // namespace weir
