// ChunkTable: holds the pieces of data that a member provides for others. A chunk belongs to a round, so that remains
// of an unfinished round are never mistaken for data of a later one.
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

  // Adds a chunk. INTERNAL if the round already has one with this key. A chunk that nobody fetches is dropped after
  // `expiry`.
  Status Provide(uint64_t round, std::string_view key, Tensor chunk, absl::Time expiry);
  // Waits for the chunk; `done` is called once, possibly before Take returns.
  void Take(uint64_t round, std::string_view key, CancellationManager* cancellation, Done done);
  // Ends the round in this table: members that wait for its chunks, or ask for them until `expiry`, get `status`.
  void Abort(uint64_t round, const Status& status, absl::Time expiry);
  // Ends all waits and rejects later calls.
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
