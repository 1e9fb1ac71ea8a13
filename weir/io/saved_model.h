// SavedModel folders: finding and reading them. client/saved_model.h runs them.
#ifndef WEIR_IO_SAVED_MODEL_H_
#define WEIR_IO_SAVED_MODEL_H_

#include <memory>
#include <set>
#include <string>

#include "weir/base/status.h"

namespace weir {

class MetaGraphDef;  // wire formats
class SavedModel;

// True for a folder with a saved_model.pb or saved_model.pbtxt in it.
bool IsSavedModelFolder(const std::string& path);

// Of a folder. NOT_FOUND if there is no model in it, DATA_LOSS if it cannot be parsed.
StatusOr<std::shared_ptr<SavedModel>> ReadSavedModel(const std::string& folder);

// The MetaGraph whose tags are exactly these. NOT_FOUND that lists what there is.
StatusOr<const MetaGraphDef*> FindMetaGraph(const SavedModel& model, const std::set<std::string>& tags);

// The checkpoint with the model's variables; empty if it has none.
std::string VariablesPrefix(const std::string& folder);

}  // namespace weir

#endif  // WEIR_IO_SAVED_MODEL_H_
