// CostModel: what the nodes of a graph cost, and what it costs to move their results.
//
// Sizes come from shape inference, then from shapes that were measured; a dimension that neither knows is assumed.
// Times come from the table of measurements where it has the same operation with the same shapes, else from an
// estimate: the larger of arithmetic and memory traffic at the device's speed, and what starting an operation takes.
#ifndef WEIR_PASSES_COST_MODEL_H_
#define WEIR_PASSES_COST_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "weir/graph/shape_inference.h"
#include "weir/passes/cost_table.h"

namespace weir {

// Of a type of devices, for estimates.
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

  // `measured` may be null. A graph whose shapes contradict each other has sizes that are assumed: it will fail when it
  // runs, not here. The graph must outlive the model and not change.
  CostModel(const Graph& graph, std::shared_ptr<const CostTable> measured);

  // Nanoseconds of a node on a device.
  double Time(const Node& node, const std::string& device) const;
  int64_t Bytes(Endpoint tensor) const;
  // Between two devices; free within one.
  LinkCost Link(const std::string& from, const std::string& to) const;
  // How many times of nodes came from measurements so far, and how many were estimated.
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
