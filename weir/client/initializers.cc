#include "weir/client/initializers.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "weir/client/operators.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/math_ops.h"
#include "weir/client/ops/random_ops.h"
#include "weir/client/scope_internal.h"

namespace weir {
namespace {

struct GraphSeed {
  int64_t seed = 0;
  int64_t next = 0;
};
constexpr char kSeedKey[] = "random_seed";
// What TensorFlow gives an operation, or a graph, that has no seed while the other has.
constexpr int64_t kDefaultGraphSeed = 87654321;

std::vector<int64_t> Dims(const Shape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

Output ShapeConstant(const Scope& scope, const Shape& shape) {
  return Constant(scope.WithName("shape"), Input(Dims(shape)), DType::kInt32);
}

struct Fans {
  double in = 1;
  double out = 1;
};
Fans FansOf(const Shape& shape) {
  if (shape.rank() == 0) return {};
  if (shape.rank() == 1) return {static_cast<double>(shape.dim(0)), static_cast<double>(shape.dim(0))};
  double field = 1;
  for (int i = 0; i + 2 < shape.rank(); ++i) field *= static_cast<double>(shape.dim(i));
  return {field * static_cast<double>(shape.dim(shape.rank() - 2)),
          field * static_cast<double>(shape.dim(shape.rank() - 1))};
}

// Random vectors of unit length, each at right angles to all before (Gram and Schmidt, twice for the rounding). They
// are computed here and not in the graph: it happens once, and needs no decomposition.
std::vector<double> OrthonormalRows(int64_t count, int64_t size, const RandomSeeds& seeds) {
  std::seed_seq sequence{seeds.seed, seeds.seed2};
  std::mt19937_64 random(sequence);
  if (seeds.seed == 0 && seeds.seed2 == 0) random.seed(std::random_device()());
  std::normal_distribution<double> normal;
  std::vector<double> rows(count * size);
  for (int64_t r = 0; r < count; ++r) {
    double* row = rows.data() + r * size;
    for (int64_t i = 0; i < size; ++i) row[i] = normal(random);
    for (int64_t k = 0; k < 2 * r; ++k) {
      const double* other = rows.data() + k % r * size;
      const double along = std::inner_product(row, row + size, other, 0.0);
      for (int64_t i = 0; i < size; ++i) row[i] -= along * other[i];
    }
    const double length = std::sqrt(std::inner_product(row, row + size, row, 0.0));
    for (int64_t i = 0; i < size; ++i) row[i] /= length;
  }
  return rows;
}

enum class Draw { kUniform, kNormal, kTruncated };
Output Random(const Scope& scope, const Shape& shape, DType dtype, Draw draw, int64_t seed) {
  const RandomSeeds seeds = NextRandomSeeds(scope, seed);
  Output size = ShapeConstant(scope, shape);
  switch (draw) {
    case Draw::kUniform:
      return ops::RandomUniform(scope, size, dtype, {.seed = seeds.seed, .seed2 = seeds.seed2});
    case Draw::kNormal:
      return ops::RandomStandardNormal(scope, size, dtype, {.seed = seeds.seed, .seed2 = seeds.seed2});
    case Draw::kTruncated:
      break;
  }
  return ops::TruncatedNormal(scope, size, dtype, {.seed = seeds.seed, .seed2 = seeds.seed2});
}

}  // namespace

void SetRandomSeed(const Scope& scope, int64_t seed) {
  auto graph_seed = std::make_shared<GraphSeed>();
  graph_seed->seed = seed;
  scope.state()->extras[kSeedKey] = graph_seed;
}

RandomSeeds NextRandomSeeds(const Scope& scope, int64_t op_seed) {
  auto found = scope.state()->extras.find(kSeedKey);
  if (found == scope.state()->extras.end())
    return op_seed == 0 ? RandomSeeds{} : RandomSeeds{kDefaultGraphSeed, op_seed};
  auto* graph_seed = static_cast<GraphSeed*>(found->second.get());
  return {graph_seed->seed, op_seed != 0 ? op_seed : ++graph_seed->next};
}

namespace init {

Initializer Value(double value) {
  return [value](const Scope& scope, const Shape& shape, DType dtype) { return Fill(scope, shape, value, dtype); };
}
Initializer Zeros() { return Value(0); }
Initializer Ones() { return Value(1); }

Initializer FromTensor(Tensor value) {
  return [value](const Scope& scope, const Shape& shape, DType dtype) {
    if (value.shape() != shape || value.dtype() != dtype) {
      scope.Fail(InvalidArgument("an initial value of ", Name(value.dtype()), value.shape().ToString(),
                                 " is given for ", Name(dtype), shape.ToString()));
    }
    return Constant(scope, Input(value));
  };
}

Initializer RandomUniform(double low, double high, int64_t seed) {
  return [=](const Scope& scope, const Shape& shape, DType dtype) {
    return Random(scope, shape, dtype, Draw::kUniform, seed) * (high - low) + low;
  };
}

Initializer RandomNormal(double mean, double stddev, int64_t seed) {
  return [=](const Scope& scope, const Shape& shape, DType dtype) {
    return Random(scope, shape, dtype, Draw::kNormal, seed) * stddev + mean;
  };
}

Initializer TruncatedNormal(double mean, double stddev, int64_t seed) {
  return [=](const Scope& scope, const Shape& shape, DType dtype) {
    return Random(scope, shape, dtype, Draw::kTruncated, seed) * stddev + mean;
  };
}

Initializer VarianceScaling(double scale, FanMode mode, Distribution distribution, int64_t seed) {
  return [=](const Scope& scope, const Shape& shape, DType dtype) {
    const Fans fans = FansOf(shape);
    double fan = mode == FanMode::kFanIn ? fans.in : mode == FanMode::kFanOut ? fans.out : (fans.in + fans.out) / 2;
    const double variance = scale / std::max(1.0, fan);
    switch (distribution) {
      case Distribution::kUniform: {
        const double limit = std::sqrt(3 * variance);
        return init::RandomUniform(-limit, limit, seed)(scope, shape, dtype);
      }
      case Distribution::kTruncatedNormal:
        // Cutting the tails off makes the deviation smaller by this factor.
        return init::TruncatedNormal(0, std::sqrt(variance) / 0.87962566103423978, seed)(scope, shape, dtype);
      case Distribution::kUntruncatedNormal:
        break;
    }
    return init::RandomNormal(0, std::sqrt(variance), seed)(scope, shape, dtype);
  };
}

Initializer GlorotUniform(int64_t seed) {
  return VarianceScaling(1, FanMode::kFanAverage, Distribution::kUniform, seed);
}
Initializer GlorotNormal(int64_t seed) {
  return VarianceScaling(1, FanMode::kFanAverage, Distribution::kTruncatedNormal, seed);
}
Initializer HeUniform(int64_t seed) { return VarianceScaling(2, FanMode::kFanIn, Distribution::kUniform, seed); }
Initializer HeNormal(int64_t seed) { return VarianceScaling(2, FanMode::kFanIn, Distribution::kTruncatedNormal, seed); }
Initializer LecunUniform(int64_t seed) { return VarianceScaling(1, FanMode::kFanIn, Distribution::kUniform, seed); }
Initializer LecunNormal(int64_t seed) {
  return VarianceScaling(1, FanMode::kFanIn, Distribution::kTruncatedNormal, seed);
}

Initializer Orthogonal(double gain, int64_t seed) {
  return [=](const Scope& scope, const Shape& shape, DType dtype) {
    if (shape.rank() < 2) {
      scope.Fail(InvalidArgument("an orthogonal initializer needs two dimensions or more, not ", shape.ToString()));
      return Output(scope, {});
    }
    const int64_t columns = shape.dim(shape.rank() - 1);
    const int64_t rows = columns == 0 ? 0 : shape.num_elements() / columns;
    const bool wide = rows < columns;
    std::vector<double> basis =
        OrthonormalRows(std::min(rows, columns), std::max(rows, columns), NextRandomSeeds(scope, seed));
    StatusOr<Tensor> value = Tensor::Allocate(DType::kFloat, shape);
    if (!value.ok()) return scope.Fail(value.status()), Output(scope, {});
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        const double element = wide ? basis[r * columns + c] : basis[c * rows + r];
        value->data<float>()[r * columns + c] = static_cast<float>(gain * element);
      }
    }
    Output matrix = Constant(scope, Input(*std::move(value)));
    return dtype == DType::kFloat ? matrix : ops::Cast(scope, matrix, dtype);
  };
}

Initializer Identity(double gain) {
  return [gain](const Scope& scope, const Shape& shape, DType dtype) {
    if (shape.rank() != 2) {
      scope.Fail(InvalidArgument("an identity initializer needs two dimensions, not ", shape.ToString()));
      return Output(scope, {});
    }
    auto zeros = Tensor::Zeros(DType::kFloat, shape);
    if (!zeros.ok()) return scope.Fail(zeros.status()), Output(scope, {});
    for (int64_t i = 0; i < std::min(shape.dim(0), shape.dim(1)); ++i) {
      zeros->data<float>()[i * shape.dim(1) + i] = static_cast<float>(gain);
    }
    Output matrix = Constant(scope, Input(*zeros));
    return dtype == DType::kFloat ? matrix : ops::Cast(scope, matrix, dtype);
  };
}

}  // namespace init

}  // namespace weir
