// Collectives between processes (weir/collective/collective.h) for eager code and compiled functions.
#ifndef WEIR_CLIENT_EAGER_COLLECTIVE_H_
#define WEIR_CLIENT_EAGER_COLLECTIVE_H_

#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/eager/variable.h"
#include "weir/collective/collective.h"

namespace WEIR_PUBLIC weir {
namespace collective {

// Run eagerly, or are traced in a compiled function. Eager calls with the same name are matched in their order: give
// them names if the order may differ between ranks.
EagerTensor AllReduce(const EagerTensor& value, const AllReduceOptions& options = {}, const std::string& name = "");
EagerTensor AllGather(const EagerTensor& value, const std::string& name = "", ProcessSet set = kAllRanks);
EagerTensor Broadcast(const EagerTensor& value, int root, const std::string& name = "", ProcessSet set = kAllRanks);
EagerTensor ReduceScatter(const EagerTensor& value, const AllReduceOptions& options = {}, const std::string& name = "");

// Copies the root's values to all ranks.
Status BroadcastVariables(const std::vector<eager::Variable>& variables, int root = 0);

}  // namespace collective
}  // namespace weir

#endif  // WEIR_CLIENT_EAGER_COLLECTIVE_H_
