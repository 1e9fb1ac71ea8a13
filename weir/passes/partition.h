// Partitioning: cuts a placed graph into one graph a device (or task), joined by Send and Recv.
//
// Every tensor that crosses is sent once to each partition that wants it; its consumers there share the Recv. A control
// edge crosses as an empty tensor. Inside loops each partition that receives gets a small control loop of its own,
// driven by the loop's condition, so that its Recv nodes run once an iteration of the right frame.
//
// A device with memory of its own may still take or give some tensors in the host's (shapes, predicates). An end of a
// transfer that is in the host's memory is a _HostSend or _HostRecv; where the two ends of an edge within a partition
// differ, the tensor is copied by such a pair too.
#ifndef WEIR_PASSES_PARTITION_H_
#define WEIR_PASSES_PARTITION_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/framework/device.h"
#include "weir/graph/graph.h"

namespace weir {

struct RecvSchedule;

struct PartitionOptions {
  // The partition a node belongs to; its assigned device if not set.
  std::function<std::string(const Node&)> location;
  // The incarnation of a device, for the keys of what it sends; 1 if not set.
  std::function<uint64_t(std::string_view device)> incarnation;
  // In which memory a node of a device takes an input, and gives an output; the device's if not set.
  std::function<MemoryType(const Node&, int index)> input_memory;
  std::function<MemoryType(const Node&, int index)> output_memory;
  // Between which devices floats travel as bfloat16: cast before the Send and back after the Recv; none if not set.
  std::function<bool(std::string_view from, std::string_view to)> lossy;
  // What is known of a tensor's shape, and whether a node's values may be dead: told to the Recv (wait_analysis.h), so
  // that a partition can be rewritten as well as the whole graph. Nothing is told if not set.
  std::function<PartialShape(Endpoint tensor)> shape;
  std::function<bool(NodeId)> may_be_dead;
  // When each Recv starts; all at once if null.
  const RecvSchedule* recvs = nullptr;
  // A fetched reference to a variable of another partition gives the value that it has when that partition has ended
  // (its Send is `client_terminated`), as a fetch within the partition does; otherwise the first value there is.
  bool fetch_references_last = false;
};

struct Partition {
  std::string location;
  Graph graph;
};

// REQUIRES: every node has an assigned device. Partitions are in order of their first node. Loops without a LoopCond
// that cross partitions are INVALID_ARGUMENT.
StatusOr<std::vector<Partition>> PartitionGraph(const Graph& graph, const PartitionOptions& options);

}  // namespace weir

#endif  // WEIR_PASSES_PARTITION_H_
