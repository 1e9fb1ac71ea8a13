// StatefulRandomBinomial and StatelessRandomBinomial: sums of geometric draws where few successes are expected, else
// transformed rejection (Hoermann, "The generation of binomial random variates").
#include <cmath>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/broadcast.h"
#include "weir/device/cpu/index_input.h"
#include "weir/ops/random/distributions.h"
#include "weir/ops/random/philox_source.h"
#include "weir/ops/random/register.h"

namespace weir {
namespace {

using ParameterTypes = TypeList<Half, float, double>;
using OutputTypes = TypeList<Half, float, double, int32_t, int64_t>;

// Blocks between the streams of two outputs that are drawn by geometric sums.
constexpr uint64_t kGeometricBlocks = 42;

double GeometricSums(double count, double p, Philox philox) {
  random::UniformDoubles uniform;
  const double scale = std::log1p(-p);
  double sum = 0, successes = 0;
  while (true) {
    sum += std::ceil(std::log(uniform.Next(philox)) / scale);
    if (!(sum <= count)) return successes;
    ++successes;
  }
}

// What Stirling's formula lacks of log(k!).
double StirlingTail(double k) {
  static constexpr double kTails[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                                      0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                                      0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return kTails[static_cast<int>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

double TransformedRejection(double count, double p, Philox philox) {
  constexpr int kMaxTries = 100000;
  random::UniformDoubles uniform;
  const double deviation = std::sqrt(count * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = count * p + 0.5;
  const double limit = 0.92 - 4.2 / b;
  const double odds = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((count + 1) * p);
  for (int i = 0; i < kMaxTries; ++i) {
    const double u = uniform.Next(philox) - 0.5;
    const double v = uniform.Next(philox);
    const double margin = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / margin + b) * u + c);
    if (margin >= 0.07 && v <= limit) return k;
    if (!(k >= 0 && k <= count)) continue;
    const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (count - mode + 1))) +
                         (count + 1) * std::log((count - mode + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(odds * (count - k + 1) / (k + 1)) + StirlingTail(mode) +
                         StirlingTail(count - mode) - StirlingTail(k) - StirlingTail(count - k);
    if (std::log(v * alpha / (a / (margin * margin) + b)) <= bound) return k;
  }
  return mode;
}

// `output` is the number of the result, whose stream is its own.
double Draw(double count, double p, Philox philox, uint64_t output) {
  if (std::isnan(count) || std::isnan(p)) return std::numeric_limits<double>::quiet_NaN();
  if (count <= 0 || p <= 0) return 0;
  if (p >= 1) return count;
  const double q = p <= 0.5 ? p : 1 - p;
  double drawn;
  if (count * q >= 10) {
    philox.Skip(output * random::kBlocksPerOutput);
    drawn = TransformedRejection(count, q, philox);
  } else {
    philox.Skip(output * kGeometricBlocks);
    drawn = GeometricSums(count, q, philox);
  }
  return p <= 0.5 ? drawn : count - drawn;
}

// Input `i` as doubles, repeated over `shape`.
std::vector<double> Broadcast(const Tensor& tensor, const Shape& shape) {
  std::vector<double> out(static_cast<size_t>(shape.num_elements()));
  if (out.empty()) return out;
  const Shape* operands[] = {&tensor.shape()};
  const BroadcastRuns runs(shape, operands);
  DispatchDType(tensor.dtype(), ParameterTypes{}, [&](auto tag) {
    const auto* from = tensor.data<typename decltype(tag)::type>();
    runs.ForRows(0, runs.rows(), [&](int64_t to, const auto& at) {
      for (int64_t k = 0; k < runs.run(); ++k) {
        out[to + k] = static_cast<double>(Widen(from[at[0] + k * runs.step(0)]));
      }
    });
  });
  return out;
}

class BinomialKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<BinomialKernel>();
    WEIR_RETURN_IF_ERROR(kernel->source_.Init(init));
    kernel->shape_ = init.schema().FindInput("shape");
    kernel->counts_ = init.schema().FindInput("counts");
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &counts = ctx.input(counts_), &probabilities = ctx.input(counts_ + 1);
    WEIR_ASSIGN_OR_RETURN(Shape shape, ShapeInput(ctx.input(shape_), "shape"));
    auto batch = BroadcastShape(counts.shape(), probabilities.shape());
    if (!batch.ok()) {
      return InvalidArgument("counts and probs must have compatible batch dimensions: ", counts.shape().ToString(),
                             " vs. ", probabilities.shape().ToString());
    }
    const int samples_rank = shape.rank() - batch->rank();
    if (samples_rank < 0 || shape.Slice(samples_rank, shape.rank()) != *batch) {
      return InvalidArgument("Shape passed in must end with broadcasted shape.");
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const int64_t batches = batch->num_elements(), samples = shape.num_elements() / batches;
    const uint64_t reserved = static_cast<uint64_t>(batches) * 200 * static_cast<uint64_t>(samples + 3) / 4;
    // TensorFlow writes the new state into the memory that the variable had before it got its own.
    WEIR_ASSIGN_OR_RETURN(Philox philox,
                          source_.Reserve(ctx, reserved * random::kBlocksPerOutput, /*spare_shared=*/true));
    const std::vector<double> n = Broadcast(counts, *batch), p = Broadcast(probabilities, *batch);
    DispatchDType(out->dtype(), OutputTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ctx.ParallelFor(shape.num_elements(), 200, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t b = i / samples;
          out->data<T>()[i % samples * batches + b] = Narrow<T>(Draw(n[b], p[b], philox, static_cast<uint64_t>(i)));
        }
      });
    });
    return OkStatus();
  }

 private:
  template <typename T>
  static T Narrow(double x) {
    if constexpr (std::is_integral_v<T>) {
      if (std::isnan(x)) return 0;
      if (x >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
      return static_cast<T>(x);
    } else {
      return static_cast<T>(static_cast<ComputeType<T>>(x));
    }
  }

  random::PhiloxSource source_;
  int shape_ = 0, counts_ = 2;
};

}  // namespace

void RegisterBinomialKernels(KernelRegistry& registry) {
  for (std::string_view op : {"StatefulRandomBinomial", "StatelessRandomBinomial"}) {
    registry.Add(KernelBuilder(op).Types("T", ParameterTypes{}).Types("dtype", OutputTypes{}),
                 MakeKernel<BinomialKernel>);
  }
}

}  // namespace weir
