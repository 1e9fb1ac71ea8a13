// Devices of replicated training: every worker builds the same graph; its variables go to parameter servers, which all
// workers share, and everything else to the worker itself.
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
  kRoundRobin,  // one server after the other
  kByBytes,     // always the server that has least so far
};

struct ReplicaDevices {
  int ps_tasks = 1;
  std::string ps_device = "/job:ps";  // and the task's number
  std::string worker_device = "/job:worker/task:0";
  VariablePlacement placement = VariablePlacement::kRoundRobin;
};

// Gives every node of the graph that asks for no device one. Variables that an operation uses together, such as a
// variable and an optimizer's slots of it, go to one server, and what takes their handles with them. What is colocated
// with another node goes where that is. The same graph
// gets the same devices in every worker. INVALID_ARGUMENT for a device that cannot be parsed or no servers.
Status SetReplicaDevices(const Scope& scope, const ReplicaDevices& options);

}  // namespace weir

#endif  // WEIR_CLIENT_REPLICA_DEVICES_H_
