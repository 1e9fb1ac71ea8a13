// Team: the ranks of a group, on one host or on several, and how bytes and sums move between them.
//
// Inside a host ranks use shared memory. Between hosts, the ranks of equal number on each host form a *lane*: values
// are first merged inside the hosts, each lane holding one part of them; lanes merge their parts over the network; then
// the parts are spread inside the hosts again. So every byte crosses the network once in each direction per host.
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

// What a rank is about to do. All ranks compare the notes of all.
struct Note {
  int32_t kind = 0;
  int32_t dtype = 0;
  int32_t op = 0;
  int32_t root = 0;
  int32_t rank = 0;  // of the shape
  int32_t unused = 0;
  int64_t elements = 0;
  int64_t rows = 0;
  uint64_t shape = 0;  // a hash of the dimensions that must agree
  bool AgreesWith(const Note& other) const;
  std::string ToString() const;
};
enum NoteKind { kAllReduce, kGather, kBroadcastFrom, kExchange, kScatter, kBarrier };

// For one thread at a time. After an error other than INVALID_ARGUMENT it is of no use.
class Team {
 public:
  // Meets the other ranks.
  static StatusOr<std::unique_ptr<Team>> Make(const Place& place, absl::Duration timeout, const Alarm& alarm = {});
  // Some of the ranks, which must include this one; `name` is another one for each part.
  StatusOr<std::unique_ptr<Team>> MakePart(const std::vector<int>& ranks, const std::string& name) const;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int host() const { return host_of_[rank_]; }
  int num_hosts() const { return static_cast<int>(hosts_.size()); }
  int local_rank() const { return local_rank_; }
  int local_size() const { return static_cast<int>(hosts_[host()].size()); }

  // INVALID_ARGUMENT at all ranks if they do not agree; `notes()` are then those of all ranks.
  Status Agree(const Note& note);
  const std::vector<Note>& notes() const { return notes_; }
  // Merges the values of all ranks in place, once they agree.
  Status Reduce(const Note& note, DType dtype, MergeOp op, void* data, int64_t count);
  // This rank's part of the merged values: `begin` are the elements where the parts begin, and their end. After Agree.
  Status ReduceScatter(DType dtype, MergeOp op, const char* data, const std::vector<int64_t>& begin, char* out);
  // Rank r holds the bytes from begin[r] to begin[r + 1]; afterwards everybody holds all. After Agree.
  Status Gather(char* data, const std::vector<size_t>& begin);
  // The bytes of `root`. After Agree.
  Status Broadcast(char* data, size_t bytes, int root);
  // Moves out_bytes[r] to each rank r, and gets what each sends to this one. After Agree, with what all ranks know:
  // `most_local`, the most that a rank sends to another on any host.
  Status ExchangeAll(const std::vector<const char*>& out, const std::vector<size_t>& out_bytes,
                     const std::vector<char*>& in, const std::vector<size_t>& in_bytes, size_t most_local);
  // Whether others wait for this rank in a call.
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
  int lanes_ = 1;  // as many as the host with the fewest ranks has
  absl::Duration timeout_;
  std::string job_;
  std::vector<int> host_of_;   // by rank
  std::vector<int> local_of_;  // by rank
  std::vector<std::vector<int>> hosts_;
  std::vector<int> net_rank_;               // by rank, the number in the network; empty: the same
  std::shared_ptr<Network> network_;        // null: one host
  std::unique_ptr<SharedSegment> segment_;  // null: alone on the host
  std::vector<Note> notes_;
  std::vector<char> scratch_;
  std::vector<const void*> parts_;
  Status failed_;
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_TEAM_H_
