// A program for tests of elastic jobs: a worker that trains a small model with the others, checks that all agree, and
// prints each step. Arguments: how many steps, then any of
//   die WORKER STEP     the worker kills itself before that step
//   fail WORKER STEP    it and those with higher numbers end with exit code 7 there
//   grow SIZE           training also goes on until there are so many ranks
//   timeout SECONDS     of collectives (60)
//   file NAME           the steps and ranks are written there too, at every step, by rank 0
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "weir/client/collective_ops.h"
#include "weir/client/elastic_state.h"
#include "weir/weir.h"

namespace weir {
namespace {

struct Arguments {
  int64_t steps = 10;
  int dies = -1, fails = -1;  // workers
  int64_t at = -1;
  int grow = 0;
  int timeout = 60;
  std::string file;
};

Arguments Parse(int argc, char** argv) {
  Arguments out;
  out.steps = std::atoll(argv[1]);
  for (int i = 2; i + 1 < argc;) {
    const std::string word = argv[i];
    const int value = std::atoi(argv[i + 1]);
    if (word == "die") out.dies = value;
    if (word == "fail") out.fails = value;
    if (word == "grow") out.grow = value;
    if (word == "timeout") out.timeout = value;
    if (word == "file") out.file = argv[i + 1];
    if (word == "die" || word == "fail") out.at = std::atoll(argv[i + 2]);
    i += word == "die" || word == "fail" ? 3 : 2;
  }
  return out;
}

nn::Batch MakeBatch(int64_t step) {
  std::vector<float> x, y;
  for (int i = 0; i < 8; ++i) {
    const float value = static_cast<float>((step * 8 + i + collective::Rank()) % 13) / 13;
    x.push_back(value);
    y.push_back(2 * value + 1);
  }
  return {{Tensor::FromSpan<float>(x, {8, 1})}, Tensor::FromSpan<float>(y, {8, 1})};
}

class Worker {
 public:
  explicit Worker(const Arguments& arguments)
      : arguments_(arguments), model_(nn::Dense(1), {{1}}, /*seed=*/number_ + 1) {}

  Status Run() {
    const Optimizer adam = collective::DistributedOptimizer(optimizer::Adam({.learning_rate = 0.1}));
    WEIR_RETURN_IF_ERROR(
        model_.Compile({.optimizer = adam, .loss = loss::MeanSquaredError(), .labels = DType::kFloat}));
    collective::SessionState state(model_.session(), {{"step", 0}});
    collective::ElasticOptions options;
    options.init.timeout = absl::Seconds(arguments_.timeout);
    options.join_timeout = absl::Seconds(60);
    WEIR_RETURN_IF_ERROR(collective::RunElastic(
        state, [&] { return Train(state); }, options));
    std::printf("worker %d has finished at step %lld, loss %g\n", number_, static_cast<long long>(state.number("step")),
                loss_);
    std::fflush(stdout);
    return loss_ < 1 ? OkStatus() : Internal("the loss is ", loss_);
  }

 private:
  Status Train(collective::SessionState& state) {
    std::printf("worker %d is rank %d of %d at step %lld (process %d)\n", number_, collective::Rank(),
                collective::Size(), static_cast<long long>(state.number("step")), getpid());
    std::fflush(stdout);
    while (state.number("step") < arguments_.steps || collective::Size() < arguments_.grow) {
      const int64_t step = state.number("step");
      if (number_ == arguments_.dies && step == arguments_.at) kill(getpid(), SIGKILL);
      if (arguments_.fails >= 0 && number_ >= arguments_.fails && step >= arguments_.at) _exit(7);
      WEIR_ASSIGN_OR_RETURN(nn::Logs logs, model_.TrainOnBatch(MakeBatch(step)));
      loss_ = logs[0].second;
      // All ranks are at the same step of the same model.
      const Output weight = Variables(model_.scope().WithPrefix(""))[0].value();
      WEIR_ASSIGN_OR_RETURN(Tensor value, model_.session().Evaluate(weight));
      const float own[] = {static_cast<float>(step), value.data<float>()[0]};
      const Tensor both = Tensor::Vector<float>(std::span<const float>(own));
      WEIR_ASSIGN_OR_RETURN(Tensor low, collective::AllReduce("low", both, {.op = collective::ReduceOp::kMin}));
      WEIR_ASSIGN_OR_RETURN(Tensor high, collective::AllReduce("high", both, {.op = collective::ReduceOp::kMax}));
      if (std::memcmp(low.data<float>(), high.data<float>(), sizeof(own)) != 0) {
        return Internal("the ranks disagree at step ", step);
      }
      state.set_number("step", step + 1);
      if (!arguments_.file.empty() && collective::Rank() == 0) {
        if (std::FILE* file = std::fopen(arguments_.file.c_str(), "a")) {
          std::fprintf(file, "%lld %d\n", static_cast<long long>(step), collective::Size());
          std::fclose(file);
        }
      }
      if (step % 3 == 2) WEIR_RETURN_IF_ERROR(state.Commit());
    }
    return OkStatus();
  }

  const Arguments arguments_;
  const int number_ = std::atoi(std::getenv("WEIR_WORKER") != nullptr ? std::getenv("WEIR_WORKER") : "0");
  nn::Model model_;
  double loss_ = 0;
};

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  weir::Status status = weir::Worker(weir::Parse(argc, argv)).Run();
  if (!status.ok()) std::printf("error: %s\n", status.ToString().c_str());
  std::fflush(stdout);
  return status.ok() ? 0 : 1;
}
