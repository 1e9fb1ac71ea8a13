// Collectives between processes (weir/collective/collective.h) as operations of graphs (of eager code:
// weir/client/eager/collective.h), and training with them. Horovod's recipe in C++:
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
// Tensors of one name meet; without a name it is the node's. All are differentiable: a gradient flows under a name of
// its own, and every rank must ask for it.
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

// In a graph. The gradient of a sum is a sum, of an average an average; minimum, maximum, product and Adasum have none.
Output AllReduce(const Scope& scope, const Input& value, const AllReduceOptions& options = {},
                 const std::string& name = "");
// Gradients of the gathered rows are added over all ranks.
Output AllGather(const Scope& scope, const Input& value, const std::string& name = "", ProcessSet set = kAllRanks);
// Gradients are added over all ranks, and reach the root alone.
Output Broadcast(const Scope& scope, const Input& value, int root, const std::string& name = "",
                 ProcessSet set = kAllRanks);
Output ReduceScatter(const Scope& scope, const Input& value, const AllReduceOptions& options = {},
                     const std::string& name = "");
struct AllToAllOutputs {
  Output output;
  Output received_splits;
};
// `splits`: int64, the rows for each rank; an empty vector: equally many.
AllToAllOutputs AllToAll(const Scope& scope, const Input& value, const Input& splits, const std::string& name = "",
                         ProcessSet set = kAllRanks);

struct DistributedOptions {
  ReduceOp op = ReduceOp::kAverage;  // or kSum, kAdasum
  Compression compression = Compression::kNone;
  // Gradients are divided by this before they are added, and multiplied after: keeps halves in range.
  double predivide_factor = 1.0;
  // Rows of embeddings are gathered from all ranks; or else they become whole tensors first.
  bool sparse_as_dense = false;
  ProcessSet set = kAllRanks;
};
// The optimizer, with gradients that are averaged over all ranks as soon as each is there, before they are limited and
// applied. For graphs, models and eager::Optimizer.
Optimizer DistributedOptimizer(const Optimizer& optimizer, const DistributedOptions& options = {});

// Gives all ranks the root's values.
Operation BroadcastVariables(const Scope& scope, std::span<const Variable> variables, int root = 0);
Status BroadcastVariables(ClientSession& session, std::span<const Variable> variables, int root = 0);

}  // namespace collective
}  // namespace weir

#endif  // WEIR_CLIENT_COLLECTIVE_OPS_H_
