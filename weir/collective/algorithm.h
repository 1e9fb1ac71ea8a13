// The algorithms that move and merge the data of a round. Each is a set of chains of chunks: a chunk that arrives is
// merged or copied, then passed on. Chains do not wait for each other, and no thread waits for a chunk.
//
// The ring all-reduce adds in TensorFlow's order, so results are equal bit for bit: with n members, piece p starts at
// rank p and travels through p, p+1, ..., p-1. Each rank computes own + received, and the last one divides. Then the
// finished piece travels on to all others.
#ifndef WEIR_COLLECTIVE_ALGORITHM_H_
#define WEIR_COLLECTIVE_ALGORITHM_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/collective/round_table.h"
#include "weir/collective/types.h"
#include "weir/framework/chunk_arithmetic.h"
#include "weir/tensor/tensor.h"

namespace weir {

// The view that an algorithm has of a round: its data, and a way to exchange chunks with the other members.
class RoundRun {
 public:
  virtual ~RoundRun() = default;
  virtual const CollectiveGroup& group() const = 0;
  virtual const Round& round() const = 0;
  virtual const CollectiveSpec& spec() const = 0;
  virtual int rank() const = 0;
  virtual const Tensor& input() const = 0;
  virtual StatusOr<Tensor> Allocate(DType dtype, const Shape& shape) = 0;
  // Computes with chunks in a device's memory; null: the chunks are in host memory.
  virtual ChunkArithmetic* arithmetic() { return nullptr; }
  // Provides a chunk for another member.
  virtual Status Send(const std::string& key, Tensor chunk) = 0;
  // `done` receives the chunk: in `into`, or in the sender's own memory if the sender is in this task. It is not called
  // if the run fails in the meantime.
  virtual void Receive(int sender, const std::string& key, Tensor into, std::function<Status(Tensor)> done) = 0;
  // Runs `work` soon; with many bytes, on a thread where it may take time.
  virtual void Work(size_t bytes, std::function<Status()> work) = 0;
  // Must be called exactly once, unless a callback has returned an error.
  virtual void Finish(Tensor output) = 0;
};

// INVALID_ARGUMENT if `members` members cannot run such a collective: its type or its shape does not fit. For a gather,
// the shape is that of any member's input.
Status CheckShape(const CollectiveSpec& spec, int members);

// Starts the algorithm for the round's kind. Whatever the run waits for keeps it alive.
Status StartAlgorithm(const std::shared_ptr<RoundRun>& run);

// The number of elements in each of `pieces` pieces except the last ones. Like TensorFlow, it cuts at multiples of 64
// bytes.
int64_t PieceElements(int64_t total, int64_t pieces, size_t element_bytes);
// The offsets of the concurrent rings: those of the spec, or as many as its `max_subdivs` allows.
std::vector<int> SubdivOffsets(const CollectiveSpec& spec, const CollectiveGroup& group);
// The order of the ranks in the ring with this offset: the members of each task are rotated by it (negative: also
// reversed).
std::vector<int> RingOrder(const CollectiveGroup& group, int offset);

// A tree of a broadcast, in which one member is the source; `members` are ranks of the group.
struct BroadcastTree {
  int index = 0;  // among the round's trees; part of the keys of chunks
  std::vector<int> members;
  int source = 0;  // position in `members`
  int ParentOf(int position) const;
  std::vector<int> ChildrenOf(int position) const;
};
// One tree between the tasks, then one tree inside each task; only the latter if there is a single task.
std::vector<BroadcastTree> BroadcastTrees(const CollectiveGroup& group, int source_rank);

}  // namespace weir

#endif  // WEIR_COLLECTIVE_ALGORITHM_H_
