// What the lanes of a warp do together: shuffles, votes, matches, reductions and barriers of a mask.
//
// A lane waits until all lanes of its mask that have not ended are at the same kind of operation with the same mask.
// What a lane gets from one that does not take part is not defined on a GPU; here it is 0xCB in every byte.
#include <algorithm>

#include "addressing.h"
#include "cuda_abi.h"
#include "handlers.h"
#include "warp_operations.h"

namespace cuda_emulator {
namespace {

const Instruction* WaitForLanes(uint64_t* r, const Instruction* i, Thread* t) {
  const uint32_t mask = Get<uint32_t>(&r[i[1].a]);
  if ((mask >> t->lane & 1) == 0) {
    return Fault(t, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, "a lane that is not in the mask of its own .sync operation");
  }
  t->state = Thread::kAtWarpOperation;
  t->waiting = i;
  t->next = i + 2;
  return nullptr;
}

uint64_t& Register(Thread& lane, uint32_t slot) { return lane.registers[slot]; }

constexpr uint32_t kUndefined = 0xCBCBCBCB;

void Shuffle(WarpOperation operation, Thread* lanes, uint32_t mask) {
  uint32_t values[32] = {};
  uint32_t results[32] = {};
  bool inside[32] = {};
  for (uint32_t k = 0; k < 32; ++k) {
    if (mask >> k & 1) values[k] = Get<uint32_t>(&Register(lanes[k], lanes[k].waiting->a));
  }
  for (uint32_t k = 0; k < 32; ++k) {
    if ((mask >> k & 1) == 0) continue;
    const Instruction* i = lanes[k].waiting;
    const uint32_t offset = Get<uint32_t>(&Register(lanes[k], i->b)) & 31;
    const uint32_t c = Get<uint32_t>(&Register(lanes[k], i->c));
    const uint32_t clamp = c & 31, segment = c >> 8 & 31;
    const int last = static_cast<int>((k & segment) | (clamp & ~segment));
    const int first = static_cast<int>(k & segment);
    int from = 0;
    switch (operation) {
      case WarpOperation::kShuffleUp:
        from = static_cast<int>(k) - static_cast<int>(offset);
        inside[k] = from >= last;
        break;
      case WarpOperation::kShuffleDown:
        from = static_cast<int>(k + offset);
        inside[k] = from <= last;
        break;
      case WarpOperation::kShuffleXor:
        from = static_cast<int>(k ^ offset);
        inside[k] = from <= last;
        break;
      default:
        from = first | static_cast<int>(offset & ~segment & 31);
        inside[k] = from <= last;
    }
    if (!inside[k]) from = static_cast<int>(k);
    results[k] = mask >> from & 1 ? values[from] : kUndefined;
  }
  for (uint32_t k = 0; k < 32; ++k) {
    if ((mask >> k & 1) == 0) continue;
    const Instruction* i = lanes[k].waiting;
    Put(&Register(lanes[k], i->d), results[k]);
    Register(lanes[k], i[1].d) = inside[k];
  }
}

void Vote(WarpOperation operation, Thread* lanes, uint32_t mask) {
  uint32_t ballot = 0;
  for (uint32_t k = 0; k < 32; ++k) {
    if (mask >> k & 1) ballot |= static_cast<uint32_t>(Register(lanes[k], lanes[k].waiting->a) != 0) << k;
  }
  uint64_t result = ballot;
  if (operation == WarpOperation::kVoteAll) result = ballot == mask;
  if (operation == WarpOperation::kVoteAny) result = ballot != 0;
  if (operation == WarpOperation::kVoteUniform) result = ballot == mask || ballot == 0;
  for (uint32_t k = 0; k < 32; ++k) {
    if (mask >> k & 1) Register(lanes[k], lanes[k].waiting->d) = result;
  }
}

template <class T>
void Match(bool all, Thread* lanes, uint32_t mask) {
  T values[32] = {};
  uint32_t equal[32] = {};
  for (uint32_t k = 0; k < 32; ++k) {
    if (mask >> k & 1) values[k] = Get<T>(&Register(lanes[k], lanes[k].waiting->a));
  }
  for (uint32_t k = 0; k < 32; ++k) {
    for (uint32_t other = 0; other < 32; ++other) {
      if ((mask >> k & 1) && (mask >> other & 1) && values[k] == values[other]) equal[k] |= 1u << other;
    }
  }
  for (uint32_t k = 0; k < 32; ++k) {
    if ((mask >> k & 1) == 0) continue;
    const Instruction* i = lanes[k].waiting;
    const bool same = equal[k] == mask;
    Put(&Register(lanes[k], i->d), all ? (same ? mask : 0) : equal[k]);
    Register(lanes[k], i[1].d) = same;
  }
}

void Reduce(WarpOperation operation, Thread* lanes, uint32_t mask) {
  bool first = true;
  uint32_t result = 0;
  for (uint32_t k = 0; k < 32; ++k) {
    if ((mask >> k & 1) == 0) continue;
    const uint32_t value = Get<uint32_t>(&Register(lanes[k], lanes[k].waiting->a));
    if (first) {
      result = value;
      first = false;
      continue;
    }
    switch (operation) {
      case WarpOperation::kReduceAdd:
        result += value;
        break;
      case WarpOperation::kReduceMinUnsigned:
        result = std::min(result, value);
        break;
      case WarpOperation::kReduceMaxUnsigned:
        result = std::max(result, value);
        break;
      case WarpOperation::kReduceMinSigned:
        result = static_cast<uint32_t>(std::min(static_cast<int32_t>(result), static_cast<int32_t>(value)));
        break;
      case WarpOperation::kReduceMaxSigned:
        result = static_cast<uint32_t>(std::max(static_cast<int32_t>(result), static_cast<int32_t>(value)));
        break;
      case WarpOperation::kReduceAnd:
        result &= value;
        break;
      case WarpOperation::kReduceOr:
        result |= value;
        break;
      default:
        result ^= value;
    }
  }
  for (uint32_t k = 0; k < 32; ++k) {
    if (mask >> k & 1) Put(&Register(lanes[k], lanes[k].waiting->d), result);
  }
}

void Elect(Thread* lanes, uint32_t mask) {
  const uint32_t leader = std::countr_zero(mask);
  for (uint32_t k = 0; k < 32; ++k) {
    if ((mask >> k & 1) == 0) continue;
    const Instruction* i = lanes[k].waiting;
    Put(&Register(lanes[k], i->d), leader);
    Register(lanes[k], i[1].d) = k == leader;
  }
}

void Perform(WarpOperation operation, Thread* lanes, uint32_t mask) {
  switch (operation) {
    case WarpOperation::kBarrier:
      return;
    case WarpOperation::kShuffleUp:
    case WarpOperation::kShuffleDown:
    case WarpOperation::kShuffleXor:
    case WarpOperation::kShuffleIndex:
      return Shuffle(operation, lanes, mask);
    case WarpOperation::kVoteAll:
    case WarpOperation::kVoteAny:
    case WarpOperation::kVoteUniform:
    case WarpOperation::kVoteBallot:
      return Vote(operation, lanes, mask);
    case WarpOperation::kMatchAny32:
      return Match<uint32_t>(false, lanes, mask);
    case WarpOperation::kMatchAny64:
      return Match<uint64_t>(false, lanes, mask);
    case WarpOperation::kMatchAll32:
      return Match<uint32_t>(true, lanes, mask);
    case WarpOperation::kMatchAll64:
      return Match<uint64_t>(true, lanes, mask);
    case WarpOperation::kElect:
      return Elect(lanes, mask);
    case WarpOperation::kMatrix:
      return PerformMatrixOperation(lanes, mask);
    default:
      return Reduce(operation, lanes, mask);
  }
}

WarpOperation OperationOf(const Thread& lane) { return static_cast<WarpOperation>(lane.waiting[1].immediate); }
uint32_t MaskOf(Thread& lane) { return Get<uint32_t>(&Register(lane, lane.waiting[1].a)); }

void EmitWarp(Decoder& d, WarpOperation operation, uint32_t target, uint32_t second, uint32_t a, uint32_t b, uint32_t c,
              uint32_t mask) {
  d.Emit(WaitForLanes, target, a, b, c);
  d.Emit(nullptr, second, mask, 0, 0, static_cast<int64_t>(operation));
}

uint32_t SecondOf(Decoder& d, const Operand& operand) {
  return operand.second ? d.Destination(*operand.second) : d.NewSlot();
}

bool DecodeShuffle(Decoder& d, const Statement& s) {
  if (!s.Has("sync") || s.operands.size() != 5) return false;
  WarpOperation operation = WarpOperation::kShuffleIndex;
  if (s.Has("up")) operation = WarpOperation::kShuffleUp;
  if (s.Has("down")) operation = WarpOperation::kShuffleDown;
  if (s.Has("bfly")) operation = WarpOperation::kShuffleXor;
  const uint32_t a = d.Source(s.operands[1], Type::kB32), b = d.Source(s.operands[2], Type::kB32);
  const uint32_t c = d.Source(s.operands[3], Type::kB32), mask = d.Source(s.operands[4], Type::kB32);
  EmitWarp(d, operation, d.Destination(s.operands[0]), SecondOf(d, s.operands[0]), a, b, c, mask);
  return true;
}

bool DecodeVote(Decoder& d, const Statement& s) {
  if (!s.Has("sync") || s.operands.size() != 3) return false;
  WarpOperation operation = WarpOperation::kVoteBallot;
  if (s.Has("all")) operation = WarpOperation::kVoteAll;
  if (s.Has("any")) operation = WarpOperation::kVoteAny;
  if (s.Has("uni")) operation = WarpOperation::kVoteUniform;
  const uint32_t a = d.Predicate(s.operands[1]), mask = d.Source(s.operands[2], Type::kB32);
  EmitWarp(d, operation, d.Destination(s.operands[0]), 0, a, 0, 0, mask);
  return true;
}

bool DecodeMatch(Decoder& d, const Statement& s) {
  if (!s.Has("sync") || s.operands.size() != 3) return false;
  const Type type = TypeOf(s);
  const bool wide = SizeOf(type) == 8;
  WarpOperation operation = wide ? WarpOperation::kMatchAny64 : WarpOperation::kMatchAny32;
  if (s.Has("all")) operation = wide ? WarpOperation::kMatchAll64 : WarpOperation::kMatchAll32;
  const uint32_t a = d.Source(s.operands[1], type), mask = d.Source(s.operands[2], Type::kB32);
  EmitWarp(d, operation, d.Destination(s.operands[0]), SecondOf(d, s.operands[0]), a, 0, 0, mask);
  return true;
}

bool DecodeReduce(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  if (!s.Has("sync") || s.operands.size() != 3 || SizeOf(type) != 4 || IsFloat(type)) return false;
  const bool is_signed = type == Type::kS32;
  WarpOperation operation = WarpOperation::kReduceXor;
  if (s.Has("add")) operation = WarpOperation::kReduceAdd;
  if (s.Has("min")) operation = is_signed ? WarpOperation::kReduceMinSigned : WarpOperation::kReduceMinUnsigned;
  if (s.Has("max")) operation = is_signed ? WarpOperation::kReduceMaxSigned : WarpOperation::kReduceMaxUnsigned;
  if (s.Has("and")) operation = WarpOperation::kReduceAnd;
  if (s.Has("or")) operation = WarpOperation::kReduceOr;
  const uint32_t a = d.Source(s.operands[1], type), mask = d.Source(s.operands[2], Type::kB32);
  EmitWarp(d, operation, d.Destination(s.operands[0]), 0, a, 0, 0, mask);
  return true;
}

bool DecodeElect(Decoder& d, const Statement& s) {
  if (s.operands.size() != 2) return false;
  const uint32_t mask = d.Source(s.operands[1], Type::kB32);
  EmitWarp(d, WarpOperation::kElect, d.Destination(s.operands[0]), SecondOf(d, s.operands[0]), 0, 0, 0, mask);
  return true;
}

// Threads do not move together, so the only lane that is surely active is the one that asks.
const Instruction* ActiveMask(uint64_t* r, const Instruction* i, Thread* t) {
  r[i->d] = uint64_t{1} << t->lane;
  return i + 1;
}

bool DecodeActiveMask(Decoder& d, const Statement& s) {
  if (s.operands.size() != 1) return false;
  d.Emit(ActiveMask, d.Destination(s.operands[0]));
  return true;
}

constexpr OpcodeEntry kOpcodes[] = {
    {"shfl", DecodeShuffle}, {"vote", DecodeVote},   {"match", DecodeMatch},
    {"redux", DecodeReduce}, {"elect", DecodeElect}, {"activemask", DecodeActiveMask},
};

}  // namespace

bool DecodeWarpBarrier(Decoder& d, const Statement& s) {
  if (!s.Has("sync") || s.operands.size() != 1) return false;
  EmitWarp(d, WarpOperation::kBarrier, 0, 0, 0, 0, 0, d.Source(s.operands[0], Type::kB32));
  return true;
}

void EmitMatrixOperation(Decoder& d, const void* operation) {
  const uint32_t all = d.Constant(0xFFFFFFFF);
  d.Emit(WaitForLanes, 0, 0, 0, 0, reinterpret_cast<int64_t>(operation));
  d.Emit(nullptr, 0, all, 0, 0, static_cast<int64_t>(WarpOperation::kMatrix));
}

bool ResolveWarpOperations(Thread* lanes, uint32_t count) {
  bool progress = false;
  uint32_t seen = 0;
  for (uint32_t first = 0; first < count; ++first) {
    if (lanes[first].state != Thread::kAtWarpOperation || (seen >> first & 1)) continue;
    const uint32_t mask = MaskOf(lanes[first]);
    const WarpOperation operation = OperationOf(lanes[first]);
    uint32_t present = 0;
    bool complete = true;
    for (uint32_t k = 0; k < count && complete; ++k) {
      if ((mask >> k & 1) == 0 || lanes[k].state == Thread::kDone) continue;
      complete =
          lanes[k].state == Thread::kAtWarpOperation && MaskOf(lanes[k]) == mask && OperationOf(lanes[k]) == operation;
      present |= 1u << k;
    }
    seen |= present;
    if (!complete) continue;
    Perform(operation, lanes, present);
    for (uint32_t k = 0; k < count; ++k) {
      if ((present >> k & 1) && lanes[k].state != Thread::kFailed) lanes[k].state = Thread::kReady;
    }
    progress = true;
  }
  return progress;
}

std::span<const OpcodeEntry> WarpOpcodes() { return kOpcodes; }

}  // namespace cuda_emulator
