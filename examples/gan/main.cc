// Two networks against each other: one makes points, the other tells them from real ones, which lie on a circle. Each
// has an optimizer and variables of its own, and they take turns.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "weir/weir.h"

namespace {

using namespace weir;

constexpr int64_t kBatch = 128;

// Calls `network` under a name, so that its variables can be told from the other's.
nn::LayerPtr Named(const std::string& name, nn::LayerPtr network) {
  return nn::Function([=](nn::Context& context, const Output& x) { return context(network, x); }, name);
}

nn::LayerPtr Perceptron(const std::string& name, int64_t outputs) {
  return Named(name, nn::Sequential({nn::Dense(32, {.activation = "relu"}), nn::Dense(32, {.activation = "relu"}),
                                     nn::Dense(outputs)}));
}

Output Noise(const Scope& scope, int64_t width) {
  const RandomSeeds seeds = NextRandomSeeds(scope);
  return ops::RandomStandardNormal(scope, {kBatch, width}, DType::kFloat, {.seed = seeds.seed, .seed2 = seeds.seed2});
}

// Points at about distance 2 from the centre.
Output RealPoints(const Scope& scope) {
  Output direction = Noise(scope, 2);
  Output length = ops::Sqrt(scope, ops::Sum(scope, ops::Square(scope, direction), {1}, {.keep_dims = true}));
  return direction / length * (2 + 0.05 * Noise(scope, 1));
}

Status Run(int64_t steps) {
  Scope root = Scope::NewRoot();
  SetRandomSeed(root, 3);
  auto networks = std::make_shared<nn::NetworkState>(nn::NetworkState{.root = root});
  nn::Context context(networks, root.SubScope("gan"), /*training=*/true);
  nn::LayerPtr generator = Perceptron("generator", 2), judge = Perceptron("judge", 1);
  Output made = context(generator, Noise(root, 2));
  Output of_made = context(judge, made), of_real = context(judge, RealPoints(root));

  const Loss entropy = loss::BinaryCrossentropy();
  Output ones = ops::OnesLike(root, of_made), zeros = ops::ZerosLike(root, of_made);
  Output judge_loss = entropy(root, ones, of_real) + entropy(root, zeros, of_made);
  Output generator_loss = entropy(root, ones, of_made);
  const optimizer::AdamOptions slow{.learning_rate = 1e-3, .beta1 = 0.5};
  Training train_judge =
      optimizer::Adam(slow).Minimize(root, judge_loss, {.variables = TrainableVariables(root.WithPrefix("judge"))});
  Training train_generator = optimizer::Adam(slow).Minimize(
      root, generator_loss, {.variables = TrainableVariables(root.WithPrefix("generator"))});

  WEIR_ASSIGN_OR_RETURN(auto session, ClientSession::Create(root));
  WEIR_RETURN_IF_ERROR(session->RunTargets({InitializeVariables(root)}));
  auto report = [&](int64_t step) -> Status {
    WEIR_ASSIGN_OR_RETURN(Tensor points, session->Evaluate(made));
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < kBatch; ++i) {
      const double radius = std::hypot(points.data<float>()[2 * i], points.data<float>()[2 * i + 1]);
      mean += radius / kBatch;
      squares += radius * radius / kBatch;
    }
    std::printf("step %4lld: made points are %.2f +- %.2f from the centre (real ones 2.00 +- 0.05)\n",
                static_cast<long long>(step), mean, std::sqrt(std::max(squares - mean * mean, 0.0)));
    return OkStatus();
  };
  for (int64_t i = 0; i < steps; ++i) {
    if (i % 1000 == 0) WEIR_RETURN_IF_ERROR(report(i));
    WEIR_RETURN_IF_ERROR(session->RunTargets({train_judge.op}));
    WEIR_RETURN_IF_ERROR(session->RunTargets({train_generator.op}));
  }
  return report(steps);
}

}  // namespace

int main(int argc, char** argv) {
  Status status = TakeDeviceFlag(&argc, argv);
  if (status.ok()) status = Run(argc > 1 ? std::atoll(argv[1]) : 4000);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
