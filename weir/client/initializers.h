// Initial values of variables: functions that emit a tensor of a shape.
#ifndef WEIR_CLIENT_INITIALIZERS_H_
#define WEIR_CLIENT_INITIALIZERS_H_

#include <cstdint>
#include <functional>

#include "weir/base/export.h"
#include "weir/client/scope.h"

namespace WEIR_PUBLIC weir {

using Initializer = std::function<Output(const Scope& scope, const Shape& shape, DType dtype)>;

// From here on random operations made by initialisers and layers without a seed of their own get seeds that follow from
// this one and from their order, so that a program gives the same numbers every time.
void SetRandomSeed(const Scope& scope, int64_t seed);
// The pair that the next random operation of the graph is to have: what TensorFlow's rules make of a graph's seed and
// an operation's (0: none).
struct RandomSeeds {
  int64_t seed = 0;
  int64_t seed2 = 0;
};
RandomSeeds NextRandomSeeds(const Scope& scope, int64_t op_seed = 0);

// In what follows `seed` 0 means: none of its own.
namespace init {

Initializer Zeros();
Initializer Ones();
Initializer Value(double value);
Initializer FromTensor(Tensor value);
Initializer RandomUniform(double low = -0.05, double high = 0.05, int64_t seed = 0);
Initializer RandomNormal(double mean = 0, double stddev = 0.05, int64_t seed = 0);
// Normal, drawn again where more than two deviations away.
Initializer TruncatedNormal(double mean = 0, double stddev = 0.05, int64_t seed = 0);

enum class FanMode { kFanIn, kFanOut, kFanAverage };
enum class Distribution { kUniform, kTruncatedNormal, kUntruncatedNormal };
// Variance `scale` / fan, where the fans are the sizes that go into and come out of a kernel [..., in, out].
Initializer VarianceScaling(double scale, FanMode mode, Distribution distribution, int64_t seed = 0);
Initializer GlorotUniform(int64_t seed = 0);
Initializer GlorotNormal(int64_t seed = 0);
Initializer HeUniform(int64_t seed = 0);
Initializer HeNormal(int64_t seed = 0);
Initializer LecunUniform(int64_t seed = 0);
Initializer LecunNormal(int64_t seed = 0);
// A random matrix with orthonormal rows or columns; leading dimensions are taken together.
Initializer Orthogonal(double gain = 1, int64_t seed = 0);
Initializer Identity(double gain = 1);

}  // namespace init

}  // namespace weir

#endif  // WEIR_CLIENT_INITIALIZERS_H_
