// weir::collective::ProcessGroup: collectives between the processes of a job, one call after the other, as MPI programs
// use them. (collective.h offers Horovod's way on top: by name, in any order, in the background.)
//
//   auto group = weir::collective::ProcessGroup::Init();        // under weir launch, mpirun, srun, torchrun, or alone
//   auto sum = (*group)->AllReduce(gradient, {.op = ReduceOp::kAverage});
//
// All ranks make the same calls in the same order. A call that they disagree about (another operation, type or shape)
// ends with INVALID_ARGUMENT on every rank, and the next call works. A rank that dies, leaves or is late ends the call
// with an error that names it; the group is of no use then, and the program makes another one or ends.
//
// Ranks of one host exchange data through shared memory, hosts through TCP (docs/guide/collectives.md).
#ifndef WEIR_COLLECTIVE_PROCESS_GROUP_H_
#define WEIR_COLLECTIVE_PROCESS_GROUP_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "weir/base/export.h"
#include "weir/collective/place.h"
#include "weir/tensor/tensor.h"

namespace WEIR_PUBLIC weir {
namespace collective {

class Team;
struct Note;

enum class ReduceOp { kSum, kAverage, kMin, kMax, kProduct, kAdasum };

struct ReduceOptions {
  ReduceOp op = ReduceOp::kAverage;
  double prescale = 1.0;   // of every rank's values before, in the tensor's type; floating types only
  double postscale = 1.0;  // of the result
};

struct GroupOptions {
  absl::Duration timeout = absl::Minutes(5);  // of the meeting at the start, and of each call
  std::function<Status()> meeting_alarm;      // an error of it ends the meeting; may be empty
};

// For one thread at a time.
class ProcessGroup {
 public:
  // The place is what the launcher says (place.h).
  static StatusOr<std::unique_ptr<ProcessGroup>> Init(const GroupOptions& options = {});
  static StatusOr<std::unique_ptr<ProcessGroup>> Init(const Place& place, const GroupOptions& options = {});
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int rank() const;
  int size() const;
  int local_rank() const;  // among the ranks of this host
  int local_size() const;
  int host() const;  // hosts are numbered in the order of their first ranks
  int num_hosts() const;
  const Place& place() const { return place_; }

  // A group of some ranks, which have the numbers 0, 1, ... in it, in this order. All ranks of this group make the
  // call, with the same ranks; those that are not among them get null. This group must outlive it.
  StatusOr<std::unique_ptr<ProcessGroup>> Part(const std::vector<int>& ranks);

  // The same bits on every rank: values are merged in the order of ranks, first inside the hosts and then between them;
  // half and bfloat16 in float. An average of integers is rounded towards zero. Types: half, bfloat16, float, double,
  // int32, int64.
  //
  // Adasum combines two vectors so that directions that both have are not counted twice; floating types only, a number
  // of ranks that is a power of two.
  StatusOr<Tensor> AllReduce(const Tensor& value, const ReduceOptions& options = {});
  // All of them as if they were one tensor: small tensors share the cost of a meeting. (Adasum: each by itself.)
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

  // Whether other ranks wait for this one in a call.
  bool IsAwaited() const;

 private:
  ProcessGroup(Place place, std::unique_ptr<Team> team);
  Note MakeNote(int kind, const Tensor& value) const;
  Status Reduce(Tensor* value, const ReduceOptions& options);
  Status ReduceAdasum(Tensor* value);

  const Place place_;
  const std::unique_ptr<Team> team_;
  int parts_ = 0;  // made so far
};

}  // namespace collective
}  // namespace weir

#endif  // WEIR_COLLECTIVE_PROCESS_GROUP_H_
