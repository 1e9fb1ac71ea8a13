// Device assignment for replicated training with parameter servers: every worker builds the same graph; its variables
// are placed on parameter servers, which all workers share, and all other nodes on the worker.
//
//   Training training = optimizer::Adam().Minimize(root, loss);
//   WEIR_RETURN_IF_ERROR(SetReplicaDevices(root, {.ps_tasks = 2, .worker_device = "/job:worker/task:1"}));
//   WEIR_ASSIGN_OR_RETURN(auto session, ClientSession::Create(root, "grpc://worker1:2222"));
#ifndef WEIR_CLIENT_REPLICA_DEVICES_H_
#define WEIR_CLIENT_REPLICA_DEVICES_H_

#include <string>

#include "weir/base/export.h"
#include "weir/client/scope.h"

namespace WEIR_PUBLIC weir {

enum class VariablePlacement {
  kRoundRobin,  // each server in turn
  kByBytes,     // always the server with the fewest bytes so far
};

struct ReplicaDevices {
  int ps_tasks = 1;
  std::string ps_device = "/job:ps";  // followed by the number of the task
  std::string worker_device = "/job:worker/task:0";
  VariablePlacement placement = VariablePlacement::kRoundRobin;
};

// Assigns a device to every node without one. Variables that an operation uses together, such as a variable and its
// optimizer slots, are placed on the same server, and nodes that take their handles with them. Nodes that are colocated
// with another node are placed with it. The assignment of a graph is the same in every worker. It may be called again
// when the graph has grown: nodes that have a device keep it. INVALID_ARGUMENT for a malformed device, or without
// servers.
Status SetReplicaDevices(const Scope& scope, const ReplicaDevices& options);

}  // namespace weir

#endif  // WEIR_CLIENT_REPLICA_DEVICES_H_
