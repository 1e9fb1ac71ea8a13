// Loads, stores, and conversions of addresses.
#include <atomic>

#include "addressing.h"
#include "handlers.h"

namespace cuda_emulator {

char* ResolveWindow(const Thread* t, uint64_t address, size_t size) {
  const uint64_t offset = address & ~kWindowMask;
  switch (address & kWindowMask) {
    case kSharedWindow:
      return ResolveShared(t, offset, size);
    case kLocalWindow:
      return ResolveLocal(t, offset, size);
    case kParameterWindow:
      if (offset + size > t->launch->parameters.size()) return nullptr;
      return const_cast<char*>(t->launch->parameters.data()) + offset;
    default:
      return nullptr;
  }
}

namespace {

template <Space kSpace, class T>
const Instruction* Load(uint64_t* r, const Instruction* i, Thread* t) {
  const uint64_t address = r[i->a] + static_cast<uint64_t>(i->immediate);
  const char* from = Resolve<kSpace>(t, address, sizeof(T));
  if (from == nullptr) [[unlikely]]
    return AddressFault(t, i, address, sizeof(T), "load");
  Put(&r[i->d], __atomic_load_n(reinterpret_cast<const T*>(from), __ATOMIC_RELAXED));
  return i + 1;
}

template <Space kSpace, class T>
const Instruction* Store(uint64_t* r, const Instruction* i, Thread* t) {
  const uint64_t address = r[i->a] + static_cast<uint64_t>(i->immediate);
  char* to = Resolve<kSpace>(t, address, sizeof(T));
  if (to == nullptr) [[unlikely]]
    return AddressFault(t, i, address, sizeof(T), "store");
  __atomic_store_n(reinterpret_cast<T*>(to), Get<T>(&r[i->b]), __ATOMIC_RELAXED);
  return i + 1;
}

// Vectors: the slots of the elements are in the next element of the code.
template <Space kSpace, class T, int kCount>
const Instruction* LoadVector(uint64_t* r, const Instruction* i, Thread* t) {
  const uint64_t address = r[i->a] + static_cast<uint64_t>(i->immediate);
  const char* from = Resolve<kSpace>(t, address, sizeof(T) * kCount);
  if (from == nullptr) [[unlikely]]
    return AddressFault(t, i, address, sizeof(T) * kCount, "load");
  T values[kCount];
  std::memcpy(values, from, sizeof(values));
  const uint32_t slots[4] = {i[1].d, i[1].a, i[1].b, i[1].c};
  for (int k = 0; k < kCount; ++k) Put(&r[slots[k]], values[k]);
  return i + 2;
}

template <Space kSpace, class T, int kCount>
const Instruction* StoreVector(uint64_t* r, const Instruction* i, Thread* t) {
  const uint64_t address = r[i->a] + static_cast<uint64_t>(i->immediate);
  char* to = Resolve<kSpace>(t, address, sizeof(T) * kCount);
  if (to == nullptr) [[unlikely]]
    return AddressFault(t, i, address, sizeof(T) * kCount, "store");
  const uint32_t slots[4] = {i[1].d, i[1].a, i[1].b, i[1].c};
  T values[kCount];
  for (int k = 0; k < kCount; ++k) values[k] = Get<T>(&r[slots[k]]);
  std::memcpy(to, values, sizeof(values));
  return i + 2;
}

// Parameters by name: no check is needed but the parser's.
template <class T, bool kEntry>
const Instruction* LoadParameter(uint64_t* r, const Instruction* i, Thread* t) {
  T value;
  std::memcpy(&value, (kEntry ? t->launch->parameters.data() : t->frame) + i->immediate, sizeof(T));
  Put(&r[i->d], value);
  return i + 1;
}
template <class T>
const Instruction* StoreParameter(uint64_t* r, const Instruction* i, Thread* t) {
  const T value = Get<T>(&r[i->b]);
  std::memcpy(t->frame + i->immediate, &value, sizeof(T));
  return i + 1;
}

template <class F>
Handler ForStored(Type type, F choose) {
  switch (type) {
    case Type::kB8:
    case Type::kU8:
    case Type::kPred:
      return choose.template operator()<uint8_t>();
    case Type::kS8:
      return choose.template operator()<int8_t>();
    case Type::kF16:
    case Type::kBF16:
      return choose.template operator()<uint16_t>();
    case Type::kF32:
    case Type::kF16x2:
    case Type::kBF16x2:
      return choose.template operator()<uint32_t>();
    case Type::kF64:
      return choose.template operator()<uint64_t>();
    default:
      return ForInteger(type, choose);
  }
}

template <class F>
Handler ForSpace(Space space, F choose) {
  switch (space) {
    case Space::kGlobal:
    case Space::kConst:
      return choose.template operator()<Space::kGlobal>();
    case Space::kShared:
      return choose.template operator()<Space::kShared>();
    case Space::kLocal:
      return choose.template operator()<Space::kLocal>();
    default:
      return choose.template operator()<Space::kGeneric>();
  }
}

int VectorOf(const Statement& s) { return s.Has("v2") ? 2 : s.Has("v4") ? 4 : 1; }

const Instruction* Fence(uint64_t*, const Instruction* i, Thread*) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return i + 1;
}

const Instruction* Nothing(uint64_t*, const Instruction* i, Thread*) { return i + 1; }

// Says whether the statement orders memory, and so needs a fence beside it.
bool IsOrdered(const Statement& s) { return s.Has("acquire") || s.Has("release") || s.Has("acq_rel") || s.Has("sc"); }

// ld.param and st.param of a name: false if the address is another one.
bool EmitNamedParameter(Decoder& d, const Operand& address, Type type, uint32_t slot, bool store) {
  if (address.base_is_register || address.name.empty()) return false;
  if (const Variable* parameter = d.EntryParameter(address.name)) {
    const int64_t offset = static_cast<int64_t>(parameter->frame_offset) + address.offset;
    if (address.offset < 0 || address.offset + SizeOf(type) > static_cast<int64_t>(parameter->size) || store)
      return false;
    d.Emit(ForStored(type, []<class T>() -> Handler { return LoadParameter<T, true>; }), slot, 0, 0, 0, offset);
    return true;
  }
  const Variable* variable = d.FrameVariable(address.name);
  if (variable == nullptr || variable->space != Space::kParam || address.offset < 0 ||
      address.offset + SizeOf(type) > static_cast<int64_t>(variable->size)) {
    return false;
  }
  const int64_t offset = static_cast<int64_t>(variable->frame_offset) + address.offset;
  if (store) {
    d.Emit(ForStored(type, []<class T>() -> Handler { return StoreParameter<T>; }), 0, 0, slot, 0, offset);
  } else {
    d.Emit(ForStored(type, []<class T>() -> Handler { return LoadParameter<T, false>; }), slot, 0, 0, 0, offset);
  }
  return true;
}

bool DecodeLoad(Decoder& d, const Statement& s) {
  if (s.operands.size() < 2) return false;
  const Type type = TypeOf(s);
  Space space = SpaceOf(s);
  const int count = VectorOf(s);
  if (IsOrdered(s)) d.Emit(Fence);
  if (count == 1) {
    const uint32_t target = d.Destination(s.operands[0]);
    if (space == Space::kParam && EmitNamedParameter(d, s.operands[1], type, target, false)) return true;
    const Decoder::Address address = d.AddressOf(s.operands[1], &space);
    Handler handler = ForSpace(space, [&]<Space kSpace>() -> Handler {
      return ForStored(type, []<class T>() -> Handler { return Load<kSpace, T>; });
    });
    if (handler == nullptr) return false;
    d.Emit(handler, target, address.slot, 0, 0, address.offset);
  } else {
    const Operand& list = s.operands[0];
    if (list.kind != Operand::kList || static_cast<int>(list.elements.size()) != count) return false;
    uint32_t slots[4] = {};
    for (int k = 0; k < count; ++k) slots[k] = d.Destination(list.elements[k]);
    const Decoder::Address address = d.AddressOf(s.operands[1], &space);
    Handler handler = ForSpace(space, [&]<Space kSpace>() -> Handler {
      return ForStored(
          type, [&]<class T>() -> Handler { return count == 2 ? LoadVector<kSpace, T, 2> : LoadVector<kSpace, T, 4>; });
    });
    if (handler == nullptr) return false;
    d.Emit(handler, 0, address.slot, 0, 0, address.offset);
    d.Emit(nullptr, slots[0], slots[1], slots[2], slots[3]);
  }
  if (IsOrdered(s)) d.Emit(Fence);
  return true;
}

bool DecodeStore(Decoder& d, const Statement& s) {
  if (s.operands.size() < 2) return false;
  const Type type = TypeOf(s);
  Space space = SpaceOf(s);
  const int count = VectorOf(s);
  if (IsOrdered(s)) d.Emit(Fence);
  if (count == 1) {
    const uint32_t value = d.Source(s.operands[1], type);
    if (space == Space::kParam && EmitNamedParameter(d, s.operands[0], type, value, true)) return true;
    const Decoder::Address address = d.AddressOf(s.operands[0], &space);
    Handler handler = ForSpace(space, [&]<Space kSpace>() -> Handler {
      return ForStored(type, []<class T>() -> Handler { return Store<kSpace, T>; });
    });
    if (handler == nullptr) return false;
    d.Emit(handler, 0, address.slot, value, 0, address.offset);
  } else {
    const Operand& list = s.operands[1];
    if (list.kind != Operand::kList || static_cast<int>(list.elements.size()) != count) return false;
    uint32_t slots[4] = {};
    for (int k = 0; k < count; ++k) slots[k] = d.Source(list.elements[k], type);
    const Decoder::Address address = d.AddressOf(s.operands[0], &space);
    Handler handler = ForSpace(space, [&]<Space kSpace>() -> Handler {
      return ForStored(type, [&]<class T>() -> Handler {
        return count == 2 ? StoreVector<kSpace, T, 2> : StoreVector<kSpace, T, 4>;
      });
    });
    if (handler == nullptr) return false;
    d.Emit(handler, 0, address.slot, 0, 0, address.offset);
    d.Emit(nullptr, slots[0], slots[1], slots[2], slots[3]);
  }
  if (IsOrdered(s)) d.Emit(Fence);
  return true;
}

template <bool kAdd>
const Instruction* ChangeWindow(uint64_t* r, const Instruction* i, Thread*) {
  r[i->d] = kAdd ? r[i->a] + static_cast<uint64_t>(i->immediate) : r[i->a] - static_cast<uint64_t>(i->immediate);
  return i + 1;
}

// cvta.space: to a generic address; cvta.to.space: from one.
bool DecodeConvertAddress(Decoder& d, const Statement& s) {
  if (s.operands.size() != 2) return false;
  const Space space = SpaceOf(s);
  // Parameters and global memory have the same address in every space.
  const uint64_t window = space == Space::kShared ? kSharedWindow : space == Space::kLocal ? kLocalWindow : 0;
  Operand source = s.operands[1];
  const uint32_t from = d.Source(source, Type::kU64);
  d.Emit(s.Has("to") ? ChangeWindow<false> : ChangeWindow<true>, d.Destination(s.operands[0]), from, 0, 0,
         static_cast<int64_t>(window));
  return true;
}

const Instruction* IsInWindow(uint64_t* r, const Instruction* i, Thread*) {
  r[i->d] = (r[i->a] & kWindowMask) == static_cast<uint64_t>(i->immediate);
  return i + 1;
}

bool DecodeIsSpace(Decoder& d, const Statement& s) {
  uint64_t window = 0;
  switch (SpaceOf(s)) {
    case Space::kShared:
      window = kSharedWindow;
      break;
    case Space::kLocal:
      window = kLocalWindow;
      break;
    case Space::kGlobal:
      break;
    case Space::kParam:
      window = kParameterWindow;
      break;
    default:
      return false;
  }
  if (s.operands.size() != 2) return false;
  const uint32_t from = d.Source(s.operands[1], Type::kU64);
  d.Emit(IsInWindow, d.Destination(s.operands[0]), from, 0, 0, static_cast<int64_t>(window));
  return true;
}

bool DecodeNothing(Decoder& d, const Statement&) {
  d.Emit(Nothing);
  return true;
}

bool DecodeFence(Decoder& d, const Statement&) {
  d.Emit(Fence);
  return true;
}

constexpr OpcodeEntry kOpcodes[] = {
    {"ld", DecodeLoad},           {"ldu", DecodeLoad},
    {"st", DecodeStore},          {"cvta", DecodeConvertAddress},
    {"isspacep", DecodeIsSpace},  {"membar", DecodeFence},
    {"fence", DecodeFence},       {"prefetch", DecodeNothing},
    {"prefetchu", DecodeNothing}, {"applypriority", DecodeNothing},
    {"discard", DecodeNothing},   {"griddepcontrol", DecodeNothing},
};

}  // namespace

std::span<const OpcodeEntry> MemoryOpcodes() { return kOpcodes; }

}  // namespace cuda_emulator
