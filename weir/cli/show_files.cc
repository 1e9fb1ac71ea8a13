#include <cstdio>
#include <map>

#include "absl/strings/str_join.h"
#include "weir/cli/show.h"
#include "weir/cli/tensor_json.h"
#include "weir/io/checkpoint_reader.h"
#include "weir/io/file.h"
#include "weir/io/saved_model.h"
#include "weir/proto/saved_model.pb.h"
#include "weir/tensor/npy.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

using Json = nlohmann::ordered_json;

// The tensors of a checkpoint that are asked for; with values if any are.
Status VisitTensors(const CheckpointReader& reader, const ShowOptions& options,
                    const std::function<void(const std::string&, const CheckpointTensor&, const Tensor*)>& visit) {
  bool with_values = options.values > 0 || !options.tensors.empty();
  auto one = [&](const std::string& name, const CheckpointTensor& info) -> Status {
    if (!with_values) {
      visit(name, info, nullptr);
      return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(Tensor tensor, reader.Read(name));
    visit(name, info, &tensor);
    return OkStatus();
  };
  for (const std::string& name : options.tensors) {
    WEIR_ASSIGN_OR_RETURN(const CheckpointTensor* info, reader.Find(name));
    WEIR_RETURN_IF_ERROR(one(name, *info));
  }
  if (!options.tensors.empty()) return OkStatus();
  int64_t shown = 0;
  for (const auto& [name, info] : reader.tensors()) {
    if (options.limit > 0 && shown++ == options.limit) break;
    WEIR_RETURN_IF_ERROR(one(name, info));
  }
  return OkStatus();
}

StatusOr<Json> CheckpointToJson(const CheckpointReader& reader, const ShowOptions& options) {
  Json tensors = Json::array();
  int64_t max_values = options.values > 0 ? options.values : INT64_MAX;
  WEIR_RETURN_IF_ERROR(
      VisitTensors(reader, options, [&](const std::string& name, const CheckpointTensor& info, const Tensor* tensor) {
        Json json = {{"name", name}};
        json.update(tensor != nullptr ? TensorToJson(*tensor, max_values) : TypeToJson(info.dtype, info.shape));
        if (!info.slices.empty()) {
          Json slices = Json::array();
          for (const TensorSlice& slice : info.slices) slices.push_back(slice.ToString());
          json["slices"] = std::move(slices);
        }
        tensors.push_back(std::move(json));
      }));
  return Json{{"format", reader.format()}, {"tensors", std::move(tensors)}};
}

std::string InfoToText(const TensorInfo& info) {
  StatusOr<PartialShape> shape = PartialShapeFromProto(info.tensor_shape());
  std::string name = info.name();
  if (info.has_coo_sparse()) name = Cat("sparse ", info.coo_sparse().values_tensor_name());
  if (info.has_composite_tensor()) name = Cat("composite of ", info.composite_tensor().components_size());
  return Cat(PythonName(static_cast<DType>(info.dtype())), " ", shape.ok() ? shape->ToString() : "?", "  ", name);
}

Json InfoToJson(const TensorInfo& info) {
  StatusOr<PartialShape> shape = PartialShapeFromProto(info.tensor_shape());
  Json out = {{"tensor", info.name()}};
  out.update(TypeToJson(static_cast<DType>(info.dtype()), shape.ok() ? *shape : PartialShape()));
  return out;
}

// The wire format's maps have no order.
template <typename Map>
auto Sorted(const Map& map) {
  std::map<std::string, const typename Map::mapped_type*> out;
  for (const auto& [key, value] : map) out[key] = &value;
  return out;
}

void PrintMetaGraph(const MetaGraphDef& meta) {
  std::printf("graph for tags {%s}: %d nodes, %d functions%s%s\n",
              absl::StrJoin(meta.meta_info_def().tags(), ", ").c_str(), meta.graph_def().node_size(),
              meta.graph_def().library().function_size(),
              meta.meta_info_def().tensorflow_version().empty() ? "" : ", by TensorFlow ",
              meta.meta_info_def().tensorflow_version().c_str());
  for (const auto& [name, signature] : Sorted(meta.signature_def())) {
    if (name == "__saved_model_init_op") continue;
    std::printf("  signature %s  (%s)\n", name.c_str(), signature->method_name().c_str());
    for (const auto& [key, info] : Sorted(signature->inputs())) {
      std::printf("    input  %s: %s\n", key.c_str(), InfoToText(*info).c_str());
    }
    for (const auto& [key, info] : Sorted(signature->outputs())) {
      std::printf("    output %s: %s\n", key.c_str(), InfoToText(*info).c_str());
    }
  }
  for (const AssetFileDef& asset : meta.asset_file_def()) std::printf("  asset %s\n", asset.filename().c_str());
}

Json MetaGraphToJson(const MetaGraphDef& meta) {
  Json signatures = Json::object();
  for (const auto& [name, signature] : Sorted(meta.signature_def())) {
    Json inputs = Json::object(), outputs = Json::object();
    for (const auto& [key, info] : Sorted(signature->inputs())) inputs[key] = InfoToJson(*info);
    for (const auto& [key, info] : Sorted(signature->outputs())) outputs[key] = InfoToJson(*info);
    signatures[name] = {{"method", signature->method_name()}, {"inputs", inputs}, {"outputs", outputs}};
  }
  Json assets = Json::array();
  for (const AssetFileDef& asset : meta.asset_file_def()) assets.push_back(asset.filename());
  const auto& tags = meta.meta_info_def().tags();
  return {{"tags", std::vector<std::string>(tags.begin(), tags.end())},
          {"tensorflow_version", meta.meta_info_def().tensorflow_version()},
          {"nodes", meta.graph_def().node_size()},
          {"functions", meta.graph_def().library().function_size()},
          {"signatures", signatures},
          {"assets", assets}};
}

Status PrintTensors(const CheckpointReader& reader, const ShowOptions& options, const char* indent) {
  int64_t max_values = options.values > 0 ? options.values : 1000;
  return VisitTensors(
      reader, options, [&](const std::string& name, const CheckpointTensor& info, const Tensor* tensor) {
        if (tensor != nullptr) {
          std::printf("%s%s = %s\n", indent, name.c_str(), tensor->ToString(static_cast<int>(max_values)).c_str());
        } else {
          std::printf("%s%s  %s %s%s\n", indent, name.c_str(), std::string(PythonName(info.dtype)).c_str(),
                      info.shape.ToString().c_str(),
                      info.slices.empty() ? "" : Cat("  in ", info.slices.size(), " slices").c_str());
        }
      });
}

}  // namespace

Status ShowCheckpoint(const std::string& prefix, const ShowOptions& options) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<CheckpointReader> reader, CheckpointReader::Open(prefix));
  if (options.json) {
    WEIR_ASSIGN_OR_RETURN(Json json, CheckpointToJson(*reader, options));
    std::printf("%s\n", Dump(json).c_str());
    return OkStatus();
  }
  std::printf("# checkpoint %s, format %d, %zu tensors\n", prefix.c_str(), reader->format(), reader->tensors().size());
  return PrintTensors(*reader, options, "");
}

Status ShowMetaGraph(const MetaGraphDef& meta, const ShowOptions& options) {
  if (options.json) {
    std::printf("%s\n", Dump(MetaGraphToJson(meta)).c_str());
  } else {
    PrintMetaGraph(meta);
  }
  return OkStatus();
}

Status ShowSavedModel(const KnownFile& file, const ShowOptions& options) {
  std::unique_ptr<CheckpointReader> variables;
  if (std::string prefix = VariablesPrefix(file.path); !prefix.empty()) {
    WEIR_ASSIGN_OR_RETURN(variables, CheckpointReader::Open(prefix));
  }
  if (options.json) {
    Json graphs = Json::array();
    for (const MetaGraphDef& meta : file.saved_model->meta_graphs()) graphs.push_back(MetaGraphToJson(meta));
    Json out = {{"schema_version", file.saved_model->saved_model_schema_version()}, {"graphs", graphs}};
    if (variables != nullptr) {
      WEIR_ASSIGN_OR_RETURN(out["variables"], CheckpointToJson(*variables, options));
    }
    std::printf("%s\n", Dump(out).c_str());
    return OkStatus();
  }
  std::printf("# SavedModel %s\n", file.path.c_str());
  for (const MetaGraphDef& meta : file.saved_model->meta_graphs()) PrintMetaGraph(meta);
  if (variables == nullptr) return OkStatus();
  std::printf("variables\n");
  return PrintTensors(*variables, options, "  ");
}

Status ShowNpy(const std::string& path, const ShowOptions& options) {
  WEIR_ASSIGN_OR_RETURN(Tensor tensor, ReadNpy(path));
  if (options.json) {
    std::printf("%s\n", Dump(TensorToJson(tensor, options.values > 0 ? options.values : INT64_MAX)).c_str());
  } else {
    std::printf("%s\n", tensor.ToString(options.values > 0 ? static_cast<int>(options.values) : 100).c_str());
  }
  return OkStatus();
}

}  // namespace weir
