// Checks of one node, shared by all that make nodes: Graph::AddNode, the importer, function bodies. Errors are
// TensorFlow's and name the node.
#ifndef WEIR_GRAPH_NODE_CHECK_H_
#define WEIR_GRAPH_NODE_CHECK_H_

#include <string_view>

#include "weir/graph/graph.h"

namespace weir {

// Letters, digits and "_./>-", not beginning with one of "_/>-"; if `internal` all but blanks, ':' and '^'.
bool IsValidNodeName(std::string_view name, bool internal);

// Checks the attributes against node.schema and adds the missing defaults. Attributes that the schema does not know are
// kept: a newer producer may have written them.
Status CompleteAttrs(Node& node);
// The types of node.schema under node.attrs.
StatusOr<ArgTypes> ResolveTypes(const Node& node);
// Output `index` of `producer` as input `input` of `node`: it must exist and fit.
Status CheckInput(const Node& node, int input, const Node& producer, int index);
Status WrongInputCount(const Node& node, size_t count);
// UNIMPLEMENTED if graphs of this version may no longer use the op.
Status CheckDeprecation(const OpSchema& schema, int producer_version);

}  // namespace weir

#endif  // WEIR_GRAPH_NODE_CHECK_H_
