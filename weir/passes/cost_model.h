// CostModel: the execution times of the nodes of a graph, and the cost of moving their results between devices.
//
// Sizes come from shape inference, else from measured shapes; unknown dimensions are assumed to be kAssumedDimension.
// Times come from the table of measurements if it has the same operation with the same shapes. Otherwise they are
// estimated (a roofline model): the larger of the times for arithmetic and for memory traffic at the device's speed,
// plus the overhead of starting an operation.
#ifndef WEIR_PASSES_COST_MODEL_H_
#define WEIR_PASSES_COST_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "weir/graph/shape_inference.h"
#include "weir/passes/cost_table.h"

namespace weir {

// The speed of a device type, for estimates.
struct DeviceSpeed {
  double flops_per_ns = 20;
  double bytes_per_ns = 8;
  double start_ns = 1000;  // of an operation
};
DeviceSpeed SpeedOf(std::string_view device_type);

// "float[2,3];int32[]->float[2,3]": the types and shapes of inputs and outputs; unknown sizes are "?".
std::string NodeSignature(const Node& node, std::span<const PartialShape> inputs,
                          std::span<const PartialShape> outputs);

class CostModel {
 public:
  static constexpr int64_t kAssumedDimension = 32;

  // `measured` may be null. If the graph's shapes contradict each other, sizes are assumed: the graph fails when it
  // runs, not here. REQUIRES: the graph outlives the model and does not change.
  CostModel(const Graph& graph, std::shared_ptr<const CostTable> measured);

  // The time of a node on a device, in nanoseconds.
  double Time(const Node& node, const std::string& device) const;
  int64_t Bytes(Endpoint tensor) const;
  // The cost of a transfer between two devices; zero within one device.
  LinkCost Link(const std::string& from, const std::string& to) const;
  // How many calls of Time were answered from measurements, and how many by estimates.
  int64_t num_measured() const { return num_measured_; }
  int64_t num_estimated() const { return num_estimated_; }

 private:
  std::vector<PartialShape> InputShapes(const Node& node) const;
  const PartialShape& ShapeOf(Endpoint tensor) const { return shapes_[tensor.node][tensor.index]; }

  const Graph& graph_;
  const std::shared_ptr<const CostTable> measured_;
  std::vector<std::vector<PartialShape>> shapes_;  // by node id, then output
  mutable int64_t num_measured_ = 0, num_estimated_ = 0;
};

}  // namespace weir

#endif  // WEIR_PASSES_COST_MODEL_H_
