#include "weir/cli/graph_layout.h"

#include <algorithm>
#include <numeric>

namespace weir {
namespace {

// More virtual boxes than this make no drawing better.
constexpr int kMaxVirtual = 30'000;
constexpr double kVirtualWidth = 4;
constexpr int kSweeps = 8;

// Marks the edges that close a cycle of a depth-first walk, beside those that are known to go back.
void MarkBackEdges(int num_nodes, std::vector<LayoutEdge>& edges) {
  std::vector<std::vector<int>> out(num_nodes);
  for (int e = 0; e < static_cast<int>(edges.size()); ++e) out[edges[e].from].push_back(e);
  enum : char { kNew, kOpen, kDone };
  std::vector<char> state(num_nodes, kNew);
  std::vector<std::pair<int, size_t>> stack;
  for (int root = 0; root < num_nodes; ++root) {
    if (state[root] != kNew) continue;
    stack.assign(1, {root, 0});
    state[root] = kOpen;
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next == out[node].size()) {
        state[node] = kDone;
        stack.pop_back();
        continue;
      }
      LayoutEdge& edge = edges[out[node][next++]];
      if (edge.back) continue;
      if (state[edge.to] == kOpen) {
        edge.back = true;
      } else if (state[edge.to] == kNew) {
        state[edge.to] = kOpen;
        stack.emplace_back(edge.to, 0);
      }
    }
  }
}

// The longest way from a source; sources come down to just above their first consumer.
std::vector<int> FindLayers(int num_nodes, const std::vector<LayoutEdge>& edges) {
  std::vector<std::vector<int>> out(num_nodes);
  std::vector<int> pending(num_nodes, 0), layer(num_nodes, 0), ready;
  for (const LayoutEdge& edge : edges) {
    if (edge.back) continue;
    out[edge.from].push_back(edge.to);
    ++pending[edge.to];
  }
  std::vector<bool> source(num_nodes);
  for (int i = 0; i < num_nodes; ++i) {
    source[i] = pending[i] == 0;
    if (source[i]) ready.push_back(i);
  }
  while (!ready.empty()) {
    int node = ready.back();
    ready.pop_back();
    for (int to : out[node]) {
      layer[to] = std::max(layer[to], layer[node] + 1);
      if (--pending[to] == 0) ready.push_back(to);
    }
  }
  for (int i = 0; i < num_nodes; ++i) {
    if (!source[i] || out[i].empty()) continue;
    int first = layer[out[i][0]];
    for (int to : out[i]) first = std::min(first, layer[to]);
    layer[i] = first - 1;
  }
  return layer;
}

// Boxes, with virtual ones where an edge passes a layer.
struct Layered {
  std::vector<double> width, x;
  std::vector<int> layer;
  std::vector<std::vector<int>> up, down;  // neighbours in the layers above and below
  std::vector<std::vector<int>> rows;      // by layer, left to right

  int Add(int of_layer, double of_width) {
    width.push_back(of_width);
    layer.push_back(of_layer);
    up.emplace_back();
    down.emplace_back();
    return static_cast<int>(width.size()) - 1;
  }

  void Order() {
    std::vector<double> place(width.size());
    auto number = [&](const std::vector<int>& row) {
      for (size_t i = 0; i < row.size(); ++i) place[row[i]] = static_cast<double>(i);
    };
    for (const auto& row : rows) number(row);
    auto sort_row = [&](std::vector<int>& row, const std::vector<std::vector<int>>& neighbours) {
      std::vector<std::pair<double, int>> keyed;
      for (int box : row) {
        double sum = 0;
        for (int other : neighbours[box]) sum += place[other];
        keyed.emplace_back(neighbours[box].empty() ? place[box] : sum / static_cast<double>(neighbours[box].size()),
                           box);
      }
      std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t i = 0; i < row.size(); ++i) row[i] = keyed[i].second;
      number(row);
    };
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      if (sweep % 2 == 0) {
        for (auto& row : rows) sort_row(row, up);
      } else {
        for (auto row = rows.rbegin(); row != rows.rend(); ++row) sort_row(*row, down);
      }
    }
  }

  double Distance(int left, int right) const { return (width[left] + width[right]) / 2 + GraphLayout::kBoxGap; }

  // Boxes move towards their neighbours as far as the order and the gaps allow.
  void PlaceRow(const std::vector<int>& row, const std::vector<std::vector<int>>& neighbours) {
    size_t n = row.size();
    std::vector<double> wish(n), from_left(n), from_right(n);
    for (size_t i = 0; i < n; ++i) {
      const auto& near = neighbours[row[i]];
      double sum = 0;
      for (int other : near) sum += x[other];
      wish[i] = near.empty() ? x[row[i]] : sum / static_cast<double>(near.size());
    }
    for (size_t i = 0; i < n; ++i) {
      from_left[i] = i == 0 ? wish[i] : std::max(wish[i], from_left[i - 1] + Distance(row[i - 1], row[i]));
    }
    for (size_t i = n; i-- > 0;) {
      from_right[i] = i + 1 == n ? wish[i] : std::min(wish[i], from_right[i + 1] - Distance(row[i], row[i + 1]));
    }
    // Both keep the gaps, and so does their mean.
    for (size_t i = 0; i < n; ++i) x[row[i]] = (from_left[i] + from_right[i]) / 2;
  }

  void Place() {
    x.assign(width.size(), 0);
    for (const auto& row : rows) {
      double at = 0;
      for (size_t i = 0; i < row.size(); ++i) {
        if (i > 0) at += Distance(row[i - 1], row[i]);
        x[row[i]] = at;
      }
      for (int box : row) x[box] -= at / 2;
    }
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      if (sweep % 2 == 0) {
        for (const auto& row : rows) PlaceRow(row, up);
      } else {
        for (auto row = rows.rbegin(); row != rows.rend(); ++row) PlaceRow(*row, down);
      }
    }
  }
};

}  // namespace

void GraphLayout::Arrange() {
  int n = static_cast<int>(widths.size());
  MarkBackEdges(n, edges);
  std::vector<int> layers = FindLayers(n, edges);
  Layered boxes;
  for (int i = 0; i < n; ++i) boxes.Add(layers[i], widths[i]);
  std::vector<std::vector<int>> ways(edges.size());
  int64_t virtual_boxes = 0;
  for (size_t e = 0; e < edges.size(); ++e) {
    const LayoutEdge& edge = edges[e];
    if (edge.back) continue;
    int last = edge.from;
    for (int layer = layers[edge.from] + 1; layer < layers[edge.to] && virtual_boxes < kMaxVirtual; ++layer) {
      int box = boxes.Add(layer, kVirtualWidth);
      ++virtual_boxes;
      boxes.down[last].push_back(box);
      boxes.up[box].push_back(last);
      ways[e].push_back(last = box);
    }
    boxes.down[last].push_back(edge.to);
    boxes.up[edge.to].push_back(last);
  }
  int num_layers = n == 0 ? 0 : 1 + *std::max_element(layers.begin(), layers.end());
  boxes.rows.resize(num_layers);
  for (int i = 0; i < static_cast<int>(boxes.layer.size()); ++i) boxes.rows[boxes.layer[i]].push_back(i);
  boxes.Order();
  boxes.Place();

  double left = 0, right = 0;
  for (size_t i = 0; i < boxes.x.size(); ++i) {
    left = i == 0 ? boxes.x[i] - boxes.width[i] / 2 : std::min(left, boxes.x[i] - boxes.width[i] / 2);
    right = i == 0 ? boxes.x[i] + boxes.width[i] / 2 : std::max(right, boxes.x[i] + boxes.width[i] / 2);
  }
  auto centre = [&](int box) {
    return std::pair(boxes.x[box] - left + kMargin,
                     kMargin + kBoxHeight / 2 + boxes.layer[box] * (kBoxHeight + kLayerGap));
  };
  for (int i = 0; i < n; ++i) centres.push_back(centre(i));
  width = right - left + 2 * kMargin;
  height = 2 * kMargin + num_layers * (kBoxHeight + kLayerGap) - (num_layers > 0 ? kLayerGap : 0);
  for (size_t e = 0; e < edges.size(); ++e) {
    LayoutEdge& edge = edges[e];
    double half = edge.back ? -kBoxHeight / 2 : kBoxHeight / 2;
    edge.points.emplace_back(centres[edge.from].first, centres[edge.from].second + half);
    for (int box : ways[e]) edge.points.push_back(centre(box));
    edge.points.emplace_back(centres[edge.to].first, centres[edge.to].second - half);
  }
}

}  // namespace weir
