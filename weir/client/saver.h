// Saver: variables to and from checkpoints that TensorFlow reads and writes too (docs/formats/checkpoint.md).
#ifndef WEIR_CLIENT_SAVER_H_
#define WEIR_CLIENT_SAVER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/client_session.h"
#include "weir/client/variable.h"

namespace WEIR_PUBLIC weir {

struct SaverOptions {
  int max_to_keep = 5;              // older checkpoints are deleted; 0: none
  std::vector<Variable> variables;  // none: all of the graph that are to be saved
};

// How a checkpoint is read.
struct RestoreOptions {
  // A variable's name in the checkpoint where it is another than its own. In a checkpoint of objects (Keras) it may be
  // the name that the variable had there, or its path: "net/layers/0/kernel".
  std::map<std::string, std::string> names;
  // Variables that the checkpoint lacks keep their values, instead of NOT_FOUND.
  bool partial = false;
};

class Saver {
 public:
  explicit Saver(const Scope& scope, const SaverOptions& options = {});
  ~Saver();  // waits
  Saver(const Saver&) = delete;

  // Writes `<prefix>-<step>` (`<prefix>` without a step), then the folder's `checkpoint` file. Readers see the old
  // state or the new one, never half of it. Returns the checkpoint's full prefix.
  // `more` are tensors beside the variables.
  StatusOr<std::string> Save(ClientSession& session, const std::string& prefix, std::optional<int64_t> step = {},
                             const std::map<std::string, Tensor>& more = {});
  // The same, but returns once the values are read; a thread writes the files while training goes on. An error of the
  // writing comes out of the next call, or of Wait.
  Status SaveAsync(ClientSession& session, const std::string& prefix, std::optional<int64_t> step = {},
                   const std::map<std::string, Tensor>& more = {});
  // Until nothing is being written any more.
  Status Wait();
  // NOT_FOUND for a variable that is not there, INVALID_ARGUMENT for one of another type or shape.
  Status Restore(ClientSession& session, const std::string& prefix, const RestoreOptions& options = {});

  // Those that this object wrote and that are still kept, oldest first. REQUIRES: nothing is being written.
  const std::vector<std::string>& checkpoints() const { return checkpoints_; }

 private:
  void MakeRestoreNodes();
  // All that goes into a checkpoint, by name.
  StatusOr<std::map<std::string, Tensor>> Read(ClientSession& session, const std::map<std::string, Tensor>& more) const;
  Status Write(const std::string& path, const std::map<std::string, Tensor>& tensors);
  Scope scope_;
  std::vector<Variable> variables_;
  std::vector<Output> restore_values_;  // placeholders, one a variable
  std::vector<Operation> restore_;
  SaverOptions options_;
  std::vector<std::string> checkpoints_;
  std::thread writer_;
  Status written_;  // of the writer, once it is joined
};

// Writes the file `checkpoint` of a folder: the latest checkpoint, and all that are kept (oldest first). Paths inside
// the folder are stored relative to it.
Status WriteCheckpointState(const std::string& folder, const std::string& latest, const std::vector<std::string>& all);

}  // namespace weir

#endif  // WEIR_CLIENT_SAVER_H_
