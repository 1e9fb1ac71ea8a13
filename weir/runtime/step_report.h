// StepReport: the statistics of a traced step (RunMetadata as C++ values).
#ifndef WEIR_RUNTIME_STEP_REPORT_H_
#define WEIR_RUNTIME_STEP_REPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/tensor/tensor.h"

namespace WEIR_PUBLIC weir {

class RunMetadata;  // wire format

struct TensorStats {
  int slot = 0;
  DType dtype = DType::kInvalid;
  Shape shape;
  int64_t requested_bytes = 0;
  int64_t allocated_bytes = 0;
  uint64_t address = 0;
};

// Times are in nanoseconds: start_ns and scheduled_ns of the wall clock, the others relative to start_ns.
struct NodeStats {
  std::string node;
  std::string label;  // "name = Op(inputs)"
  int64_t scheduled_ns = 0;
  int64_t start_ns = 0;
  int64_t op_start_rel_ns = 0;
  int64_t op_end_rel_ns = 0;
  int64_t all_end_rel_ns = 0;
  uint32_t thread_id = 0;
  std::vector<TensorStats> outputs;
  int64_t allocated_bytes = 0;  // of outputs that do not share their buffer with another tensor
  int64_t device_bytes = 0;     // in use on the device once the operation had been given to it; 0 for the host
};

struct DeviceStats {
  std::string device;
  std::vector<NodeStats> nodes;
  std::map<uint32_t, std::string> thread_names;
};

struct StepReport {
  std::vector<DeviceStats> devices;
  std::vector<std::string> remote_devices;    // serialized StepStats of other tasks
  std::vector<std::string> partition_graphs;  // serialized GraphDefs
  std::string cost_graph;                     // serialized CostGraphDef; filled if SessionOptions asks for it

  void ToProto(RunMetadata* metadata) const;
  // Reads the device statistics. Messages without nanosecond fields are read by their microsecond fields.
  static StepReport FromProto(const RunMetadata& metadata);
  // The trace as "Chrome trace" JSON, for Perfetto and browsers.
  std::string ToChromeTrace() const;
  // The start time of the first operation; 0 if there is none.
  int64_t Origin() const;
};

// The operation after which the most memory of the device was in use; null if that was not recorded.
const NodeStats* PeakMemory(const DeviceStats& device);

}  // namespace weir

#endif  // WEIR_RUNTIME_STEP_REPORT_H_
