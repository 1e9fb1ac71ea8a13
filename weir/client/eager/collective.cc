#include "weir/client/eager/collective.h"

#include "weir/base/strings.h"
#include "weir/client/collective_ops.h"
#include "weir/client/eager_execute.h"

namespace weir::collective {

EagerTensor AllReduce(const EagerTensor& value, const AllReduceOptions& options, const std::string& name) {
  EagerCall call;
  return call.One(AllReduce(call.scope(), value, options, name));
}

EagerTensor AllGather(const EagerTensor& value, const std::string& name, ProcessSet set) {
  EagerCall call;
  return call.One(AllGather(call.scope(), value, name, set));
}

EagerTensor Broadcast(const EagerTensor& value, int root, const std::string& name, ProcessSet set) {
  EagerCall call;
  return call.One(Broadcast(call.scope(), value, root, name, set));
}

EagerTensor ReduceScatter(const EagerTensor& value, const AllReduceOptions& options, const std::string& name) {
  EagerCall call;
  return call.One(ReduceScatter(call.scope(), value, options, name));
}

Status BroadcastVariables(const std::vector<eager::Variable>& variables, int root) {
  // One after the other: all ranks have the same list.
  for (size_t i = 0; i < variables.size(); ++i) {
    const EagerTensor value = Broadcast(variables[i].Read(), root, Cat("eager_variable/", i));
    WEIR_RETURN_IF_ERROR(value.status());
    WEIR_RETURN_IF_ERROR(variables[i].Assign(value));
  }
  return OkStatus();
}

}  // namespace weir::collective
