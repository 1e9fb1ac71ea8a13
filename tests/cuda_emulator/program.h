// A module ready to run: PTX decoded into instructions that are a function pointer and the slots of its operands.
#ifndef WEIR_TESTS_CUDA_EMULATOR_PROGRAM_H_
#define WEIR_TESTS_CUDA_EMULATOR_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx.h"

namespace cuda_emulator {

struct Instruction;
struct Thread;

// Runs one instruction for one thread and returns the next one; nullptr when the thread has to wait or has ended.
using Handler = const Instruction* (*)(uint64_t* registers, const Instruction* instruction, Thread* thread);

// An instruction with more operands than these goes on in the next element of the code, whose handler is null.
struct Instruction {
  Handler run = nullptr;
  uint32_t d = 0, a = 0, b = 0, c = 0;
  int64_t immediate = 0;
};

// Generic addresses: below 2^56 they are global memory, device or host; the other spaces have windows of their own.
constexpr uint64_t kLocalWindow = uint64_t{1} << 56;
constexpr uint64_t kSharedWindow = uint64_t{2} << 56;
constexpr uint64_t kParameterWindow = uint64_t{4} << 56;
constexpr uint64_t kFunctionWindow = uint64_t{8} << 56;
constexpr uint64_t kWindowMask = uint64_t{15} << 56;

// Shared memory begins here; what is below belongs to the system, as on GPUs of compute capability 9.
constexpr uint32_t kSharedStart = 1024;

struct CallSite;
using Builtin = const Instruction* (*)(Thread* thread, const Instruction* instruction, const CallSite& site);

struct Function {
  struct Slice {
    uint32_t offset;
    uint32_t size;
  };
  struct Constant {
    uint32_t slot;
    uint64_t value;
    int shared_variable = -1;  // the value is added to where this variable lies
  };

  std::string name;
  int index = 0;
  bool is_entry = false;
  bool is_defined = false;
  std::vector<Instruction> code;
  std::vector<int> lines;
  uint32_t num_slots = 0;
  std::vector<Constant> constants;
  uint32_t frame_bytes = 0;
  std::vector<Slice> parameters;  // of an entry: within its parameter block; else within the frame
  std::vector<Slice> results;
  uint32_t parameter_bytes = 0;
  int max_threads = 0;
  std::vector<int> callees;
  bool calls_indirectly = false;
  std::vector<int> shared_variables;
  std::vector<std::unique_ptr<CallSite>> call_sites;
  std::vector<std::unique_ptr<std::vector<const Instruction*>>> branch_tables;
  std::vector<std::shared_ptr<void>> operations;  // of matrices

  int LineOf(const Instruction* instruction) const { return lines[instruction - code.data()]; }
};

struct CallSite {
  const Function* callee = nullptr;  // null for a call through a register, or of a built-in function
  Builtin builtin = nullptr;
  uint32_t target_slot = 0;
  std::vector<Function::Slice> arguments;  // in the caller's frame
  std::vector<Function::Slice> results;
};

struct SharedVariable {
  std::string name;
  size_t size;
  size_t alignment;
  bool is_dynamic;
};

struct Program {
  ModuleText text;
  std::vector<Function> functions;
  std::unordered_map<std::string, int> function_index;
  std::vector<SharedVariable> shared_variables;
  std::unordered_map<std::string, uint64_t> addresses;  // of global and constant variables, set before decoding
  std::unordered_map<std::string, size_t> variable_sizes;
  std::vector<bool> address_taken;  // by function
};

// Where an entry and all that it calls find shared memory.
struct Kernel {
  Program* program = nullptr;
  const Function* function = nullptr;
  std::vector<uint32_t> shared_offsets;  // by shared variable
  uint32_t static_shared_bytes = 0;
};

// Decodes all functions of program->text, whose variables already have addresses. Returns an error or an empty text.
std::string Decode(Program* program);

// REQUIRES: the function is an entry.
Kernel MakeKernel(Program* program, const Function& function);

}  // namespace cuda_emulator

#endif  // WEIR_TESTS_CUDA_EMULATOR_PROGRAM_H_
