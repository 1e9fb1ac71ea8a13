// Candidate samplers: classes drawn from a range, with how often each was to be expected.
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "weir/ops/random/distributions.h"
#include "weir/ops/random/philox_source.h"
#include "weir/ops/random/register.h"

namespace weir {
namespace {

uint64_t Number64(PhiloxNumbers& numbers) {
  uint64_t low = numbers.Next();
  return static_cast<uint64_t>(numbers.Next()) << 32 | low;
}

struct UniformRange {
  explicit UniformRange(int64_t range) : range(range), probability(static_cast<float>(1.0 / range)) {}
  int64_t Sample(PhiloxNumbers& numbers) const {
    uint64_t n = static_cast<uint64_t>(range);
    if ((n & (n - 1)) == 0) return static_cast<int64_t>(Number64(numbers) & (n - 1));
    uint64_t excess = ~uint64_t{0} % n + 1;
    uint64_t x;
    do {
      x = Number64(numbers);
    } while (x < excess);
    return static_cast<int64_t>(x % n);
  }
  float Probability(int64_t) const { return probability; }
  int64_t range;
  float probability;
};

struct LogUniformRange {
  explicit LogUniformRange(int64_t range) : range(range), log_range(std::log1p(static_cast<double>(range))) {}
  int64_t Sample(PhiloxNumbers& numbers) const {
    uint32_t x0 = numbers.Next();
    double u = random::UniformDouble(x0, numbers.Next());
    return (static_cast<int64_t>(std::exp(u * log_range)) - 1) % range;
  }
  float Probability(int64_t value) const {
    double x = static_cast<double>(value);
    return static_cast<float>(std::log((x + 2.0) / (x + 1.0)) / log_range);
  }
  int64_t range;
  double log_range;
};

Status CheckTrueClasses(const Tensor& classes, int64_t num_true, int64_t range) {
  if (!classes.shape().IsMatrix()) return InvalidArgument("true_classes must be a matrix");
  if (classes.dim(1) != num_true) {
    return InvalidArgument("true_classes must have num_true columns, expected: ", num_true, " was: ", classes.dim(1));
  }
  for (int64_t value : classes.span<int64_t>()) {
    if (value < 0 || value >= range) {
      return InvalidArgument("`true_candidate` out of range [0, ", range, "), received ", value);
    }
  }
  return OkStatus();
}

template <typename Range>
class SamplerKernel : public Kernel {
 public:
  SamplerKernel(Range range, int64_t num_true, int64_t num_sampled, bool unique)
      : range_(range), num_true_(num_true), num_sampled_(num_sampled), unique_(unique) {}

  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(int64_t num_true, init.Attr<int64_t>("num_true"));
    WEIR_ASSIGN_OR_RETURN(int64_t num_sampled, init.Attr<int64_t>("num_sampled"));
    WEIR_ASSIGN_OR_RETURN(int64_t range_max, init.Attr<int64_t>("range_max"));
    WEIR_ASSIGN_OR_RETURN(bool unique, init.Attr<bool>("unique"));
    if (range_max < 1) return InvalidArgument("range_max must be at least 1, got ", range_max);
    auto kernel = std::make_unique<SamplerKernel>(Range(range_max), num_true, num_sampled, unique);
    WEIR_RETURN_IF_ERROR(kernel->source_.Init(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& classes = ctx.input(0);
    WEIR_RETURN_IF_ERROR(CheckTrueClasses(classes, num_true_, range_.range));
    if (unique_ && num_sampled_ > range_.range) return InvalidArgument("Sampler's range is too small.");
    const int64_t dims[] = {num_sampled_};
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    WEIR_ASSIGN_OR_RETURN(Tensor * sampled, ctx.AllocateOutput(0, shape));
    WEIR_ASSIGN_OR_RETURN(Tensor * true_expected, ctx.AllocateOutput(1, classes.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * sampled_expected, ctx.AllocateOutput(2, shape));
    WEIR_ASSIGN_OR_RETURN(Philox philox, source_.Reserve(ctx, static_cast<uint64_t>(num_sampled_) * 512));
    PhiloxNumbers numbers(philox);
    int64_t tries = Draw(numbers, sampled->span<int64_t>());
    auto expect = [&](std::span<const int64_t> values, float* counts) {
      for (size_t i = 0; i < values.size(); ++i) counts[i] = ExpectedCount(values[i], tries);
    };
    expect(classes.span<int64_t>(), true_expected->data<float>());
    expect(std::as_const(*sampled).span<int64_t>(), sampled_expected->data<float>());
    return OkStatus();
  }

 private:
  // Fills `out`; how many draws that took.
  int64_t Draw(PhiloxNumbers& numbers, std::span<int64_t> out) const {
    if (!unique_) {
      for (int64_t& value : out) value = range_.Sample(numbers);
      return num_sampled_;
    }
    absl::flat_hash_set<int64_t> seen;
    int64_t tries = 0;
    for (size_t filled = 0; filled < out.size();) {
      ++tries;
      int64_t value = range_.Sample(numbers);
      if (seen.insert(value).second) out[filled++] = value;
    }
    return tries;
  }
  float ExpectedCount(int64_t value, int64_t tries) const {
    float p = value < 0 || value >= range_.range ? 0.0f : range_.Probability(value);
    if (tries == num_sampled_) return p * static_cast<float>(num_sampled_);
    return -std::expm1(static_cast<float>(tries) * std::log1p(-p));
  }

  const Range range_;
  const int64_t num_true_, num_sampled_;
  const bool unique_;
  random::PhiloxSource source_;
};

// Every class, each expected once.
class AllKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<AllKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->num_true_, init.Attr<int64_t>("num_true"));
    WEIR_ASSIGN_OR_RETURN(kernel->num_sampled_, init.Attr<int64_t>("num_sampled"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_RETURN_IF_ERROR(CheckTrueClasses(ctx.input(0), num_true_, num_sampled_));
    const int64_t dims[] = {num_sampled_};
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    WEIR_ASSIGN_OR_RETURN(Tensor * sampled, ctx.AllocateOutput(0, shape));
    for (int64_t i = 0; i < num_sampled_; ++i) sampled->data<int64_t>()[i] = i;
    WEIR_ASSIGN_OR_RETURN(Tensor * true_expected, ctx.AllocateOutput(1, ctx.input(0).shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * sampled_expected, ctx.AllocateOutput(2, shape));
    std::ranges::fill(true_expected->span<float>(), 1.0f);
    std::ranges::fill(sampled_expected->span<float>(), 1.0f);
    return OkStatus();
  }

 private:
  int64_t num_true_ = 0;
  int64_t num_sampled_ = 0;
};

class AccidentalHitsKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<AccidentalHitsKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->num_true_, init.Attr<int64_t>("num_true"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor& classes = ctx.input(0);
    const Tensor& sampled = ctx.input(1);
    if (!classes.shape().IsMatrix() || classes.dim(1) != num_true_) {
      return InvalidArgument("true_candidates must be a batch_size * num_true matrix");
    }
    if (!sampled.shape().IsVector()) {
      return InvalidArgument("sampled_candidates must be a vector, which is typically an output from CandidateSampler");
    }
    absl::flat_hash_map<int64_t, int64_t> position;
    for (int64_t i = 0; i < sampled.dim(0); ++i) position[sampled.data<int64_t>()[i]] = i;
    std::vector<int32_t> rows;
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < classes.num_elements(); ++i) {
      auto found = position.find(classes.data<int64_t>()[i]);
      if (found == position.end()) continue;
      rows.push_back(static_cast<int32_t>(i / num_true_));
      ids.push_back(found->second);
    }
    std::vector<float> weights(ids.size(), -std::numeric_limits<float>::max());
    ctx.set_output(0, Tensor::Vector<int32_t>(rows));
    ctx.set_output(1, Tensor::Vector<int64_t>(ids));
    ctx.set_output(2, Tensor::Vector<float>(weights));
    return OkStatus();
  }

 private:
  int64_t num_true_ = 0;
};

}  // namespace

void RegisterCandidateKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("UniformCandidateSampler"), MakeKernel<SamplerKernel<UniformRange>>);
  registry.Add(KernelBuilder("LogUniformCandidateSampler"), MakeKernel<SamplerKernel<LogUniformRange>>);
  registry.Add(KernelBuilder("AllCandidateSampler"), MakeKernel<AllKernel>);
  registry.Add(KernelBuilder("ComputeAccidentalHits"), MakeKernel<AccidentalHitsKernel>);
}

}  // namespace weir
