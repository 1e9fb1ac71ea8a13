// PlanRecordings: recordings of the runs of a plan, for replay by its device (CUDA graphs, for example).
//
// The nodes of some plans only enqueue work on their device, and that work depends on nothing but the shapes of the
// received values and the contents of those received in host memory. When such a plan has run twice with the same
// shapes, its third run is recorded; later runs replay the recording without executing the kernels' host code. Each
// combination of shapes has a recording of its own. A run that cannot be recorded is executed node by node.
#ifndef WEIR_RUNTIME_PLAN_RECORDINGS_H_
#define WEIR_RUNTIME_PLAN_RECORDINGS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/base/strings.h"
#include "weir/framework/device.h"

namespace weir {

// A value that a run has received, by the index of its key in ExecutionPlan::transfers.
struct ReceivedValue {
  Tensor tensor;
  bool is_there = false;
  bool dead = false;
  bool on_device = false;
};

struct PlanRecording {
  struct Sent {
    int32_t transfer;
    int32_t output;  // index among the outputs of `work`; -1 if it is a value of the host
    Tensor value;
  };
  std::shared_ptr<DeviceRecording> work;
  std::vector<int32_t> inputs;  // transfers
  std::vector<Sent> sends;
};

// Thread-safe.
class PlanRecordings {
 public:
  enum class Choice { kRun, kRecord, kReplay };

  // Decides about a run that received these values. With kReplay, `recording` is the recording to replay. With kRecord,
  // the caller must call Add or Refuse.
  Choice Choose(const std::vector<ReceivedValue>& received, std::string* key,
                std::shared_ptr<const PlanRecording>* recording);
  void Add(const std::string& key, std::shared_ptr<const PlanRecording> recording);
  // The run could not be recorded, for a temporary reason (such as a concurrent reader of a variable) or a permanent
  // one. After a few refusals, recording is no longer tried.
  void Refuse(const std::string& key);
  // The recording is out of date. If recordings keep going out of date soon, no further one is made.
  void Drop(const std::string& key);

 private:
  struct Entry {
    int runs = 0;
    int refusals = 0;
    bool is_refused = false;
    bool is_being_made = false;
    int moves = 0;  // how many recordings in a row were soon out of date
    int64_t replays = 0;
    std::shared_ptr<const PlanRecording> recording;
  };
  FastMutex mu_;
  StringMap<Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_RUNTIME_PLAN_RECORDINGS_H_
