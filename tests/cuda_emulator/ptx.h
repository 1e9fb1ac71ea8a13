// A PTX module as it was read: variables, functions and statements whose registers already have slots.
//
// Every register of a function has a slot of 64 bits in the function's frame. The parser resolves names by scope, so
// that the registers and labels of `{ }` blocks, which inline assembly makes, are their own.
#ifndef WEIR_TESTS_CUDA_EMULATOR_PTX_H_
#define WEIR_TESTS_CUDA_EMULATOR_PTX_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cuda_emulator {

enum class Type : uint8_t {
  kNone,
  kB8,
  kB16,
  kB32,
  kB64,
  kB128,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kF16x2,
  kBF16,
  kBF16x2,
  kF32,
  kF64,
  kTF32,
  kU16x2,
  kS16x2,
  kPred
};

Type TypeOf(std::string_view name);  // without the dot; kNone if it is no type
int SizeOf(Type type);
bool IsSigned(Type type);
bool IsFloat(Type type);

enum class Space : uint8_t { kGeneric, kGlobal, kShared, kLocal, kConst, kParam };

// A literal: an integer, or a floating-point number, perhaps given by its bits.
struct Immediate {
  enum Kind : uint8_t { kInteger, kFloatBits, kDoubleBits, kDecimal } kind = kInteger;
  uint64_t bits = 0;  // of a double for kDecimal

  uint64_t As(Type type) const;
};

struct Operand {
  enum Kind : uint8_t {
    kNone,
    kRegister,
    kImmediate,
    kName,     // a variable, function, label or special register
    kAddress,  // [register or name or immediate + offset]
    kList,     // {a, b} or (a, b)
    kSink,     // _
  };
  Kind kind = kNone;
  bool negated = false;  // !%p
  bool base_is_register = false;
  uint8_t width = 0;  // bytes of the register
  uint32_t slot = 0;
  std::string_view name;
  Immediate immediate;
  int64_t offset = 0;
  std::vector<Operand> elements;
  std::shared_ptr<Operand> second;  // d|p
};

struct Variable {
  std::string name;
  Space space = Space::kGlobal;
  size_t size = 0;  // 0 for `extern .shared` arrays
  size_t alignment = 1;
  bool is_external = false;
  bool is_dynamic = false;  // extern .shared
  std::vector<uint8_t> initial;
  struct Reference {
    size_t offset;
    std::string name;
    int64_t addend;
    int width;
  };
  std::vector<Reference> references;  // addresses of other variables and functions within `initial`
  size_t frame_offset = 0;            // of locals and parameters: where in the memory of a frame
};

struct Statement {
  int line = 0;
  int scope = 0;
  std::string_view opcode;               // ld
  std::vector<std::string_view> suffix;  // global, v4, u32
  bool is_predicated = false;
  bool predicate_negated = false;
  uint32_t predicate = 0;
  std::vector<Operand> operands;

  bool Has(std::string_view modifier) const {
    for (std::string_view each : suffix) {
      if (each == modifier) return true;
    }
    return false;
  }
};

struct FunctionText {
  std::string name;
  int line = 0;
  bool is_entry = false;
  bool has_body = false;
  std::vector<Variable> parameters;
  std::vector<Variable> results;
  std::map<std::string, Variable, std::less<>> frame_variables;  // .local and .param, by scope-qualified name
  std::vector<Variable> shared_variables;
  std::map<std::string, size_t, std::less<>> labels;                         // scope-qualified, to a statement's index
  std::map<std::string, std::vector<std::string_view>, std::less<>> tables;  // .branchtargets, scope-qualified
  std::vector<int> scope_parents;
  std::vector<Statement> statements;
  uint32_t num_slots = 0;
  size_t frame_bytes = 0;  // locals and parameters
  size_t parameter_bytes = 0;
  int max_threads = 0;  // .maxntid and .reqntid; 0 if not given

  // The key under which a name is found from a scope in one of the maps above; its end if there is none.
  template <class Map>
  typename Map::const_iterator Find(const Map& map, int scope, std::string_view name) const {
    for (; scope >= 0; scope = scope_parents[scope]) {
      auto found = map.find(std::to_string(scope) + ":" + std::string(name));
      if (found != map.end()) return found;
    }
    return map.end();
  }
};

struct ModuleText {
  std::string source;
  int version = 0;  // 90 for 9.0
  int target = 0;   // 90 for sm_90
  std::string target_name;
  std::vector<Variable> variables;
  std::vector<FunctionText> functions;
};

// Returns an error with its line, or an empty text. The module keeps the source, which names point into.
std::string ParsePtx(std::string source, ModuleText* module);

}  // namespace cuda_emulator

#endif  // WEIR_TESTS_CUDA_EMULATOR_PTX_H_
