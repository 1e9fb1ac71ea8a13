#include "weir/io/object_graph.h"

#include "weir/proto/checkpoint.pb.h"

namespace weir {
namespace {

constexpr std::string_view kGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH";
constexpr std::string_view kValue = "VARIABLE_VALUE";
constexpr std::string_view kValueSuffix = "/.ATTRIBUTES/VARIABLE_VALUE";

}  // namespace

StatusOr<std::map<std::string, std::string>> ObjectGraphKeys(const CheckpointReader& reader) {
  std::map<std::string, std::string> keys;
  if (!reader.tensors().contains(kGraphKey)) return keys;
  WEIR_ASSIGN_OR_RETURN(Tensor bytes, reader.Read(kGraphKey));
  TrackableObjectGraph graph;
  if (bytes.dtype() != DType::kString || bytes.num_elements() != 1 ||
      !graph.ParseFromString(bytes.data<std::string>()[0])) {
    return DataLoss("the object graph of the checkpoint cannot be read");
  }
  std::map<std::string, int> uses;
  for (const auto& node : graph.nodes()) {
    for (const auto& attribute : node.attributes()) {
      if (attribute.name() != kValue || !reader.tensors().contains(attribute.checkpoint_key())) continue;
      const std::string& key = attribute.checkpoint_key();
      if (key.ends_with(kValueSuffix)) keys[key.substr(0, key.size() - kValueSuffix.size())] = key;
      if (!attribute.full_name().empty() && ++uses[attribute.full_name()] == 1) keys[attribute.full_name()] = key;
    }
  }
  // Layers of one kind often have variables of one name: that tells nothing.
  for (const auto& [name, count] : uses) {
    if (count > 1 && !reader.tensors().contains(Cat(name, kValueSuffix))) keys.erase(name);
  }
  return keys;
}

}  // namespace weir
