#include "weir/passes/cost_model.h"

#include "weir/passes/op_work.h"

namespace weir {
namespace {

// Defaults if nothing was measured: memory bandwidth within a process, a network between tasks.
constexpr LinkCost kWithinTask = {2'000, 0.1};
constexpr LinkCost kBetweenTasks = {100'000, 1};

Shape Completed(const PartialShape& shape) {
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  for (int64_t& dim : dims) {
    if (dim < 0) dim = CostModel::kAssumedDimension;
  }
  StatusOr<Shape> whole = Shape::Make(dims);
  return whole.ok() ? *std::move(whole) : Shape();  // too large to exist: useless as an estimate
}

std::vector<Shape> Completed(std::span<const PartialShape> shapes) {
  std::vector<Shape> out;
  for (const PartialShape& shape : shapes) out.push_back(Completed(shape));
  return out;
}

std::string TypedShapes(const std::vector<DType>& types, std::span<const PartialShape> shapes) {
  std::string out;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::string shape = shapes[i].has_rank() ? shapes[i].ToString() : "[...]";
    out += Cat(i > 0 ? ";" : "", Name(BaseType(types[i])), shape);
  }
  return out;
}

}  // namespace

DeviceSpeed SpeedOf(std::string_view device_type) {
  if (device_type == "GPU") return {.flops_per_ns = 5000, .bytes_per_ns = 500, .start_ns = 5000};
  return {};
}

std::string NodeSignature(const Node& node, std::span<const PartialShape> inputs,
                          std::span<const PartialShape> outputs) {
  return Cat(TypedShapes(node.types->inputs, inputs), "->", TypedShapes(node.types->outputs, outputs));
}

CostModel::CostModel(const Graph& graph, std::shared_ptr<const CostTable> measured)
    : graph_(graph), measured_(std::move(measured)), shapes_(graph.num_node_ids()) {
  StatusOr<InferredShapes> inferred = InferShapes(graph);
  for (const auto& node : graph.nodes()) {
    if (!node) continue;
    for (int i = 0; i < node->num_outputs(); ++i) {
      PartialShape& shape = shapes_[node->id].emplace_back();
      if (inferred.ok()) shape = inferred->of({node->id, i}).shape;
      if (shape.IsFullyDefined() || measured_ == nullptr) continue;
      const Shape* seen = measured_->FindShape(graph.TensorName({node->id, i}));
      if (seen != nullptr && shape.IsCompatibleWith(*seen)) shape = *seen;
    }
  }
}

std::vector<PartialShape> CostModel::InputShapes(const Node& node) const {
  std::vector<PartialShape> out;
  for (Endpoint input : node.inputs) out.push_back(ShapeOf(input));
  return out;
}

double CostModel::Time(const Node& node, const std::string& device) const {
  const std::vector<PartialShape> inputs = InputShapes(node);
  const std::vector<PartialShape>& outputs = shapes_[node.id];
  const OpWork work = EstimateWork(node, Completed(inputs), Completed(outputs));
  if (work.is_free) return 0;
  if (measured_ != nullptr) {
    std::optional<double> time = measured_->Time(device, node.op(), NodeSignature(node, inputs, outputs));
    if (time) {
      ++num_measured_;
      return *time;
    }
  }
  ++num_estimated_;
  StatusOr<DeviceName> name = DeviceName::Parse(device);
  const DeviceSpeed speed = SpeedOf(name.ok() ? name->type : "");
  return speed.start_ns + std::max(work.flops / speed.flops_per_ns, work.bytes / speed.bytes_per_ns);
}

int64_t CostModel::Bytes(Endpoint tensor) const { return TensorBytes(graph_.type(tensor), Completed(ShapeOf(tensor))); }

LinkCost CostModel::Link(const std::string& from, const std::string& to) const {
  if (from == to) return {};
  StatusOr<DeviceName> a = DeviceName::Parse(from), b = DeviceName::Parse(to);
  if (!a.ok() || !b.ok()) return kBetweenTasks;
  std::optional<LinkCost> known = measured_ != nullptr ? measured_->FindLink(*a, *b) : std::nullopt;
  if (known) return *known;
  const bool same_task = a->job == b->job && a->replica == b->replica && a->task == b->task;
  return same_task ? kWithinTask : kBetweenTasks;
}

}  // namespace weir
