// The training part of a model with several replicas (weir/client/distribute.h).
#ifndef WEIR_CLIENT_NN_REPLICAS_H_
#define WEIR_CLIENT_NN_REPLICAS_H_

#include <memory>
#include <vector>

#include "weir/client/distribute.h"
#include "weir/client/nn/model.h"

namespace weir::nn {

class Replicas {
 public:
  // `state` has the variables that are saved: those of the first replica, or of all.
  Replicas(const Scope& root, const distribute::Strategy& strategy, std::shared_ptr<NetworkState> state)
      : root_(root), strategy_(strategy), state_(std::move(state)) {}

  struct Result {
    Output loss;                     // of the whole batch
    std::vector<Output> metrics;     // sums over the whole batch
    std::vector<Operation> updates;  // of variables that are not trained by gradients
    Training training;
  };
  // Each replica gets its rows of the batch.
  Result Build(const LayerPtr& network, const std::vector<Output>& inputs, const Output& labels,
               const CompileOptions& options);
  // Copies the values of the saved variables to the other replicas; without a value if there are no copies.
  const Operation& mirror() const { return mirror_; }

 private:
  struct Part;
  Part BuildPart(int replica, const LayerPtr& network, const std::vector<Output>& inputs, const Output& labels,
                 const CompileOptions& options);
  std::vector<GradientOutput> Add(const Scope& scope, const std::vector<Part>& parts, size_t num_variables);
  void Mirror(const std::vector<Part>& parts, Result* result);

  const Scope root_;
  const distribute::Strategy strategy_;
  const std::shared_ptr<NetworkState> state_;
  LossScale loss_scale_;  // without a value: no scaling
  Operation mirror_;
};

}  // namespace weir::nn

#endif  // WEIR_CLIENT_NN_REPLICAS_H_
