// StepReport: what a traced step tells of itself (RunMetadata as C++ values).
#ifndef WEIR_RUNTIME_STEP_REPORT_H_
#define WEIR_RUNTIME_STEP_REPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weir/tensor/tensor.h"

namespace weir {

class RunMetadata;  // wire format

struct TensorStats {
  int slot = 0;
  DType dtype = DType::kInvalid;
  Shape shape;
  int64_t requested_bytes = 0;
  int64_t allocated_bytes = 0;
  uint64_t address = 0;
};

// Times are nanoseconds of the wall clock (start) and relative to the start (the rest).
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
  int64_t allocated_bytes = 0;  // of outputs whose memory is nobody else's
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
  // The devices of one that anybody wrote; where it has no nanoseconds, microseconds are taken.
  static StepReport FromProto(const RunMetadata& metadata);
  // The "Chrome trace" JSON that browsers and Perfetto show.
  std::string ToChromeTrace() const;
  // The start of the first operation; 0 without any.
  int64_t Origin() const;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_STEP_REPORT_H_
