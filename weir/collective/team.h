// Team: the ranks of a group, and the movement of bytes and sums between them. There are two kinds: one over shared
// memory and connections of weir's own (direct_team.h), and one over MPI (mpi_team.h), for programs that ask for it.
#ifndef WEIR_COLLECTIVE_TEAM_H_
#define WEIR_COLLECTIVE_TEAM_H_

#include <memory>
#include <string>
#include <vector>

#include "weir/collective/merge.h"
#include "weir/collective/place.h"
#include "weir/collective/socket.h"
#include "weir/tensor/dtype.h"

namespace weir::collective {

// Describes the call that a rank is about to make. All ranks compare the notes of all ranks.
struct Note {
  int32_t kind = 0;
  int32_t dtype = 0;
  int32_t op = 0;
  int32_t root = 0;
  int32_t rank = 0;  // of the tensor
  int32_t unused = 0;
  int64_t elements = 0;
  int64_t rows = 0;
  uint64_t shape = 0;  // a hash of the dimensions that must be equal
  bool AgreesWith(const Note& other) const;
  std::string ToString() const;
};
enum NoteKind { kAllReduce, kGather, kBroadcastFrom, kExchange, kScatter, kBarrier };

// OK if the notes of all ranks agree, else INVALID_ARGUMENT with two that do not.
Status CompareNotes(const std::vector<Note>& notes);

// May be used by one thread at a time. After an error other than INVALID_ARGUMENT it can no longer be used.
class Team {
 public:
  // Meets the other ranks. `alarm` is called while they are missing.
  static StatusOr<std::unique_ptr<Team>> Make(const Place& place, absl::Duration timeout, const Alarm& alarm = {});
  virtual ~Team() = default;
  // A team of the given ranks, which must include this one; `name` must be different for each part.
  virtual StatusOr<std::unique_ptr<Team>> MakePart(const std::vector<int>& ranks, const std::string& name) = 0;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int host() const { return host_of_[rank_]; }
  int num_hosts() const { return static_cast<int>(hosts_.size()); }
  int local_rank() const { return local_of_[rank_]; }
  int local_size() const { return static_cast<int>(hosts_[host()].size()); }

  // INVALID_ARGUMENT on all ranks if they disagree; `notes()` then has the notes of all ranks.
  virtual Status Agree(const Note& note) = 0;
  const std::vector<Note>& notes() const { return notes_; }
  // Merges the values of all ranks in place, after checking that they agree.
  virtual Status Reduce(const Note& note, DType dtype, MergeOp op, void* data, int64_t count) = 0;
  // Computes this rank's part of the merged values: `begin` has the first element of each part, and the end. Must
  // follow Agree.
  virtual Status ReduceScatter(DType dtype, MergeOp op, const char* data, const std::vector<int64_t>& begin,
                               char* out) = 0;
  // Rank r holds the bytes from begin[r] to begin[r + 1]; afterwards every rank holds all of them. Must follow Agree.
  virtual Status Gather(char* data, const std::vector<size_t>& begin) = 0;
  // Copies the bytes of `root` to all ranks. Must follow Agree.
  virtual Status Broadcast(char* data, size_t bytes, int root) = 0;
  // Sends out_bytes[r] bytes to each rank r and receives in_bytes[r] bytes from it. Must follow Agree. `most_local`,
  // which must be the same on all ranks, is the largest number of bytes that a rank sends to another one on the same
  // host.
  virtual Status ExchangeAll(const std::vector<const char*>& out, const std::vector<size_t>& out_bytes,
                             const std::vector<char*>& in, const std::vector<size_t>& in_bytes, size_t most_local) = 0;
  // Whether other ranks wait for this one in a call.
  virtual bool IsAwaited() const = 0;
  // Looks whether ranks that this one does not wait for at the moment have failed, as far as that can be seen.
  virtual Status Check() = 0;
  // Ends the team with an error that this rank has found by itself, so that no other rank waits for it.
  virtual void GiveUp(const Status& status) = 0;

 protected:
  // Orders the ranks by host: host_of_ has any number for each host, rank_ and size_ are set.
  void OrderByHost();

  int rank_ = 0;
  int size_ = 1;
  std::vector<int> host_of_;   // by rank
  std::vector<int> local_of_;  // by rank
  std::vector<std::vector<int>> hosts_;
  std::vector<Note> notes_;
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_TEAM_H_
