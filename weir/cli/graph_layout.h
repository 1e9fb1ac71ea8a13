// Places of boxes and lines for a drawing of a graph in layers.
#ifndef WEIR_CLI_GRAPH_LAYOUT_H_
#define WEIR_CLI_GRAPH_LAYOUT_H_

#include <utility>
#include <vector>

namespace weir {

struct LayoutEdge {
  int from = 0;
  int to = 0;
  // True if the edge is to go back; the layout adds those that it must turn to open a cycle.
  bool back = false;
  // Found: the way from box to box, top to bottom; of an edge that goes back only its ends.
  std::vector<std::pair<double, double>> points;
};

struct GraphLayout {
  // Given: width of each box, all of one height, and the edges.
  std::vector<double> widths;
  std::vector<LayoutEdge> edges;
  // Found: centre of each box, and the size of all.
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
