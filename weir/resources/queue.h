// Queue: elements (tuples of tensors) that persist between steps, with backpressure.
//
// A call that cannot proceed waits in line without occupying a thread: its attempt is stored until other calls let it
// finish. Enqueues and dequeues are each processed in order. An attempt for many elements moves as many as it can and
// keeps its place; a dequeue that is cancelled, or that finds the queue closed with too few elements, returns the
// elements that it took.
#ifndef WEIR_RESOURCES_QUEUE_H_
#define WEIR_RESOURCES_QUEUE_H_

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "weir/base/cancellation.h"
#include "weir/framework/resource.h"

namespace weir {

// A node's declaration of its queue; nodes that share a queue must agree.
struct QueueSpec {
  std::string kind;       // "FIFOQueue"
  int64_t capacity = -1;  // < 0: no limit
  std::vector<DType> types;
  std::vector<PartialShape> shapes;  // empty: shapes are free, and there are no batches
  int64_t min_after_dequeue = 0;     // RandomShuffleQueue
  int64_t seed = 0;
  int64_t seed2 = 0;
};

// Thread-safe.
class Queue : public Resource, public std::enable_shared_from_this<Queue> {
 public:
  static constexpr std::string_view kTypeName = "N10tensorflow14QueueInterfaceE";
  using Tuple = std::vector<Tensor>;
  // Called once, never under a lock, on any thread; for enqueues and Close with an empty tuple.
  using Done = absl::AnyInvocable<void(StatusOr<Tuple>)>;

  Queue(std::string name, QueueSpec spec);
  std::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;
  int64_t MemoryUsed() const override;

  const QueueSpec& spec() const { return spec_; }
  // INVALID_ARGUMENT if a node with `spec` cannot share this queue.
  Status CheckSameSpec(const QueueSpec& spec) const;

  void Enqueue(Tuple element, CancellationManager& cancellation, Done done);
  // Enqueues the rows of `batch`, one element each.
  void EnqueueMany(Tuple batch, CancellationManager& cancellation, Done done);
  void Dequeue(CancellationManager& cancellation, Done done);
  // Dequeues a batch of `count` elements; with `allow_small_batch`, of the remaining elements when the queue is closed.
  void DequeueMany(int64_t count, bool allow_small_batch, CancellationManager& cancellation, Done done);
  // Takes effect after the enqueues that are waiting, or ends those with CANCELLED.
  void Close(bool cancel_pending_enqueues, CancellationManager& cancellation, Done done);
  int64_t size() const;
  bool is_closed() const;

 protected:
  // The storage of elements. `Batch` and `CheckShape` run without the lock.
  virtual int64_t SizeLocked() const = 0;
  virtual void PushLocked(Tuple element) = 0;
  virtual Tuple PopLocked() = 0;
  // Undoes the PopLocked calls that returned `elements`, in that order.
  virtual void GiveBackLocked(std::vector<Tuple> elements) = 0;
  virtual int64_t MemoryLocked() const = 0;
  // The number of elements that may be dequeued now.
  virtual int64_t AvailableLocked(bool closed) const { return SizeLocked(); }
  // Whether the elements of a batch may be collected before all of them are available.
  virtual bool GathersBatches() const { return true; }
  virtual Status CheckElement(const Tuple& element) const;
  virtual Status CheckBatch(const Tuple& batch) const;
  // REQUIRES: `elements` is not empty.
  virtual StatusOr<Tuple> Batch(const std::vector<Tuple>& elements) const;
  virtual StatusOr<Tuple> EmptyBatch() const;

  mutable absl::Mutex mu_;

 private:
  enum class Kind { kEnqueue, kEnqueueMany, kDequeue, kDequeueMany, kClose };
  enum class Progress { kNone, kSome, kComplete };
  struct Attempt {
    Kind kind;
    int64_t remaining;  // elements that have not been moved yet
    bool allow_small_batch = false;
    Tuple input;
    std::vector<Tuple> taken;
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token token = CancellationManager::kNoToken;
    uint64_t id = 0;
    Status status;
    Done done;
    bool is_dequeue() const { return kind == Kind::kDequeue || kind == Kind::kDequeueMany; }
  };
  using Attempts = std::list<Attempt>;

  void Start(Attempt attempt);
  Progress AdvanceLocked(Attempt& attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Progress AdvanceDequeueManyLocked(Attempt& attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool AdvanceAllLocked(Attempts& waiting, Attempts& finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FlushLocked(Attempts& finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RemoveLocked(Attempts& waiting, Attempts::iterator attempt, Attempts& finished)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Cancel(uint64_t id, bool dequeue);
  void Finish(Attempts finished);
  Status InsufficientLocked(int64_t requested) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasRoomLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string name_;
  const QueueSpec spec_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t next_id_ ABSL_GUARDED_BY(mu_) = 0;
  Attempts enqueues_ ABSL_GUARDED_BY(mu_);  // including Close
  Attempts dequeues_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_RESOURCES_QUEUE_H_
