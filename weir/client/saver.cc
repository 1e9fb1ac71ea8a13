#include "weir/client/saver.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "weir/client/ops/array_ops.h"
#include "weir/io/bundle_writer.h"
#include "weir/io/checkpoint_reader.h"
#include "weir/io/file_system.h"
#include "weir/io/keras_optimizer.h"
#include "weir/io/object_graph.h"

namespace weir {
namespace {

std::vector<Variable> Saved(const Scope& scope) {
  std::vector<Variable> out;
  for (const Variable& variable : Variables(scope.WithPrefix(""))) {
    if (variable.saved()) out.push_back(variable);
  }
  return out;
}

// What each variable is a part of. An optimizer's slots of a part are parts, too.
std::vector<Variable::PartOf> PartsOf(const std::vector<Variable>& variables) {
  std::map<std::string, Variable> parts;
  for (const Variable& variable : variables) {
    if (!variable.part_of().whole.empty()) parts.emplace(variable.name(), variable);
  }
  std::vector<Variable::PartOf> out;
  for (const Variable& variable : variables) {
    out.push_back(variable.part_of());
    const std::string& name = variable.name();
    for (size_t slash = name.rfind('/'); slash != name.npos && out.back().whole.empty();
         slash = slash > 0 ? name.rfind('/', slash - 1) : name.npos) {
      auto part = parts.find(name.substr(0, slash));
      if (part == parts.end() || part->second.shape() != variable.shape()) continue;
      out.back() = part->second.part_of();
      out.back().whole += name.substr(slash);
    }
  }
  return out;
}

// Copies the rows of a part to their place in the whole.
Status AddRows(const Tensor& rows, const Variable::PartOf& part, Tensor* whole) {
  if (!IsPlain(rows.dtype())) return Unimplemented("rows of type ", Name(rows.dtype()), " in a partitioned variable");
  if (!whole->has_value()) {
    WEIR_ASSIGN_OR_RETURN(*whole, Tensor::Allocate(rows.dtype(), part.shape));
  }
  const int64_t row_bytes = rows.dim(0) > 0 ? rows.num_bytes() / rows.dim(0) : 0;
  std::memcpy(static_cast<char*>(whole->raw_data()) + part.first_row * row_bytes, rows.raw_data(), rows.num_bytes());
  return OkStatus();
}

// A folder and what is left of the path.
std::pair<std::string, std::string> SplitPath(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

std::string TextField(const char* name, const std::string& value) {
  std::string out = Cat(name, ": \"");
  for (char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"\n";
}

// The files of a checkpoint; one that is gone already is no mistake.
void DeleteCheckpoint(const std::string& prefix) {
  const auto [folder, stem] = SplitPath(prefix);
  StatusOr<std::vector<std::string>> names = ListFolder(folder);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (name == stem + ".index" || name.starts_with(stem + ".data-")) RemoveFile(folder + "/" + name).IgnoreError();
  }
}

// The number that a scalar variable is given when it is initialised.
StatusOr<double> InitialNumber(ClientSession& session, const Scope& scope, const Variable& variable) {
  const Node* assign = scope.graph().node(variable.initializer().node_id());
  WEIR_ASSIGN_OR_RETURN(Tensor value, session.Evaluate(Output(scope, assign->inputs[1])));
  if (value.dtype() != DType::kFloat || value.num_elements() != 1) {
    return InvalidArgument("variable '", variable.name(), "' is not a float scalar");
  }
  return value.data<float>()[0];
}

// The value of a variable that a checkpoint of Keras has no tensor for. `names` are all that are asked for.
StatusOr<Tensor> KerasValue(ClientSession& session, const Scope& scope, const KerasOptimizerState& keras,
                            const Variable& variable, const std::string& name, const std::vector<std::string>& names) {
  WEIR_ASSIGN_OR_RETURN(const std::optional<int64_t> steps, keras.Steps());
  if (steps && name == "global_step") return Tensor::Scalar(*steps);
  if (steps && (name.starts_with("beta1_power") || name.starts_with("beta2_power"))) {
    // Keras computes the power from the count of steps, weir keeps the one that the next step needs.
    WEIR_ASSIGN_OR_RETURN(const double beta, InitialNumber(session, scope, variable));
    return Tensor::Scalar(static_cast<float>(std::pow(beta, *steps + 1)));
  }
  const std::string companion = keras.Companion(name);
  if (!companion.empty() && std::ranges::find(names, companion) == names.end()) {
    return InvalidArgument("the checkpoint's optimizer has '", companion, "' beside '", name,
                           "', the graph does not: only one of the two is centered");
  }
  return keras.Slot(name);
}

}  // namespace

Saver::Saver(const Scope& scope, const SaverOptions& options)
    : scope_(scope.WithPrefix("").WithoutName().WithoutControlDependencies()),
      variables_(options.variables.empty() ? Saved(scope) : options.variables),
      parts_(PartsOf(variables_)),
      options_(options) {}

void Saver::MakeRestoreNodes() {
  if (restore_.size() == variables_.size()) return;
  const Scope save = scope_.SubScope("restore");
  for (const Variable& variable : variables_) {
    restore_values_.push_back(ops::Placeholder(save, variable.dtype(), {.shape = PartialShape(variable.shape())}));
    restore_.push_back(variable.Assign(save, restore_values_.back()));
  }
}

Saver::~Saver() { Wait().IgnoreError(); }

StatusOr<std::map<std::string, Tensor>> Saver::Read(ClientSession& session,
                                                    const std::map<std::string, Tensor>& more) const {
  std::vector<Output> reads;
  for (const Variable& variable : variables_) reads.push_back(variable.value());
  WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> values, session.Run(reads));
  std::map<std::string, Tensor> all = more;
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (!parts_[i].whole.empty()) {
      WEIR_RETURN_IF_ERROR(AddRows(values[i], parts_[i], &all[parts_[i].whole]));
    } else if (!all.emplace(variables_[i].name(), values[i]).second) {
      return InvalidArgument("two tensors of a checkpoint are called '", variables_[i].name(), "'");
    }
  }
  return all;
}

Status Saver::Write(const std::string& path, const std::map<std::string, Tensor>& tensors) {
  WEIR_RETURN_IF_ERROR(MakeFolders(SplitPath(path).first));
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<BundleWriter> writer, BundleWriter::Create(path));
  // The format wants names in order, which a map has.
  for (const auto& [name, value] : tensors) WEIR_RETURN_IF_ERROR(writer->Add(name, value));
  WEIR_RETURN_IF_ERROR(writer->Finish());

  std::erase(checkpoints_, path);
  checkpoints_.push_back(path);
  std::vector<std::string> old;
  while (options_.max_to_keep > 0 && checkpoints_.size() > static_cast<size_t>(options_.max_to_keep)) {
    old.push_back(checkpoints_.front());
    checkpoints_.erase(checkpoints_.begin());
  }
  // Nothing is deleted that the state file still names.
  WEIR_RETURN_IF_ERROR(WriteCheckpointState(SplitPath(path).first, path, checkpoints_));
  for (const std::string& checkpoint : old) DeleteCheckpoint(checkpoint);
  return OkStatus();
}

StatusOr<std::string> Saver::Save(ClientSession& session, const std::string& prefix, std::optional<int64_t> step,
                                  const std::map<std::string, Tensor>& more) {
  WEIR_RETURN_IF_ERROR(Wait());
  const std::string path = step ? Cat(prefix, "-", *step) : prefix;
  WEIR_ASSIGN_OR_RETURN(auto tensors, Read(session, more));
  WEIR_RETURN_IF_ERROR(Write(path, tensors));
  return path;
}

Status Saver::SaveAsync(ClientSession& session, const std::string& prefix, std::optional<int64_t> step,
                        const std::map<std::string, Tensor>& more) {
  WEIR_RETURN_IF_ERROR(Wait());
  WEIR_ASSIGN_OR_RETURN(auto tensors, Read(session, more));
  // A step that changes a variable whose value is held here writes into memory of its own.
  writer_ = std::thread([this, path = step ? Cat(prefix, "-", *step) : prefix, tensors = std::move(tensors)] {
    written_ = Write(path, tensors);
  });
  return OkStatus();
}

Status Saver::Wait() {
  if (writer_.joinable()) writer_.join();
  return std::exchange(written_, OkStatus());
}

Status Saver::Restore(ClientSession& session, const std::string& prefix, const RestoreOptions& options) {
  WEIR_RETURN_IF_ERROR(Wait());
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<CheckpointReader> reader, CheckpointReader::Open(prefix));
  MakeRestoreNodes();
  // Where a checkpoint of objects keeps a variable of this name.
  WEIR_ASSIGN_OR_RETURN(auto keys, ObjectGraphKeys(*reader));
  WEIR_ASSIGN_OR_RETURN(const KerasOptimizerState keras, KerasOptimizerState::Read(*reader, keys));
  std::vector<std::string> names;
  for (size_t i = 0; i < variables_.size(); ++i) {
    const std::string& name = parts_[i].whole.empty() ? variables_[i].name() : parts_[i].whole;
    auto renamed = options.names.find(name);
    names.push_back(renamed == options.names.end() ? name : renamed->second);
    auto key = keys.find(names.back());
    if (key != keys.end() && !reader->tensors().contains(names.back())) names.back() = key->second;
  }
  ClientSession::Feeds feeds;
  std::vector<Operation> targets;
  for (size_t i = 0; i < variables_.size(); ++i) {
    const Variable& variable = variables_[i];
    const std::string& name = names[i];
    const bool stored = reader->tensors().contains(name) || keras.description().empty();
    StatusOr<Tensor> found = stored ? reader->Read(name) : KerasValue(session, scope_, keras, variable, name, names);
    if (options.partial && absl::IsNotFound(found.status())) continue;
    WEIR_ASSIGN_OR_RETURN(Tensor value, std::move(found));
    const Variable::PartOf& part = parts_[i];
    const Shape& expected = part.whole.empty() ? variable.shape() : part.shape;
    if (value.dtype() != variable.dtype() || value.shape() != expected) {
      return InvalidArgument("variable '", variable.name(), "' is ", Name(variable.dtype()), expected.ToString(),
                             ", in checkpoint ", prefix, " '", name, "' is ", Name(value.dtype()),
                             value.shape().ToString());
    }
    if (!part.whole.empty()) value = value.Slice(part.first_row, part.first_row + variable.shape().dim(0));
    feeds.emplace_back(restore_values_[i], std::move(value));
    targets.push_back(restore_[i]);
  }
  return targets.empty() ? OkStatus() : session.RunTargets(targets, feeds);
}

Status WriteCheckpointState(const std::string& folder, const std::string& latest, const std::vector<std::string>& all) {
  auto relative = [&](const std::string& path) {
    auto [parent, name] = SplitPath(path);
    return parent == folder ? name : path;
  };
  std::string text = TextField("model_checkpoint_path", relative(latest));
  for (const std::string& path : all) text += TextField("all_model_checkpoint_paths", relative(path));
  const std::string path = folder + "/checkpoint", temporary = path + ".new";
  WEIR_RETURN_IF_ERROR(WriteWholeFile(temporary, text));
  return RenameFile(temporary, path);
}

}  // namespace weir
