// GraphDef in and out.
#ifndef WEIR_GRAPH_IMPORT_H_
#define WEIR_GRAPH_IMPORT_H_

#include <string>
#include <string_view>

#include "weir/base/export.h"
#include "weir/graph/graph.h"

namespace WEIR_PUBLIC weir {

class GraphDef;  // wire format
class NodeDef;

struct ImportLimits {
  int64_t max_nodes = 50'000'000;
  int max_depth = 200;                // of nested lists, functions and variants
  bool allow_internal_names = false;  // names that no client may give, as partitions of a graph have
};

// Adds a GraphDef to a graph; nodes may name each other in any order, and may name nodes the graph already has (a
// session that is extended). On an error nothing is added. Checks: version range, names, duplicate names, known ops and
// attributes, inputs that exist and fit, no cycle but loops. Errors name the node: "Node 'x': Unknown input node
// 'nope'". Attributes that the op does not know are kept and ignored.
Status ImportGraphDef(const GraphDef& def, Graph* graph, const ImportLimits& limits = {});
// Adds another graph as if it came in a GraphDef, except that large constants are shared, not copied.
Status ImportGraph(const Graph& from, Graph* graph, const ImportLimits& limits = {});
// The bytes of a GraphDef, or its text format.
Status ImportGraphDefBytes(std::string_view bytes, Graph* graph, const ImportLimits& limits = {});
// `strip_defaults` leaves out attributes that equal the schema's default.
Status ExportGraphDef(const Graph& graph, GraphDef* def, bool strip_defaults = false);
// Versions and functions without nodes.
void ExportLibrary(const Graph& graph, GraphDef* def);
StatusOr<std::string> ExportGraphDefBytes(const Graph& graph);
Status ExportNode(const Graph& graph, const Node& node, NodeDef* def, bool strip_defaults = false);

}  // namespace weir

#endif  // WEIR_GRAPH_IMPORT_H_
