// Saver: writes and reads variables in checkpoints that are compatible with TensorFlow (docs/formats/checkpoint.md).
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
  int max_to_keep = 5;              // older checkpoints are deleted; 0: none are deleted
  std::vector<Variable> variables;  // empty: all saved variables of the graph
};

// How a checkpoint is read.
struct RestoreOptions {
  // For variables whose names in the checkpoint differ: the names there. In a checkpoint of objects (Keras), this may
  // be the name that the variable had, or its path: "net/layers/0/kernel".
  std::map<std::string, std::string> names;
  // Variables that the checkpoint does not have keep their values; false: NOT_FOUND.
  bool partial = false;
};

class Saver {
 public:
  explicit Saver(const Scope& scope, const SaverOptions& options = {});
  ~Saver();  // waits for SaveAsync
  Saver(const Saver&) = delete;

  // Writes `<prefix>-<step>` (`<prefix>` without a step), then the `checkpoint` file of the folder. Readers always see
  // a complete checkpoint, the old or the new one. Returns the checkpoint's full prefix. `more` are additional tensors.
  StatusOr<std::string> Save(ClientSession& session, const std::string& prefix, std::optional<int64_t> step = {},
                             const std::map<std::string, Tensor>& more = {});
  // The same, but returns when the values have been read; a thread writes the files while training continues. The next
  // call, or Wait, reports an error of that thread.
  Status SaveAsync(ClientSession& session, const std::string& prefix, std::optional<int64_t> step = {},
                   const std::map<std::string, Tensor>& more = {});
  // Waits until the files have been written.
  Status Wait();
  // NOT_FOUND if a variable is missing, INVALID_ARGUMENT if its type or shape differs.
  Status Restore(ClientSession& session, const std::string& prefix, const RestoreOptions& options = {});

  // The checkpoints that this object has written and not deleted, oldest first. REQUIRES: no SaveAsync is in progress.
  const std::vector<std::string>& checkpoints() const { return checkpoints_; }

 private:
  void MakeRestoreNodes();
  // Reads everything that belongs in a checkpoint, by name.
  StatusOr<std::map<std::string, Tensor>> Read(ClientSession& session, const std::map<std::string, Tensor>& more) const;
  Status Write(const std::string& path, const std::map<std::string, Tensor>& tensors);
  Scope scope_;
  std::vector<Variable> variables_;
  std::vector<Variable::PartOf> parts_;  // what each variable is in a checkpoint; without a name: itself
  std::vector<Output> restore_values_;   // placeholders, one per variable
  std::vector<Operation> restore_;
  SaverOptions options_;
  std::vector<std::string> checkpoints_;
  std::thread writer_;
  Status written_;  // the result of the writing thread
};

// Writes the file `checkpoint` of a folder: the latest checkpoint, and all existing ones (oldest first). Paths inside
// the folder are stored relative to it.
Status WriteCheckpointState(const std::string& folder, const std::string& latest, const std::vector<std::string>& all);

}  // namespace weir

#endif  // WEIR_CLIENT_SAVER_H_
