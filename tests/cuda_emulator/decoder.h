// Turns the statements of a function into instructions. Groups of opcodes have tables of their own, one a file.
#ifndef WEIR_TESTS_CUDA_EMULATOR_DECODER_H_
#define WEIR_TESTS_CUDA_EMULATOR_DECODER_H_

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program.h"

namespace cuda_emulator {

class Decoder;
// Emits the instructions of a statement; false if this form of it is not known.
using StatementDecoder = bool (*)(Decoder& decoder, const Statement& statement);

struct OpcodeEntry {
  std::string_view opcode;
  StatementDecoder decode;
};

std::span<const OpcodeEntry> IntegerOpcodes();
std::span<const OpcodeEntry> BitOpcodes();
std::span<const OpcodeEntry> FloatOpcodes();
std::span<const OpcodeEntry> CompareOpcodes();
std::span<const OpcodeEntry> ConvertOpcodes();
std::span<const OpcodeEntry> MoveOpcodes();
std::span<const OpcodeEntry> MemoryOpcodes();
std::span<const OpcodeEntry> AtomicOpcodes();
std::span<const OpcodeEntry> ControlOpcodes();
std::span<const OpcodeEntry> WarpOpcodes();
std::span<const OpcodeEntry> MatrixOpcodes();

Builtin FindBuiltin(std::string_view name);

class Decoder {
 public:
  Decoder(Program* program, const FunctionText& text, Function* function);

  std::string Run();

  Instruction& Emit(Handler handler, uint32_t d = 0, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0,
                    int64_t immediate = 0);

  // The slot that a source operand is read from. May emit instructions that fill it.
  uint32_t Source(const Operand& operand, Type type);
  // The same for a predicate: its slot holds 0 or 1.
  uint32_t Predicate(const Operand& operand);
  uint32_t Destination(const Operand& operand);
  uint32_t NewSlot() { return function_.num_slots++; }
  uint32_t Constant(uint64_t value);

  struct Address {
    uint32_t slot;
    int64_t offset;
  };
  // Where an address is computed from. A name in local space, or a parameter of a function, is given by the address of
  // its window, so it must be accessed as a generic one; *space is changed to say so.
  Address AddressOf(const Operand& operand, Space* space);
  // A variable of the frame, or null.
  const Variable* FrameVariable(std::string_view name) const;
  // A parameter of the entry, or null.
  const Variable* EntryParameter(std::string_view name) const;

  // The instruction's target becomes the label: pointer in `immediate`, once all code is there.
  void Branch(Instruction& instruction, std::string_view label);
  std::vector<const Instruction*>* BranchTable(std::string_view name);
  bool Call(const Statement& statement);

  bool is_entry() const { return text_.is_entry; }
  const Statement& statement() const { return *statement_; }
  Function& function() { return function_; }
  // A more telling error than "unknown".
  bool Fail(std::string message);

 private:
  uint32_t NameSource(const Operand& operand);
  int SharedVariableIndex(std::string_view name);

  Program& program_;
  const FunctionText& text_;
  Function& function_;
  const Statement* statement_ = nullptr;
  std::string error_;
  std::map<uint64_t, uint32_t> constants_;
  std::map<std::pair<int, int64_t>, uint32_t> shared_constants_;
  struct Fixup {
    size_t instruction;
    size_t statement;
  };
  std::vector<Fixup> fixups_;
  struct TableFixup {
    std::vector<const Instruction*>* table;
    std::vector<size_t> statements;
  };
  std::vector<TableFixup> table_fixups_;
  std::vector<size_t> first_instruction_;  // by statement
  uint32_t sink_ = 0;
};

// The special registers (special_registers.cc): a handler that writes one into its destination; null if unknown.
Handler FindSpecialRegister(std::string_view name);

}  // namespace cuda_emulator

#endif  // WEIR_TESTS_CUDA_EMULATOR_DECODER_H_
