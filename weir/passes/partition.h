// Partitioning: splits a placed graph into one graph per device (or task), connected by Send and Recv.
//
// An edge between two partitions is cut: a Send in the producer's partition and a Recv in the consumer's replace it.
// Every tensor is sent at most once to each partition; its consumers there share the Recv. A control edge is sent as an
// empty tensor. In loops, each receiving partition gets a small control loop of its own, driven by the loop's condition
// (which is sent to it), so that its Recv nodes run once per iteration in the right frame.
//
// Some inputs and outputs of a device with its own memory are in host memory (shapes, predicates). The end of a
// transfer that is in host memory is a _HostSend or _HostRecv. If the two ends of an edge within a partition are in
// different memories, such a pair also copies the tensor between them.
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
  // The partition of a node; its assigned device if not set.
  std::function<std::string(const Node&)> location;
  // The incarnation of a device, which is part of the keys of the tensors it sends; 1 if not set.
  std::function<uint64_t(std::string_view device)> incarnation;
  // The memory of a node's inputs and outputs; device memory if not set.
  std::function<MemoryType(const Node&, int index)> input_memory;
  std::function<MemoryType(const Node&, int index)> output_memory;
  // Whether floats are sent between two devices as bfloat16: cast before the Send and back after the Recv.
  std::function<bool(std::string_view from, std::string_view to)> lossy;
  // The inferred shape of a tensor, and whether a node's values may be dead. They become attributes of the Recv
  // (wait_analysis.h), so that a partition can be rewritten as well as the whole graph. May be empty.
  std::function<PartialShape(Endpoint tensor)> shape;
  std::function<bool(NodeId)> may_be_dead;
  // When each Recv starts; null: when the step starts.
  const RecvSchedule* recvs = nullptr;
  // A fetched reference to a variable in another partition returns the value at the end of that partition (its Send is
  // `client_terminated`), like a fetch within the partition; if false, it returns the value at the time of the Send.
  bool fetch_references_last = false;
};

struct Partition {
  std::string location;
  Graph graph;
};

// REQUIRES: every node has an assigned device. Partitions are in the order of their first nodes. INVALID_ARGUMENT if a
// loop without a LoopCond crosses partitions.
StatusOr<std::vector<Partition>> PartitionGraph(const Graph& graph, const PartitionOptions& options);

}  // namespace weir

#endif  // WEIR_PASSES_PARTITION_H_
