// Draws a graph in layers: producers above their consumers.
#ifndef WEIR_CLI_GRAPH_SVG_H_
#define WEIR_CLI_GRAPH_SVG_H_

#include <string>
#include <string_view>

#include "weir/base/status.h"

namespace weir {

class GraphDef;  // wire format

inline constexpr int kMaxDrawnNodes = 3000;

// Escapes text for SVG.
std::string EscapedForSvg(std::string_view text);

// INVALID_ARGUMENT for a graph with more than kMaxDrawnNodes nodes. Backward edges (loops) are drawn on the right side.
StatusOr<std::string> GraphToSvg(const GraphDef& graph);

}  // namespace weir

#endif  // WEIR_CLI_GRAPH_SVG_H_
