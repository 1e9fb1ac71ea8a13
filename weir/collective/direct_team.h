// DirectTeam: ranks that exchange data over shared memory and connections of weir's own.
//
// Ranks of one host use shared memory. Between hosts, the ranks with the same local number form a *lane*: values are
// first merged inside the hosts, so that each lane has the sum of one part; lanes merge their parts over the network;
// then the parts are distributed inside the hosts again. So every byte crosses the network once in each direction per
// host.
#ifndef WEIR_COLLECTIVE_DIRECT_TEAM_H_
#define WEIR_COLLECTIVE_DIRECT_TEAM_H_

#include <memory>
#include <string>
#include <vector>

#include "weir/collective/network.h"
#include "weir/collective/shared_segment.h"
#include "weir/collective/team.h"

namespace weir::collective {

class DirectTeam : public Team {
 public:
  static StatusOr<std::unique_ptr<Team>> Make(const Place& place, absl::Duration timeout, const Alarm& alarm);
  StatusOr<std::unique_ptr<Team>> MakePart(const std::vector<int>& ranks, const std::string& name) override;

  Status Agree(const Note& note) override;
  Status Reduce(const Note& note, DType dtype, MergeOp op, void* data, int64_t count) override;
  Status ReduceScatter(DType dtype, MergeOp op, const char* data, const std::vector<int64_t>& begin,
                       char* out) override;
  Status Gather(char* data, const std::vector<size_t>& begin) override;
  Status Broadcast(char* data, size_t bytes, int root) override;
  Status ExchangeAll(const std::vector<const char*>& out, const std::vector<size_t>& out_bytes,
                     const std::vector<char*>& in, const std::vector<size_t>& in_bytes, size_t most_local) override;
  bool IsAwaited() const override;
  Status Check() override;
  void GiveUp(const Status& status) override;

 private:
  struct Range {
    size_t begin;
    size_t end;
  };
  DirectTeam() = default;
  Status Prepare(const std::string& job, const Alarm& alarm);
  Status Meet();
  Status Fail(Status status);
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

  int lanes_ = 1;  // the smallest number of ranks on any host
  absl::Duration timeout_;
  std::string job_;
  std::vector<int> net_rank_;               // by rank: its number in the network; empty: the same
  std::shared_ptr<Network> network_;        // null if there is one host
  std::unique_ptr<SharedSegment> segment_;  // null if there is one rank on the host
  std::vector<char> scratch_;
  std::vector<const void*> parts_;
  Status failed_;
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_DIRECT_TEAM_H_
