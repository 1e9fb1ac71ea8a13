// Computes the positions of boxes and lines for a layered drawing of a graph.
#ifndef WEIR_CLI_GRAPH_LAYOUT_H_
#define WEIR_CLI_GRAPH_LAYOUT_H_

#include <utility>
#include <vector>

namespace weir {

struct LayoutEdge {
  int from = 0;
  int to = 0;
  // True if the edge should point backwards; the layout also sets it for edges that it reverses to break a cycle.
  bool back = false;
  // Output: the path from box to box, top to bottom; for backward edges only their ends.
  std::vector<std::pair<double, double>> points;
};

struct GraphLayout {
  // Input: the width of each box (all have the same height), and the edges.
  std::vector<double> widths;
  std::vector<LayoutEdge> edges;
  // Output: the centre of each box, and the total size.
  std::vector<std::pair<double, double>> centres;
  double width = 0;
  double height = 0;

  static constexpr double kBoxHeight = 34;
  static constexpr double kLayerGap = 46;
  static constexpr double kBoxGap = 18;
  static constexpr double kMargin = 20;

  void Arrange();
};

}  // namespace weir

#endif  // WEIR_CLI_GRAPH_LAYOUT_H_
