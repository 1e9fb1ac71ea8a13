// Writing SavedModels: what a session has learnt, in the form that TensorFlow, TensorFlow Serving and LoadedModel
// (saved_model.h) run.
#ifndef WEIR_CLIENT_EXPORT_H_
#define WEIR_CLIENT_EXPORT_H_

#include <map>
#include <string>

#include "weir/base/export.h"
#include "weir/client/client_session.h"

namespace WEIR_PUBLIC weir {

// Tensors of the graph under the names that callers use.
struct ExportSignature {
  std::map<std::string, Output> inputs;
  std::map<std::string, Output> outputs;
};

// Writes `<folder>/saved_model.pb` and `<folder>/variables/`, under the tag "serve". The graph is cut down to what the
// signatures' outputs need; so are the variables. `saved_model.pb` comes last, so that a folder that has it is whole.
// INVALID_ARGUMENT if there is no signature, or an output without a value.
Status ExportSavedModel(ClientSession& session, const std::string& folder,
                        const std::map<std::string, ExportSignature>& signatures);

}  // namespace weir

#endif  // WEIR_CLIENT_EXPORT_H_
