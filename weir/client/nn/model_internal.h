// Declarations that the sources of Model share.
#ifndef WEIR_CLIENT_NN_MODEL_INTERNAL_H_
#define WEIR_CLIENT_NN_MODEL_INTERNAL_H_

#include <span>
#include <vector>

#include "weir/client/nn/model.h"

namespace weir::nn {

// A prepared step: its feeds and results.
struct Model::Phase {
  std::vector<Output> feeds;
  std::vector<Output> fetches;  // loss, then the sums of each metric; or the predictions
  std::vector<Operation> targets;
  Session::Callable step = 0;
  bool prepared = false;
};

// Adds up loss and metrics over batches.
class Totals {
 public:
  explicit Totals(std::span<const Metric> metrics) : metrics_(metrics), sums_(metrics.size()) {}
  // `outputs` are the results of a phase.
  Status Add(std::span<const Tensor> outputs, int64_t examples);
  // The names get the prefix `prefix`.
  Logs Result(const std::string& prefix = "") const;

 private:
  std::span<const Metric> metrics_;
  double loss_ = 0;
  int64_t examples_ = 0;
  std::vector<std::vector<double>> sums_;
};

}  // namespace weir::nn

#endif  // WEIR_CLIENT_NN_MODEL_INTERNAL_H_
