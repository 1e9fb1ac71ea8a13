// atom and red.
#include <algorithm>
#include <bit>

#include "addressing.h"
#include "handlers.h"

namespace cuda_emulator {
namespace {

struct Add {
  template <class T>
  static T Do(T old, T value) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(old) + static_cast<U>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      return old + value;
    } else {
      return NarrowFromDouble<T>(FusedForNarrow(old.ToFloat(), 1, value.ToFloat()));
    }
  }
  template <class T>
  static Pair<T> Do(Pair<T> old, Pair<T> value) {
    return {Do(old.x, value.x), Do(old.y, value.y)};
  }
};
template <bool kMaximum>
struct Extreme {
  template <class T>
  static T Do(T old, T value) {
    if constexpr (std::is_integral_v<T>) {
      return kMaximum ? std::max(old, value) : std::min(old, value);
    } else {
      const float a = old.ToFloat(), b = value.ToFloat();
      if (a != a) return value;
      if (b != b) return old;
      return (a < b) == kMaximum ? value : old;
    }
  }
  template <class T>
  static Pair<T> Do(Pair<T> old, Pair<T> value) {
    return {Do(old.x, value.x), Do(old.y, value.y)};
  }
};
struct And {
  template <class T>
  static T Do(T old, T value) {
    return old & value;
  }
};
struct Or {
  template <class T>
  static T Do(T old, T value) {
    return old | value;
  }
};
struct Xor {
  template <class T>
  static T Do(T old, T value) {
    return old ^ value;
  }
};
struct Exchange {
  template <class T>
  static T Do(T, T value) {
    return value;
  }
};
struct Increment {
  template <class T>
  static T Do(T old, T limit) {
    return old >= limit ? 0 : old + 1;
  }
};
struct Decrement {
  template <class T>
  static T Do(T old, T limit) {
    return old == 0 || old > limit ? limit : old - 1;
  }
};

template <int kSize>
struct BitsOf;
template <>
struct BitsOf<2> {
  using Type = uint16_t;
};
template <>
struct BitsOf<4> {
  using Type = uint32_t;
};
template <>
struct BitsOf<8> {
  using Type = uint64_t;
};

template <class T>
T FromBits(typename BitsOf<sizeof(T)>::Type bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <Space kSpace, class T, class Operation>
const Instruction* Modify(uint64_t* r, const Instruction* i, Thread* t) {
  using Bits = typename BitsOf<sizeof(T)>::Type;
  const uint64_t address = r[i->a] + static_cast<uint64_t>(i->immediate);
  char* where = Resolve<kSpace>(t, address, sizeof(T));
  if (where == nullptr) [[unlikely]]
    return AddressFault(t, i, address, sizeof(T), "atomic access");
  Bits* bits = reinterpret_cast<Bits*>(where);
  const T value = Get<T>(&r[i->b]);
  Bits old = __atomic_load_n(bits, __ATOMIC_RELAXED);
  Bits changed;
  do {
    const T result = Operation::Do(FromBits<T>(old), value);
    std::memcpy(&changed, &result, sizeof(T));
  } while (!__atomic_compare_exchange_n(bits, &old, changed, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
  Put(&r[i->d], FromBits<T>(old));
  return i + 1;
}

template <Space kSpace, class T>
const Instruction* CompareAndSwap(uint64_t* r, const Instruction* i, Thread* t) {
  const uint64_t address = r[i->a] + static_cast<uint64_t>(i->immediate);
  char* where = Resolve<kSpace>(t, address, sizeof(T));
  if (where == nullptr) [[unlikely]]
    return AddressFault(t, i, address, sizeof(T), "atomic access");
  T old = Get<T>(&r[i->b]);
  __atomic_compare_exchange_n(reinterpret_cast<T*>(where), &old, Get<T>(&r[i->c]), false, __ATOMIC_SEQ_CST,
                              __ATOMIC_SEQ_CST);
  Put(&r[i->d], old);
  return i + 1;
}

template <Space kSpace, class Operation>
Handler ForBits(Type type) {
  if (SizeOf(type) == 4) return Modify<kSpace, uint32_t, Operation>;
  if (SizeOf(type) == 8) return Modify<kSpace, uint64_t, Operation>;
  return nullptr;
}

template <Space kSpace>
Handler AddHandler(Type type) {
  switch (type) {
    case Type::kF32:
      return Modify<kSpace, float, Add>;
    case Type::kF64:
      return Modify<kSpace, double, Add>;
    case Type::kF16:
      return Modify<kSpace, Half, Add>;
    case Type::kBF16:
      return Modify<kSpace, BFloat, Add>;
    case Type::kF16x2:
      return Modify<kSpace, Half2, Add>;
    case Type::kBF16x2:
      return Modify<kSpace, BFloat2, Add>;
    default:
      return ForBits<kSpace, Add>(type);
  }
}

template <Space kSpace, bool kMaximum>
Handler ExtremeHandler(Type type) {
  if (Handler narrow =
          ForNarrowFloat(type, []<class T>() -> Handler { return Modify<kSpace, T, Extreme<kMaximum>>; })) {
    return narrow;
  }
  return ForInteger32Or64(type, []<class T>() -> Handler { return Modify<kSpace, T, Extreme<kMaximum>>; });
}

template <Space kSpace>
Handler AtomicHandler(const Statement& s, Type type) {
  if (s.Has("add")) return AddHandler<kSpace>(type);
  if (s.Has("min")) return ExtremeHandler<kSpace, false>(type);
  if (s.Has("max")) return ExtremeHandler<kSpace, true>(type);
  if (s.Has("and")) return ForBits<kSpace, And>(type);
  if (s.Has("or")) return ForBits<kSpace, Or>(type);
  if (s.Has("xor")) return ForBits<kSpace, Xor>(type);
  if (s.Has("exch")) return ForBits<kSpace, Exchange>(type);
  if (s.Has("inc")) return type == Type::kU32 ? Modify<kSpace, uint32_t, Increment> : nullptr;
  if (s.Has("dec")) return type == Type::kU32 ? Modify<kSpace, uint32_t, Decrement> : nullptr;
  if (s.Has("cas")) {
    if (SizeOf(type) == 2) return CompareAndSwap<kSpace, uint16_t>;
    if (SizeOf(type) == 4) return CompareAndSwap<kSpace, uint32_t>;
    if (SizeOf(type) == 8) return CompareAndSwap<kSpace, uint64_t>;
  }
  return nullptr;
}

bool DecodeAtomic(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  const bool reduce = s.opcode == "red";
  Space space = SpaceOf(s);
  if (s.Has("async") || s.Has("v2") || s.Has("v4") || s.Has("v8")) return false;
  const size_t first = reduce ? 0 : 1;
  const size_t sources = s.Has("cas") ? 2 : 1;
  if (s.operands.size() < first + 1 + sources) return false;
  const uint32_t target = reduce ? d.NewSlot() : d.Destination(s.operands[0]);
  const Decoder::Address address = d.AddressOf(s.operands[first], &space);
  const uint32_t b = d.Source(s.operands[first + 1], type);
  const uint32_t c = sources == 2 ? d.Source(s.operands[first + 2], type) : 0;
  Handler handler = nullptr;
  switch (space) {
    case Space::kGlobal:
      handler = AtomicHandler<Space::kGlobal>(s, type);
      break;
    case Space::kShared:
      handler = AtomicHandler<Space::kShared>(s, type);
      break;
    default:
      handler = AtomicHandler<Space::kGeneric>(s, type);
  }
  if (handler == nullptr) return false;
  d.Emit(handler, target, address.slot, b, c, address.offset);
  return true;
}

constexpr OpcodeEntry kOpcodes[] = {{"atom", DecodeAtomic}, {"red", DecodeAtomic}};

}  // namespace

std::span<const OpcodeEntry> AtomicOpcodes() { return kOpcodes; }

}  // namespace cuda_emulator
