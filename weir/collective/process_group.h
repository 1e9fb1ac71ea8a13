// weir::collective: collectives between the processes of a job, as Horovod and MPI programs use them.
//
//   auto group = weir::collective::ProcessGroup::Init();        // under weir launch, mpirun, srun, torchrun, or alone
//   auto sum = (*group)->AllReduce(gradient, {.op = ReduceOp::kAverage});
//
// All ranks make the same calls in the same order. A call that they disagree about (another operation, type or shape)
// ends with INVALID_ARGUMENT on every rank, and the next call works. A rank that dies, leaves or is late ends the call
// with an error that names it; the group is of no use then, and the program makes another one or ends.
//
// Ranks must be on one host: they exchange data through shared memory. Between hosts, use the collective operations of
// a cluster's graphs (docs/guide/collectives.md).
#ifndef WEIR_COLLECTIVE_PROCESS_GROUP_H_
#define WEIR_COLLECTIVE_PROCESS_GROUP_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "weir/collective/place.h"
#include "weir/collective/shared_segment.h"
#include "weir/tensor/tensor.h"

namespace weir::collective {

enum class ReduceOp { kSum, kAverage, kMin, kMax, kProduct };

struct ReduceOptions {
  ReduceOp op = ReduceOp::kAverage;
  double prescale = 1.0;   // of every rank's values before, in the tensor's type; floating types only
  double postscale = 1.0;  // of the result
};

struct GroupOptions {
  absl::Duration timeout = absl::Minutes(5);  // of the meeting at the start, and of each call
};

// For one thread at a time.
class ProcessGroup {
 public:
  // The place is what the launcher says (place.h). UNIMPLEMENTED if ranks are on several hosts.
  static StatusOr<std::unique_ptr<ProcessGroup>> Init(const GroupOptions& options = {});
  static StatusOr<std::unique_ptr<ProcessGroup>> Init(const Place& place, const GroupOptions& options = {});

  int rank() const { return place_.rank; }
  int size() const { return place_.size; }
  int local_rank() const { return place_.local_rank; }
  int local_size() const { return place_.local_size; }
  const Place& place() const { return place_; }

  // The same bits on every rank: values are merged in the order of ranks, half and bfloat16 in float. An average of
  // integers is rounded towards zero. Types: half, bfloat16, float, double, int32, int64.
  StatusOr<Tensor> AllReduce(const Tensor& value, const ReduceOptions& options = {});
  // All of them as if they were one tensor: small tensors share the cost of a meeting.
  StatusOr<std::vector<Tensor>> AllReduce(std::span<const Tensor> values, const ReduceOptions& options = {});
  // Into the tensor's own memory. REQUIRES: the caller may write there.
  Status AllReduceInPlace(Tensor* value, const ReduceOptions& options = {});
  // The ranks' rows, one rank after the other. First dimensions may differ.
  StatusOr<Tensor> AllGather(const Tensor& value);
  // The root's value. Other ranks give a tensor of the same type and shape, whose values do not matter.
  StatusOr<Tensor> Broadcast(const Tensor& value, int root);
  // Row block i of the first dimension goes to rank i; gives the blocks that came, in the order of ranks. `splits` are
  // the rows for each rank, none: equally many. `received` (may be null): how many came from each rank.
  StatusOr<Tensor> AllToAll(const Tensor& value, std::span<const int64_t> splits = {},
                            std::vector<int64_t>* received = nullptr);
  // This rank's part of the reduced rows. If the rows cannot be divided, the first ranks get one more.
  StatusOr<Tensor> ReduceScatter(const Tensor& value, const ReduceOptions& options = {});
  Status Barrier();

 private:
  struct Note;
  ProcessGroup(Place place, const GroupOptions& options, std::unique_ptr<SharedSegment> segment)
      : place_(std::move(place)), options_(options), segment_(std::move(segment)) {}
  Note MakeNote(int kind, const Tensor& value) const;
  Note& NoteOf(int rank) const;
  // Publishes the phase with a note and compares it with those of the others.
  Status MeetWithNote(const Note& note);
  Status Meet() { return segment_->Meet(options_.timeout); }
  Status Reduce(Tensor* value, const ReduceOptions& options);
  // Moves `out` bytes to each rank, and gets what each sends to this one. Streams through the buffers.
  Status Exchange(const std::vector<const char*>& out, const std::vector<size_t>& out_bytes,
                  const std::vector<char*>& in, const std::vector<size_t>& in_bytes, size_t most_bytes);

  const Place place_;
  const GroupOptions options_;
  const std::unique_ptr<SharedSegment> segment_;  // null: alone
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_PROCESS_GROUP_H_
