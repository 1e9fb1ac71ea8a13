// weir::collective::ProcessGroup: collectives between the processes of a job, called one after the other as in MPI
// programs. (collective.h adds Horovod's style on top: by name, in any order, in the background.)
//
//   auto group = weir::collective::ProcessGroup::Init();        // under weir launch, mpirun, srun, torchrun, or alone
//   auto sum = (*group)->AllReduce(gradient, {.op = ReduceOp::kAverage});
//
// All ranks must make the same calls in the same order. If they disagree about a call (another operation, type or
// shape), it fails with INVALID_ARGUMENT on every rank, and the next call works. If a rank dies, leaves or is late, the
// call fails with an error that names it; the group can then no longer be used.
//
// Ranks of one host exchange data through shared memory, hosts through TCP (docs/guide/collectives.md). With
// WEIR_TRANSPORT=mpi, all of them by MPI; sums are then equal on all ranks only as far as MPI's are.
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
  // Factor for every rank's values before the reduction, in the tensor's type; floating types only.
  double prescale = 1.0;
  double postscale = 1.0;  // factor for the result
};

struct GroupOptions {
  absl::Duration timeout = absl::Minutes(5);  // for the meeting at the start, and for each call
  std::function<Status()> meeting_alarm;      // called while the ranks meet; an error ends the meeting. May be empty
};

// May be used by one thread at a time.
class ProcessGroup {
 public:
  // Without a place, uses the one that the launcher gives (place.h).
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

  // A group of the given ranks, which are numbered 0, 1, ... in this order. All ranks of this group must make the call,
  // with the same ranks; those that are not in the list get null. This group must outlive the new one.
  StatusOr<std::unique_ptr<ProcessGroup>> Part(const std::vector<int>& ranks);

  // Results are equal bit for bit on every rank: values are merged in rank order, first inside the hosts and then
  // between them; half and bfloat16 are computed in float. Averages of integers are rounded towards zero. Types: half,
  // bfloat16, float, double, int32, int64.
  //
  // Adasum combines vectors without counting common directions twice. It needs a floating type and a number of ranks
  // that is a power of two.
  StatusOr<Tensor> AllReduce(const Tensor& value, const ReduceOptions& options = {});
  // Reduces all tensors as if they were one, so that small tensors share the cost of a call. (Adasum reduces each by
  // itself.)
  StatusOr<std::vector<Tensor>> AllReduce(std::span<const Tensor> values, const ReduceOptions& options = {});
  // Reduces in the tensor's own memory. REQUIRES: the caller may write to it.
  Status AllReduceInPlace(Tensor* value, const ReduceOptions& options = {});
  // Concatenates the rows of all ranks, in rank order. First dimensions may differ.
  StatusOr<Tensor> AllGather(const Tensor& value);
  // Returns the root's value. Other ranks pass a tensor of the same type and shape; its values are ignored.
  StatusOr<Tensor> Broadcast(const Tensor& value, int root);
  // Sends the i-th block of rows to rank i and returns the blocks received, in rank order. `splits` has the number of
  // rows for each rank; if it is empty, the blocks have equal size. `received` (may be null) gets the number of rows
  // from each rank.
  StatusOr<Tensor> AllToAll(const Tensor& value, std::span<const int64_t> splits = {},
                            std::vector<int64_t>* received = nullptr);
  // Returns this rank's share of the reduced rows. If they cannot be divided evenly, the first ranks get one more.
  StatusOr<Tensor> ReduceScatter(const Tensor& value, const ReduceOptions& options = {});
  Status Barrier();

  // Whether other ranks wait for this one in a call.
  bool IsAwaited() const;
  // The error that ends the group if a rank has been lost since the last call, as far as that can be seen. For ranks
  // that wait for each other in another way.
  Status CheckPeers();
  // Ends the group with an error that this rank has found by itself, so that no other rank waits for it.
  void GiveUp(const Status& status);

 private:
  ProcessGroup(Place place, std::unique_ptr<Team> team);
  Note MakeNote(int kind, const Tensor& value) const;
  Status Reduce(Tensor* value, const ReduceOptions& options);
  Status ReduceAdasum(Tensor* value);

  const Place place_;
  const std::unique_ptr<Team> team_;
  int parts_ = 0;  // created so far
};

}  // namespace collective
}  // namespace weir

#endif  // WEIR_COLLECTIVE_PROCESS_GROUP_H_
