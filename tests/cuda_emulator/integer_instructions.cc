// Arithmetic of integers.
#include <algorithm>
#include <limits>

#include "handlers.h"

namespace cuda_emulator {
namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;

struct Add {
  template <class T>
  static T Do(T a, T b) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
  }
};
struct Subtract {
  template <class T>
  static T Do(T a, T b) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
  }
};
struct AddSaturated {
  static int32_t Do(int32_t a, int32_t b) {
    return static_cast<int32_t>(std::clamp<int64_t>(int64_t{a} + b, INT32_MIN, INT32_MAX));
  }
};
struct SubtractSaturated {
  static int32_t Do(int32_t a, int32_t b) {
    return static_cast<int32_t>(std::clamp<int64_t>(int64_t{a} - b, INT32_MIN, INT32_MAX));
  }
};

template <class T>
struct Wide;
template <>
struct Wide<uint16_t> {
  using Type = uint32_t;
};
template <>
struct Wide<int16_t> {
  using Type = int32_t;
};
template <>
struct Wide<uint32_t> {
  using Type = uint64_t;
};
template <>
struct Wide<int32_t> {
  using Type = int64_t;
};
template <>
struct Wide<uint64_t> {
  using Type = unsigned __int128;
};
template <>
struct Wide<int64_t> {
  using Type = __int128;
};

struct MultiplyLow {
  template <class T>
  static T Do(T a, T b) {
    using U = std::conditional_t<sizeof(T) == 2, uint32_t, Unsigned<T>>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  }
};
struct MultiplyHigh {
  template <class T>
  static T Do(T a, T b) {
    using W = typename Wide<T>::Type;
    return static_cast<T>((static_cast<W>(a) * static_cast<W>(b)) >> (8 * sizeof(T)));
  }
};
struct MultiplyWide {
  template <class T>
  static auto Do(T a, T b) {
    using W = typename Wide<T>::Type;
    return static_cast<W>(static_cast<W>(a) * static_cast<W>(b));
  }
};
// The lower or upper 32 bits of the product of 24 bits.
template <bool kHigh>
struct Multiply24 {
  template <class T>
  static T Do(T a, T b) {
    // The shift back extends by the sign where T has one.
    using W = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    const W x = static_cast<W>(static_cast<uint64_t>(a) << 40) >> 40;
    const W y = static_cast<W>(static_cast<uint64_t>(b) << 40) >> 40;
    const W product = x * y;
    return static_cast<T>(kHigh ? product >> 16 : product);
  }
};
template <class Multiply>
struct ThenAdd {
  template <class T>
  static T Do(T a, T b, T c) {
    return Add::Do(Multiply::Do(a, b), c);
  }
};

template <class T>
const Instruction* MultiplyAddWide(uint64_t* r, const Instruction* i, Thread*) {
  using W = typename Wide<T>::Type;
  Put(&r[i->d], Add::Do(MultiplyWide::Do(Get<T>(&r[i->a]), Get<T>(&r[i->b])), Get<W>(&r[i->c])));
  return i + 1;
}

// What the GPU gives for a division by zero: all bits set, and the dividend as remainder.
struct Divide {
  template <class T>
  static T Do(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Subtract::Do(T{0}, a);
    return static_cast<T>(a / b);
  }
};
struct Remainder {
  template <class T>
  static T Do(T a, T b) {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
struct Minimum {
  template <class T>
  static T Do(T a, T b) {
    return std::min(a, b);
  }
};
struct Maximum {
  template <class T>
  static T Do(T a, T b) {
    return std::max(a, b);
  }
};
template <class Operation, bool kRectify>
struct OfPair {
  template <class T>
  static Pair<T> Do(Pair<T> a, Pair<T> b) {
    Pair<T> result = {Operation::Do(a.x, b.x), Operation::Do(a.y, b.y)};
    if constexpr (kRectify) result = {std::max<T>(result.x, 0), std::max<T>(result.y, 0)};
    return result;
  }
};
struct Rectified {
  template <class Operation>
  struct Of {
    static int32_t Do(int32_t a, int32_t b) { return std::max(0, Operation::Do(a, b)); }
  };
};
struct Absolute {
  template <class T>
  static T Do(T a) {
    return a < 0 ? Subtract::Do(T{0}, a) : a;
  }
};
struct Negate {
  template <class T>
  static T Do(T a) {
    return Subtract::Do(T{0}, a);
  }
};
struct AbsoluteDifference {
  template <class T>
  static T Do(T a, T b, T c) {
    return Add::Do(c, a < b ? Subtract::Do(b, a) : Subtract::Do(a, b));
  }
};

// Arithmetic in several words: the carry goes from one instruction to the next.
template <class T, bool kSubtract, bool kIn, bool kOut>
const Instruction* WithCarry(uint64_t* r, const Instruction* i, Thread* t) {
  const T a = Get<T>(&r[i->a]);
  const T b = kSubtract ? static_cast<T>(~Get<T>(&r[i->b])) : Get<T>(&r[i->b]);
  // A subtraction adds the complement; a borrow is the absence of a carry.
  const unsigned in = kIn ? (kSubtract ? !t->carry : t->carry) : kSubtract;
  const unsigned __int128 sum = static_cast<unsigned __int128>(a) + b + in;
  if (kOut) {
    const bool carry = (sum >> (8 * sizeof(T))) != 0;
    t->carry = kSubtract ? !carry : carry;
  }
  Put(&r[i->d], static_cast<T>(sum));
  return i + 1;
}

template <class T, bool kHigh, bool kIn, bool kOut>
const Instruction* MultiplyAddWithCarry(uint64_t* r, const Instruction* i, Thread* t) {
  const auto product = static_cast<unsigned __int128>(Get<T>(&r[i->a])) * Get<T>(&r[i->b]);
  const T part = static_cast<T>(kHigh ? product >> (8 * sizeof(T)) : product);
  const unsigned __int128 sum = static_cast<unsigned __int128>(part) + Get<T>(&r[i->c]) + (kIn && t->carry ? 1 : 0);
  if (kOut) t->carry = (sum >> (8 * sizeof(T))) != 0;
  Put(&r[i->d], static_cast<T>(sum));
  return i + 1;
}

template <class T>
Handler CarryHandler(bool subtract, bool in, bool out) {
  if (subtract) {
    if (in) return out ? WithCarry<T, true, true, true> : WithCarry<T, true, true, false>;
    return WithCarry<T, true, false, true>;
  }
  if (in) return out ? WithCarry<T, false, true, true> : WithCarry<T, false, true, false>;
  return WithCarry<T, false, false, true>;
}

template <class T>
Handler MultiplyCarryHandler(bool high, bool in, bool out) {
  if (high) {
    if (in) return out ? MultiplyAddWithCarry<T, true, true, true> : MultiplyAddWithCarry<T, true, true, false>;
    return MultiplyAddWithCarry<T, true, false, true>;
  }
  if (in) return out ? MultiplyAddWithCarry<T, false, true, true> : MultiplyAddWithCarry<T, false, true, false>;
  return MultiplyAddWithCarry<T, false, false, true>;
}

bool DecodeAdd(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  if (IsFloat(type)) return DecodeFloat(d, s);
  const bool subtract = s.opcode == "sub" || s.opcode == "subc";
  const bool in = s.opcode == "addc" || s.opcode == "subc";
  if (in || s.Has("cc")) {
    Handler handler = nullptr;
    if (SizeOf(type) == 4) handler = CarryHandler<uint32_t>(subtract, in, s.Has("cc"));
    if (SizeOf(type) == 8) handler = CarryHandler<uint64_t>(subtract, in, s.Has("cc"));
    return EmitPlain(d, s, handler, type);
  }
  if (s.Has("sat")) {
    if (type != Type::kS32) return false;
    return EmitPlain(d, s, subtract ? Binary<int32_t, SubtractSaturated> : Binary<int32_t, AddSaturated>, type);
  }
  if (type == Type::kU16x2 || type == Type::kS16x2) {
    return EmitPlain(d, s, Binary<Pair<uint16_t>, OfPair<Add, false>>, type);
  }
  return EmitPlain(
      d, s, ForInteger(type, [&]<class T>() -> Handler { return subtract ? Binary<T, Subtract> : Binary<T, Add>; }),
      type);
}

bool DecodeMultiply(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  if (IsFloat(type)) return DecodeFloat(d, s);
  if (s.Has("wide")) {
    if (SizeOf(type) == 8) return false;
    return EmitPlain(d, s,
                     ForInteger(type,
                                []<class T>() -> Handler {
                                  if constexpr (sizeof(T) == 8)
                                    return nullptr;
                                  else
                                    return Binary<T, MultiplyWide>;
                                }),
                     type);
  }
  const bool high = s.Has("hi");
  return EmitPlain(
      d, s,
      ForInteger(type, [&]<class T>() -> Handler { return high ? Binary<T, MultiplyHigh> : Binary<T, MultiplyLow>; }),
      type);
}

bool DecodeMultiplyAdd(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  if (IsFloat(type)) return DecodeFloat(d, s);
  const bool in = s.opcode == "madc";
  const bool high = s.Has("hi");
  if (in || s.Has("cc")) {
    Handler handler = nullptr;
    if (type == Type::kU32 || (type == Type::kS32 && !high))
      handler = MultiplyCarryHandler<uint32_t>(high, in, s.Has("cc"));
    if (type == Type::kU64 || (type == Type::kS64 && !high))
      handler = MultiplyCarryHandler<uint64_t>(high, in, s.Has("cc"));
    return EmitPlain(d, s, handler, type);
  }
  if (s.Has("sat")) return false;
  if (s.Has("wide")) {
    if (SizeOf(type) == 8) return false;
    return EmitPlain(d, s,
                     ForInteger(type,
                                []<class T>() -> Handler {
                                  if constexpr (sizeof(T) == 8)
                                    return nullptr;
                                  else
                                    return MultiplyAddWide<T>;
                                }),
                     type);
  }
  return EmitPlain(d, s,
                   ForInteger(type,
                              [&]<class T>() -> Handler {
                                return high ? Ternary<T, ThenAdd<MultiplyHigh>> : Ternary<T, ThenAdd<MultiplyLow>>;
                              }),
                   type);
}

bool DecodeMultiply24(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  if (SizeOf(type) != 4 || s.Has("sat")) return false;
  const bool high = s.Has("hi");
  const bool add = s.opcode == "mad24";
  return EmitPlain(d, s,
                   ForInteger32Or64(type,
                                    [&]<class T>() -> Handler {
                                      if (add)
                                        return high ? Ternary<T, ThenAdd<Multiply24<true>>>
                                                    : Ternary<T, ThenAdd<Multiply24<false>>>;
                                      return high ? Binary<T, Multiply24<true>> : Binary<T, Multiply24<false>>;
                                    }),
                   type);
}

template <class Operation>
bool DecodeBinary(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  if (IsFloat(type)) return DecodeFloat(d, s);
  return EmitPlain(d, s, ForInteger(type, []<class T>() -> Handler { return Binary<T, Operation>; }), type);
}

template <class Operation>
bool DecodeExtreme(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  const bool rectify = s.Has("relu");
  if (type == Type::kU16x2) return EmitPlain(d, s, Binary<Pair<uint16_t>, OfPair<Operation, false>>, type);
  if (type == Type::kS16x2) {
    return EmitPlain(
        d, s,
        rectify ? Binary<Pair<int16_t>, OfPair<Operation, true>> : Binary<Pair<int16_t>, OfPair<Operation, false>>,
        type);
  }
  if (type == Type::kS32 && rectify) return EmitPlain(d, s, Binary<int32_t, Rectified::Of<Operation>>, type);
  return DecodeBinary<Operation>(d, s);
}

template <class Operation>
bool DecodeUnary(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  if (IsFloat(type)) return DecodeFloat(d, s);
  return EmitPlain(d, s, ForInteger(type, []<class T>() -> Handler { return Unary<T, Operation>; }), type);
}

bool DecodeAbsoluteDifference(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  return EmitPlain(d, s, ForInteger(type, []<class T>() -> Handler { return Ternary<T, AbsoluteDifference>; }), type);
}

// Dot products of the bytes, or of 16-bit numbers and bytes, in registers.
template <class A, class B, int kBytes, int kFirst>
const Instruction* DotProduct(uint64_t* r, const Instruction* i, Thread*) {
  A a[4 / sizeof(A)];
  B b[4];
  std::memcpy(a, &r[i->a], 4);
  std::memcpy(b, &r[i->b], 4);
  uint32_t sum = Get<uint32_t>(&r[i->c]);
  for (int k = 0; k < kBytes; ++k)
    sum += static_cast<uint32_t>(static_cast<int>(a[k]) * static_cast<int>(b[kFirst + k]));
  Put(&r[i->d], sum);
  return i + 1;
}

bool DecodeDotProduct(Decoder& d, const Statement& s) {
  if (s.suffix.size() < 2) return false;
  const bool a = s.suffix[s.suffix.size() - 2] == "s32";
  const bool b = s.suffix[s.suffix.size() - 1] == "s32";
  Handler handler = nullptr;
  if (s.opcode == "dp4a") {
    handler = a ? (b ? DotProduct<int8_t, int8_t, 4, 0> : DotProduct<int8_t, uint8_t, 4, 0>)
                : (b ? DotProduct<uint8_t, int8_t, 4, 0> : DotProduct<uint8_t, uint8_t, 4, 0>);
  } else if (s.Has("lo")) {
    handler = a ? (b ? DotProduct<int16_t, int8_t, 2, 0> : DotProduct<int16_t, uint8_t, 2, 0>)
                : (b ? DotProduct<uint16_t, int8_t, 2, 0> : DotProduct<uint16_t, uint8_t, 2, 0>);
  } else {
    handler = a ? (b ? DotProduct<int16_t, int8_t, 2, 2> : DotProduct<int16_t, uint8_t, 2, 2>)
                : (b ? DotProduct<uint16_t, int8_t, 2, 2> : DotProduct<uint16_t, uint8_t, 2, 2>);
  }
  return EmitPlain(d, s, handler, Type::kB32);
}

constexpr OpcodeEntry kOpcodes[] = {
    {"add", DecodeAdd},
    {"addc", DecodeAdd},
    {"sub", DecodeAdd},
    {"subc", DecodeAdd},
    {"mul", DecodeMultiply},
    {"mad", DecodeMultiplyAdd},
    {"madc", DecodeMultiplyAdd},
    {"mul24", DecodeMultiply24},
    {"mad24", DecodeMultiply24},
    {"div", DecodeBinary<Divide>},
    {"rem", DecodeBinary<Remainder>},
    {"min", DecodeExtreme<Minimum>},
    {"max", DecodeExtreme<Maximum>},
    {"abs", DecodeUnary<Absolute>},
    {"neg", DecodeUnary<Negate>},
    {"sad", DecodeAbsoluteDifference},
    {"dp4a", DecodeDotProduct},
    {"dp2a", DecodeDotProduct},
};

}  // namespace

std::span<const OpcodeEntry> IntegerOpcodes() { return kOpcodes; }

}  // namespace cuda_emulator
