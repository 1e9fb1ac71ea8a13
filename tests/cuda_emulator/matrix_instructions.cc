// Products of small matrices by a warp, loads and stores of their fragments, and asynchronous copies into shared
// memory.
#include <array>
#include <memory>

#include "addressing.h"
#include "cuda_abi.h"
#include "handlers.h"
#include "warp_operations.h"

namespace cuda_emulator {
namespace {

// Which element of a matrix each value of a lane is: row and column from the lane and the value's number.
struct Place {
  int row, column;
};

struct MatrixOperation {
  enum Kind { kLoad, kStore, kMultiply } kind = kMultiply;
  // Of kLoad and kStore.
  bool transposed = false;
  Space space = Space::kShared;
  uint32_t address = 0;
  int64_t offset = 0;
  // Of kMultiply.
  int m = 16, n = 8, k = 16;
  Type element = Type::kF16;
  Type result = Type::kF32;
  std::vector<uint32_t> d, a, b, c;  // slots
};

int ElementBits(Type type) {
  switch (type) {
    case Type::kU8:
    case Type::kS8:
      return 8;
    case Type::kF16:
    case Type::kBF16:
      return 16;
    case Type::kF64:
      return 64;
    default:
      return 32;
  }
}

// Fragments as the PTX documentation draws them: lanes in groups of four, `run` neighbours of a row in a register.
Place PlaceInA(const MatrixOperation& op, int lane, int value) {
  const int group = lane / 4, place = lane % 4;
  const int run = std::max(1, 32 / ElementBits(op.element));
  const int run_number = value / run;  // rows alternate first, then columns
  const int rows = op.m / 8;
  return {group + 8 * (run_number % rows), place * run + value % run + 4 * run * (run_number / rows)};
}
Place PlaceInB(const MatrixOperation& op, int lane, int value) {
  const int run = std::max(1, 32 / ElementBits(op.element));
  return {lane % 4 * run + value % run + 4 * run * (value / run), lane / 4};
}
Place PlaceInC(int lane, int value) { return {lane / 4 + 8 * (value / 2), lane % 4 * 2 + value % 2}; }

double ElementOf(const uint64_t* registers, const std::vector<uint32_t>& slots, Type type, int value) {
  const int per_register = std::max(1, 32 / ElementBits(type));
  const uint64_t bits = registers[slots[value / per_register]];
  const int part = value % per_register;
  switch (type) {
    case Type::kF16:
      return Half{static_cast<uint16_t>(bits >> (16 * part))}.ToFloat();
    case Type::kBF16:
      return BFloat{static_cast<uint16_t>(bits >> (16 * part))}.ToFloat();
    case Type::kTF32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits) & 0xFFFFE000u);
    case Type::kF32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case Type::kF64:
      return std::bit_cast<double>(bits);
    case Type::kS8:
      return static_cast<int8_t>(bits >> (8 * part));
    case Type::kU8:
      return static_cast<uint8_t>(bits >> (8 * part));
    default:
      return static_cast<int32_t>(bits);
  }
}

void Multiply(const MatrixOperation& op, Thread* lanes) {
  std::array<double, 16 * 32> a{};
  std::array<double, 32 * 8> b{};
  std::array<double, 16 * 8> c{};
  const int per_register = std::max(1, 32 / ElementBits(op.element));
  const int per_result = op.result == Type::kF16 ? 2 : 1;
  for (int lane = 0; lane < 32; ++lane) {
    const uint64_t* registers = lanes[lane].registers;
    for (int value = 0; value < static_cast<int>(op.a.size()) * per_register; ++value) {
      const Place place = PlaceInA(op, lane, value);
      a[place.row * op.k + place.column] = ElementOf(registers, op.a, op.element, value);
    }
    for (int value = 0; value < static_cast<int>(op.b.size()) * per_register; ++value) {
      const Place place = PlaceInB(op, lane, value);
      b[place.row * op.n + place.column] = ElementOf(registers, op.b, op.element, value);
    }
    for (int value = 0; value < static_cast<int>(op.c.size()) * per_result; ++value) {
      const Place place = PlaceInC(lane, value);
      c[place.row * op.n + place.column] = ElementOf(registers, op.c, op.result, value);
    }
  }
  for (int row = 0; row < op.m; ++row) {
    for (int column = 0; column < op.n; ++column) {
      double sum = c[row * op.n + column];
      for (int i = 0; i < op.k; ++i) sum += a[row * op.k + i] * b[i * op.n + column];
      c[row * op.n + column] = sum;
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    uint64_t* registers = lanes[lane].registers;
    for (size_t i = 0; i < op.d.size(); ++i) {
      auto result = [&](int value) {
        const Place place = PlaceInC(lane, value);
        return c[place.row * op.n + place.column];
      };
      const int value = static_cast<int>(i);
      switch (op.result) {
        case Type::kF16:
          Put(&registers[op.d[i]], Half2{HalfFromDouble(result(2 * value)), HalfFromDouble(result(2 * value + 1))});
          break;
        case Type::kF32:
          Put(&registers[op.d[i]], static_cast<float>(result(value)));
          break;
        case Type::kF64:
          Put(&registers[op.d[i]], result(value));
          break;
        default:
          Put(&registers[op.d[i]], static_cast<int32_t>(static_cast<int64_t>(result(value))));
      }
    }
  }
}

// ldmatrix and stmatrix: eight lanes give the rows of each matrix of 8 x 8 elements of 16 bits.
void Move(const MatrixOperation& op, Thread* lanes) {
  for (size_t matrix = 0; matrix < op.d.size(); ++matrix) {
    uint16_t* rows[8];
    for (int row = 0; row < 8; ++row) {
      Thread& lane = lanes[8 * matrix + row];
      const uint64_t address = lane.registers[op.address] + static_cast<uint64_t>(op.offset);
      rows[row] = reinterpret_cast<uint16_t*>(ResolveIn(op.space, &lane, address, 16));
      if (rows[row] == nullptr) {
        AddressFault(&lane, lane.waiting, address, 16, op.kind == MatrixOperation::kLoad ? "load" : "store");
        return;
      }
    }
    for (int lane = 0; lane < 32; ++lane) {
      const int row = lane / 4, column = lane % 4 * 2;
      uint16_t* x = op.transposed ? &rows[column][row] : &rows[row][column];
      uint16_t* y = op.transposed ? &rows[column + 1][row] : &rows[row][column + 1];
      uint64_t& slot = lanes[lane].registers[op.d[matrix]];
      if (op.kind == MatrixOperation::kLoad) {
        slot = *x | uint32_t{*y} << 16;
      } else {
        *x = static_cast<uint16_t>(slot);
        *y = static_cast<uint16_t>(slot >> 16);
      }
    }
  }
}

bool SlotsOf(Decoder& d, const Operand& operand, Type type, bool is_destination, std::vector<uint32_t>* slots) {
  if (operand.kind != Operand::kList) return false;
  for (const Operand& element : operand.elements) {
    slots->push_back(is_destination ? d.Destination(element) : d.Source(element, type));
  }
  return true;
}

void Add(Decoder& d, std::shared_ptr<MatrixOperation> op) {
  EmitMatrixOperation(d, op.get());
  d.function().operations.push_back(std::move(op));
}

bool DecodeMove(Decoder& d, const Statement& s) {
  if (s.operands.size() != 2 || !s.Has("m8n8") || !s.Has("b16")) return false;
  auto op = std::make_shared<MatrixOperation>();
  const bool load = s.opcode == "ldmatrix";
  op->kind = load ? MatrixOperation::kLoad : MatrixOperation::kStore;
  op->transposed = s.Has("trans");
  op->space = SpaceOf(s);
  const Decoder::Address address = d.AddressOf(s.operands[load ? 1 : 0], &op->space);
  op->address = address.slot;
  op->offset = address.offset;
  if (!SlotsOf(d, s.operands[load ? 0 : 1], Type::kB32, load, &op->d)) return false;
  Add(d, std::move(op));
  return true;
}

// mma.sync.aligned.mMnNkK.row.col.dtype.atype.btype.ctype
bool DecodeMultiply(Decoder& d, const Statement& s) {
  struct Shape {
    std::string_view name, element;
    int m, n, k;
    size_t a, b, c;  // registers
  };
  constexpr Shape kShapes[] = {
      {"m16n8k16", "f16", 16, 8, 16, 4, 2, 4}, {"m16n8k16", "bf16", 16, 8, 16, 4, 2, 4},
      {"m16n8k8", "f16", 16, 8, 8, 2, 1, 4},   {"m16n8k8", "bf16", 16, 8, 8, 2, 1, 4},
      {"m16n8k8", "tf32", 16, 8, 8, 4, 2, 4},  {"m16n8k4", "tf32", 16, 8, 4, 2, 1, 4},
      {"m16n8k16", "s8", 16, 8, 16, 2, 1, 4},  {"m16n8k16", "u8", 16, 8, 16, 2, 1, 4},
      {"m16n8k32", "s8", 16, 8, 32, 4, 2, 4},  {"m16n8k32", "u8", 16, 8, 32, 4, 2, 4},
      {"m8n8k4", "f64", 8, 8, 4, 1, 1, 2},
  };
  if (s.operands.size() != 4 || s.suffix.size() < 5 || !s.Has("row") || !s.Has("col") || s.Has("satfinite"))
    return false;
  const size_t last = s.suffix.size() - 1;
  const std::string_view result = s.suffix[last - 3], element = s.suffix[last - 2];
  if (s.suffix[last - 1] != element || s.suffix[last] != result) return false;
  for (const Shape& shape : kShapes) {
    if (!s.Has(shape.name) || shape.element != element) continue;
    auto op = std::make_shared<MatrixOperation>();
    op->m = shape.m, op->n = shape.n, op->k = shape.k;
    op->element = TypeOf(element);
    op->result = TypeOf(result);
    const size_t results = op->result == Type::kF16 ? shape.c / 2 : shape.c;
    if (!SlotsOf(d, s.operands[0], op->result, true, &op->d) || op->d.size() != results) return false;
    if (!SlotsOf(d, s.operands[1], Type::kB32, false, &op->a) || op->a.size() != shape.a) return false;
    if (!SlotsOf(d, s.operands[2], Type::kB32, false, &op->b) || op->b.size() != shape.b) return false;
    if (!SlotsOf(d, s.operands[3], op->result, false, &op->c) || op->c.size() != results) return false;
    Add(d, std::move(op));
    return true;
  }
  return false;
}

// cp.async: d is the address in shared memory, a the one in global memory, b how much of it, c how many bytes in all.
const Instruction* BeginCopy(uint64_t* r, const Instruction* i, Thread* t) {
  const uint32_t size = i->c, copied = std::min(Get<uint32_t>(&r[i->b]), size);
  const uint64_t to_address = r[i->d] + static_cast<uint64_t>(i[1].immediate);
  const uint64_t from_address = r[i->a] + static_cast<uint64_t>(i->immediate);
  char* to = Resolve<Space::kShared>(t, to_address, size);
  if (to == nullptr) return AddressFault(t, i, to_address, size, "asynchronous store");
  const char* from = copied == 0 ? nullptr : Resolve<Space::kGlobal>(t, from_address, size);
  if (copied != 0 && from == nullptr) return AddressFault(t, i, from_address, size, "asynchronous load");
  t->copies.push_back({to, from, size, copied, t->copy_group});
  return i + 2;
}

const Instruction* CommitCopies(uint64_t*, const Instruction* i, Thread* t) {
  ++t->copy_group;
  return i + 1;
}

// Makes the copies of all groups but the last `immediate`; also those not yet in a group if it is negative.
const Instruction* WaitForCopies(uint64_t*, const Instruction* i, Thread* t) {
  size_t done = 0;
  for (; done < t->copies.size(); ++done) {
    const Thread::AsyncCopy& copy = t->copies[done];
    if (i->immediate >= 0 && copy.group + i->immediate >= t->copy_group) break;
    if (copy.copied != 0) std::memcpy(copy.to, copy.from, copy.copied);
    std::memset(copy.to + copy.copied, 0, copy.size - copy.copied);
  }
  t->copies.erase(t->copies.begin(), t->copies.begin() + static_cast<std::ptrdiff_t>(done));
  return i + 1;
}

bool DecodeCopy(Decoder& d, const Statement& s) {
  if (!s.Has("async") || s.Has("bulk") || s.Has("mbarrier")) return false;
  if (s.Has("commit_group")) {
    d.Emit(CommitCopies);
    return true;
  }
  if (s.Has("wait_all")) {
    d.Emit(WaitForCopies, 0, 0, 0, 0, -1);
    return true;
  }
  if (s.Has("wait_group")) {
    if (s.operands.size() != 1 || s.operands[0].kind != Operand::kImmediate) return false;
    d.Emit(WaitForCopies, 0, 0, 0, 0, static_cast<int64_t>(s.operands[0].immediate.bits));
    return true;
  }
  if (s.operands.size() < 3 || s.operands[2].kind != Operand::kImmediate) return false;
  Space shared = Space::kShared, global = Space::kGlobal;
  const Decoder::Address to = d.AddressOf(s.operands[0], &shared), from = d.AddressOf(s.operands[1], &global);
  const uint32_t size = static_cast<uint32_t>(s.operands[2].immediate.bits);
  if (size != 4 && size != 8 && size != 16) return false;
  const uint32_t copied = s.operands.size() > 3 ? d.Source(s.operands[3], Type::kU32) : d.Constant(size);
  d.Emit(BeginCopy, to.slot, from.slot, copied, size, from.offset);
  d.Emit(nullptr, 0, 0, 0, 0, to.offset);
  return true;
}

constexpr OpcodeEntry kOpcodes[] = {
    {"ldmatrix", DecodeMove}, {"stmatrix", DecodeMove}, {"mma", DecodeMultiply}, {"cp", DecodeCopy}};

}  // namespace

void PerformMatrixOperation(Thread* lanes, uint32_t mask) {
  Thread& first = lanes[std::countr_zero(mask)];
  if (mask != 0xFFFFFFFF) {
    Fault(&first, first.waiting, CUDA_ERROR_ILLEGAL_INSTRUCTION, "a matrix operation needs all lanes of a warp");
    return;
  }
  for (int lane = 1; lane < 32; ++lane) {
    if (lanes[lane].waiting == first.waiting) continue;
    Fault(&first, first.waiting, CUDA_ERROR_ILLEGAL_INSTRUCTION,
          "the lanes of a warp are at different matrix operations");
    return;
  }
  const auto& op = *reinterpret_cast<const MatrixOperation*>(first.waiting->immediate);
  if (op.kind == MatrixOperation::kMultiply) {
    Multiply(op, lanes);
  } else {
    Move(op, lanes);
  }
}

std::span<const OpcodeEntry> MatrixOpcodes() { return kOpcodes; }

}  // namespace cuda_emulator
