#include "weir/client/export.h"

#include <vector>

#include "weir/client/op_call.h"
#include "weir/client/variable.h"
#include "weir/graph/function_library.h"
#include "weir/graph/import.h"
#include "weir/io/bundle_writer.h"
#include "weir/io/file_system.h"
#include "weir/proto/saved_model.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

constexpr char kPredict[] = "tensorflow/serving/predict";

// True for the nodes that `outputs` need; feeds end the search.
std::vector<bool> Needed(const Graph& graph, std::vector<NodeId> pending) {
  std::vector<bool> needed(graph.num_node_ids());
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (needed[id]) continue;
    needed[id] = true;
    for (Endpoint input : graph.node(id)->inputs) pending.push_back(input.node);
    for (NodeId control : graph.node(id)->control_inputs) pending.push_back(control);
  }
  return needed;
}

// The part of the graph that the signatures need, as a graph of its own, and the variables in it.
struct Part {
  Scope scope;
  std::vector<Variable> variables;  // of the whole graph
};
StatusOr<Part> CutOut(const Scope& scope, const std::map<std::string, ExportSignature>& signatures) {
  const Graph& graph = scope.graph();
  std::vector<NodeId> ends;
  for (const auto& [name, signature] : signatures) {
    for (const auto* side : {&signature.inputs, &signature.outputs}) {
      for (const auto& [key, tensor] : *side) {
        if (!tensor.has_value()) return InvalidArgument("'", key, "' of signature '", name, "' has no value");
        ends.push_back(tensor.endpoint().node);
      }
    }
  }
  if (ends.empty()) return InvalidArgument("a model needs a signature");
  const std::vector<bool> needed = Needed(graph, ends);
  GraphDef def;
  def.mutable_versions()->set_producer(kGraphDefVersion);
  graph.functions()->ToProto(def.mutable_library());
  for (NodeId id = 0; id < graph.num_node_ids(); ++id) {
    if (needed[id]) WEIR_RETURN_IF_ERROR(ExportNode(graph, *graph.node(id), def.add_node()));
  }
  Part part{Scope::NewRoot(scope.environment()), {}};
  WEIR_RETURN_IF_ERROR(ImportGraphDef(def, &part.scope.graph()));
  WEIR_RETURN_IF_ERROR(part.scope.NoticeNewNodes());
  for (const Variable& variable : Variables(scope.WithPrefix(""))) {
    if (needed[variable.handle().endpoint().node]) part.variables.push_back(variable);
  }
  return part;
}

// Operations that save and restore the variables of a loaded model, as its SaverDef names them.
Status AddSaver(const Part& part, SaverDef* saver) {
  const Scope scope = part.scope.WithPrefix("save");
  std::vector<std::string> names;
  std::vector<Output> handles, values;
  std::vector<DType> dtypes;
  for (const Variable& variable : part.variables) {
    names.push_back(variable.name());
    dtypes.push_back(variable.dtype());
    handles.push_back(Output(scope, {part.scope.graph().Find(variable.name())->id, 0}));
    values.push_back(OpCall(scope, "ReadVariableOp").Add(handles.back()).Set("dtype", variable.dtype()).Single());
  }
  Output file = OpCall(scope.WithName("filename"), "PlaceholderWithDefault")
                    .Add(Input("model"))
                    .Set("shape", PartialShape(Shape()))
                    .Single();
  const Input name_list(Tensor::Vector<std::string>(std::span<const std::string>(names)));
  const std::vector<std::string> whole(names.size());  // no slices
  const Input slices(Tensor::Vector<std::string>(std::span<const std::string>(whole)));
  Operation save = OpCall(scope, "SaveV2").Add(file).Add(name_list).Add(slices).Add(InputList(values)).Finish();
  Output saved =
      OpCall(scope.WithName("control_dependency").WithControlDependencies({save}), "Identity").Add(file).Single();
  OpCall restore(scope, "RestoreV2");
  restore.Add(file).Add(name_list).Add(slices).Set("dtypes", dtypes);
  std::vector<Output> restored = restore.List(0);
  WEIR_RETURN_IF_ERROR(scope.status());
  std::vector<Operation> assigns;
  for (size_t i = 0; i < handles.size(); ++i) {
    assigns.push_back(OpCall(scope, "AssignVariableOp").Add(handles[i]).Add(restored[i]).Finish());
  }
  Operation all = Group(scope.WithName("restore_all"), assigns);
  WEIR_RETURN_IF_ERROR(scope.status());
  saver->set_filename_tensor_name(file.name());
  saver->set_save_tensor_name(saved.name());
  saver->set_restore_op_name(all.name());
  saver->set_version(SaverDef::V2);
  return OkStatus();
}

void DescribeTensor(const Output& tensor, TensorInfo* info) {
  info->set_name(tensor.name());
  info->set_dtype(static_cast<DataType>(BaseType(tensor.dtype())));
  ToProto(tensor.shape(), info->mutable_tensor_shape());
}

// The variables by name, for those who look for them in TensorFlow's collections.
void DescribeVariables(const Part& part, MetaGraphDef* meta) {
  for (const Variable& variable : part.variables) {
    VariableDef def;
    def.set_variable_name(variable.name() + ":0");
    def.set_initializer_name(variable.name() + "/Assign");
    def.set_snapshot_name(variable.value().name());
    def.set_is_resource(true);
    def.set_trainable(variable.trainable());
    const std::string bytes = def.SerializeAsString();
    (*meta->mutable_collection_def())["variables"].mutable_bytes_list()->add_value(bytes);
    if (variable.trainable()) {
      (*meta->mutable_collection_def())["trainable_variables"].mutable_bytes_list()->add_value(bytes);
    }
  }
}

// Adds what gives a variable its first value, so that the collections name nodes that exist.
Status AddInitializers(const Part& part) {
  const Scope& scope = part.scope;
  for (const Variable& variable : part.variables) {
    Output handle(scope, {scope.graph().Find(variable.name())->id, 0});
    const Scope below = scope.WithPrefix(variable.name());
    Output zeros = Fill(below.WithName("zeros"), variable.shape(), 0, variable.dtype());
    OpCall(below.WithName("Assign"), "AssignVariableOp").Add(handle).Add(zeros).Finish();
    if (scope.graph().Find(variable.value().op().name()) == nullptr) {
      OpCall(scope.WithPrefix(variable.name() + "/Read"), "ReadVariableOp")
          .Add(handle)
          .Set("dtype", variable.dtype())
          .Finish();
    }
  }
  return scope.status();
}

Status WriteVariables(ClientSession& session, const std::string& prefix, const std::vector<Variable>& variables) {
  std::map<std::string, Output> sorted;  // the format wants names in order
  for (const Variable& variable : variables) sorted[variable.name()] = variable.value();
  std::vector<Output> reads;
  for (const auto& [name, value] : sorted) reads.push_back(value);
  WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> values, session.Run(reads));
  WEIR_RETURN_IF_ERROR(MakeFolders(FolderOf(prefix)));
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<BundleWriter> writer, BundleWriter::Create(prefix));
  size_t i = 0;
  for (const auto& [name, value] : sorted) WEIR_RETURN_IF_ERROR(writer->Add(name, values[i++]));
  return writer->Finish();
}

}  // namespace

Status ExportSavedModel(ClientSession& session, const std::string& folder,
                        const std::map<std::string, ExportSignature>& signatures) {
  WEIR_RETURN_IF_ERROR(session.scope().status());
  WEIR_ASSIGN_OR_RETURN(Part part, CutOut(session.scope(), signatures));
  SavedModel model;
  model.set_saved_model_schema_version(1);
  MetaGraphDef* meta = model.add_meta_graphs();
  meta->mutable_meta_info_def()->add_tags("serve");
  if (!part.variables.empty()) {
    WEIR_RETURN_IF_ERROR(AddInitializers(part));
    WEIR_RETURN_IF_ERROR(AddSaver(part, meta->mutable_saver_def()));
    DescribeVariables(part, meta);
    WEIR_RETURN_IF_ERROR(WriteVariables(session, folder + "/variables/variables", part.variables));
  }
  for (const auto& [name, signature] : signatures) {
    SignatureDef& def = (*meta->mutable_signature_def())[name];
    def.set_method_name(kPredict);
    for (const auto& [key, tensor] : signature.inputs) DescribeTensor(tensor, &(*def.mutable_inputs())[key]);
    for (const auto& [key, tensor] : signature.outputs) DescribeTensor(tensor, &(*def.mutable_outputs())[key]);
  }
  WEIR_RETURN_IF_ERROR(ExportGraphDef(part.scope.graph(), meta->mutable_graph_def()));
  const std::string path = folder + "/saved_model.pb", temporary = path + ".new";
  std::string bytes;
  if (!model.SerializeToString(&bytes)) return InvalidArgument("the model's graph is too large to be written");
  WEIR_RETURN_IF_ERROR(MakeFolders(folder));
  WEIR_RETURN_IF_ERROR(WriteWholeFile(temporary, bytes));
  return RenameFile(temporary, path);
}

}  // namespace weir
