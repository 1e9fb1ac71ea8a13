// Logic, shifts, fields and counts of bits.
#include <algorithm>
#include <bit>

#include "handlers.h"

namespace cuda_emulator {
namespace {

struct And {
  template <class T>
  static T Do(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T Do(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  static T Do(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <class T>
  static T Do(T a) {
    return static_cast<T>(~a);
  }
};
struct LogicalNot {
  template <class T>
  static T Do(T a) {
    return a == 0;
  }
};
struct NotPredicate {
  static uint8_t Do(uint8_t a) { return a == 0; }
};

template <class T>
const Instruction* ShiftLeft(uint64_t* r, const Instruction* i, Thread*) {
  const uint32_t amount = Get<uint32_t>(&r[i->b]);
  const T a = Get<T>(&r[i->a]);
  Put(&r[i->d], amount >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << amount));
  return i + 1;
}

template <class T>
const Instruction* ShiftRight(uint64_t* r, const Instruction* i, Thread*) {
  const uint32_t amount = std::min<uint32_t>(Get<uint32_t>(&r[i->b]), 8 * sizeof(T));
  const T a = Get<T>(&r[i->a]);
  T result;
  if (amount == 8 * sizeof(T)) {
    result = std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T{0};
  } else {
    result = static_cast<T>(a >> amount);
  }
  Put(&r[i->d], result);
  return i + 1;
}

template <bool kLeft, bool kWrap>
struct FunnelShift {
  static uint32_t Do(uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t amount = kWrap ? c & 31 : std::min(c, 32u);
    const uint64_t both = uint64_t{b} << 32 | a;
    return static_cast<uint32_t>(kLeft ? (both << amount) >> 32 : both >> amount);
  }
};

template <class T>
struct ExtractField {
  static T Do(T a, uint32_t position, uint32_t length) {
    constexpr uint32_t kBits = 8 * sizeof(T);
    position &= 255;
    length &= 255;
    if (length == 0) return 0;
    if (position >= kBits) return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T{0};
    if (length > kBits - position) length = kBits - position;
    // Up to the top and back down, which extends by the sign where T has one.
    const auto top = static_cast<std::make_unsigned_t<T>>(a) << (kBits - position - length);
    return static_cast<T>(static_cast<T>(top) >> (kBits - length));
  }
};
template <class T>
const Instruction* BitFieldExtract(uint64_t* r, const Instruction* i, Thread*) {
  Put(&r[i->d], ExtractField<T>::Do(Get<T>(&r[i->a]), Get<uint32_t>(&r[i->b]), Get<uint32_t>(&r[i->c])));
  return i + 1;
}

template <class T>
const Instruction* BitFieldInsert(uint64_t* r, const Instruction* i, Thread*) {
  const T field = Get<T>(&r[i->a]);
  T result = Get<T>(&r[i->b]);
  const uint32_t position = Get<uint32_t>(&r[i->c]) & 255;
  const uint32_t length = Get<uint32_t>(&r[i->immediate]) & 255;
  for (uint32_t k = 0; k < length && position + k < 8 * sizeof(T); ++k) {
    const T bit = T{1} << (position + k);
    result = (field >> k) & 1 ? result | bit : result & ~bit;
  }
  Put(&r[i->d], result);
  return i + 1;
}

template <bool kShiftAmount>
struct FindTopBit {
  template <class T>
  static uint32_t Do(T a) {
    std::make_unsigned_t<T> bits = static_cast<std::make_unsigned_t<T>>(a);
    if (std::is_signed_v<T> && a < 0) bits = ~bits;
    if (bits == 0) return ~0u;
    const uint32_t top = 8 * sizeof(T) - 1 - std::countl_zero(bits);
    return kShiftAmount ? 8 * sizeof(T) - 1 - top : top;
  }
};
struct Reverse {
  template <class T>
  static T Do(T a) {
    T result = 0;
    for (size_t k = 0; k < 8 * sizeof(T); ++k, a >>= 1) result = static_cast<T>(result << 1) | (a & 1);
    return result;
  }
};
struct CountLeadingZeros {
  template <class T>
  static uint32_t Do(T a) {
    return std::countl_zero(a);
  }
};
struct CountOnes {
  template <class T>
  static uint32_t Do(T a) {
    return std::popcount(a);
  }
};

struct PermuteBytes {
  static uint32_t Do(uint32_t a, uint32_t b, uint32_t selection) {
    const uint64_t both = uint64_t{b} << 32 | a;
    uint32_t result = 0;
    for (int k = 0; k < 4; ++k) {
      const uint32_t selector = selection >> (4 * k);
      uint8_t byte = static_cast<uint8_t>(both >> (8 * (selector & 7)));
      if (selector & 8) byte = byte & 0x80 ? 0xFF : 0;
      result |= static_cast<uint32_t>(byte) << (8 * k);
    }
    return result;
  }
};

// The named modes of prmt, as the selections that they stand for.
enum class PermuteMode { kForward4, kBackward4, kReplicate8, kEdgeLeft, kEdgeRight, kReplicate16 };
template <PermuteMode kMode>
struct PermuteByMode {
  static uint32_t Do(uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t n = c & 3;
    uint32_t selection = 0;
    for (uint32_t k = 0; k < 4; ++k) {
      uint32_t from = 0;
      switch (kMode) {
        case PermuteMode::kForward4:
          from = n + k;
          break;
        case PermuteMode::kBackward4:
          from = (n - k) & 7;
          break;
        case PermuteMode::kReplicate8:
          from = n;
          break;
        case PermuteMode::kEdgeLeft:
          from = std::max(k, n);
          break;
        case PermuteMode::kEdgeRight:
          from = std::min(k, n);
          break;
        case PermuteMode::kReplicate16:
          from = (k & 1) + 2 * (n & 1);
          break;
      }
      selection |= from << (4 * k);
    }
    return PermuteBytes::Do(a, b, selection);
  }
};

const Instruction* Lookup3(uint64_t* r, const Instruction* i, Thread*) {
  const uint32_t a = Get<uint32_t>(&r[i->a]), b = Get<uint32_t>(&r[i->b]), c = Get<uint32_t>(&r[i->c]);
  uint32_t result = 0;
  if (i->immediate & 0x01) result |= ~a & ~b & ~c;
  if (i->immediate & 0x02) result |= ~a & ~b & c;
  if (i->immediate & 0x04) result |= ~a & b & ~c;
  if (i->immediate & 0x08) result |= ~a & b & c;
  if (i->immediate & 0x10) result |= a & ~b & ~c;
  if (i->immediate & 0x20) result |= a & ~b & c;
  if (i->immediate & 0x40) result |= a & b & ~c;
  if (i->immediate & 0x80) result |= a & b & c;
  Put(&r[i->d], result);
  return i + 1;
}

template <bool kWrap>
struct Mask {
  static uint32_t Do(uint32_t a, uint32_t b) {
    if (kWrap) a &= 31, b &= 31;
    const uint64_t ones = b >= 32 ? ~0u : (uint64_t{1} << b) - 1;
    return a >= 32 ? 0 : static_cast<uint32_t>(ones << a);
  }
};
template <bool kWrap>
struct Extend {
  template <class T>
  static T Do(T a, T n) {
    uint32_t bits = static_cast<uint32_t>(n);
    if (kWrap) bits &= 31;
    if (bits >= 32) return a;
    if (bits == 0) return 0;
    return static_cast<T>(static_cast<T>(static_cast<uint32_t>(a) << (32 - bits)) >> (32 - bits));
  }
};

const Instruction* FindNthSet(uint64_t* r, const Instruction* i, Thread*) {
  const uint32_t mask = Get<uint32_t>(&r[i->a]), base = Get<uint32_t>(&r[i->b]);
  const int32_t n = Get<int32_t>(&r[i->c]);
  uint32_t result = ~0u;
  if (n == 0) {
    if (base < 32 && (mask >> base & 1)) result = base;
  } else {
    int32_t left = n < 0 ? -n : n;
    for (int64_t k = base; k >= 0 && k < 32; k += n < 0 ? -1 : 1) {
      if ((mask >> k & 1) && --left == 0) {
        result = static_cast<uint32_t>(k);
        break;
      }
    }
  }
  Put(&r[i->d], result);
  return i + 1;
}

template <class Operation>
bool DecodeLogic(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  if (type == Type::kPred) return EmitPlain(d, s, Binary<uint8_t, Operation>, type);
  return EmitPlain(d, s, ForInteger(type, []<class T>() -> Handler { return Binary<T, Operation>; }), type);
}

bool DecodeNot(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  if (type == Type::kPred) return EmitPlain(d, s, Unary<uint8_t, NotPredicate>, type);
  const bool logical = s.opcode == "cnot";
  return EmitPlain(
      d, s, ForInteger(type, [&]<class T>() -> Handler { return logical ? Unary<T, LogicalNot> : Unary<T, Not>; }),
      type);
}

bool DecodeShift(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  const bool left = s.opcode == "shl";
  return EmitPlain(d, s, ForInteger(type, [&]<class T>() -> Handler { return left ? ShiftLeft<T> : ShiftRight<T>; }),
                   type);
}

bool DecodeFunnelShift(Decoder& d, const Statement& s) {
  const bool left = s.Has("l"), wrap = s.Has("wrap");
  Handler handler =
      left ? (wrap ? Ternary<uint32_t, FunnelShift<true, true>> : Ternary<uint32_t, FunnelShift<true, false>>)
           : (wrap ? Ternary<uint32_t, FunnelShift<false, true>> : Ternary<uint32_t, FunnelShift<false, false>>);
  return EmitPlain(d, s, handler, Type::kB32);
}

bool DecodeExtract(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  return EmitPlain(d, s, ForInteger32Or64(type, []<class T>() -> Handler { return BitFieldExtract<T>; }), type);
}

bool DecodeInsert(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  if (s.operands.size() != 5) return false;
  const uint32_t a = d.Source(s.operands[1], type), b = d.Source(s.operands[2], type);
  const uint32_t c = d.Source(s.operands[3], Type::kU32), length = d.Source(s.operands[4], Type::kU32);
  Handler handler = SizeOf(type) == 8 ? BitFieldInsert<uint64_t> : BitFieldInsert<uint32_t>;
  d.Emit(handler, d.Destination(s.operands[0]), a, b, c, length);
  return true;
}

bool DecodeFind(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  const bool shift = s.Has("shiftamt");
  return EmitPlain(
      d, s,
      ForInteger32Or64(
          type, [&]<class T>() -> Handler { return shift ? Unary<T, FindTopBit<true>> : Unary<T, FindTopBit<false>>; }),
      type);
}

template <class Operation>
bool DecodeCount(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  if (SizeOf(type) == 8) return EmitPlain(d, s, Unary<uint64_t, Operation>, type);
  return EmitPlain(d, s, Unary<uint32_t, Operation>, type);
}

bool DecodePermute(Decoder& d, const Statement& s) {
  Handler handler = Ternary<uint32_t, PermuteBytes>;
  if (s.Has("f4e")) handler = Ternary<uint32_t, PermuteByMode<PermuteMode::kForward4>>;
  if (s.Has("b4e")) handler = Ternary<uint32_t, PermuteByMode<PermuteMode::kBackward4>>;
  if (s.Has("rc8")) handler = Ternary<uint32_t, PermuteByMode<PermuteMode::kReplicate8>>;
  if (s.Has("ecl")) handler = Ternary<uint32_t, PermuteByMode<PermuteMode::kEdgeLeft>>;
  if (s.Has("ecr")) handler = Ternary<uint32_t, PermuteByMode<PermuteMode::kEdgeRight>>;
  if (s.Has("rc16")) handler = Ternary<uint32_t, PermuteByMode<PermuteMode::kReplicate16>>;
  return EmitPlain(d, s, handler, Type::kB32);
}

bool DecodeLookup3(Decoder& d, const Statement& s) {
  if (s.operands.size() != 5 || s.suffix.size() != 1 || s.operands[4].kind != Operand::kImmediate) return false;
  const uint32_t a = d.Source(s.operands[1], Type::kB32), b = d.Source(s.operands[2], Type::kB32);
  const uint32_t c = d.Source(s.operands[3], Type::kB32);
  d.Emit(Lookup3, d.Destination(s.operands[0]), a, b, c, static_cast<int64_t>(s.operands[4].immediate.bits));
  return true;
}

bool DecodeMask(Decoder& d, const Statement& s) {
  return EmitPlain(d, s, s.Has("wrap") ? Binary<uint32_t, Mask<true>> : Binary<uint32_t, Mask<false>>, Type::kB32);
}

bool DecodeExtend(Decoder& d, const Statement& s) {
  const bool wrap = s.Has("wrap");
  if (TypeOf(s) == Type::kS32) {
    return EmitPlain(d, s, wrap ? Binary<int32_t, Extend<true>> : Binary<int32_t, Extend<false>>, Type::kS32);
  }
  return EmitPlain(d, s, wrap ? Binary<uint32_t, Extend<true>> : Binary<uint32_t, Extend<false>>, Type::kU32);
}

bool DecodeFindNth(Decoder& d, const Statement& s) { return EmitPlain(d, s, FindNthSet, Type::kB32); }

constexpr OpcodeEntry kOpcodes[] = {
    {"and", DecodeLogic<And>},
    {"or", DecodeLogic<Or>},
    {"xor", DecodeLogic<Xor>},
    {"not", DecodeNot},
    {"cnot", DecodeNot},
    {"shl", DecodeShift},
    {"shr", DecodeShift},
    {"shf", DecodeFunnelShift},
    {"bfe", DecodeExtract},
    {"bfi", DecodeInsert},
    {"bfind", DecodeFind},
    {"brev", DecodeCount<Reverse>},
    {"clz", DecodeCount<CountLeadingZeros>},
    {"popc", DecodeCount<CountOnes>},
    {"prmt", DecodePermute},
    {"lop3", DecodeLookup3},
    {"bmsk", DecodeMask},
    {"szext", DecodeExtend},
    {"fns", DecodeFindNth},
};

}  // namespace

std::span<const OpcodeEntry> BitOpcodes() { return kOpcodes; }

}  // namespace cuda_emulator
