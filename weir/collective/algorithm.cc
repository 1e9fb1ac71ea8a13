#include "weir/collective/algorithm.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "weir/base/strings.h"
#include "weir/collective/merge.h"

namespace weir {
namespace {

constexpr int64_t kAlignment = 64;           // of pieces, in bytes
constexpr int64_t kMaxPieceBytes = 4 << 20;  // larger pieces are split over more rings, if allowed
constexpr int kDefaultSubdivs = 2;

using RunPtr = std::shared_ptr<RoundRun>;

StatusOr<Tensor> Flat(const Tensor& tensor) { return tensor.Reshaped(Shape({tensor.num_elements()})); }

Status CopyInto(RoundRun& run, const Tensor& from, Tensor& to) {
  if (from.raw_data() == to.raw_data() || to.num_bytes() == 0) return OkStatus();
  if (ChunkArithmetic* arithmetic = run.arithmetic()) return arithmetic->Copy(from, to);
  std::memcpy(to.raw_data(), from.raw_data(), to.num_bytes());
  return OkStatus();
}

Status MergeInto(RoundRun& run, const Tensor& own, const Tensor& received, Tensor& out) {
  const MergeOp op = run.spec().merge;
  if (ChunkArithmetic* arithmetic = run.arithmetic()) {
    return arithmetic->Merge(static_cast<ChunkMerge>(op), own, received, out);
  }
  MergeChunks(out.dtype(), op, own.raw_data(), received.raw_data(), out.raw_data(), out.num_elements());
  return OkStatus();
}

Status DivideBy(RoundRun& run, int divisor, Tensor& values) {
  if (ChunkArithmetic* arithmetic = run.arithmetic()) return arithmetic->Divide(values, divisor);
  DivideChunk(values.dtype(), divisor, values.raw_data(), values.num_elements());
  return OkStatus();
}

// Finishes the run after `count` calls of Done.
class Countdown {
 public:
  Countdown(RunPtr run, Tensor output, int64_t count)
      : run_(std::move(run)), output_(std::move(output)), left_(count) {}
  void Done() {
    if (left_.fetch_sub(1) == 1) run_->Finish(std::move(output_));
  }

 private:
  const RunPtr run_;
  Tensor output_;
  std::atomic<int64_t> left_;
};

// A piece of a tensor on its way around a ring, as one member sees it.
struct Piece {
  RunPtr run;
  std::shared_ptr<Countdown> countdown;
  std::vector<int> order;  // ranks along the ring
  int position = 0;        // of this member in the ring
  int start = 0;           // where the piece starts
  int section = 0;
  bool share = true;  // all members get the result (pass 1); false: only the last one has it
  Tensor own;         // this member's values
  Tensor out;         // for the result; may be the memory of `own`

  int n() const { return static_cast<int>(order.size()); }
  int hops() const { return (position - start + n()) % n(); }
  std::string Key(int pass, int sender) const { return Cat(":", pass, ":", section, ":", sender); }
  int previous() const { return (position + n() - 1) % n(); }
};
using PiecePtr = std::shared_ptr<Piece>;

void ShareOut(const PiecePtr& piece);

// At the last member of pass 0, which has the whole sum.
Status FinishMerge(const PiecePtr& piece) {
  const CollectiveSpec& spec = piece->run->spec();
  if (spec.divide) WEIR_RETURN_IF_ERROR(DivideBy(*piece->run, piece->n(), piece->out));
  if (piece->share) WEIR_RETURN_IF_ERROR(piece->run->Send(piece->Key(1, piece->position), piece->out));
  piece->countdown->Done();
  return OkStatus();
}

Status StartPiece(const PiecePtr& piece) {
  RoundRun& run = *piece->run;
  if (piece->hops() == 0) {
    WEIR_RETURN_IF_ERROR(run.Send(piece->Key(0, piece->position), piece->own));
    ShareOut(piece);
    return OkStatus();
  }
  const bool is_last = piece->hops() == piece->n() - 1;
  // The output is not needed before the merge, so the chunk is received there, unless that is the memory of `own`.
  Tensor into = piece->out;
  if (piece->out.raw_data() == piece->own.raw_data()) {
    WEIR_ASSIGN_OR_RETURN(into, run.Allocate(piece->own.dtype(), piece->own.shape()));
  }
  run.Receive(piece->order[piece->previous()], piece->Key(0, piece->previous()), std::move(into),
              [piece, is_last](Tensor received) -> Status {
                piece->run->Work(received.num_bytes(), [piece, is_last, received]() -> Status {
                  WEIR_RETURN_IF_ERROR(MergeInto(*piece->run, piece->own, received, piece->out));
                  if (is_last) return FinishMerge(piece);
                  WEIR_RETURN_IF_ERROR(piece->run->Send(piece->Key(0, piece->position), piece->out));
                  ShareOut(piece);
                  return OkStatus();
                });
                return OkStatus();
              });
  return OkStatus();
}

// Pass 1, at a member that does not have the result yet.
void ShareOut(const PiecePtr& piece) {
  if (!piece->share) return piece->countdown->Done();
  piece->run->Receive(piece->order[piece->previous()], piece->Key(1, piece->previous()), piece->out,
                      [piece](Tensor received) -> Status {
                        WEIR_RETURN_IF_ERROR(CopyInto(*piece->run, received, piece->out));
                        // The member before the one that finished the sum is the last to receive it.
                        if (piece->hops() != piece->n() - 2) {
                          WEIR_RETURN_IF_ERROR(piece->run->Send(piece->Key(1, piece->position), piece->out));
                        }
                        piece->countdown->Done();
                        return OkStatus();
                      });
}

// Cuts the tensor into one piece per member and ring. Piece i starts at position i / rings of its ring: pass 0 adds
// each member's values on the way around, pass 1 takes the result around once more. All pieces travel at the same time.
Status StartReduce(const RunPtr& run) {
  const CollectiveGroup& group = run->group();
  const CollectiveSpec& spec = run->spec();
  const int64_t total = spec.shape.num_elements();
  if (group.size() == 1 || total == 0) {
    run->Finish(run->input());
    return OkStatus();
  }
  WEIR_ASSIGN_OR_RETURN(Tensor input, Flat(run->input()));
  WEIR_ASSIGN_OR_RETURN(Tensor output, run->Allocate(spec.dtype, spec.shape));
  WEIR_ASSIGN_OR_RETURN(Tensor flat, Flat(output));
  const std::vector<int> offsets = SubdivOffsets(spec, group);
  const int rings = static_cast<int>(offsets.size());
  const int64_t pieces = int64_t{group.size()} * rings;
  const int64_t step = PieceElements(total, pieces, SizeOf(spec.dtype));
  const int64_t used = std::min(pieces, (total + step - 1) / step);
  auto countdown = std::make_shared<Countdown>(run, output, used);
  std::vector<PiecePtr> started;
  for (int64_t i = 0; i < used; ++i) {
    auto piece = std::make_shared<Piece>();
    piece->run = run;
    piece->countdown = countdown;
    piece->order = RingOrder(group, offsets[i % rings]);
    piece->position =
        static_cast<int>(std::find(piece->order.begin(), piece->order.end(), run->rank()) - piece->order.begin());
    piece->start = static_cast<int>(i / rings);
    piece->section = static_cast<int>(i);
    piece->own = input.Slice(i * step, std::min(total, (i + 1) * step));
    piece->out = flat.Slice(i * step, std::min(total, (i + 1) * step));
    started.push_back(std::move(piece));
  }
  for (const PiecePtr& piece : started) WEIR_RETURN_IF_ERROR(StartPiece(piece));
  return OkStatus();
}

// Pass 0 of the ring only; part r of the first dimension ends at rank r.
Status StartReduceScatter(const RunPtr& run) {
  const CollectiveGroup& group = run->group();
  const CollectiveSpec& spec = run->spec();
  const int n = group.size();
  Shape part = spec.shape;
  WEIR_RETURN_IF_ERROR(part.SetDim(0, spec.shape.dim(0) / n));
  WEIR_ASSIGN_OR_RETURN(Tensor output, run->Allocate(spec.dtype, part));
  if (n == 1 || part.num_elements() == 0) {
    run->Finish(n == 1 ? run->input() : output);
    return OkStatus();
  }
  auto countdown = std::make_shared<Countdown>(run, output, n);
  for (int i = 0; i < n; ++i) {
    auto piece = std::make_shared<Piece>();
    piece->run = run;
    piece->countdown = countdown;
    for (int rank = 0; rank < n; ++rank) piece->order.push_back(rank);
    piece->position = run->rank();
    piece->start = (i + 1) % n;
    piece->section = i;
    piece->share = false;
    piece->own = run->input().Slice(i * part.dim(0), (i + 1) * part.dim(0));
    piece->out = output;
    if (i != run->rank() && piece->hops() > 0) {  // partial sums need memory of their own
      WEIR_ASSIGN_OR_RETURN(piece->out, run->Allocate(spec.dtype, part));
    }
    WEIR_RETURN_IF_ERROR(StartPiece(piece));
  }
  return OkStatus();
}

Status StartGather(const RunPtr& run) {
  const CollectiveSpec& spec = run->spec();
  const int n = run->group().size();
  Shape whole = spec.shape;
  std::vector<int64_t> begin(n + 1, 0);
  for (int rank = 0; rank < n; ++rank) begin[rank + 1] = begin[rank] + run->round().shapes[rank].dim(0);
  WEIR_RETURN_IF_ERROR(whole.SetDim(0, begin[n]));
  WEIR_ASSIGN_OR_RETURN(Tensor output, run->Allocate(spec.dtype, whole));
  auto part = [&](int rank) { return output.Slice(begin[rank], begin[rank + 1]); };
  Tensor own = part(run->rank());
  WEIR_RETURN_IF_ERROR(CopyInto(*run, run->input(), own));
  if (n == 1) {
    run->Finish(output);
    return OkStatus();
  }
  const int rank = run->rank();
  const int previous = (rank + n - 1) % n;
  auto countdown = std::make_shared<Countdown>(run, output, n - 1);
  auto key = [](int section, int sender) { return Cat(":0:", section, ":", sender); };
  auto is_empty = [&](int section) { return begin[section] == begin[section + 1]; };
  if (!is_empty(rank)) WEIR_RETURN_IF_ERROR(run->Send(key(rank, rank), own));
  for (int section = 0; section < n; ++section) {
    if (section == rank) continue;
    if (is_empty(section)) {
      countdown->Done();
      continue;
    }
    run->Receive(previous, key(section, previous), part(section),
                 [run, countdown, section, rank, n, key, out = part(section)](Tensor received) mutable -> Status {
                   WEIR_RETURN_IF_ERROR(CopyInto(*run, received, out));
                   if ((rank + 1) % n != section) WEIR_RETURN_IF_ERROR(run->Send(key(section, rank), out));
                   countdown->Done();
                   return OkStatus();
                 });
  }
  return OkStatus();
}

// Visits the trees that contain this member one after the other; after the first one, the member has the value.
void PassDown(const RunPtr& run, std::shared_ptr<std::vector<BroadcastTree>> trees, size_t next, Tensor value) {
  for (; next < trees->size(); ++next) {
    const BroadcastTree& tree = (*trees)[next];
    const auto found = std::find(tree.members.begin(), tree.members.end(), run->rank());
    if (found == tree.members.end()) continue;
    const int position = static_cast<int>(found - tree.members.begin());
    auto key = [&tree](int from, int to) { return Cat(":", tree.index, ":", from, ":", to); };
    auto send_on = [run, trees, next, position, key](const Tensor& value) -> Status {
      for (int child : (*trees)[next].ChildrenOf(position)) {
        WEIR_RETURN_IF_ERROR(run->Send(key(position, child), value));
      }
      return OkStatus();
    };
    if (position != tree.source) {
      const int parent = tree.ParentOf(position);
      run->Receive(tree.members[parent], key(parent, position), value,
                   [run, trees, next, send_on, value](Tensor received) mutable -> Status {
                     WEIR_RETURN_IF_ERROR(CopyInto(*run, received, value));
                     WEIR_RETURN_IF_ERROR(send_on(value));
                     PassDown(run, trees, next + 1, value);
                     return OkStatus();
                   });
      return;
    }
    run->Work(0, [send_on, value] { return send_on(value); });
  }
  run->Finish(std::move(value));
}

Status StartBroadcast(const RunPtr& run) {
  const CollectiveSpec& spec = run->spec();
  Tensor value = run->input();
  if (!spec.is_source) {
    WEIR_ASSIGN_OR_RETURN(value, run->Allocate(spec.dtype, spec.shape));
  }
  if (spec.shape.num_elements() == 0) {
    run->Finish(std::move(value));
    return OkStatus();
  }
  auto trees = std::make_shared<std::vector<BroadcastTree>>(BroadcastTrees(run->group(), run->round().source_rank));
  PassDown(run, std::move(trees), 0, std::move(value));
  return OkStatus();
}

// Every member sends one row to every other member.
Status StartAllToAll(const RunPtr& run) {
  const CollectiveSpec& spec = run->spec();
  const int n = run->group().size();
  const int rank = run->rank();
  // TensorFlow's keys have no separator between the ranks of sender and receiver.
  const std::string_view between = run->group().all_weir() ? ":" : "";
  auto key = [between](int from, int to) { return Cat(between, from, between, to); };
  WEIR_ASSIGN_OR_RETURN(Tensor output, run->Allocate(spec.dtype, spec.shape));
  if (spec.shape.num_elements() == 0) {
    run->Finish(output);
    return OkStatus();
  }
  Tensor own = output.Slice(rank, rank + 1);
  WEIR_RETURN_IF_ERROR(CopyInto(*run, run->input().Slice(rank, rank + 1), own));
  auto countdown = std::make_shared<Countdown>(run, output, n);
  for (int to = 0; to < n; ++to) {
    if (to != rank) WEIR_RETURN_IF_ERROR(run->Send(key(rank, to), run->input().Slice(to, to + 1)));
  }
  for (int from = 0; from < n; ++from) {
    if (from == rank) continue;
    Tensor out = output.Slice(from, from + 1);
    run->Receive(from, key(from, rank), out, [run, countdown, out](Tensor received) mutable -> Status {
      WEIR_RETURN_IF_ERROR(CopyInto(*run, received, out));
      countdown->Done();
      return OkStatus();
    });
  }
  countdown->Done();
  return OkStatus();
}

Status StartPermute(const RunPtr& run) {
  const CollectiveSpec& spec = run->spec();
  const int n = run->group().size();
  std::vector<int> sender(n, -1);
  for (int rank = 0; rank < n; ++rank) sender[spec.permutation[rank]] = rank;
  const int rank = run->rank();
  const std::string_view between = run->group().all_weir() ? ":" : "";
  if (sender[rank] == rank || spec.shape.num_elements() == 0) {
    run->Finish(run->input());
    return OkStatus();
  }
  WEIR_ASSIGN_OR_RETURN(Tensor output, run->Allocate(spec.dtype, spec.shape));
  WEIR_RETURN_IF_ERROR(run->Send(Cat(between, rank, between, spec.permutation[rank]), run->input()));
  run->Receive(sender[rank], Cat(between, sender[rank], between, rank), output,
               [run, output](Tensor received) mutable -> Status {
                 WEIR_RETURN_IF_ERROR(CopyInto(*run, received, output));
                 run->Finish(output);
                 return OkStatus();
               });
  return OkStatus();
}

}  // namespace

int64_t PieceElements(int64_t total, int64_t pieces, size_t element_bytes) {
  const int64_t bytes = (total + pieces - 1) / pieces * static_cast<int64_t>(element_bytes);
  return (bytes + kAlignment - bytes % kAlignment) / static_cast<int64_t>(element_bytes);
}

std::vector<int> SubdivOffsets(const CollectiveSpec& spec, const CollectiveGroup& group) {
  if (!spec.subdiv_offsets.empty()) return spec.subdiv_offsets;
  if (spec.max_subdivs < 0) return {0};
  const int per_task = group.size() / static_cast<int>(group.MembersPerTask().size());
  const int most = (spec.max_subdivs > 0 ? spec.max_subdivs : kDefaultSubdivs) * per_task;
  const int64_t bytes = spec.shape.num_elements() * static_cast<int64_t>(SizeOf(spec.dtype));
  int count = 1;
  while (bytes / (int64_t{group.size()} * count) > kMaxPieceBytes && count < most) ++count;
  const int stride = std::max(1, per_task / count);
  std::vector<int> offsets;
  for (int i = 0; i < count; ++i) offsets.push_back(i % 2 == 1 ? -stride * i : stride * i);
  return offsets;
}

std::vector<int> RingOrder(const CollectiveGroup& group, int offset) {
  std::vector<int> order;
  int begin = 0;
  for (int count : group.MembersPerTask()) {
    for (int i = 0; i < count; ++i) {
      const int turned = (i + std::abs(offset)) % count;
      order.push_back(begin + (offset < 0 ? count - 1 - turned : turned));
    }
    begin += count;
  }
  return order;
}

int BroadcastTree::ParentOf(int position) const {
  if (source == 0) return (position - 1) / 2;
  const int parent = position / 2 - 1;
  return parent < 0 ? source : parent;
}

std::vector<int> BroadcastTree::ChildrenOf(int position) const {
  const int n = static_cast<int>(members.size());
  std::vector<int> children;
  if (source != 0 && position == source) {
    if (n > 1) children.push_back(0);
    if (n > 2 && source != 1) children.push_back(1);
  }
  const int first = source == 0 ? 2 * position + 1 : 2 * (position + 1);
  for (int child : {first, first + 1}) {
    if (child < n && child != source) children.push_back(child);
  }
  return children;
}

std::vector<BroadcastTree> BroadcastTrees(const CollectiveGroup& group, int source_rank) {
  const std::vector<int> counts = group.MembersPerTask();
  std::vector<BroadcastTree> inside;
  BroadcastTree between;
  int begin = 0;
  for (size_t task = 0; task < counts.size(); ++task) {
    BroadcastTree tree;
    for (int i = 0; i < counts[task]; ++i) tree.members.push_back(begin + i);
    const bool has_source = source_rank >= begin && source_rank < begin + counts[task];
    tree.source = has_source ? source_rank - begin : 0;
    if (has_source) between.source = static_cast<int>(task);
    between.members.push_back(begin + tree.source);
    inside.push_back(std::move(tree));
    begin += counts[task];
  }
  std::vector<BroadcastTree> trees;
  if (counts.size() > 1) trees.push_back(std::move(between));
  for (BroadcastTree& tree : inside) {
    tree.index = static_cast<int>(trees.size());
    trees.push_back(std::move(tree));
  }
  return trees;
}

Status CheckShape(const CollectiveSpec& spec, int members) {
  const int n = members;
  const bool has_rows = spec.shape.rank() > 0;
  switch (spec.kind) {
    case CollectiveKind::kBroadcast:
      return OkStatus();
    case CollectiveKind::kReduce:
    case CollectiveKind::kReduceScatter:
      if (!CanMerge(spec.dtype)) return InvalidArgument("Values of type ", Name(spec.dtype), " cannot be reduced");
      if (spec.kind == CollectiveKind::kReduce || (has_rows && spec.shape.dim(0) % n == 0)) return OkStatus();
      return InvalidArgument("A reduce-scatter over ", n, " members needs a first dimension that is a multiple of ", n,
                             ", but the shape is ", spec.shape.ToString());
    case CollectiveKind::kGather:
      if (has_rows) return OkStatus();
      return InvalidArgument("A gather needs inputs of rank 1 or more, not scalars");
    case CollectiveKind::kAllToAll:
      if (has_rows && spec.shape.dim(0) == n) return OkStatus();
      return InvalidArgument("An all-to-all over ", n, " members needs a first dimension of ", n, ", but the shape is ",
                             spec.shape.ToString());
    case CollectiveKind::kPermute:
      break;
  }
  std::vector<bool> receives(n, false);
  if (static_cast<int>(spec.permutation.size()) != n) {
    return InvalidArgument("A permutation of ", n, " members has ", spec.permutation.size(), " entries");
  }
  for (int rank = 0; rank < n; ++rank) {
    const int to = spec.permutation[rank];
    if (to < 0 || to >= n || receives[to]) {
      return InvalidArgument("Rank ", rank, " sends to ", to, ", which is not one of the ", n,
                             " ranks or receives twice");
    }
    receives[to] = true;
  }
  return OkStatus();
}

Status StartAlgorithm(const RunPtr& run) {
  WEIR_RETURN_IF_ERROR(CheckShape(run->spec(), run->group().size()));
  switch (run->spec().kind) {
    case CollectiveKind::kReduce:
      return StartReduce(run);
    case CollectiveKind::kBroadcast:
      return StartBroadcast(run);
    case CollectiveKind::kGather:
      return StartGather(run);
    case CollectiveKind::kPermute:
      return StartPermute(run);
    case CollectiveKind::kAllToAll:
      return StartAllToAll(run);
    case CollectiveKind::kReduceScatter:
      return StartReduceScatter(run);
  }
  return Internal("There is no such kind of collective");
}

}  // namespace weir
