// For weir/client only.
#ifndef WEIR_CLIENT_EAGER_EXECUTE_INTERNAL_H_
#define WEIR_CLIENT_EAGER_EXECUTE_INTERNAL_H_

#include <memory>
#include <vector>

#include "weir/autodiff/tape.h"
#include "weir/client/eager_tensor.h"
#include "weir/runtime/eager_runtime.h"

namespace weir {

struct EagerRun {
  std::vector<EagerTensor> outputs;
  std::shared_ptr<const AttrMap> attrs;  // complete
};

// Runs an operation with the settings of this thread and records it on the thread's tapes.
StatusOr<EagerRun> ExecuteEagerly(const OpSchema& schema, std::vector<EagerTensor> inputs, AttrMap attrs);

// Is notified of every trainable variable that is read.
class VariableWatcher {
 public:
  virtual ~VariableWatcher() = default;
  virtual void OnRead(const EagerTensor& handle) = 0;
};

// The settings of a thread, and the tapes that record it, outermost first.
struct EagerThread {
  EagerOptions options;
  std::vector<Tape*> tapes;
  std::vector<VariableWatcher*> watchers;
};
EagerThread& ThisEagerThread();

// Adds a record to those tapes of this thread that watch one of its inputs.
void RecordOnTapes(std::shared_ptr<const Tape::Record> record);
std::vector<TapeTensor> ToTape(const std::vector<EagerTensor>& tensors);

}  // namespace weir

#endif  // WEIR_CLIENT_EAGER_EXECUTE_INTERNAL_H_
