#include "weir/runtime/step_report.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "weir/base/strings.h"
#include "weir/proto/config.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

// As TensorFlow calls them.
std::string AllocatorName(const std::string& device) {
  const size_t gpu = device.rfind("GPU:");
  return gpu == device.npos ? "cpu" : Cat("GPU_", device.substr(gpu + 4), "_bfc");
}

void Describe(const NodeStats& stats, const std::string& allocator, NodeExecStats* out) {
  out->set_node_name(stats.node);
  out->set_timeline_label(stats.label);
  out->set_scheduled_nanos(stats.scheduled_ns);
  out->set_scheduled_micros(stats.scheduled_ns / 1000);
  out->set_all_start_nanos(stats.start_ns);
  out->set_all_start_micros(stats.start_ns / 1000);
  out->set_op_start_rel_nanos(stats.op_start_rel_ns);
  out->set_op_start_rel_micros(stats.op_start_rel_ns / 1000);
  out->set_op_end_rel_nanos(stats.op_end_rel_ns);
  out->set_op_end_rel_micros(stats.op_end_rel_ns / 1000);
  out->set_all_end_rel_nanos(stats.all_end_rel_ns);
  out->set_all_end_rel_micros(stats.all_end_rel_ns / 1000);
  out->set_thread_id(stats.thread_id);
  if (stats.allocated_bytes > 0 || stats.device_bytes > 0) {
    AllocatorMemoryUsed* memory = out->add_memory();
    memory->set_allocator_name(allocator);
    memory->set_allocator_bytes_in_use(stats.device_bytes);
    memory->set_total_bytes(stats.allocated_bytes);
    memory->set_peak_bytes(stats.allocated_bytes);
    memory->set_live_bytes(stats.allocated_bytes);
  }
  for (const TensorStats& tensor : stats.outputs) {
    NodeOutput* output = out->add_output();
    output->set_slot(tensor.slot);
    TensorDescription* description = output->mutable_tensor_description();
    description->set_dtype(static_cast<DataType>(tensor.dtype));
    ToProto(tensor.shape, description->mutable_shape());
    AllocationDescription* allocation = description->mutable_allocation_description();
    allocation->set_requested_bytes(tensor.requested_bytes);
    allocation->set_allocated_bytes(tensor.allocated_bytes);
    allocation->set_allocator_name(allocator);
    allocation->set_ptr(tensor.address);
  }
}

// JSON wants its own escapes.
std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20) {
      out += absl::StrFormat("\\u%04x", c);
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + "\"";
}

}  // namespace

void StepReport::ToProto(RunMetadata* metadata) const {
  for (const DeviceStats& device : devices) {
    DeviceStepStats* out = metadata->mutable_step_stats()->add_dev_stats();
    out->set_device(device.device);
    const std::string allocator = AllocatorName(device.device);
    for (const NodeStats& node : device.nodes) Describe(node, allocator, out->add_node_stats());
    for (const auto& [id, name] : device.thread_names) (*out->mutable_thread_names())[id] = name;
  }
  for (const std::string& stats : remote_devices) metadata->mutable_step_stats()->MergeFromString(stats);
  for (const std::string& graph : partition_graphs) metadata->add_partition_graphs()->ParseFromString(graph);
  if (!cost_graph.empty()) metadata->mutable_cost_graph()->ParseFromString(cost_graph);
}

StepReport StepReport::FromProto(const RunMetadata& metadata) {
  StepReport report;
  for (const DeviceStepStats& device : metadata.step_stats().dev_stats()) {
    DeviceStats& out = report.devices.emplace_back();
    out.device = device.device();
    for (const auto& [id, name] : device.thread_names()) out.thread_names[id] = name;
    for (const NodeExecStats& node : device.node_stats()) {
      auto nanos = [](int64_t ns, int64_t us) { return ns != 0 ? ns : us > INT64_MAX / 1000 ? INT64_MAX : us * 1000; };
      NodeStats& stats = out.nodes.emplace_back();
      stats.node = node.node_name();
      stats.label = node.timeline_label();
      stats.scheduled_ns = nanos(node.scheduled_nanos(), node.scheduled_micros());
      stats.start_ns = nanos(node.all_start_nanos(), node.all_start_micros());
      stats.op_start_rel_ns = nanos(node.op_start_rel_nanos(), node.op_start_rel_micros());
      stats.op_end_rel_ns = nanos(node.op_end_rel_nanos(), node.op_end_rel_micros());
      stats.all_end_rel_ns = nanos(node.all_end_rel_nanos(), node.all_end_rel_micros());
      stats.thread_id = node.thread_id();
      for (const AllocatorMemoryUsed& memory : node.memory()) {
        stats.allocated_bytes += memory.total_bytes();
        if (memory.allocator_name() != "cpu") stats.device_bytes = memory.allocator_bytes_in_use();
      }
      for (const NodeOutput& output : node.output()) {
        const TensorDescription& tensor = output.tensor_description();
        StatusOr<Shape> shape = ShapeFromProto(tensor.shape());
        if (!shape.ok() || !IsValidDType(tensor.dtype())) continue;
        const AllocationDescription& memory = tensor.allocation_description();
        stats.outputs.push_back({output.slot(), static_cast<DType>(tensor.dtype()), *std::move(shape),
                                 memory.requested_bytes(), memory.allocated_bytes(), memory.ptr()});
      }
    }
  }
  return report;
}

const NodeStats* PeakMemory(const DeviceStats& device) {
  const NodeStats* peak = nullptr;
  for (const NodeStats& node : device.nodes) {
    if (node.device_bytes > (peak == nullptr ? 0 : peak->device_bytes)) peak = &node;
  }
  return peak;
}

int64_t StepReport::Origin() const {
  int64_t origin = INT64_MAX;
  for (const DeviceStats& device : devices) {
    for (const NodeStats& node : device.nodes) origin = std::min(origin, node.start_ns);
  }
  return origin == INT64_MAX ? 0 : origin;
}

std::string StepReport::ToChromeTrace() const {
  std::string out = "{\"traceEvents\":[\n";
  bool first = true;
  auto add = [&](const std::string& event) {
    out += Cat(first ? "" : ",\n", event);
    first = false;
  };
  const int64_t origin = Origin();
  for (size_t pid = 0; pid < devices.size(); ++pid) {
    add(Cat("{\"ph\":\"M\",\"pid\":", pid,
            ",\"name\":\"process_name\",\"args\":{\"name\":", Quoted(devices[pid].device), "}}"));
    for (const auto& [thread, name] : devices[pid].thread_names) {
      add(Cat("{\"ph\":\"M\",\"pid\":", pid, ",\"tid\":", thread,
              ",\"name\":\"thread_name\",\"args\":{\"name\":", Quoted(name), "}}"));
    }
    for (const NodeStats& node : devices[pid].nodes) {
      const size_t equals = node.label.find(" = ");
      std::string op = equals == node.label.npos ? node.label : node.label.substr(equals + 3);
      if (op.empty()) op = node.node;
      add(absl::StrFormat(
          "{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":%s,\"args\":{\"node\":%s}}", pid,
          node.thread_id, (node.start_ns - origin) / 1e3, node.op_end_rel_ns / 1e3, Quoted(op.substr(0, op.find('('))),
          Quoted(node.node)));
      if (node.device_bytes > 0) {
        add(absl::StrFormat("{\"ph\":\"C\",\"pid\":%d,\"ts\":%.3f,\"name\":\"memory in use\",\"args\":{\"bytes\":%d}}",
                            pid, (node.start_ns + node.op_end_rel_ns - origin) / 1e3, node.device_bytes));
      }
    }
  }
  return out + "\n]}\n";
}

}  // namespace weir
