// The algorithms that move and merge the data of a round. Each is a set of chains of chunks: a chunk that arrives is
// merged or copied, then handed on. Chains do not wait for each other, and no thread waits for a chunk.
//
// The ring adds in TensorFlow's order, to the bit: piece p of n members begins at rank p and travels p, p+1, ..., p-1;
// each rank computes own + received, and the last one divides. Then the finished piece travels on to all others.
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

// What an algorithm sees of a round: its data and the way to the other members.
class RoundRun {
 public:
  virtual ~RoundRun() = default;
  virtual const CollectiveGroup& group() const = 0;
  virtual const Round& round() const = 0;
  virtual const CollectiveSpec& spec() const = 0;
  virtual int rank() const = 0;
  virtual const Tensor& input() const = 0;
  virtual StatusOr<Tensor> Allocate(DType dtype, const Shape& shape) = 0;
  // What computes with the chunks where they are; null: the host can.
  virtual ChunkArithmetic* arithmetic() { return nullptr; }
  // Leaves a chunk for another member.
  virtual Status Send(const std::string& key, Tensor chunk) = 0;
  // `done` gets the chunk, in `into` or, if the sender is in this task, in its own memory. It is not called if the run
  // fails meanwhile.
  virtual void Receive(int sender, const std::string& key, Tensor into, std::function<Status(Tensor)> done) = 0;
  // Calls `work` soon, in a thread that may take its time if there are many bytes.
  virtual void Work(size_t bytes, std::function<Status()> work) = 0;
  // Exactly once, unless a callback has returned an error.
  virtual void Finish(Tensor output) = 0;
};

// Begins the algorithm for the round's kind. The run is kept alive by what it waits for.
Status StartAlgorithm(const std::shared_ptr<RoundRun>& run);

// Elements of each of `pieces` pieces but the last ones, as TensorFlow cuts them: multiples of 64 bytes.
int64_t PieceElements(int64_t total, int64_t pieces, size_t element_bytes);
// The offsets of the rings that run side by side. `offsets` as given, or as many as `max_subdivs` allows.
std::vector<int> SubdivOffsets(const CollectiveSpec& spec, const CollectiveGroup& group);
// The order of the ranks in the ring with this offset: the members of each task rotated (negative: reversed first).
std::vector<int> RingOrder(const CollectiveGroup& group, int offset);

// The tree of a broadcast, in which one member is the source; `members` are ranks of the group.
struct BroadcastTree {
  int index = 0;  // among the round's trees; part of the chunks' keys
  std::vector<int> members;
  int source = 0;  // position in `members`
  int ParentOf(int position) const;
  std::vector<int> ChildrenOf(int position) const;
};
// One tree between the tasks, then one inside each task; only the latter if there is one task.
std::vector<BroadcastTree> BroadcastTrees(const CollectiveGroup& group, int source_rank);

}  // namespace weir

#endif  // WEIR_COLLECTIVE_ALGORITHM_H_
