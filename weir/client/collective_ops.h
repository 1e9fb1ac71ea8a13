// Collectives between processes (weir/collective/collective.h) as operations of graphs (for eager code, see
// weir/client/eager/collective.h), and training with them. The recipe is Horovod's:
//
//   WEIR_RETURN_IF_ERROR(collective::Init());
//   nn::Model model(...);
//   WEIR_RETURN_IF_ERROR(model.Compile(
//       {.optimizer = collective::DistributedOptimizer(optimizer::Adam({.learning_rate = 1e-3 * collective::Size()})),
//       ...}));
//   options.callbacks = {nn::callback::BroadcastVariables(), nn::callback::AverageMetrics()};
//   model.Fit(my_part_of_the_data, options);
//   collective::Shutdown();
//
// Tensors with the same name are combined; the default is the name of the node. All operations are differentiable: the
// gradient has a name of its own, and every rank must compute it.
#ifndef WEIR_CLIENT_COLLECTIVE_OPS_H_
#define WEIR_CLIENT_COLLECTIVE_OPS_H_

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/client_session.h"
#include "weir/client/optimizer.h"
#include "weir/collective/collective.h"

namespace WEIR_PUBLIC weir {
namespace collective {

// The gradient of a sum is a sum, that of an average an average; minimum, maximum, product and Adasum have none.
Output AllReduce(const Scope& scope, const Input& value, const AllReduceOptions& options = {},
                 const std::string& name = "");
// The gradient sums those of the gathered rows over all ranks.
Output AllGather(const Scope& scope, const Input& value, const std::string& name = "", ProcessSet set = kAllRanks);
// The gradient sums over all ranks; only the root gets it.
Output Broadcast(const Scope& scope, const Input& value, int root, const std::string& name = "",
                 ProcessSet set = kAllRanks);
Output ReduceScatter(const Scope& scope, const Input& value, const AllReduceOptions& options = {},
                     const std::string& name = "");
struct AllToAllOutputs {
  Output output;
  Output received_splits;
};
// `splits`: int64, the number of rows for each rank; an empty vector: equal numbers.
AllToAllOutputs AllToAll(const Scope& scope, const Input& value, const Input& splits, const std::string& name = "",
                         ProcessSet set = kAllRanks);

struct DistributedOptions {
  ReduceOp op = ReduceOp::kAverage;  // or kSum, kAdasum
  Compression compression = Compression::kNone;
  // Gradients are divided by this before the reduction and multiplied by it afterwards, to keep float16 values in
  // range.
  double predivide_factor = 1.0;
  // false: gather the rows of sparse gradients (of embeddings) from all ranks; true: convert them to dense ones first.
  bool sparse_as_dense = false;
  ProcessSet set = kAllRanks;
};
// Wraps an optimizer so that each gradient is averaged over all ranks as soon as it is available, before gradients are
// clipped and applied. For graphs, models and eager::Optimizer.
Optimizer DistributedOptimizer(const Optimizer& optimizer, const DistributedOptions& options = {});

// Copies the root's values to all ranks.
Operation BroadcastVariables(const Scope& scope, std::span<const Variable> variables, int root = 0);
Status BroadcastVariables(ClientSession& session, std::span<const Variable> variables, int root = 0);

}  // namespace collective
}  // namespace weir

#endif  // WEIR_CLIENT_COLLECTIVE_OPS_H_
