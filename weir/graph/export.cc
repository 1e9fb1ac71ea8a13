// The export half of import.h.
#include "google/protobuf/arena.h"
#include "weir/framework/attr_proto.h"
#include "weir/graph/function_library.h"
#include "weir/graph/import.h"
#include "weir/proto/graph.pb.h"

namespace weir {

Status ExportNode(const Graph& graph, const Node& node, NodeDef* def, bool strip_defaults) {
  def->set_name(node.name);
  def->set_op(node.op());
  for (Endpoint input : node.inputs) {
    const std::string& producer = graph.node(input.node)->name;
    def->add_input(input.index == 0 ? producer : Cat(producer, ":", input.index));
  }
  for (NodeId input : node.control_inputs) def->add_input(Cat("^", graph.node(input)->name));
  def->set_device(node.assigned_device.empty() ? node.requested_device : node.assigned_device);
  for (const auto& [name, value] : node.attrs) {
    if (strip_defaults) {
      const AttrSchema* attr = node.schema->FindAttr(name);
      if (attr != nullptr && attr->default_value && *attr->default_value == value) continue;
    }
    if (Status status = ToProto(value, &(*def->mutable_attr())[name]); !status.ok()) {
      return Annotate(status, "", Cat("\n\t [[{{node ", node.name, "}}]]"));
    }
  }
  return OkStatus();
}

Status ExportGraphDef(const Graph& graph, GraphDef* def, bool strip_defaults) {
  def->Clear();
  def->mutable_node()->Reserve(graph.num_nodes());
  for (const auto& node : graph.nodes()) {
    if (node) WEIR_RETURN_IF_ERROR(ExportNode(graph, *node, def->add_node(), strip_defaults));
  }
  ExportLibrary(graph, def);
  return OkStatus();
}

void ExportLibrary(const Graph& graph, GraphDef* def) {
  VersionDef* versions = def->mutable_versions();
  versions->set_producer(graph.versions().producer);
  versions->set_min_consumer(graph.versions().min_consumer);
  for (int bad : graph.versions().bad_consumers) versions->add_bad_consumers(bad);
  if (!graph.functions()->Names().empty()) graph.functions()->ToProto(def->mutable_library());
}

StatusOr<std::string> ExportGraphDefBytes(const Graph& graph) {
  google::protobuf::Arena arena;
  auto* def = google::protobuf::Arena::CreateMessage<GraphDef>(&arena);
  WEIR_RETURN_IF_ERROR(ExportGraphDef(graph, def));
  std::string bytes;
  if (!def->SerializeToString(&bytes)) return InvalidArgument("The graph is too large for a GraphDef");
  return bytes;
}

}  // namespace weir
