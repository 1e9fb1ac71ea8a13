// ExecutionPlan: a graph partition compiled for execution. It is immutable while steps run, except for cost estimates.
//
// Nodes are stored in a flat array in a good serial order. The data that the executor needs for a node fits one cache
// line; everything else (names, types) is stored separately. Every input of a node is a slot in an array that belongs
// to an iteration of the node's frame. An edge says which slot receives a value and which pending count it decrements.
//
// Values that are known before the step starts are not executed: a Const without control inputs fills the slots of its
// consumers permanently (`statics`), and the step's arguments are written to their slots when the step starts. These
// edges do not decrement counts. Neither do edges to a node that depends on nothing else (`sole`): they make it ready
// immediately.
//
// Loops: each frame name of an Enter becomes a static frame; static frames are nested like the loops. The nodes of a
// frame number their slots and counts from zero, so that the memory of an iteration is exactly as large as the frame
// needs.
#ifndef WEIR_RUNTIME_EXECUTION_PLAN_H_
#define WEIR_RUNTIME_EXECUTION_PLAN_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "weir/framework/constant_taker.h"
#include "weir/framework/kernel.h"
#include "weir/graph/graph.h"
#include "weir/runtime/kernel_cache.h"
#include "weir/runtime/plan_recordings.h"

namespace weir {

enum class NodeKind : uint8_t {
  kKernel,
  kAsyncKernel,
  kConst,     // with control inputs, or inside a loop
  kNoOp,      // also ControlTrigger
  kIdentity,  // passes its input on
  kArg,
  kRetval,
  kSwitch,
  kMerge,
  kEnter,
  kExit,
  kNextIteration,
  kSend,
  kRecv,
};

struct PlanEdge;

// One cache line.
struct alignas(64) PlanNode {
  Kernel* kernel = nullptr;
  const ArgTypes* types = nullptr;  // owned by the node's info
  const PlanEdge* edges = nullptr;  // in the plan's `edges`
  NodeKind kind = NodeKind::kKernel;
  bool may_be_expensive = false;
  bool never_dead = false;         // ControlTrigger
  bool takes_refs = false;         // some producer outputs a reference
  bool has_statics = false;        // some input slots are filled permanently
  bool is_constant_enter = false;  // a loop invariant
  uint16_t num_outputs = 0;
  int16_t frame = 0;  // static frame
  int32_t num_inputs = 0;
  int32_t num_edges = 0;
  int32_t input_start = 0;  // first slot, in the frame's numbering
  int32_t count = 0;        // pending count, in the frame's numbering
  uint32_t initial_count = 0;
  int32_t id = 0;   // position in the plan
  int32_t aux = 0;  // kArg, kRetval: index; kEnter: child static frame; kConst: index of its value; kSend, kRecv: key
};
static_assert(sizeof(PlanNode) == 64);

struct PlanEdge {
  const PlanNode* consumer;
  int32_t slot;       // -1: control edge
  int16_t output;     // -1: control edge
  bool move : 1;      // the last use of the output
  bool sole : 1;      // the consumer depends on this edge only
  bool to_merge : 1;  // the consumer is a Merge
};

struct StaticFrame {
  std::string name;
  int32_t parent = -1;
  int32_t child_index = 0;  // among the parent's children
  int32_t num_children = 0;
  int32_t num_slots = 0;
  int32_t num_enters = 0;
  int32_t parallel_iterations = 1;
  std::vector<uint64_t> counts;  // initial pending words
};

// The count word of a Merge: pending control edges in the low half, dead data inputs from bit 32, flags in the top
// bits.
inline constexpr uint64_t kDeadOne = uint64_t{1} << 32;
inline constexpr uint64_t kMergeClaimed = uint64_t{1} << 61;
inline constexpr uint64_t kMergeLive = uint64_t{1} << 62;
inline constexpr uint64_t kMergeFired = uint64_t{1} << 63;

struct TransferKey {   // of a kSend or kRecv
  std::string prefix;  // the key up to the edge name, including the last ';'
  DType dtype = DType::kInvalid;
  bool client_terminated = false;  // the value is sent when the run has ended
};

struct ExecutionPlan {
  struct Static {
    int32_t slot;  // in the root frame
    Tensor value;
  };
  // The kernel keeps its own packed copy of this constant; other holders may release theirs.
  struct Taken {
    std::string node;
    TakenConstant constant;
  };
  struct ArgUse {
    int32_t arg;
    int32_t slot;
  };

  std::vector<PlanNode> nodes;
  std::vector<PlanEdge> edges;
  std::vector<KernelNode> infos;                                       // by node
  absl::flat_hash_map<int32_t, std::vector<std::string>> fused_nodes;  // the names of the nodes fused into a node
  std::vector<StaticFrame> frames;
  std::vector<int32_t> roots;
  std::vector<int32_t> root_merges;  // their counts are reset for every step
  std::vector<Static> statics;
  std::vector<Taken> taken;
  std::vector<ArgUse> arg_uses;
  std::vector<Tensor> constants;       // of kConst nodes
  std::vector<TransferKey> transfers;  // of kSend, kRecv nodes
  std::vector<DType> arg_types;
  std::vector<DType> ret_types;
  std::vector<std::shared_ptr<Kernel>> kernels;            // keeps them alive
  std::vector<std::vector<std::string>> input_names;       // of nodes that take references, else empty; by node
  mutable std::unique_ptr<std::atomic<uint32_t>[]> costs;  // estimated cycles, by node
  // By asynchronous node: the cycles of the work that its last completion made ready; very large before the first.
  mutable std::unique_ptr<std::atomic<uint32_t>[]> resume_costs;
  mutable std::atomic<uint32_t> runs{0};
  Device* device = nullptr;
  bool late_args = false;
  // For plans whose runs the device can record and replay; else null.
  mutable std::unique_ptr<PlanRecordings> recordings;
  std::vector<int32_t> outer_recvs;  // with recordings: the nodes that receive from other plans
  // With recordings: for each transfer of a Send to this plan itself, between host and device memory, the node that
  // receives it; else -1.
  std::vector<int32_t> own_recvs;

  bool has_loops() const { return frames.size() > 1; }
};

// True if the executor implements the op itself, without a kernel.
bool IsExecutorNative(const OpSchema& schema);

struct PlanOptions {
  Device* device = nullptr;
  bool late_args = false;   // arguments arrive during the step (partial runs), and kArg nodes wait for them
  bool may_record = false;  // the part receives before it sends (recordable.h)
};

// Compiles a graph whose arguments and results are `_Arg` and `_Retval` nodes. Kernels come from the cache. Errors name
// the node: no kernel, inputs from different frames, a loop without its condition.
StatusOr<std::shared_ptr<const ExecutionPlan>> CompilePlan(const Graph& graph, KernelCache& kernels,
                                                           const PlanOptions& options);

}  // namespace weir

#endif  // WEIR_RUNTIME_EXECUTION_PLAN_H_
