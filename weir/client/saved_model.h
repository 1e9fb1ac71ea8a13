// LoadedModel: a SavedModel in a session of its own, with restored variables and initialized tables.
#ifndef WEIR_CLIENT_SAVED_MODEL_H_
#define WEIR_CLIENT_SAVED_MODEL_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "weir/base/export.h"
#include "weir/runtime/session.h"

namespace WEIR_PUBLIC weir {

struct SignatureTensor {
  std::string tensor;  // its name in the graph; empty for a sparse or composite tensor
  DType dtype = DType::kInvalid;
  PartialShape shape;
};

struct Signature {
  std::string method;
  std::map<std::string, SignatureTensor> inputs;
  std::map<std::string, SignatureTensor> outputs;
  std::map<std::string, Tensor> defaults;  // for inputs that callers may omit
};

class LoadedModel {
 public:
  // Loads the MetaGraph with exactly these tags, restores its variables, and runs its initializer with the paths of its
  // assets. `steps` are the options of these two steps; `prepare`, if given, may inspect the graph before it runs and
  // change its attributes.
  static StatusOr<std::unique_ptr<LoadedModel>> Load(const std::string& folder, const std::set<std::string>& tags,
                                                     std::shared_ptr<Environment> environment,
                                                     SessionOptions options = {}, const StepOptions& steps = {},
                                                     const std::function<void(Graph&)>& prepare = nullptr);
  // Loads into the DefaultEnvironment().
  static StatusOr<std::unique_ptr<LoadedModel>> Load(const std::string& folder,
                                                     const std::set<std::string>& tags = {"serve"});

  const std::map<std::string, Signature>& signatures() const { return signatures_; }
  // NOT_FOUND lists the existing signatures.
  StatusOr<const Signature*> FindSignature(const std::string& name) const;
  // Runs a signature with the inputs by name, and returns all outputs.
  StatusOr<std::map<std::string, Tensor>> Run(const std::string& signature,
                                              const std::map<std::string, Tensor>& inputs);
  Session& session() { return *session_; }
  // The serialized SignatureDefs by name, including that of the initializer, which signatures() omits.
  const std::map<std::string, std::string>& signature_defs() const { return signature_defs_; }

 private:
  std::map<std::string, Signature> signatures_;
  std::map<std::string, std::string> signature_defs_;
  std::unique_ptr<Session> session_;
};

}  // namespace weir

#endif  // WEIR_CLIENT_SAVED_MODEL_H_
