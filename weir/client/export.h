// Writes SavedModels: the trained variables of a session, in a form that TensorFlow, TensorFlow Serving and LoadedModel
// (saved_model.h) can run.
#ifndef WEIR_CLIENT_EXPORT_H_
#define WEIR_CLIENT_EXPORT_H_

#include <map>
#include <string>

#include "weir/base/export.h"
#include "weir/client/client_session.h"

namespace WEIR_PUBLIC weir {

// Tensors of the graph, by the names that callers use.
struct ExportSignature {
  std::map<std::string, Output> inputs;
  std::map<std::string, Output> outputs;
};

// Writes `<folder>/saved_model.pb` and `<folder>/variables/`, under the tag "serve". Graph and variables are reduced to
// what the outputs of the signatures need. `saved_model.pb` is written last, so a folder that contains it is complete.
// INVALID_ARGUMENT if there is no signature, or an output has no value.
Status ExportSavedModel(ClientSession& session, const std::string& folder,
                        const std::map<std::string, ExportSignature>& signatures);

}  // namespace weir

#endif  // WEIR_CLIENT_EXPORT_H_
