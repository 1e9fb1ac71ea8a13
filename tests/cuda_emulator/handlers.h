// How instructions are written: an operation on values becomes a handler for a type.
#ifndef WEIR_TESTS_CUDA_EMULATOR_HANDLERS_H_
#define WEIR_TESTS_CUDA_EMULATOR_HANDLERS_H_

#include <type_traits>

#include "decoder.h"
#include "float16.h"
#include "machine.h"

namespace cuda_emulator {

template <class T, class Operation>
const Instruction* Unary(uint64_t* r, const Instruction* i, Thread*) {
  Put(&r[i->d], Operation::Do(Get<T>(&r[i->a])));
  return i + 1;
}

template <class T, class Operation>
const Instruction* Binary(uint64_t* r, const Instruction* i, Thread*) {
  Put(&r[i->d], Operation::Do(Get<T>(&r[i->a]), Get<T>(&r[i->b])));
  return i + 1;
}

template <class T, class Operation>
const Instruction* Ternary(uint64_t* r, const Instruction* i, Thread*) {
  Put(&r[i->d], Operation::Do(Get<T>(&r[i->a]), Get<T>(&r[i->b]), Get<T>(&r[i->c])));
  return i + 1;
}

// Calls choose.operator()<T>() for the C++ type of an integer; null for other types. Bits are unsigned.
template <class F>
Handler ForInteger(Type type, F choose) {
  switch (type) {
    case Type::kB16:
    case Type::kU16:
      return choose.template operator()<uint16_t>();
    case Type::kB32:
    case Type::kU32:
      return choose.template operator()<uint32_t>();
    case Type::kB64:
    case Type::kU64:
      return choose.template operator()<uint64_t>();
    case Type::kS16:
      return choose.template operator()<int16_t>();
    case Type::kS32:
      return choose.template operator()<int32_t>();
    case Type::kS64:
      return choose.template operator()<int64_t>();
    default:
      return nullptr;
  }
}

template <class F>
Handler ForInteger32Or64(Type type, F choose) {
  switch (type) {
    case Type::kB32:
    case Type::kU32:
      return choose.template operator()<uint32_t>();
    case Type::kB64:
    case Type::kU64:
      return choose.template operator()<uint64_t>();
    case Type::kS32:
      return choose.template operator()<int32_t>();
    case Type::kS64:
      return choose.template operator()<int64_t>();
    default:
      return nullptr;
  }
}

template <class F>
Handler ForNarrowFloat(Type type, F choose) {
  switch (type) {
    case Type::kF16:
      return choose.template operator()<Half>();
    case Type::kBF16:
      return choose.template operator()<BFloat>();
    case Type::kF16x2:
      return choose.template operator()<Half2>();
    case Type::kBF16x2:
      return choose.template operator()<BFloat2>();
    default:
      return nullptr;
  }
}

// The last type among the modifiers: that of the operands.
inline Type TypeOf(const Statement& statement) {
  for (size_t i = statement.suffix.size(); i-- > 0;) {
    const Type type = TypeOf(statement.suffix[i]);
    if (type != Type::kNone) return type;
  }
  return Type::kNone;
}

// Emits d = operation(a...) for one to three sources of the same type.
inline bool EmitPlain(Decoder& decoder, const Statement& statement, Handler handler, Type type) {
  if (handler == nullptr || statement.operands.size() < 2 || statement.operands.size() > 4) return false;
  uint32_t sources[3] = {};
  for (size_t i = 1; i < statement.operands.size(); ++i) {
    sources[i - 1] = decoder.Source(statement.operands[i], type);
  }
  decoder.Emit(handler, decoder.Destination(statement.operands[0]), sources[0], sources[1], sources[2]);
  return true;
}

bool DecodeWarpBarrier(Decoder& decoder, const Statement& statement);
bool DecodeFloat(Decoder& decoder, const Statement& statement);

}  // namespace cuda_emulator

#endif  // WEIR_TESTS_CUDA_EMULATOR_HANDLERS_H_
