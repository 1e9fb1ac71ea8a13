#include "weir/client/saved_model.h"

#include "weir/graph/import.h"
#include "weir/io/saved_model.h"
#include "weir/proto/saved_model.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

constexpr char kInitSignature[] = "__saved_model_init_op";

StatusOr<SignatureTensor> ReadTensorInfo(const TensorInfo& info) {
  SignatureTensor out;
  out.tensor = info.name();
  if (!IsValidDType(info.dtype()))
    return InvalidArgument("a signature has the unknown type ", static_cast<int>(info.dtype()));
  out.dtype = static_cast<DType>(info.dtype());
  WEIR_ASSIGN_OR_RETURN(out.shape, PartialShapeFromProto(info.tensor_shape()));
  return out;
}

StatusOr<Signature> ReadSignature(const SignatureDef& def) {
  Signature out;
  out.method = def.method_name();
  for (const auto& [key, info] : def.inputs()) {
    WEIR_ASSIGN_OR_RETURN(out.inputs[key], ReadTensorInfo(info));
  }
  for (const auto& [key, info] : def.outputs()) {
    WEIR_ASSIGN_OR_RETURN(out.outputs[key], ReadTensorInfo(info));
  }
  for (const auto& [key, value] : def.defaults()) {
    WEIR_ASSIGN_OR_RETURN(out.defaults[key], FromProto(value));
  }
  return out;
}

// The op that initialises what is no variable: TensorFlow 2 names it in a signature, TensorFlow 1 in a collection.
std::string InitOp(const MetaGraphDef& meta) {
  if (auto found = meta.signature_def().find(kInitSignature); found != meta.signature_def().end()) {
    auto output = found->second.outputs().find(kInitSignature);
    if (output != found->second.outputs().end()) return output->second.name();
  }
  for (const char* collection : {"saved_model_main_op", "legacy_init_op"}) {
    auto found = meta.collection_def().find(collection);
    if (found != meta.collection_def().end() && found->second.node_list().value_size() == 1) {
      return found->second.node_list().value(0);
    }
  }
  return "";
}

// "name:0" of an op is the op.
std::string OpName(const std::string& name) { return name.substr(0, name.find(':')); }

}  // namespace

StatusOr<std::unique_ptr<LoadedModel>> LoadedModel::Load(const std::string& folder, const std::set<std::string>& tags,
                                                         std::shared_ptr<Environment> environment,
                                                         SessionOptions options, const StepOptions& steps,
                                                         const std::function<void(Graph&)>& prepare) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<const weir::SavedModel> file, ReadSavedModel(folder));
  WEIR_ASSIGN_OR_RETURN(const MetaGraphDef* meta, FindMetaGraph(*file, tags));
  auto model = std::make_unique<LoadedModel>();
  for (const auto& [name, def] : meta->signature_def()) {
    model->signature_defs_[name] = def.SerializeAsString();
    if (name == kInitSignature) continue;
    WEIR_ASSIGN_OR_RETURN(model->signatures_[name], ReadSignature(def));
  }
  if (environment == nullptr)
    return InvalidArgument("a model can only be loaded into an environment, but none is given");
  Graph graph(environment->ops);
  if (prepare) {
    WEIR_RETURN_IF_ERROR(ImportGraphDef(meta->graph_def(), &graph));
    prepare(graph);
  }
  WEIR_ASSIGN_OR_RETURN(model->session_, Session::Create(std::move(environment), std::move(options)));
  WEIR_RETURN_IF_ERROR(prepare ? model->session_->Extend(std::move(graph))
                               : model->session_->Extend(meta->graph_def()));

  std::vector<Feed> assets;
  for (const AssetFileDef& asset : meta->asset_file_def()) {
    assets.emplace_back(asset.tensor_info().name(), Tensor::Scalar(Cat(folder, "/assets/", asset.filename())));
  }
  std::string variables = VariablesPrefix(folder);
  const SaverDef& saver = meta->saver_def();
  if (!variables.empty() && !saver.restore_op_name().empty()) {
    std::vector<Feed> feeds = assets;
    feeds.emplace_back(saver.filename_tensor_name(), Tensor::Scalar(variables));
    std::vector<std::string> targets = {OpName(saver.restore_op_name())};
    WEIR_RETURN_IF_ERROR(Annotate(model->session_->Run(steps, feeds, {}, targets, nullptr, nullptr),
                                  "Restoring the model's variables: "));
  }
  if (std::string init = InitOp(*meta); !init.empty()) {
    std::vector<std::string> targets = {OpName(init)};
    WEIR_RETURN_IF_ERROR(
        Annotate(model->session_->Run(steps, assets, {}, targets, nullptr, nullptr), "Initialising the model: "));
  }
  return model;
}

StatusOr<const Signature*> LoadedModel::FindSignature(const std::string& name) const {
  auto found = signatures_.find(name);
  if (found != signatures_.end()) return &found->second;
  std::string known;
  for (const auto& [key, signature] : signatures_) known += Cat(known.empty() ? "" : ", ", key);
  return NotFound("the model has no signature '", name, "'; it has: ", known.empty() ? "none" : known);
}

StatusOr<std::map<std::string, Tensor>> LoadedModel::Run(const std::string& signature,
                                                         const std::map<std::string, Tensor>& inputs) {
  WEIR_ASSIGN_OR_RETURN(const Signature* found, FindSignature(signature));
  std::vector<Feed> feeds;
  for (const auto& [key, tensor] : inputs) {
    auto input = found->inputs.find(key);
    if (input == found->inputs.end()) return InvalidArgument("signature '", signature, "' has no input '", key, "'");
    feeds.emplace_back(input->second.tensor, tensor);
  }
  for (const auto& [key, input] : found->inputs) {
    if (!inputs.contains(key)) return InvalidArgument("input '", key, "' of signature '", signature, "' is missing");
  }
  std::vector<std::string> fetches;
  for (const auto& [key, output] : found->outputs) fetches.push_back(output.tensor);
  std::vector<Tensor> values;
  WEIR_RETURN_IF_ERROR(session_->Run(feeds, fetches, {}, &values));
  std::map<std::string, Tensor> out;
  size_t i = 0;
  for (const auto& [key, output] : found->outputs) out[key] = std::move(values[i++]);
  return out;
}

}  // namespace weir
