// Placement: gives every node of a graph a device.
//
// Nodes that must share memory share a device: the two ends of a reference or resource edge, and those whose `_class`
// attribute names one another ("loc:@node"). Who takes a reference or a handle goes
// where it is, whatever device it asks for itself. Such a group needs a device that all its members' kernels run on and
// that all requests allow; of several the one of the best type that comes first in the list is taken. Constants and
// other sources without inputs go where their only consumers are; Shape, Size and Rank stay with what they measure. A
// RemoteCall whose target is a constant goes there, if there is such a device, whatever else it asks for.
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

// What may be where: nodes in groups that share a device.
struct PlacementChoices {
  std::vector<int> group_of;              // by node id; -1: not to be chosen (it goes with its consumers)
  std::vector<std::vector<int>> devices;  // by group: indices of PlacementOptions::devices, best first; never empty
};

struct PlacementOptions {
  std::vector<PlaceableDevice> devices;  // in order of preference, local ones first
  // The device types that a node has kernels for, best first. Empty: none.
  std::function<std::vector<std::string>(const Node&)> supported_types;
  // Where a requested device is absent or has no kernel, take another; where `_class` asks for the impossible, ignore
  // it.
  bool allow_soft_placement = false;
  // Nodes that ask for no device: all on the best one, or spread over the devices of the best type, state on the last.
  // Spreading is for tests of what crosses devices; a node's name decides, so that it is always the same place.
  bool spread = false;
  // Chooses a device for every group; the first of each if not set (place_by_cost.h has others). Groups with a stateful
  // node have no choice: every step must find its state in the same place.
  std::function<StatusOr<std::vector<int>>(const PlacementChoices&)> choose;
  // The nodes of a loop are a group, unless something in it must be elsewhere.
  bool whole_loops = false;
};

// Sets `assigned_device` of all nodes; those that have one keep it. INVALID_ARGUMENT that names the node otherwise.
Status PlaceGraph(Graph* graph, const PlacementOptions& options);

}  // namespace weir

#endif  // WEIR_PASSES_PLACE_H_
