#include "weir/collective/team.h"

#include <algorithm>

#include "weir/base/strings.h"
#include "weir/collective/direct_team.h"
#include "weir/collective/mpi_team.h"

namespace weir::collective {
namespace {

constexpr std::string_view kKindNames[] = {"AllReduce", "AllGather",     "Broadcast",
                                           "AllToAll",  "ReduceScatter", "Barrier"};

}  // namespace

bool Note::AgreesWith(const Note& other) const {
  const bool rows_differ = kind == kGather || kind == kExchange;
  return kind == other.kind && dtype == other.dtype && op == other.op && root == other.root && rank == other.rank &&
         shape == other.shape && (rows_differ || elements == other.elements);
}

std::string Note::ToString() const {
  return Cat("a ", kKindNames[std::clamp<int>(kind, 0, kBarrier)], " of ", Name(static_cast<DType>(dtype)), " with ",
             elements, " elements in ", rank, " dimensions", kind == kBroadcastFrom ? Cat(" from rank ", root) : "",
             kind == kAllReduce || kind == kScatter ? Cat(", reduction ", op) : "");
}

Status CompareNotes(const std::vector<Note>& notes) {
  const Note& first = notes[0];
  for (int other = 1; other < static_cast<int>(notes.size()); ++other) {
    if (first.AgreesWith(notes[other])) continue;
    const std::string here = first.ToString(), there = notes[other].ToString();
    return InvalidArgument("The ranks disagree: rank 0 calls ", here, " but rank ", other, " ", there,
                           here == there ? " of another shape" : "");
  }
  return OkStatus();
}

StatusOr<std::unique_ptr<Team>> Team::Make(const Place& place, absl::Duration timeout, const Alarm& alarm) {
  if (place.transport == Transport::kMpi && place.size > 1) return MpiTeam::Make(place, timeout);
  return DirectTeam::Make(place, timeout, alarm);
}

void Team::OrderByHost() {
  std::vector<int> number(1 + *std::max_element(host_of_.begin(), host_of_.end()), -1);
  local_of_.resize(size_);
  for (int r = 0; r < size_; ++r) {
    int& host = number[host_of_[r]];
    if (host < 0) {
      host = static_cast<int>(hosts_.size());
      hosts_.emplace_back();
    }
    host_of_[r] = host;
    local_of_[r] = static_cast<int>(hosts_[host].size());
    hosts_[host].push_back(r);
  }
  notes_.resize(size_);
}

}  // namespace weir::collective
