// Placement: assigns a device to every node of a graph.
//
// Nodes that must share memory form a colocation group: the two ends of a reference or resource edge, and nodes whose
// `_class` attribute names another ("loc:@node"). A consumer of a reference or handle is placed with its producer, even
// if it requests another device. A group needs a device for which all members have kernels and which all requests
// allow; among several, the first device of the best type is chosen. Constants and other nodes without inputs are
// placed with their only consumer; Shape, Size and Rank with their input. A RemoteCall whose target is a constant is
// placed on that device, if it exists, whatever device it requests.
#ifndef WEIR_PASSES_PLACE_H_
#define WEIR_PASSES_PLACE_H_

#include <functional>
#include <string>
#include <vector>

#include "weir/graph/graph.h"

namespace weir {

struct PlaceableDevice {
  std::string name;  // full
  std::string type;  // "CPU"
};

// The possible devices of each colocation group.
struct PlacementChoices {
  std::vector<int> group_of;              // by node id; -1: no choice (placed with its consumers)
  std::vector<std::vector<int>> devices;  // by group: indices of PlacementOptions::devices, best first; never empty
};

struct PlacementOptions {
  std::vector<PlaceableDevice> devices;  // in order of preference, local ones first
  // The device types for which a node has kernels, best first; may return an empty list.
  std::function<std::vector<std::string>(const Node&)> supported_types;
  // If a requested device does not exist or has no kernel, use another one; ignore `_class` if it cannot be satisfied.
  bool allow_soft_placement = false;
  // Spread nodes that request no device over the devices of the best type, with state on the last one, instead of
  // placing all on the best device. For tests of transfers between devices. The placement depends only on a node's
  // name.
  bool spread = false;
  // Chooses a device for every group; the first one if not set (see place_by_cost.h). Groups with a stateful node have
  // no choice: every step must find the state in the same place.
  std::function<StatusOr<std::vector<int>>(const PlacementChoices&)> choose;
  // Where devices have memory of their own: handles that are passed to calls, and handles that come in as arguments,
  // stay on the device of the call or argument, because the body of the function looks for them there.
  bool calls_keep_handles = false;
  // Where devices have memory of their own: nodes that pass variants to each other (lists, optionals) are placed
  // together if their kernels and requests allow it, so that the tensors in the variants need not move.
  bool variants_stay = false;
  // Restricts calls_keep_handles to handles that come in as arguments; calls find out themselves where their handles
  // are.
  bool calls_follow_handles = false;
  // Treat the nodes of a loop as one group, unless some of them must be on different devices.
  bool whole_loops = false;
};

// Sets `assigned_device` of all nodes that have none. INVALID_ARGUMENT, with the name of the node, if there is no
// possible device.
Status PlaceGraph(Graph* graph, const PlacementOptions& options);

}  // namespace weir

#endif  // WEIR_PASSES_PLACE_H_
