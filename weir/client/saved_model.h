// LoadedModel: a SavedModel in a session of its own, its variables restored and its tables filled.
#ifndef WEIR_CLIENT_SAVED_MODEL_H_
#define WEIR_CLIENT_SAVED_MODEL_H_

#include <map>
#include <memory>
#include <set>
#include <string>

#include "weir/runtime/session.h"

namespace weir {

struct SignatureTensor {
  std::string tensor;  // its name in the graph; empty for a sparse or composite tensor
  DType dtype = DType::kInvalid;
  PartialShape shape;
};

struct Signature {
  std::string method;
  std::map<std::string, SignatureTensor> inputs;
  std::map<std::string, SignatureTensor> outputs;
};

class LoadedModel {
 public:
  // Reads the MetaGraph with exactly these tags, restores its variables, and runs its initialiser with the assets'
  // paths.
  static StatusOr<std::unique_ptr<LoadedModel>> Load(const std::string& folder, const std::set<std::string>& tags,
                                                     std::shared_ptr<Environment> environment,
                                                     SessionOptions options = {});
  // In the DefaultEnvironment().
  static StatusOr<std::unique_ptr<LoadedModel>> Load(const std::string& folder,
                                                     const std::set<std::string>& tags = {"serve"});

  const std::map<std::string, Signature>& signatures() const { return signatures_; }
  // NOT_FOUND that lists what there is.
  StatusOr<const Signature*> FindSignature(const std::string& name) const;
  // Runs a signature: its inputs by their names, all its outputs.
  StatusOr<std::map<std::string, Tensor>> Run(const std::string& signature,
                                              const std::map<std::string, Tensor>& inputs);
  Session& session() { return *session_; }

 private:
  std::map<std::string, Signature> signatures_;
  std::unique_ptr<Session> session_;
};

}  // namespace weir

#endif  // WEIR_CLIENT_SAVED_MODEL_H_
