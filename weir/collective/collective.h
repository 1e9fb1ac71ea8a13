// weir::collective in the style of Horovod: every process calls Init once and then requests collectives by name, from
// any thread and in any order. A background thread finds out which names are ready on all ranks and runs them; small
// tensors that are ready at the same time are fused into one buffer.
//
//   WEIR_RETURN_IF_ERROR(weir::collective::Init());                       // under weir launch, mpirun, srun, or alone
//   Handle a = AllReduceAsync("gradient/w", w), b = AllReduceAsync("gradient/b", b);
//   WEIR_ASSIGN_OR_RETURN(Tensor mean, a.Wait());
//
// If ranks disagree about a name (another operation, type or shape), all of them get INVALID_ARGUMENT for it. If a rank
// dies or is lost, all collectives fail with an error that names it. In graphs and compiled functions, the same
// collectives are available as operations (weir/client/collective_ops.h).
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
  absl::Duration timeout = absl::Minutes(5);  // for the meeting, and for a rank that does not react at all
  // The size limit of the fusion buffer. -1: WEIR_FUSION_BYTES or HOROVOD_FUSION_THRESHOLD, else 64 MiB. 0: no fusion.
  int64_t fusion_bytes = -1;
  // If ranks have been waiting for a name for this long, rank 0 logs it with the missing ranks. After `stall_error` the
  // collective fails with DEADLINE_EXCEEDED.
  absl::Duration stall_warning = absl::Seconds(60);
  absl::Duration stall_error = absl::InfiniteDuration();
  // If set, rank 0 writes a timeline of its collectives, in the format of chrome://tracing. Empty: WEIR_TIMELINE or
  // HOROVOD_TIMELINE.
  std::string timeline;
  std::function<Status()> meeting_alarm;  // called while the ranks meet; an error ends the meeting. May be empty
};

// Meets the other ranks. FAILED_PRECONDITION if Init has been called already.
Status Init(const InitOptions& options = {});
Status Init(const Place& place, const InitOptions& options = {});
// Waits until all ranks call it. Pending collectives end with CANCELLED.
void Shutdown();
bool IsInitialized();
// The error that ended all collectives, on this rank and others: a lost rank. After Shutdown, Init may be called again.
Status Failure();

// Without Init, this process is the only rank.
int Rank();
int Size();
int LocalRank();  // among the ranks of this host
int LocalSize();
int CrossRank();  // the index of this host among the hosts
int CrossSize();

// A subset of the ranks. All ranks must add the same sets in the same order.
using ProcessSet = int;
constexpr ProcessSet kAllRanks = 0;
StatusOr<ProcessSet> AddProcessSet(const std::vector<int>& ranks);

enum class Compression {
  kNone,
  kHalf,  // floats and doubles are sent as half
  // In sums and averages, floats are sent as int8 with a scale for every 256 of them. The rounding error is remembered
  // under the name and added to its next sum (error feedback).
  kInt8,
};

struct AllReduceOptions {
  ReduceOp op = ReduceOp::kAverage;
  double prescale = 1.0;
  double postscale = 1.0;
  Compression compression = Compression::kNone;
  ProcessSet set = kAllRanks;
};

// The future result of a collective. Copies refer to the same result.
class Handle {
 public:
  Handle() = default;
  explicit Handle(std::shared_ptr<HandleState> state) : state_(std::move(state)) {}
  bool IsDone() const;
  // Waits for the result. REQUIRES: the request had one tensor.
  StatusOr<Tensor> Wait() const;
  StatusOr<std::vector<Tensor>> WaitAll() const;
  // For AllToAll, after Wait: how many rows came from each rank.
  const std::vector<int64_t>& received_splits() const;

 private:
  std::shared_ptr<HandleState> state_;
};

// A name may be reused when its result has arrived, or earlier: the requests then run one after the other. The memory
// of the tensors must not change before the result has arrived.
Handle AllReduceAsync(const std::string& name, const Tensor& value, const AllReduceOptions& options = {});
// All tensors or none: they run when all are ready, and are fused into one buffer.
Handle GroupedAllReduceAsync(const std::string& name, const std::vector<Tensor>& values,
                             const AllReduceOptions& options = {});
Handle AllGatherAsync(const std::string& name, const Tensor& value, ProcessSet set = kAllRanks);
Handle BroadcastAsync(const std::string& name, const Tensor& value, int root, ProcessSet set = kAllRanks);
Handle AllToAllAsync(const std::string& name, const Tensor& value, const std::vector<int64_t>& splits = {},
                     ProcessSet set = kAllRanks);
Handle ReduceScatterAsync(const std::string& name, const Tensor& value, const AllReduceOptions& options = {});

// These wait for the result.
StatusOr<Tensor> AllReduce(const std::string& name, const Tensor& value, const AllReduceOptions& options = {});
StatusOr<Tensor> AllGather(const std::string& name, const Tensor& value, ProcessSet set = kAllRanks);
StatusOr<Tensor> Broadcast(const std::string& name, const Tensor& value, int root, ProcessSet set = kAllRanks);
Status Barrier(ProcessSet set = kAllRanks);
// Tells the others that this rank has no more data. Until all ranks have joined, it takes part in all-reduces with
// zeros and in gathers without rows. Returns the rank that joined last.
StatusOr<int> Join();

// Start and end a timeline of this rank, which need not be rank 0.
Status StartTimeline(const std::string& path);
void StopTimeline();

}  // namespace collective
}  // namespace weir

#endif  // WEIR_COLLECTIVE_COLLECTIVE_H_
