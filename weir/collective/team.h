// Team: the ranks of a group, on one or several hosts, and the movement of bytes and sums between them.
//
// Ranks of one host use shared memory. Between hosts, the ranks with the same local number form a *lane*: values are
// first merged inside the hosts, so that each lane has the sum of one part; lanes merge their parts over the network;
// then the parts are distributed inside the hosts again. So every byte crosses the network once in each direction per
// host.
#ifndef WEIR_COLLECTIVE_TEAM_H_
#define WEIR_COLLECTIVE_TEAM_H_

#include <memory>
#include <string>
#include <vector>

#include "weir/collective/merge.h"
#include "weir/collective/network.h"
#include "weir/collective/place.h"
#include "weir/collective/shared_segment.h"

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

// May be used by one thread at a time. After an error other than INVALID_ARGUMENT it can no longer be used.
class Team {
 public:
  // Meets the other ranks.
  static StatusOr<std::unique_ptr<Team>> Make(const Place& place, absl::Duration timeout, const Alarm& alarm = {});
  // A team of the given ranks, which must include this one; `name` must be different for each part.
  StatusOr<std::unique_ptr<Team>> MakePart(const std::vector<int>& ranks, const std::string& name) const;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int host() const { return host_of_[rank_]; }
  int num_hosts() const { return static_cast<int>(hosts_.size()); }
  int local_rank() const { return local_rank_; }
  int local_size() const { return static_cast<int>(hosts_[host()].size()); }

  // INVALID_ARGUMENT on all ranks if they disagree; `notes()` then has the notes of all ranks.
  Status Agree(const Note& note);
  const std::vector<Note>& notes() const { return notes_; }
  // Merges the values of all ranks in place, after checking that they agree.
  Status Reduce(const Note& note, DType dtype, MergeOp op, void* data, int64_t count);
  // Computes this rank's part of the merged values: `begin` has the first element of each part, and the end. Must
  // follow Agree.
  Status ReduceScatter(DType dtype, MergeOp op, const char* data, const std::vector<int64_t>& begin, char* out);
  // Rank r holds the bytes from begin[r] to begin[r + 1]; afterwards every rank holds all of them. Must follow Agree.
  Status Gather(char* data, const std::vector<size_t>& begin);
  // Copies the bytes of `root` to all ranks. Must follow Agree.
  Status Broadcast(char* data, size_t bytes, int root);
  // Sends out_bytes[r] bytes to each rank r and receives in_bytes[r] bytes from it. Must follow Agree. `most_local`,
  // which must be the same on all ranks, is the largest number of bytes that a rank sends to another one on the same
  // host.
  Status ExchangeAll(const std::vector<const char*>& out, const std::vector<size_t>& out_bytes,
                     const std::vector<char*>& in, const std::vector<size_t>& in_bytes, size_t most_local);
  // Whether other ranks wait for this one in a call.
  bool IsAwaited() const;

 private:
  struct Range {
    size_t begin;
    size_t end;
  };
  Team() = default;
  Status Prepare(const std::string& job, const Alarm& alarm);
  Status Meet();
  Status Fail(Status status);
  Status CompareNotes();
  Status ExchangeNotes(const Note& note, DType dtype, MergeOp op, std::vector<char>* values, int64_t count);
  Status TalkToOtherHosts(const std::vector<Note>& own, DType dtype, MergeOp op, std::vector<char>* values,
                          int64_t count);
  Status SpreadNotes();
  Status ReduceOnHost(const Note& note, DType dtype, MergeOp op, char* data, int64_t count);
  Status MergeLanes(DType dtype, MergeOp op, char* data, const std::vector<int64_t>& begin);
  // Local rank l holds the ranges held[l] of the data; afterwards all ranks of the host hold all of them.
  Status SpreadLocally(char* data, const std::vector<std::vector<Range>>& held);
  int entry(int host, int rank) const { return hosts_[host][local_of_[rank] % hosts_[host].size()]; }
  int net(int rank) const { return net_rank_.empty() ? rank : net_rank_[rank]; }

  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  int lanes_ = 1;  // the smallest number of ranks on any host
  absl::Duration timeout_;
  std::string job_;
  std::vector<int> host_of_;   // by rank
  std::vector<int> local_of_;  // by rank
  std::vector<std::vector<int>> hosts_;
  std::vector<int> net_rank_;               // by rank: its number in the network; empty: the same
  std::shared_ptr<Network> network_;        // null if there is one host
  std::unique_ptr<SharedSegment> segment_;  // null if there is one rank on the host
  std::vector<Note> notes_;
  std::vector<char> scratch_;
  std::vector<const void*> parts_;
  Status failed_;
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_TEAM_H_
