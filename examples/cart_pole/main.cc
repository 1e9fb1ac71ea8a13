// cart_pole [EPISODES]: learns to balance a pole on a cart by deep Q-learning, with operations that run at once and one
// compiled training step. The cart, the pole and their physics are the few lines of CartPole.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>

#include "weir/weir.h"

namespace {

using namespace weir;

// A pole on a cart that is pushed left or right; state: position, speed, angle, turning speed.
class CartPole {
 public:
  explicit CartPole(uint64_t seed) : random_(seed) {}
  using State = std::array<float, 4>;

  const State& Reset() {
    std::uniform_real_distribution<float> near(-0.05f, 0.05f);
    for (float& value : state_) value = near(random_);
    return state_;
  }
  // False when the pole has fallen or the cart has left.
  bool Push(bool right) {
    const float force = right ? 10.0f : -10.0f, total = 1.1f, pole = 0.05f, length = 0.5f, tick = 0.02f;
    auto& [x, speed, angle, turn] = state_;
    const float sine = std::sin(angle), cosine = std::cos(angle);
    const float push = (force + pole * turn * turn * sine) / total;
    const float turn_faster = (9.8f * sine - cosine * push) / (length * (4.0f / 3.0f - 0.1f * cosine * cosine / total));
    const float faster = push - pole * turn_faster * cosine / total;
    x += tick * speed;
    speed += tick * faster;
    angle += tick * turn;
    turn += tick * turn_faster;
    return std::abs(x) < 2.4f && std::abs(angle) < 0.2095f;
  }
  const State& state() const { return state_; }

 private:
  std::mt19937_64 random_;
  State state_{};
};

// What an action is worth: two hidden layers, made of variables.
struct Network {
  explicit Network(int64_t seed) {
    const int64_t sizes[] = {4, 64, 64, 2};
    for (int i = 0; i < 3; ++i) {
      EagerTensor kernel = eager::StatelessRandomNormal({sizes[i], sizes[i + 1]}, {seed, i});
      variables.emplace_back(kernel * std::sqrt(2.0f / static_cast<float>(sizes[i])));
      variables.emplace_back(eager::Fill({sizes[i + 1]}, 0.0f));
    }
  }
  EagerTensor operator()(const EagerTensor& state) const {
    EagerTensor x = state * eager::Constant({0.4f, 0.3f, 5.0f, 0.3f});  // each about as large as the others
    for (int i = 0; i < 3; ++i) {
      x = eager::MatMul(x, variables[2 * i]) + variables[2 * i + 1];
      if (i < 2) x = eager::Relu(x);
    }
    return x;
  }
  // A small step towards another network.
  void Follow(const Network& other) const {
    for (size_t i = 0; i < variables.size(); ++i) {
      variables[i].Assign(variables[i] * 0.99f + other.variables[i] * 0.01f).IgnoreError();
    }
  }
  std::vector<eager::Variable> variables;
};

struct Memory {
  CartPole::State before, after;
  int32_t action;
  float goes_on;
};

// Rows of the memories as tensors: before, action, after, goes_on.
std::vector<EagerTensor> Sample(const std::deque<Memory>& memories, int64_t count, std::mt19937_64& random) {
  Tensor before = Tensor::Zeros(DType::kFloat, Shape({count, 4})).value();
  Tensor after = Tensor::Zeros(DType::kFloat, Shape({count, 4})).value();
  Tensor action = Tensor::Zeros(DType::kInt32, Shape({count})).value();
  Tensor goes_on = Tensor::Zeros(DType::kFloat, Shape({count})).value();
  for (int64_t i = 0; i < count; ++i) {
    const Memory& memory = memories[random() % memories.size()];
    std::copy(memory.before.begin(), memory.before.end(), before.data<float>() + 4 * i);
    std::copy(memory.after.begin(), memory.after.end(), after.data<float>() + 4 * i);
    action.data<int32_t>()[i] = memory.action;
    goes_on.data<float>()[i] = memory.goes_on;
  }
  return {before, action, after, goes_on};
}

Status Run(int episodes) {
  CartPole cart(7);
  std::mt19937_64 random(11);
  const Network network(1), target(1);
  // Adam's averages.
  std::vector<eager::Variable> mean, square;
  for (const eager::Variable& variable : network.variables) {
    mean.emplace_back(eager::ZerosLike(variable), eager::VariableOptions{.trainable = false});
    square.emplace_back(eager::ZerosLike(variable), eager::VariableOptions{.trainable = false});
  }
  auto values = eager::Compile([&](EagerTensor state) { return network(state); }, "values");
  auto train = eager::Compile(
      [&](EagerTensor before, EagerTensor action, EagerTensor after, EagerTensor goes_on, EagerTensor step) {
        // The action that the network likes best, at the price that the slower one puts on it.
        EagerTensor best = eager::OneHot(eager::ArgMax(network(after), 1), 2, 1.0f, 0.0f);
        EagerTensor wanted = goes_on * (1 + 0.98f * eager::Sum(best * target(after), 1));
        GradientTape tape;
        EagerTensor chosen = eager::Sum(network(before) * eager::OneHot(action, 2, 1.0f, 0.0f), 1);
        EagerTensor miss = chosen - eager::StopGradient(wanted);
        EagerTensor loss = eager::Mean(eager::Sqrt(1 + eager::Square(miss)) - 1, 0);
        std::vector<GradientSource> sources(network.variables.begin(), network.variables.end());
        std::vector<EagerTensor> gradients = tape.Gradients({loss}, sources);
        for (size_t i = 0; i < gradients.size(); ++i) {
          eager::ResourceApplyAdam(network.variables[i].handle(), mean[i].handle(), square[i].handle(),
                                   eager::Pow(0.9f, step), eager::Pow(0.999f, step), 1e-3f, 0.9f, 0.999f, 1e-7f,
                                   gradients[i])
              .IgnoreError();
        }
        target.Follow(network);
        return loss;
      },
      "train");

  std::deque<Memory> memories;
  int64_t steps = 0;
  double recent = 0;
  for (int episode = 1; episode <= episodes; ++episode) {
    cart.Reset();
    int length = 0;
    for (bool stands = true; stands && length < 200; ++length) {
      Memory memory{.before = cart.state()};
      const double curious = std::max(0.01, 1.0 - static_cast<double>(steps) / 1500);
      if (std::uniform_real_distribution<double>()(random) < curious) {
        memory.action = static_cast<int32_t>(random() % 2);
      } else {
        WEIR_ASSIGN_OR_RETURN(Tensor worth, values(Tensor::FromSpan<float>(memory.before, Shape({1, 4}))).value());
        memory.action = worth.data<float>()[1] > worth.data<float>()[0];
      }
      stands = cart.Push(memory.action == 1);
      memory.after = cart.state();
      memory.goes_on = stands ? 1.0f : 0.0f;
      memories.push_back(memory);
      if (memories.size() > 20'000) memories.pop_front();
      ++steps;
      if (memories.size() < 200) continue;
      std::vector<EagerTensor> batch = Sample(memories, 64, random);
      WEIR_RETURN_IF_ERROR(train(batch[0], batch[1], batch[2], batch[3], static_cast<float>(steps - 199)).status());
    }
    recent += (length - recent) / std::min(episode, 20);
    if (episode % 20 == 0 || episode == episodes) {
      std::printf("episode %4d: stands for %3.0f ticks, %lld steps\n", episode, recent, static_cast<long long>(steps));
      std::fflush(stdout);
    }
    if (recent > 190 && episode > 20) {
      std::printf("balances the pole after %d episodes\n", episode);
      break;
    }
  }
  return OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Status status = TakeDeviceFlag(&argc, argv);
  if (status.ok()) status = Run(argc > 1 ? std::atoi(argv[1]) : 400);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
