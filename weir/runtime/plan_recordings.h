// PlanRecordings: what the device of a plan has recorded of its runs.
//
// The nodes of some plans only give work to their device, and what they give depends on the shapes of what the plan
// receives and on the values that it receives in host memory, on nothing else. When such a plan has run twice with the
// same shapes, its third run is recorded; from then on runs replay the recording: the kernels' code on the host is not
// run any more. Other shapes have recordings of their own; a run that cannot be recorded is run as ever.
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

// Something that a run has received, by the place of its key in ExecutionPlan::transfers.
struct ReceivedValue {
  Tensor tensor;
  bool is_there = false;
  bool dead = false;
  bool on_device = false;
};

struct PlanRecording {
  struct Sent {
    int32_t transfer;
    int32_t output;  // of the device's work; -1 if it is a value of the host
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

  // What to do with a run that received this. With kReplay, `recording` is what to replay. After kRecord the caller
  // calls Add or Refuse.
  Choice Choose(const std::vector<ReceivedValue>& received, std::string* key,
                std::shared_ptr<const PlanRecording>* recording);
  void Add(const std::string& key, std::shared_ptr<const PlanRecording> recording);
  // The run could not be recorded: because of something that passes, such as a reader of a variable, or because runs
  // like it never can. After a few tries there is no other.
  void Refuse(const std::string& key);
  // The recording is out of date; after too many of these there is no other.
  void Drop(const std::string& key);

 private:
  struct Entry {
    int runs = 0;
    int refusals = 0;
    bool is_refused = false;
    bool is_being_made = false;
    int moves = 0;  // times in a row that a recording was soon out of date
    int64_t replays = 0;
    std::shared_ptr<const PlanRecording> recording;
  };
  FastMutex mu_;
  StringMap<Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_RUNTIME_PLAN_RECORDINGS_H_
