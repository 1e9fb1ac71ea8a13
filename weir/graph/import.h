// Imports and exports GraphDefs.
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
  int max_depth = 200;                // nesting of lists, functions and variants
  bool allow_internal_names = false;  // allow names that clients may not use, as in partitions of graphs
};

// Adds a GraphDef to a graph. Nodes may refer to each other in any order, and to nodes that the graph already has (for
// sessions that are extended). On an error nothing is added. Checks versions, names, duplicates, that ops and
// attributes are known, that inputs exist and fit, and that there are no cycles except loops. Errors name the node:
// "Node 'x': Unknown input node 'nope'". Attributes that the op does not know are kept and ignored.
Status ImportGraphDef(const GraphDef& def, Graph* graph, const ImportLimits& limits = {});
// Adds another graph as if it were a GraphDef, except that large constants are shared instead of copied.
Status ImportGraph(const Graph& from, Graph* graph, const ImportLimits& limits = {});
// Imports the bytes or the text format of a GraphDef.
Status ImportGraphDefBytes(std::string_view bytes, Graph* graph, const ImportLimits& limits = {});
// `strip_defaults` omits attributes that have the schema's default value.
Status ExportGraphDef(const Graph& graph, GraphDef* def, bool strip_defaults = false);
// Exports versions and functions, without nodes.
void ExportLibrary(const Graph& graph, GraphDef* def);
StatusOr<std::string> ExportGraphDefBytes(const Graph& graph);
Status ExportNode(const Graph& graph, const Node& node, NodeDef* def, bool strip_defaults = false);

}  // namespace weir

#endif  // WEIR_GRAPH_IMPORT_H_
