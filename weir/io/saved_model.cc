#include "weir/io/saved_model.h"

#include "absl/strings/str_join.h"
#include "weir/io/file.h"
#include "weir/io/proto_file.h"
#include "weir/proto/saved_model.pb.h"

namespace weir {

bool IsSavedModelFolder(const std::string& path) {
  return IsFile(Cat(path, "/saved_model.pb")) || IsFile(Cat(path, "/saved_model.pbtxt"));
}

StatusOr<std::shared_ptr<SavedModel>> ReadSavedModel(const std::string& folder) {
  auto model = std::make_shared<SavedModel>();
  std::string binary = Cat(folder, "/saved_model.pb");
  if (IsFile(binary)) {
    WEIR_ASSIGN_OR_RETURN(std::string bytes, ReadFile(binary));
    if (!ParseBinaryProto(bytes, model.get())) return DataLoss("Can't parse ", binary, " as binary proto");
    return model;
  }
  std::string text_path = Cat(folder, "/saved_model.pbtxt");
  if (!IsFile(text_path)) {
    return NotFound("Could not find SavedModel .pb or .pbtxt at supplied export directory path: ", folder);
  }
  WEIR_ASSIGN_OR_RETURN(std::string text, ReadFile(text_path));
  if (Status status = ParseTextProto(text, model.get()); !status.ok()) {
    return DataLoss("Can't parse ", text_path, " as text proto (", Message(status), ")");
  }
  return model;
}

StatusOr<const MetaGraphDef*> FindMetaGraph(const SavedModel& model, const std::set<std::string>& tags) {
  std::string known;
  for (const MetaGraphDef& candidate : model.meta_graphs()) {
    const auto& its = candidate.meta_info_def().tags();
    if (std::set<std::string>(its.begin(), its.end()) == tags) return &candidate;
    known += Cat(known.empty() ? "" : "; ", absl::StrJoin(its, ","));
  }
  return NotFound("Could not find meta graph def matching supplied tags: { ", absl::StrJoin(tags, " "),
                  " }. The model has: ", known.empty() ? "none" : known);
}

std::string VariablesPrefix(const std::string& folder) {
  for (const char* name : {"/variables/variables", "/variables/saved_model_variables"}) {
    std::string prefix = Cat(folder, name);
    if (IsFile(Cat(prefix, ".index")) || IsFile(prefix)) return prefix;
  }
  return "";
}

}  // namespace weir
