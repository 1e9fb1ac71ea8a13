#include "weir/io/object_graph.h"

#include <deque>
#include <set>
#include <vector>

#include "weir/io/object_graph_internal.h"

namespace weir {
namespace {

constexpr std::string_view kGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH";
constexpr std::string_view kValueSuffix = "/.ATTRIBUTES/VARIABLE_VALUE";

std::string Below(const std::string& path, const std::string& name) {
  return path.empty() ? name : Cat(path, "/", name);
}

// A shortest path from the root to every node; empty for the root, and for what cannot be reached.
std::vector<std::string> Paths(const TrackableObjectGraph& graph) {
  std::vector<std::string> out(graph.nodes_size());
  std::vector<bool> seen(graph.nodes_size());
  std::deque<int> next;
  if (graph.nodes_size() > 0) {
    next.push_back(0);
    seen[0] = true;
  }
  for (; !next.empty(); next.pop_front()) {
    for (const auto& child : graph.nodes(next.front()).children()) {
      const int id = child.node_id();
      if (id < 0 || id >= graph.nodes_size() || seen[id]) continue;
      seen[id] = true;
      out[id] = Below(out[next.front()], child.local_name());
      next.push_back(id);
    }
  }
  return out;
}

// Keys by names. Layers of one kind often have variables of one name: that tells nothing.
class Names {
 public:
  void Add(const std::string& name, const std::string& key) {
    if (!name.empty()) keys_[name].insert(key);
  }
  void MoveTo(std::map<std::string, std::string>& out) const {
    for (const auto& [name, keys] : keys_) {
      if (keys.size() == 1) out.emplace(name, *keys.begin());
    }
  }

 private:
  std::map<std::string, std::set<std::string>> keys_;
};

}  // namespace

StatusOr<TrackableObjectGraph> ReadObjectGraph(const CheckpointReader& reader) {
  TrackableObjectGraph graph;
  if (!reader.tensors().contains(kGraphKey)) return graph;
  WEIR_ASSIGN_OR_RETURN(Tensor bytes, reader.Read(kGraphKey));
  if (bytes.dtype() != DType::kString || bytes.num_elements() != 1 ||
      !graph.ParseFromString(bytes.data<std::string>()[0])) {
    return DataLoss("the object graph of the checkpoint cannot be read");
  }
  return graph;
}

StatusOr<std::map<std::string, std::string>> ObjectGraphKeys(const CheckpointReader& reader) {
  std::map<std::string, std::string> keys;
  WEIR_ASSIGN_OR_RETURN(const TrackableObjectGraph graph, ReadObjectGraph(reader));
  const std::vector<std::string> paths = Paths(graph);
  Names names, short_names;
  for (int i = 0; i < graph.nodes_size(); ++i) {
    for (const auto& attribute : graph.nodes(i).attributes()) {
      const std::string& key = attribute.checkpoint_key();
      if (attribute.name() != kVariableValue || !reader.tensors().contains(key)) continue;
      if (key.ends_with(kValueSuffix)) keys.emplace(key.substr(0, key.size() - kValueSuffix.size()), key);
      const std::string& name = attribute.full_name();
      names.Add(name, key);
      const size_t slash = name.find('/');
      if (slash != name.npos) short_names.Add(name.substr(slash + 1), key);
    }
  }
  // One object may be reached through several others; TensorFlow's key is only one of the ways.
  for (int i = 0; i < graph.nodes_size(); ++i) {
    for (const auto& child : graph.nodes(i).children()) {
      if (child.node_id() < 0 || child.node_id() >= graph.nodes_size() || (i > 0 && paths[i].empty())) continue;
      for (const auto& attribute : graph.nodes(child.node_id()).attributes()) {
        if (attribute.name() != kVariableValue || !reader.tensors().contains(attribute.checkpoint_key())) continue;
        keys.emplace(Below(paths[i], child.local_name()), attribute.checkpoint_key());
      }
    }
  }
  names.MoveTo(keys);
  short_names.MoveTo(keys);
  return keys;
}

}  // namespace weir
