// Negotiation: which requests are ready on all ranks. Every rank gets the announcements of all ranks in the same order
// and so comes to the same decisions; nobody has to be asked.
#ifndef WEIR_COLLECTIVE_NEGOTIATION_H_
#define WEIR_COLLECTIVE_NEGOTIATION_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "weir/collective/request.h"

namespace weir::collective {

// What a rank says in one cycle.
struct Announcement {
  std::string key;        // of a request that it has now; names are told apart by process set
  std::string signature;  // encoded
};
struct CycleMessage {
  std::vector<Announcement> announcements;
  std::vector<std::string> stalled;  // keys to give up; of rank 0
  bool has_joined = false;
  bool is_stopping = false;
};

// Requests that run now, together if there are several.
struct Bucket {
  std::vector<std::string> keys;
  std::vector<Signature> signatures;
  ProcessSet set = kAllRanks;
  Status status;  // not OK: they fail on all ranks
};

struct CycleResult {
  std::vector<Bucket> buckets;
  int last_joined = -1;  // not -1: all ranks have joined
  bool all_stop = false;
};

// Not thread-safe.
class Negotiation {
 public:
  Negotiation(int size, int64_t fusion_bytes)
      : size_(size), fusion_bytes_(fusion_bytes), joined_(size), stopping_(size) {}

  static std::string KeyOf(const Request& request) { return std::to_string(request.set) + "/" + request.name; }
  void AddSet(ProcessSet set, const std::vector<int>& ranks) { sets_[set] = ranks; }

  // A message as bytes. Requests that were ready before with the same signature become a number.
  std::string Encode(const CycleMessage& message) const;
  // Of all ranks, in their order.
  StatusOr<CycleResult> Take(const std::vector<std::string_view>& messages);

  // Requests that wait for ranks longer than so; the ranks that are missing.
  struct Stall {
    std::string key;
    std::string what;
    std::vector<int> missing;
    absl::Duration waited;
  };
  std::vector<Stall> StallsLongerThan(absl::Duration limit) const;
  bool has_waiting() const { return !waiting_.empty(); }
  bool has_joined(int rank) const { return joined_[rank]; }

 private:
  struct Waiting {
    std::string key;
    std::string encoded;
    Signature signature;
    std::set<int> ready;
    Status status;        // why it fails, if it does
    Status disagreement;  // two of the calls differ
    int64_t order = 0;
    absl::Time since;
  };
  Status TakeOne(int rank, std::string_view message, std::vector<std::string>* stalled);
  void Announce(int rank, const std::string& key, const std::string& encoded, const Signature& signature);
  std::vector<int> Missing(const Waiting& entry) const;
  std::vector<int> MembersOf(const std::string& key) const;

  const int size_;
  const int64_t fusion_bytes_;
  std::map<ProcessSet, std::vector<int>> sets_;
  std::map<std::string, Waiting> waiting_;
  int64_t next_order_ = 0;
  std::vector<bool> joined_;
  std::vector<bool> stopping_;
  int last_joined_ = -1;
  // Requests that were run, by number; the same on all ranks.
  struct Known {
    std::string key;
    std::string encoded;
    Signature signature;
  };
  std::vector<Known> known_;
  std::map<std::string, size_t> known_numbers_;  // by key and signature
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_NEGOTIATION_H_
