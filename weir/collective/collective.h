// weir::collective, Horovod's way: every process calls Init once, and then asks for collectives by name, from any
// thread and in any order. A thread in the background finds out which names are ready on all ranks, and runs them;
// small tensors that are ready together travel in one buffer.
//
//   WEIR_RETURN_IF_ERROR(weir::collective::Init());                       // under weir launch, mpirun, srun, or alone
//   Handle a = AllReduceAsync("gradient/w", w), b = AllReduceAsync("gradient/b", b);
//   WEIR_ASSIGN_OR_RETURN(Tensor mean, a.Wait());
//
// Ranks that disagree about a name (another operation, type or shape) all get INVALID_ARGUMENT for it. A rank that dies
// or is lost ends everything with an error that names it. In graphs and compiled functions the same collectives are
// operations (weir/client/collective_ops.h).
#ifndef WEIR_COLLECTIVE_COLLECTIVE_H_
#define WEIR_COLLECTIVE_COLLECTIVE_H_

#include <memory>
#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/collective/process_group.h"

namespace WEIR_PUBLIC weir {
namespace collective {

class HandleState;

struct InitOptions {
  absl::Duration timeout = absl::Minutes(5);  // of the meeting, and for a rank that does not answer at all
  // The most that travels in one buffer. -1: WEIR_FUSION_BYTES or HOROVOD_FUSION_THRESHOLD, else 64 MiB. 0: no fusion.
  int64_t fusion_bytes = -1;
  // A name for which ranks wait so long is reported by rank 0, with the ranks that are missing; and after `stall_error`
  // the wait ends with DEADLINE_EXCEEDED.
  absl::Duration stall_warning = absl::Seconds(60);
  absl::Duration stall_error = absl::InfiniteDuration();
  // Rank 0 writes what happens there, in the format of chrome://tracing. Empty: WEIR_TIMELINE or HOROVOD_TIMELINE.
  std::string timeline;
  std::function<Status()> meeting_alarm;  // an error of it ends the meeting; may be empty
};

// Meets the other ranks. FAILED_PRECONDITION if that was done already.
Status Init(const InitOptions& options = {});
Status Init(const Place& place, const InitOptions& options = {});
// Waits until all ranks call it. What is still asked for ends with CANCELLED.
void Shutdown();
bool IsInitialized();
// What has ended all collectives, on this rank and others: a rank that is lost. Shutdown and Init begin anew.
Status Failure();

// Without Init: the only rank.
int Rank();
int Size();
int LocalRank();  // among the ranks of this host
int LocalSize();
int CrossRank();  // this host among the hosts
int CrossSize();

// Some of the ranks. All ranks add the same sets in the same order.
using ProcessSet = int;
constexpr ProcessSet kAllRanks = 0;
StatusOr<ProcessSet> AddProcessSet(const std::vector<int>& ranks);

enum class Compression {
  kNone,
  kHalf,  // float and double travel as half
  // Sums and averages of floats travel as int8 with a scale for 256 of them. What a number loses is remembered under
  // its name, and added in the next sum of that name.
  kInt8,
};

struct AllReduceOptions {
  ReduceOp op = ReduceOp::kAverage;
  double prescale = 1.0;
  double postscale = 1.0;
  Compression compression = Compression::kNone;
  ProcessSet set = kAllRanks;
};

// What will come of a collective. Copies are the same.
class Handle {
 public:
  Handle() = default;
  explicit Handle(std::shared_ptr<HandleState> state) : state_(std::move(state)) {}
  bool IsDone() const;
  // Waits for the result. REQUIRES: one tensor was asked for.
  StatusOr<Tensor> Wait() const;
  StatusOr<std::vector<Tensor>> WaitAll() const;
  // Of AllToAll: how many rows came from each rank. After Wait.
  const std::vector<int64_t>& received_splits() const;

 private:
  std::shared_ptr<HandleState> state_;
};

// A name may be asked for again once its result is there, or before: then one after the other. The memory of the
// tensors must not be changed before the result is there.
Handle AllReduceAsync(const std::string& name, const Tensor& value, const AllReduceOptions& options = {});
// All together or none: they are ready when all are, and travel in one buffer.
Handle GroupedAllReduceAsync(const std::string& name, const std::vector<Tensor>& values,
                             const AllReduceOptions& options = {});
Handle AllGatherAsync(const std::string& name, const Tensor& value, ProcessSet set = kAllRanks);
Handle BroadcastAsync(const std::string& name, const Tensor& value, int root, ProcessSet set = kAllRanks);
Handle AllToAllAsync(const std::string& name, const Tensor& value, const std::vector<int64_t>& splits = {},
                     ProcessSet set = kAllRanks);
Handle ReduceScatterAsync(const std::string& name, const Tensor& value, const AllReduceOptions& options = {});

// The same, with the wait.
StatusOr<Tensor> AllReduce(const std::string& name, const Tensor& value, const AllReduceOptions& options = {});
StatusOr<Tensor> AllGather(const std::string& name, const Tensor& value, ProcessSet set = kAllRanks);
StatusOr<Tensor> Broadcast(const std::string& name, const Tensor& value, int root, ProcessSet set = kAllRanks);
Status Barrier(ProcessSet set = kAllRanks);
// This rank has no more data: until all ranks have joined it takes part in all-reduces with zeros, and in gathers with
// no rows. Gives the rank that joined last.
StatusOr<int> Join();

// Begins and ends the timeline of this rank, whichever it is.
Status StartTimeline(const std::string& path);
void StopTimeline();

}  // namespace collective
}  // namespace weir

#endif  // WEIR_COLLECTIVE_COLLECTIVE_H_
