#include "weir/collective/types.h"

#include <algorithm>
#include <random>
#include <tuple>

#include "weir/base/strings.h"
#include "weir/framework/device.h"

namespace weir {

std::string_view Name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kReduce:
      return "reduce";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kGather:
      return "gather";
    case CollectiveKind::kPermute:
      return "permute";
    case CollectiveKind::kAllToAll:
      return "all-to-all";
    case CollectiveKind::kReduceScatter:
      return "reduce-scatter";
  }
  return "unknown";
}

std::string_view Name(MergeOp op) {
  switch (op) {
    case MergeOp::kAdd:
      return "Add";
    case MergeOp::kMul:
      return "Mul";
    case MergeOp::kMin:
      return "Min";
    case MergeOp::kMax:
      return "Max";
  }
  return "unknown";
}

StatusOr<MergeOp> ParseMergeOp(std::string_view name) {
  for (MergeOp op : {MergeOp::kAdd, MergeOp::kMul, MergeOp::kMin, MergeOp::kMax}) {
    if (Name(op) == name) return op;
  }
  return InvalidArgument("There is no reduction '", name, "'; the reductions are Add, Mul, Min and Max");
}

uint64_t RandomCollectiveId() {
  // Not thread-local: the generator is large, and a library that is loaded late has little room for thread-local data.
  std::random_device source;
  return 1 + (uint64_t{source()} << 32 | source()) % ((uint64_t{1} << 62) - 1);
}

std::string_view TaskOfMember(std::string_view device) { return device.substr(0, device.find("/device:")); }

int CollectiveGroup::RankOf(std::string_view device) const {
  for (int rank = 0; rank < size(); ++rank) {
    if (members[rank].device == device) return rank;
  }
  return -1;
}

bool CollectiveGroup::all_weir() const {
  return std::all_of(members.begin(), members.end(), [](const CollectiveMember& member) { return member.is_weir; });
}

std::vector<int> CollectiveGroup::MembersPerTask() const {
  std::vector<int> counts;
  std::string_view task;
  for (const CollectiveMember& member : members) {
    if (counts.empty() || TaskOfMember(member.device) != task) counts.push_back(0);
    task = TaskOfMember(member.device);
    ++counts.back();
  }
  return counts;
}

Status SortMembers(std::vector<CollectiveMember>* members) {
  const auto ranked = std::count_if(members->begin(), members->end(),
                                    [](const CollectiveMember& member) { return member.user_rank >= 0; });
  if (ranked > 0) {
    if (ranked < static_cast<int64_t>(members->size())) {
      return InvalidArgument("Only ", ranked, " of the group's ", members->size(), " members were given a rank");
    }
    std::sort(members->begin(), members->end(),
              [](const CollectiveMember& a, const CollectiveMember& b) { return a.user_rank < b.user_rank; });
    for (size_t i = 0; i < members->size(); ++i) {
      if ((*members)[i].user_rank == static_cast<int>(i)) continue;
      return InvalidArgument("The ranks of a group of ", members->size(), " must be 0 to ", members->size() - 1,
                             ", each once; ", (*members)[i].device, " was given ", (*members)[i].user_rank);
    }
    return OkStatus();
  }
  auto key = [](const CollectiveMember& member) {
    StatusOr<DeviceName> name = DeviceName::Parse(member.device);
    return std::tuple(std::string(TaskOfMember(member.device)), name.ok() ? name->type : std::string(),
                      name.ok() ? name->id : 0, member.device);
  };
  std::sort(members->begin(), members->end(),
            [&](const CollectiveMember& a, const CollectiveMember& b) { return key(a) < key(b); });
  return OkStatus();
}

std::string CollectiveSpec::ToString() const {
  const bool merges = kind == CollectiveKind::kReduce || kind == CollectiveKind::kReduceScatter;
  return Cat(merges ? Name(merge) : "", merges ? "-" : "", Name(kind), merges && divide ? " with division" : "", " of ",
             Name(dtype), " ", shape.ToString());
}

}  // namespace weir
