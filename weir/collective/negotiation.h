// Negotiation: finds the requests that are ready on all ranks. Every rank receives the announcements of all ranks in
// the same order and therefore makes the same decisions, without a coordinator.
#ifndef WEIR_COLLECTIVE_NEGOTIATION_H_
#define WEIR_COLLECTIVE_NEGOTIATION_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "weir/collective/request.h"

namespace weir::collective {

// The message that a rank sends in one cycle.
struct Announcement {
  std::string key;        // of a new request; includes the process set
  std::string signature;  // encoded
};
struct CycleMessage {
  std::vector<Announcement> announcements;
  std::vector<std::string> stalled;  // from rank 0: keys to give up
  bool has_joined = false;
  bool is_stopping = false;
};

// Requests that run now; if there are several, they are fused.
struct Bucket {
  std::vector<std::string> keys;
  std::vector<Signature> signatures;
  ProcessSet set = kAllRanks;
  Status status;  // not OK: all requests fail, on all ranks
};

struct CycleResult {
  std::vector<Bucket> buckets;
  int last_joined = -1;  // -1 unless all ranks have joined
  bool all_stop = false;
};

// Not thread-safe.
class Negotiation {
 public:
  Negotiation(int size, int64_t fusion_bytes)
      : size_(size), fusion_bytes_(fusion_bytes), joined_(size), stopping_(size) {}

  static std::string KeyOf(const Request& request) { return std::to_string(request.set) + "/" + request.name; }
  void AddSet(ProcessSet set, const std::vector<int>& ranks) { sets_[set] = ranks; }

  // Serializes a message. A request that has run before with the same signature is sent as a number.
  std::string Encode(const CycleMessage& message) const;
  // Takes the messages of all ranks, in rank order.
  StatusOr<CycleResult> Take(const std::vector<std::string_view>& messages);

  // A request that has been waiting for longer than the limit, and the ranks that are missing.
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
    Status status;        // not OK if the request is to fail
    Status disagreement;  // not OK if two of the calls differ
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
  // Requests that have run before, by number; the same on all ranks.
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
