// Branches, calls, ends, barriers of a block, and the functions that the system provides.
#include <cstdio>
#include <string>

#include "addressing.h"
#include "cuda_abi.h"
#include "handlers.h"

namespace cuda_emulator {
namespace {

const Instruction* Jump(uint64_t*, const Instruction* i, Thread*) {
  return reinterpret_cast<const Instruction*>(i->immediate);
}

const Instruction* JumpIf(uint64_t* r, const Instruction* i, Thread*) {
  return r[i->a] != 0 ? reinterpret_cast<const Instruction*>(i->immediate) : i + 1;
}

const Instruction* JumpUnless(uint64_t* r, const Instruction* i, Thread*) {
  return r[i->a] == 0 ? reinterpret_cast<const Instruction*>(i->immediate) : i + 1;
}

const Instruction* JumpByTable(uint64_t* r, const Instruction* i, Thread* t) {
  const auto& table = *reinterpret_cast<const std::vector<const Instruction*>*>(i->immediate);
  const uint32_t index = Get<uint32_t>(&r[i->a]);
  if (index >= table.size()) return Fault(t, i, CUDA_ERROR_INVALID_PC, "brx.idx beyond its table");
  return table[index];
}

bool DecodeBranch(Decoder& d, const Statement& s) {
  if (s.operands.size() != 1) return false;
  Handler handler = Jump;
  if (s.is_predicated) handler = s.predicate_negated ? JumpUnless : JumpIf;
  Instruction& instruction = d.Emit(handler, 0, s.predicate);
  d.Branch(instruction, s.operands[0].name);
  return true;
}

bool DecodeIndexedBranch(Decoder& d, const Statement& s) {
  if (s.operands.size() != 2 || !s.Has("idx")) return false;
  const uint32_t index = d.Source(s.operands[0], Type::kU32);
  const auto* table = d.BranchTable(s.operands[1].name);
  d.Emit(JumpByTable, 0, index, 0, 0, reinterpret_cast<int64_t>(table));
  return true;
}

bool DecodeCall(Decoder& d, const Statement& s) { return d.Call(s); }

const Instruction* Return(uint64_t*, const Instruction*, Thread* t) { return t->block->Leave(t); }

const Instruction* Exit(uint64_t*, const Instruction*, Thread* t) {
  t->state = Thread::kDone;
  return nullptr;
}

const Instruction* Trap(uint64_t*, const Instruction* i, Thread* t) {
  return Fault(t, i, CUDA_ERROR_LAUNCH_FAILED, "trap");
}

template <Handler kHandler>
bool DecodePlain(Decoder& d, const Statement&) {
  d.Emit(kHandler);
  return true;
}

const Instruction* Nothing(uint64_t*, const Instruction* i, Thread*) { return i + 1; }

// A barrier of the block; a, b: its number and how many threads take part; the block lets them go on.
const Instruction* Barrier(uint64_t* r, const Instruction* i, Thread* t) {
  t->state = Thread::kAtBarrier;
  t->waiting = i;
  t->barrier = Get<uint32_t>(&r[i->a]);
  t->barrier_count = Get<uint32_t>(&r[i->b]);
  t->next = i + 1;
  if (t->barrier > 15) return Fault(t, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, "a barrier has a number from 0 to 15");
  if (t->barrier_count % 32 != 0) {
    return Fault(t, i, CUDA_ERROR_ILLEGAL_INSTRUCTION, "the threads of a barrier must be a multiple of 32");
  }
  return nullptr;
}

bool DecodeBarrier(Decoder& d, const Statement& s) {
  if (s.Has("warp")) return DecodeWarpBarrier(d, s);
  if (s.Has("cluster")) {  // a cluster is one block here
    if (s.Has("arrive")) {
      d.Emit(Nothing);
    } else {
      const uint32_t zero = d.Constant(0);
      d.Emit(Barrier, 0, zero, zero, 0, static_cast<int64_t>(BarrierReduction::kNone));
    }
    return true;
  }
  const bool reduce = s.Has("red");
  if (s.Has("arrive") || (!reduce && !s.Has("sync"))) return false;
  BarrierReduction reduction = BarrierReduction::kNone;
  size_t at = 0;
  uint32_t target = 0;
  if (reduce) {
    reduction = s.Has("popc")  ? BarrierReduction::kCount
                : s.Has("and") ? BarrierReduction::kAnd
                               : BarrierReduction::kOr;
    target = d.Destination(s.operands[at++]);
  }
  const uint32_t number = d.Source(s.operands[at++], Type::kU32);
  const size_t left = s.operands.size() - at;
  const uint32_t count = left > (reduce ? 1 : 0) ? d.Source(s.operands[at++], Type::kU32) : d.Constant(0);
  const uint32_t predicate = reduce ? d.Predicate(s.operands[at]) : 0;
  // Aligned barriers must be the same instruction for a whole warp.
  const bool aligned = s.opcode == "bar" || s.Has("aligned");
  d.Emit(Barrier, target, number, count, predicate, static_cast<int64_t>(reduction) | (aligned ? kBarrierAligned : 0));
  return true;
}

constexpr OpcodeEntry kOpcodes[] = {
    {"bra", DecodeBranch},
    {"brx", DecodeIndexedBranch},
    {"call", DecodeCall},
    {"ret", DecodePlain<Return>},
    {"exit", DecodePlain<Exit>},
    {"trap", DecodePlain<Trap>},
    {"brkpt", DecodePlain<Trap>},
    {"nanosleep", DecodePlain<Nothing>},
    {"pmevent", DecodePlain<Nothing>},
    {"setmaxnreg", DecodePlain<Nothing>},
    {"bar", DecodeBarrier},
    {"barrier", DecodeBarrier},
};

// A string of the device, up to its zero.
bool ReadString(const Thread* t, uint64_t address, std::string* text) {
  while (true) {
    const char* c = Resolve<Space::kGeneric>(t, address++, 1);
    if (c == nullptr) return false;
    if (*c == '\0') return true;
    text->push_back(*c);
  }
}

template <class T>
T Argument(const Thread* t, const CallSite& site, size_t index) {
  T value;
  std::memcpy(&value, t->frame + site.arguments[index].offset, sizeof(T));
  return value;
}

// One conversion of a format, with its argument taken from the buffer at *address.
bool FormatOne(const Thread* t, const std::string& conversion, uint64_t* address, std::string* output) {
  char text[512];
  const char kind = conversion.back();
  const bool is_long = conversion.find('l') != std::string::npos || conversion.find('z') != std::string::npos ||
                       conversion.find('j') != std::string::npos || kind == 'p' || kind == 's';
  const bool is_float = std::string_view("fFeEgGaA").find(kind) != std::string_view::npos;
  const size_t size = is_long || is_float ? 8 : 4;
  *address = (*address + size - 1) / size * size;
  const char* from = Resolve<Space::kGeneric>(t, *address, size);
  if (from == nullptr) return false;
  *address += size;
  uint64_t bits = 0;
  std::memcpy(&bits, from, size);
  if (kind == 's') {
    std::string argument;
    if (!ReadString(t, bits, &argument)) return false;
    std::snprintf(text, sizeof(text), conversion.c_str(), argument.c_str());
  } else if (is_float) {
    std::snprintf(text, sizeof(text), conversion.c_str(), std::bit_cast<double>(bits));
  } else if (size == 8) {
    std::snprintf(text, sizeof(text), conversion.c_str(), bits);
  } else {
    std::snprintf(text, sizeof(text), conversion.c_str(), static_cast<uint32_t>(bits));
  }
  output->append(text);
  return true;
}

const Instruction* Print(Thread* t, const Instruction* i, const CallSite& site) {
  std::string format, output;
  const uint64_t format_address = Argument<uint64_t>(t, site, 0);
  if (!ReadString(t, format_address, &format)) return AddressFault(t, i, format_address, 1, "printf format");
  uint64_t arguments = Argument<uint64_t>(t, site, 1);
  for (size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      output.push_back(format[at]);
      continue;
    }
    if (at + 1 < format.size() && format[at + 1] == '%') {
      output.push_back('%');
      ++at;
      continue;
    }
    const size_t end = format.find_first_of("diouxXeEfFgGaAcsp", at);
    if (end == std::string::npos) break;
    if (!FormatOne(t, format.substr(at, end - at + 1), &arguments, &output)) {
      return AddressFault(t, i, arguments, 8, "printf argument");
    }
    at = end;
  }
  std::fwrite(output.data(), 1, output.size(), stdout);
  std::fflush(stdout);
  const int32_t written = static_cast<int32_t>(output.size());
  if (!site.results.empty()) std::memcpy(t->frame + site.results[0].offset, &written, sizeof(written));
  return i + 1;
}

const Instruction* AssertFailed(Thread* t, const Instruction* i, const CallSite& site) {
  std::string message, file, function;
  ReadString(t, Argument<uint64_t>(t, site, 0), &message);
  ReadString(t, Argument<uint64_t>(t, site, 1), &file);
  ReadString(t, Argument<uint64_t>(t, site, 3), &function);
  const uint32_t line = Argument<uint32_t>(t, site, 2);
  return Fault(t, i, CUDA_ERROR_ASSERT,
               file + ":" + std::to_string(line) + ": " + function + ": assertion `" + message + "` failed");
}

}  // namespace

Builtin FindBuiltin(std::string_view name) {
  if (name == "vprintf") return Print;
  if (name == "__assertfail") return AssertFailed;
  return nullptr;
}

std::span<const OpcodeEntry> ControlOpcodes() { return kOpcodes; }

}  // namespace cuda_emulator
