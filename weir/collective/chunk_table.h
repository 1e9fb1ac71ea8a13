// ChunkTable: where a member leaves the pieces of data that other members fetch. A chunk belongs to a round, so that
// what an unfinished round left behind can never be taken for data of a later one.
#ifndef WEIR_COLLECTIVE_CHUNK_TABLE_H_
#define WEIR_COLLECTIVE_CHUNK_TABLE_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "weir/base/strings.h"
#include "weir/collective/waiter.h"
#include "weir/tensor/tensor.h"

namespace weir {

// Thread-safe.
class ChunkTable {
 public:
  using Done = std::function<void(StatusOr<Tensor>)>;

  // One chunk per key and round; INTERNAL for a second one. What nobody has fetched is dropped after `expiry`.
  Status Provide(uint64_t round, std::string_view key, Tensor chunk, absl::Time expiry);
  // Waits for the chunk; `done` is called once, perhaps before this returns.
  void Take(uint64_t round, std::string_view key, CancellationManager* cancellation, Done done);
  // Ends the round here: those who wait for chunks of it, and those who come until `expiry`, get `status`.
  void Abort(uint64_t round, const Status& status, absl::Time expiry);
  // Ends all waits and refuses new ones.
  void Close(const Status& status);
  size_t num_rounds() const;

 private:
  struct Item {
    Tensor chunk;
    std::shared_ptr<Waiter<Tensor>> waiter;
  };
  struct Round {
    Status aborted;
    absl::Time expiry = absl::InfinitePast();
    StringMap<Item> items;
  };
  void DropExpired(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable absl::Mutex mu_;
  Status closed_ ABSL_GUARDED_BY(mu_);
  absl::Time next_sweep_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  absl::flat_hash_map<uint64_t, Round> rounds_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_COLLECTIVE_CHUNK_TABLE_H_
