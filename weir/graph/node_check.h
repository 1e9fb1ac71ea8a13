// Checks of a single node, shared by everything that creates nodes: Graph::AddNode, the importer, function bodies.
// Errors are TensorFlow's and name the node.
#ifndef WEIR_GRAPH_NODE_CHECK_H_
#define WEIR_GRAPH_NODE_CHECK_H_

#include <string_view>

#include "weir/graph/graph.h"

namespace weir {

// Letters, digits and "_./>-", not starting with one of "_/>-"; with `internal`, everything except blanks, ':' and '^'.
bool IsValidNodeName(std::string_view name, bool internal);

// Checks the attributes against node.schema and adds missing defaults. Keeps attributes that the schema does not know,
// because a newer producer may have written them.
Status CompleteAttrs(Node& node);
// The types of node.schema with node.attrs.
StatusOr<ArgTypes> ResolveTypes(const Node& node);
// Checks that output `index` of `producer` exists and fits input `input` of `node`.
Status CheckInput(const Node& node, int input, const Node& producer, int index);
Status WrongInputCount(const Node& node, size_t count);
// UNIMPLEMENTED if graphs of this version may no longer use the op.
Status CheckDeprecation(const OpSchema& schema, int producer_version);

}  // namespace weir

#endif  // WEIR_GRAPH_NODE_CHECK_H_
