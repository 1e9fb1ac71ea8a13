// The models of the benchmark: networks that are trained or served, as sections `train` and `infer` define them.
#ifndef WEIR_CLI_BENCH_MODELS_H_
#define WEIR_CLI_BENCH_MODELS_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/runtime/session.h"

namespace weir::bench {

struct ModelWorkload {
  std::string_view name;
  std::string_view section;  // "train" or "infer"
  std::string_view about;
};
std::span<const ModelWorkload> ModelWorkloads();
const ModelWorkload* FindModelWorkload(std::string_view name);

// A model made ready: parameters initialised, a few batches in memory.
class ModelRunner {
 public:
  static StatusOr<std::unique_ptr<ModelRunner>> Make(std::shared_ptr<Environment> environment,
                                                     const ModelWorkload& workload);
  // The next batch.
  Status Run();
  // The same; returns the loss, or the sum of the logits.
  StatusOr<double> RunAndSum();
  // One step, traced; what it spent its time on.
  StatusOr<StepReport> RunTraced();

 private:
  std::unique_ptr<Session> session_;
  Session::CallableSpec spec_;
  Session::Callable callable_ = 0;
  std::vector<std::vector<Tensor>> batches_;
  size_t next_ = 0;
  std::vector<Tensor> outputs_;
};

}  // namespace weir::bench

#endif  // WEIR_CLI_BENCH_MODELS_H_
