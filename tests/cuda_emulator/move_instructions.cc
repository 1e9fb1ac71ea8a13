// mov, and the special registers.
#include <chrono>

#include "handlers.h"

namespace cuda_emulator {
namespace {

const Instruction* Move(uint64_t* r, const Instruction* i, Thread*) {
  r[i->d] = r[i->a];
  return i + 1;
}

// {x, y...} from or to one register; sizes are of an element. More than two slots are in the next element of the code.
template <class T, class Whole>
const Instruction* Pack(uint64_t* r, const Instruction* i, Thread*) {
  constexpr int kCount = sizeof(Whole) / sizeof(T);
  const uint32_t slots[4] = {i[1].d, i[1].a, i[1].b, i[1].c};
  T parts[kCount];
  for (int k = 0; k < kCount; ++k) parts[k] = Get<T>(&r[slots[k]]);
  Whole whole;
  std::memcpy(&whole, parts, sizeof(whole));
  Put(&r[i->d], whole);
  return i + 2;
}

template <class T, class Whole>
const Instruction* Unpack(uint64_t* r, const Instruction* i, Thread*) {
  constexpr int kCount = sizeof(Whole) / sizeof(T);
  const uint32_t slots[4] = {i[1].d, i[1].a, i[1].b, i[1].c};
  const Whole whole = Get<Whole>(&r[i->a]);
  T parts[kCount];
  std::memcpy(parts, &whole, sizeof(whole));
  for (int k = 0; k < kCount; ++k) Put(&r[slots[k]], parts[k]);
  return i + 2;
}

bool DecodeVectorMove(Decoder& d, const Statement& s, Type type) {
  const bool pack = s.operands[1].kind == Operand::kList;
  const Operand& list = s.operands[pack ? 1 : 0];
  const size_t count = list.elements.size();
  const size_t whole = SizeOf(type);
  Handler handler = nullptr;
  Type element = Type::kNone;
  if (whole == 8 && count == 2) {
    handler = pack ? Pack<uint32_t, uint64_t> : Unpack<uint32_t, uint64_t>;
    element = Type::kB32;
  } else if (whole == 8 && count == 4) {
    handler = pack ? Pack<uint16_t, uint64_t> : Unpack<uint16_t, uint64_t>;
    element = Type::kB16;
  } else if (whole == 4 && count == 2) {
    handler = pack ? Pack<uint16_t, uint32_t> : Unpack<uint16_t, uint32_t>;
    element = Type::kB16;
  } else if (whole == 4 && count == 4) {
    handler = pack ? Pack<uint8_t, uint32_t> : Unpack<uint8_t, uint32_t>;
    element = Type::kB8;
  } else if (whole == 2 && count == 2) {
    handler = pack ? Pack<uint8_t, uint16_t> : Unpack<uint8_t, uint16_t>;
    element = Type::kB8;
  } else {
    return false;
  }
  uint32_t slots[4] = {};
  for (size_t k = 0; k < count; ++k) {
    slots[k] = pack ? d.Source(list.elements[k], element) : d.Destination(list.elements[k]);
  }
  if (pack) {
    d.Emit(handler, d.Destination(s.operands[0]));
  } else {
    d.Emit(handler, 0, d.Source(s.operands[1], type));
  }
  d.Emit(nullptr, slots[0], slots[1], slots[2], slots[3]);
  return true;
}

bool DecodeMove(Decoder& d, const Statement& s) {
  if (s.operands.size() != 2) return false;
  const Type type = TypeOf(s);
  if (type == Type::kNone || type == Type::kB128) return false;
  if (s.operands[0].kind == Operand::kList || s.operands[1].kind == Operand::kList) return DecodeVectorMove(d, s, type);
  const uint32_t target = d.Destination(s.operands[0]);
  if (s.operands[1].kind == Operand::kName) {
    if (Handler special = FindSpecialRegister(s.operands[1].name)) {
      d.Emit(special, target);
      return true;
    }
  }
  const uint32_t source = d.Source(s.operands[1], type);
  d.Emit(Move, target, source);
  return true;
}

constexpr OpcodeEntry kOpcodes[] = {{"mov", DecodeMove}};

template <uint64_t (*kRead)(const Thread&)>
const Instruction* ReadSpecial(uint64_t* r, const Instruction* i, Thread* t) {
  r[i->d] = kRead(*t);
  return i + 1;
}

uint64_t Nanoseconds(const Thread&) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Special {
  std::string_view name;
  Handler handler;
};

constexpr uint64_t Lanes(int lane, bool below, bool self, bool above) {
  const uint64_t bit = uint64_t{1} << lane;
  return ((below ? bit - 1 : 0) | (self ? bit : 0) | (above ? ~(bit | (bit - 1)) : 0)) & 0xFFFFFFFF;
}

#define CUDA_EMULATOR_SPECIAL(name, expression)                                 \
  {                                                                             \
    name, ReadSpecial<[](const Thread& t) -> uint64_t { return (expression); }> \
  }
const Special kSpecials[] = {
    CUDA_EMULATOR_SPECIAL("%tid.x", t.id.x),
    CUDA_EMULATOR_SPECIAL("%tid.y", t.id.y),
    CUDA_EMULATOR_SPECIAL("%tid.z", t.id.z),
    CUDA_EMULATOR_SPECIAL("%ntid.x", t.launch->block.x),
    CUDA_EMULATOR_SPECIAL("%ntid.y", t.launch->block.y),
    CUDA_EMULATOR_SPECIAL("%ntid.z", t.launch->block.z),
    CUDA_EMULATOR_SPECIAL("%ctaid.x", t.block->id().x),
    CUDA_EMULATOR_SPECIAL("%ctaid.y", t.block->id().y),
    CUDA_EMULATOR_SPECIAL("%ctaid.z", t.block->id().z),
    CUDA_EMULATOR_SPECIAL("%nctaid.x", t.launch->grid.x),
    CUDA_EMULATOR_SPECIAL("%nctaid.y", t.launch->grid.y),
    CUDA_EMULATOR_SPECIAL("%nctaid.z", t.launch->grid.z),
    CUDA_EMULATOR_SPECIAL("%laneid", t.lane),
    CUDA_EMULATOR_SPECIAL("%warpid", t.warp),
    CUDA_EMULATOR_SPECIAL("%nwarpid", (t.launch->block.Count() + 31) / 32),
    CUDA_EMULATOR_SPECIAL("%smid", 0),
    CUDA_EMULATOR_SPECIAL("%nsmid", 4),
    CUDA_EMULATOR_SPECIAL("%gridid", 0),
    CUDA_EMULATOR_SPECIAL("%lanemask_eq", Lanes(t.lane, false, true, false)),
    CUDA_EMULATOR_SPECIAL("%lanemask_le", Lanes(t.lane, true, true, false)),
    CUDA_EMULATOR_SPECIAL("%lanemask_lt", Lanes(t.lane, true, false, false)),
    CUDA_EMULATOR_SPECIAL("%lanemask_ge", Lanes(t.lane, false, true, true)),
    CUDA_EMULATOR_SPECIAL("%lanemask_gt", Lanes(t.lane, false, false, true)),
    CUDA_EMULATOR_SPECIAL("%clock", Nanoseconds(t) & 0xFFFFFFFF),
    CUDA_EMULATOR_SPECIAL("%clock_hi", Nanoseconds(t) >> 32),
    CUDA_EMULATOR_SPECIAL("%clock64", Nanoseconds(t)),
    CUDA_EMULATOR_SPECIAL("%globaltimer", Nanoseconds(t)),
    CUDA_EMULATOR_SPECIAL("%globaltimer_lo", Nanoseconds(t) & 0xFFFFFFFF),
    CUDA_EMULATOR_SPECIAL("%globaltimer_hi", Nanoseconds(t) >> 32),
    CUDA_EMULATOR_SPECIAL("%dynamic_smem_size", t.launch->dynamic_shared_bytes),
    CUDA_EMULATOR_SPECIAL("%total_smem_size", t.block->shared_bytes()),
    CUDA_EMULATOR_SPECIAL("%cluster_ctaid.x", 0),
    CUDA_EMULATOR_SPECIAL("%cluster_ctaid.y", 0),
    CUDA_EMULATOR_SPECIAL("%cluster_ctaid.z", 0),
    CUDA_EMULATOR_SPECIAL("%cluster_ctarank", 0),
    CUDA_EMULATOR_SPECIAL("%cluster_nctaid.x", 1),
    CUDA_EMULATOR_SPECIAL("%cluster_nctaid.y", 1),
    CUDA_EMULATOR_SPECIAL("%cluster_nctaid.z", 1),
    CUDA_EMULATOR_SPECIAL("%cluster_nctarank", 1),
    CUDA_EMULATOR_SPECIAL("%is_explicit_cluster", 0),
    // Where cooperative launches keep what their grid meets by; see Launch.
    CUDA_EMULATOR_SPECIAL("%envreg1", t.launch->grid_workspace >> 32),
    CUDA_EMULATOR_SPECIAL("%envreg2", t.launch->grid_workspace & 0xFFFFFFFF),
};
#undef CUDA_EMULATOR_SPECIAL

}  // namespace

Handler FindSpecialRegister(std::string_view name) {
  if (!name.starts_with('%')) return nullptr;
  for (const Special& each : kSpecials) {
    if (each.name == name) return each.handler;
  }
  return nullptr;
}

std::span<const OpcodeEntry> MoveOpcodes() { return kOpcodes; }

}  // namespace cuda_emulator
