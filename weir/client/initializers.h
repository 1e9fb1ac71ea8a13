// Initial values of variables: functions that emit a tensor of a given shape.
#ifndef WEIR_CLIENT_INITIALIZERS_H_
#define WEIR_CLIENT_INITIALIZERS_H_

#include <cstdint>
#include <functional>

#include "weir/base/export.h"
#include "weir/client/scope.h"

namespace WEIR_PUBLIC weir {

using Initializer = std::function<Output(const Scope& scope, const Shape& shape, DType dtype)>;

// From now on, random operations of initializers and layers without a seed of their own get seeds derived from this one
// and from their order, so that every run of the program produces the same numbers.
void SetRandomSeed(const Scope& scope, int64_t seed);
// The seeds of the graph's next random operation, derived by TensorFlow's rules from a graph's seed and an operation's
// (0: none).
struct RandomSeeds {
  int64_t seed = 0;
  int64_t seed2 = 0;
};
RandomSeeds NextRandomSeeds(const Scope& scope, int64_t op_seed = 0);

// Below, `seed` 0 means that the operation has no seed of its own.
namespace init {

Initializer Zeros();
Initializer Ones();
Initializer Value(double value);
Initializer FromTensor(Tensor value);
Initializer RandomUniform(double low = -0.05, double high = 0.05, int64_t seed = 0);
Initializer RandomNormal(double mean = 0, double stddev = 0.05, int64_t seed = 0);
// A normal distribution; values more than two standard deviations away are drawn again.
Initializer TruncatedNormal(double mean = 0, double stddev = 0.05, int64_t seed = 0);

enum class FanMode { kFanIn, kFanOut, kFanAverage };
enum class Distribution { kUniform, kTruncatedNormal, kUntruncatedNormal };
// Variance `scale` / fan, where the fans are the input and output sizes of a kernel [..., in, out].
Initializer VarianceScaling(double scale, FanMode mode, Distribution distribution, int64_t seed = 0);
Initializer GlorotUniform(int64_t seed = 0);
Initializer GlorotNormal(int64_t seed = 0);
Initializer HeUniform(int64_t seed = 0);
Initializer HeNormal(int64_t seed = 0);
Initializer LecunUniform(int64_t seed = 0);
Initializer LecunNormal(int64_t seed = 0);
// A random matrix with orthonormal rows or columns; leading dimensions are flattened.
Initializer Orthogonal(double gain = 1, int64_t seed = 0);
Initializer Identity(double gain = 1);

}  // namespace init

}  // namespace weir

#endif  // WEIR_CLIENT_INITIALIZERS_H_
