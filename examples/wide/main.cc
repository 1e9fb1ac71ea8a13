// wide [STEPS]: who likes what, from user and item numbers alone: tables of a million rows each, of which a step reads
// and changes a few hundred. Gradients of gathered rows stay sparse from the loss to the optimizer, so the cost of a
// step does not depend on the size of the tables.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>

#include "weir/weir.h"

namespace {

using namespace weir;

constexpr int64_t kRows = 1'000'000, kSize = 8, kBatch = 256;

// Users and items have tastes that follow from their numbers; the few hundred that are seen are spread over the tables.
struct Visit {
  int64_t user, item;
  float likes;
};
Visit DrawVisit(std::mt19937_64& random) {
  const int64_t user = static_cast<int64_t>(random() % 300), item = static_cast<int64_t>(random() % 300);
  const bool likes = (user % 3 == item % 3) != (random() % 20 == 0);
  return {user * 3331 % kRows, item * 3203 % kRows, likes ? 1.0f : 0.0f};
}

Status Run(int64_t steps) {
  Scope root = Scope::NewRoot();
  SetRandomSeed(root, 1);
  Output users = ops::Placeholder(root.WithName("users"), DType::kInt64, {.shape = {kBatch}});
  Output items = ops::Placeholder(root.WithName("items"), DType::kInt64, {.shape = {kBatch}});
  Output likes = ops::Placeholder(root.WithName("likes"), DType::kFloat, {.shape = {kBatch}});
  Variable user_table(root, "users_table", Shape({kRows, kSize}), init::RandomNormal(0, 0.3));
  Variable item_table(root, "items_table", Shape({kRows, kSize}), init::RandomNormal(0, 0.3));
  Variable bias(root, "bias", Shape(), init::Zeros());
  Output u = ops::ResourceGather(root, user_table.handle(), users, DType::kFloat);
  Output i = ops::ResourceGather(root, item_table.handle(), items, DType::kFloat);
  Output score = ops::Sum(root, u * i, {1}) + bias.value();
  // The logistic loss, in the form that does not overflow.
  Output loss = Sum(root, ops::Relu(root, score) - score * likes + ops::Softplus(root, -ops::Abs(root, score)));
  const std::vector<Variable> variables = {user_table, item_table, bias};
  std::vector<GradientOutput> gradients = GradientsOf(root, std::vector<Output>{loss}, variables);
  std::printf("gradients: users %s, items %s, bias %s\n", gradients[0].is_sparse() ? "sparse" : "dense",
              gradients[1].is_sparse() ? "sparse" : "dense", gradients[2].is_sparse() ? "sparse" : "dense");
  Training training = optimizer::Adagrad({.learning_rate = 0.1}).ApplyGradients(root, variables, gradients);

  WEIR_ASSIGN_OR_RETURN(auto session, ClientSession::Create(root));
  WEIR_RETURN_IF_ERROR(session->RunTargets({InitializeVariables(root)}));
  WEIR_ASSIGN_OR_RETURN(Tensor before, session->Evaluate(user_table));
  std::mt19937_64 random(2);
  std::set<int64_t> seen;
  double right = 0, count = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int64_t step = 0; step < steps; ++step) {
    Tensor a = Tensor::Zeros(DType::kInt64, Shape({kBatch})).value(),
           b = Tensor::Zeros(DType::kInt64, Shape({kBatch})).value();
    Tensor c = Tensor::Zeros(DType::kFloat, Shape({kBatch})).value();
    for (int64_t k = 0; k < kBatch; ++k) {
      const Visit visit = DrawVisit(random);
      seen.insert(visit.user);
      a.data<int64_t>()[k] = visit.user;
      b.data<int64_t>()[k] = visit.item;
      c.data<float>()[k] = visit.likes;
    }
    WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> out,
                          session->Run({{users, a}, {items, b}, {likes, c}}, {score}, {training.op}));
    if (step < steps * 3 / 4) continue;
    for (int64_t k = 0; k < kBatch; ++k) right += (out[0].data<float>()[k] > 0) == (c.data<float>()[k] > 0);
    count += kBatch;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  WEIR_ASSIGN_OR_RETURN(Tensor after, session->Evaluate(user_table));
  int64_t changed = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    changed += !std::equal(before.data<float>() + row * kSize, before.data<float>() + (row + 1) * kSize,
                           after.data<float>() + row * kSize);
  }
  std::printf("%.0f steps a second\n", static_cast<double>(steps) / seconds);
  std::printf("%lld of %lld users were seen, %lld rows changed\n", static_cast<long long>(seen.size()),
              static_cast<long long>(kRows), static_cast<long long>(changed));
  std::printf("right about %.1f%% of the last visits\n", 100 * right / std::max(1.0, count));
  return OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Status status = TakeDeviceFlag(&argc, argv);
  if (status.ok()) status = Run(argc > 1 ? std::atoll(argv[1]) : 1000);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
