#include "weir/cli/timeline_svg.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_format.h"
#include "weir/cli/graph_svg.h"

namespace weir {
namespace {

constexpr double kLeft = 20, kWidth = 1160, kLane = 20, kTitle = 26, kAxis = 30;
constexpr double kThinnest = 0.4;

// The op of "name = Op(inputs)", or the node's name.
std::string OpOf(const NodeStats& node) {
  size_t begin = node.label.find(" = ");
  if (begin == node.label.npos) return node.node;
  begin += 3;
  return node.label.substr(begin, node.label.find('(', begin) - begin);
}

// The same op has the same colour everywhere.
std::string ColourOf(const std::string& op) {
  uint32_t hash = 2166136261u;
  for (unsigned char c : op) hash = (hash ^ c) * 16777619u;
  return absl::StrFormat("hsl(%d,55%%,%d%%)", hash % 360, 62 + static_cast<int>(hash / 360 % 18));
}

// The time on the axis, in the unit that suits it.
std::string Time(double ns) {
  if (ns >= 1e9) return absl::StrFormat("%.3g s", ns / 1e9);
  if (ns >= 1e6) return absl::StrFormat("%.3g ms", ns / 1e6);
  return absl::StrFormat("%.3g us", ns / 1e3);
}

class Drawing {
 public:
  explicit Drawing(const StepReport& report) : report_(report), origin_(report.Origin()) {
    for (const DeviceStats& device : report.devices) {
      for (const NodeStats& node : device.nodes) {
        length_ = std::max(length_, static_cast<double>(node.start_ns - origin_) + Duration(node));
      }
    }
  }

  std::string Draw() {
    for (const DeviceStats& device : report_.devices) DrawDevice(device);
    const double bottom = y_ + kAxis;
    for (int i = 0; i <= 10; ++i) {
      const double x = kLeft + kWidth * i / 10;
      body_ += absl::StrFormat("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x, 0.0, x, y_);
      body_ +=
          absl::StrFormat("<text class=\"t\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x, y_ + 16, Time(length_ * i / 10));
    }
    return absl::StrFormat(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n"
               "<style>text{font:11px sans-serif} .d{font-weight:bold;font-size:13px} .t{text-anchor:middle;fill:#555} "
               "line{stroke:#ddd} rect{stroke:#fff;stroke-width:.3}</style>\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
               kWidth + 2 * kLeft, bottom, kWidth + 2 * kLeft, bottom) +
           body_ + "</svg>\n";
  }

 private:
  static double Duration(const NodeStats& node) {
    return static_cast<double>(std::max<int64_t>({0, node.op_end_rel_ns, node.all_end_rel_ns}));
  }

  void DrawDevice(const DeviceStats& device) {
    y_ += kTitle;
    body_ += absl::StrFormat("<text class=\"d\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", kLeft, y_ - 8,
                             EscapedForSvg(Cat(device.device, ", ", device.nodes.size(), " operations")));
    std::map<uint32_t, std::vector<const NodeStats*>> lanes;
    for (const NodeStats& node : device.nodes) lanes[node.thread_id].push_back(&node);
    for (auto& [thread, nodes] : lanes) {
      std::ranges::sort(nodes, {}, [](const NodeStats* node) { return node->start_ns; });
      DrawLane(nodes);
      y_ += kLane;
    }
  }

  void DrawLane(const std::vector<const NodeStats*>& nodes) {
    for (size_t i = 0; i < nodes.size();) {
      const double begin = X(*nodes[i]);
      double end = begin + Width(*nodes[i]);
      size_t next = i + 1;
      while (end - begin < kThinnest && next < nodes.size() && X(*nodes[next]) - begin < kThinnest) {
        end = std::max(end, X(*nodes[next]) + Width(*nodes[next]));
        ++next;
      }
      const std::string op = OpOf(*nodes[i]);
      const std::string what = next == i + 1
                                   ? Cat(nodes[i]->node, " (", op, "): ", Time(Duration(*nodes[i])))
                                   : Cat(next - i, " operations from ", nodes[i]->node, " to ", nodes[next - 1]->node);
      body_ += absl::StrFormat(
          "<g><title>%s</title><rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\"/>",
          EscapedForSvg(what), begin, y_, std::max(kThinnest, end - begin), kLane - 2, ColourOf(op));
      if (end - begin > 7.0 * static_cast<double>(op.size())) {
        body_ += absl::StrFormat("<text x=\"%.2f\" y=\"%.1f\">%s</text>", begin + 2, y_ + kLane - 7, EscapedForSvg(op));
      }
      body_ += "</g>\n";
      i = next;
    }
  }

  double X(const NodeStats& node) const {
    return kLeft + (length_ > 0 ? kWidth * static_cast<double>(node.start_ns - origin_) / length_ : 0);
  }
  double Width(const NodeStats& node) const { return length_ > 0 ? kWidth * Duration(node) / length_ : 0; }

  const StepReport& report_;
  const int64_t origin_;
  double length_ = 0;
  double y_ = 0;
  std::string body_;
};

}  // namespace

std::string TimelineToSvg(const StepReport& report) { return Drawing(report).Draw(); }

}  // namespace weir
