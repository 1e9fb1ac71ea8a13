#include "weir/cli/graph_svg.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "weir/cli/graph_layout.h"
#include "weir/graph/graph.h"
#include "weir/proto/graph.pb.h"

namespace weir {
namespace {

constexpr size_t kMaxLabel = 30;

// The end of a long name tells the most.
std::string Label(const std::string& name) {
  if (name.size() <= kMaxLabel) return name;
  size_t slash = name.find('/', name.size() - kMaxLabel);
  return Cat("…", slash == name.npos ? name.substr(name.size() - kMaxLabel) : name.substr(slash));
}

std::string_view Colour(const std::string& op) {
  if (op == "Const") return "#eeeeee";
  if (op.starts_with("Placeholder") || op == "_Arg") return "#d5f0d5";
  if (op.starts_with("Var") || op == "ReadVariableOp" || op.starts_with("Assign")) return "#ffe4c4";
  for (const char* word : {"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "While", "If", "Case"}) {
    if (op.find(word) != op.npos && !op.starts_with("Assign")) return "#e6dcf5";
  }
  return "#dcebfa";
}

struct Drawn {
  std::string from;  // as the consumer names it
  bool control = false;
};

std::string EdgePath(const LayoutEdge& edge, double right) {
  auto [x, y] = edge.points.front();
  std::string out = absl::StrFormat("M%.1f %.1f", x, y);
  if (edge.back) {
    auto [to_x, to_y] = edge.points.back();
    double out_x = std::min(right, std::max(x, to_x) + 120);
    return out + absl::StrFormat("C%.1f %.1f %.1f %.1f %.1f %.1f", out_x, y - 20, out_x, to_y + 20, to_x, to_y);
  }
  for (size_t i = 1; i < edge.points.size(); ++i) {
    auto [next_x, next_y] = edge.points[i];
    double middle = (y + next_y) / 2;
    out += absl::StrFormat("C%.1f %.1f %.1f %.1f %.1f %.1f", x, middle, next_x, middle, next_x, next_y);
    x = next_x;
    y = next_y;
  }
  return out;
}

constexpr char kHead[] =
    R"(<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">
<style>rect{stroke:#555;rx:5} text{font:11px sans-serif;text-anchor:middle} .op{font-size:9px;fill:#555}
path{fill:none;stroke:#555;marker-end:url(#arrow)} .control{stroke-dasharray:4 3;stroke:#999} .back{stroke:#b03060}</style>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0L8 4L0 8z" style="fill:#555;stroke:none;marker-end:none"/></marker></defs>
<rect width="100%%" height="100%%" style="fill:white;stroke:none"/>
)";

}  // namespace

std::string EscapedForSvg(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

StatusOr<std::string> GraphToSvg(const GraphDef& graph) {
  if (graph.node_size() > kMaxDrawnNodes) {
    return InvalidArgument("the graph has ", graph.node_size(), " nodes; a drawing takes at most ", kMaxDrawnNodes,
                           ": show it as text instead");
  }
  StringMap<int> ids;
  GraphLayout layout;
  for (const NodeDef& node : graph.node()) {
    ids.emplace(node.name(), static_cast<int>(ids.size()));
    size_t letters = std::max(Label(node.name()).size(), node.op().size());
    layout.widths.push_back(24 + 6.3 * static_cast<double>(letters));
  }
  if (ids.size() != layout.widths.size()) return InvalidArgument("two nodes of the graph have one name");
  std::vector<Drawn> drawn;
  for (int to = 0; to < graph.node_size(); ++to) {
    for (const std::string& input : graph.node(to).input()) {
      std::optional<TensorId> id = ParseTensorName(input);
      auto from = id.has_value() ? ids.find(id->node) : ids.end();
      if (from == ids.end())
        return InvalidArgument("node '", graph.node(to).name(), "' has an unknown input '", input, "'");
      bool back = graph.node(from->second).op().ends_with("NextIteration") && !input.starts_with('^');
      layout.edges.push_back({from->second, to, back, {}});
      drawn.push_back({input, input.starts_with('^')});
    }
  }
  layout.Arrange();

  double width = layout.width;
  for (const LayoutEdge& edge : layout.edges) {
    if (edge.back) width = layout.width + 100;
  }
  std::string out = absl::StrFormat(kHead, width, layout.height, width, layout.height);
  for (size_t e = 0; e < layout.edges.size(); ++e) {
    const LayoutEdge& edge = layout.edges[e];
    std::string kind = drawn[e].control ? "control" : "";
    if (edge.back) kind += kind.empty() ? "back" : " back";
    out += Cat("<path", kind.empty() ? "" : Cat(" class=\"", kind, "\""), " d=\"", EdgePath(edge, width), "\"><title>",
               EscapedForSvg(drawn[e].from), " → ", EscapedForSvg(graph.node(edge.to).name()), "</title></path>\n");
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    const NodeDef& node = graph.node(i);
    auto [x, y] = layout.centres[i];
    out += absl::StrFormat("<g><title>%s = %s%s</title>", EscapedForSvg(node.name()), EscapedForSvg(node.op()),
                           node.device().empty() ? "" : " on " + EscapedForSvg(node.device()));
    out += absl::StrFormat("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>",
                           x - layout.widths[i] / 2, y - GraphLayout::kBoxHeight / 2, layout.widths[i],
                           GraphLayout::kBoxHeight, ToAbsl(Colour(node.op())));
    out +=
        absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\">%s</text><text class=\"op\" x=\"%.1f\" y=\"%.1f\">%s</text></g>\n",
                        x, y - 2, EscapedForSvg(Label(node.name())), x, y + 11, EscapedForSvg(node.op()));
  }
  return out + "</svg>\n";
}

}  // namespace weir
