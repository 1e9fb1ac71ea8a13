#include "decoder.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "machine.h"

namespace cuda_emulator {
namespace {

const std::unordered_map<std::string_view, StatementDecoder>& Opcodes() {
  static const auto* const opcodes = [] {
    auto* map = new std::unordered_map<std::string_view, StatementDecoder>();
    for (auto entries :
         {IntegerOpcodes(), BitOpcodes(), FloatOpcodes(), CompareOpcodes(), ConvertOpcodes(), MoveOpcodes(),
          MemoryOpcodes(), AtomicOpcodes(), ControlOpcodes(), WarpOpcodes(), MatrixOpcodes()}) {
      // A later group takes an opcode over only for what the earlier one does not know, so the first one stays.
      for (const OpcodeEntry& entry : entries) map->emplace(entry.opcode, entry.decode);
    }
    return map;
  }();
  return *opcodes;
}

const Instruction* NotPredicate(uint64_t* r, const Instruction* i, Thread*) {
  r[i->d] = r[i->a] == 0;
  return i + 1;
}

const Instruction* SkipUnless(uint64_t* r, const Instruction* i, Thread*) {
  return r[i->a] != 0 ? i + 1 : reinterpret_cast<const Instruction*>(i->immediate);
}

const Instruction* SkipIf(uint64_t* r, const Instruction* i, Thread*) {
  return r[i->a] == 0 ? i + 1 : reinterpret_cast<const Instruction*>(i->immediate);
}

const Instruction* LocalAddress(uint64_t* r, const Instruction* i, Thread* t) {
  r[i->d] = kLocalWindow + t->frame_base + static_cast<uint64_t>(i->immediate);
  return i + 1;
}

const Instruction* LocalOffset(uint64_t* r, const Instruction* i, Thread* t) {
  r[i->d] = t->frame_base + static_cast<uint64_t>(i->immediate);
  return i + 1;
}

const Instruction* ZeroExtend(uint64_t* r, const Instruction* i, Thread*) {
  r[i->d] = static_cast<uint32_t>(r[i->a]);
  return i + 1;
}

const Instruction* EndOfFunction(uint64_t*, const Instruction* i, Thread* t) { return t->block->Leave(t); }

std::string Describe(const Statement& statement) {
  std::string text(statement.opcode);
  for (std::string_view part : statement.suffix) text.append(".").append(part);
  return text;
}

}  // namespace

Decoder::Decoder(Program* program, const FunctionText& text, Function* function)
    : program_(*program), text_(text), function_(*function) {
  function_.num_slots = text.num_slots;
  sink_ = NewSlot();
}

bool Decoder::Fail(std::string message) {
  if (error_.empty()) error_ = std::move(message);
  return false;
}

Instruction& Decoder::Emit(Handler handler, uint32_t d, uint32_t a, uint32_t b, uint32_t c, int64_t immediate) {
  function_.code.push_back({handler, d, a, b, c, immediate});
  function_.lines.push_back(statement_ != nullptr ? statement_->line : text_.line);
  return function_.code.back();
}

uint32_t Decoder::Constant(uint64_t value) {
  auto [entry, is_new] = constants_.emplace(value, 0);
  if (is_new) {
    entry->second = NewSlot();
    function_.constants.push_back({entry->second, value});
  }
  return entry->second;
}

int Decoder::SharedVariableIndex(std::string_view name) {
  auto index_of = [&](std::string_view key) {
    for (size_t i = 0; i < program_.shared_variables.size(); ++i) {
      if (program_.shared_variables[i].name == key) return static_cast<int>(i);
    }
    return -1;
  };
  const int own = index_of(text_.name + ":" + std::string(name));
  const int index = own >= 0 ? own : index_of(name);
  if (index >= 0 && std::count(function_.shared_variables.begin(), function_.shared_variables.end(), index) == 0) {
    function_.shared_variables.push_back(index);
  }
  return index;
}

const Variable* Decoder::FrameVariable(std::string_view name) const {
  auto found = text_.Find(text_.frame_variables, statement_->scope, name);
  return found == text_.frame_variables.end() ? nullptr : &found->second;
}

const Variable* Decoder::EntryParameter(std::string_view name) const {
  if (!text_.is_entry) return nullptr;
  for (const Variable& parameter : text_.parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

uint32_t Decoder::NameSource(const Operand& operand) {
  const std::string name(operand.name);
  if (Handler special = FindSpecialRegister(name)) {
    const uint32_t slot = NewSlot();
    Emit(special, slot);
    return slot;
  }
  if (operand.name == "WARP_SZ") return Constant(32);
  if (const Variable* variable = FrameVariable(name)) {
    const uint32_t slot = NewSlot();
    const int64_t offset = static_cast<int64_t>(variable->frame_offset) + operand.offset;
    Emit(variable->space == Space::kLocal ? LocalOffset : LocalAddress, slot, 0, 0, 0, offset);
    return slot;
  }
  if (const Variable* parameter = EntryParameter(name)) {
    return Constant(kParameterWindow + parameter->frame_offset + operand.offset);
  }
  const int shared = SharedVariableIndex(name);
  if (shared >= 0) {
    auto [entry, is_new] = shared_constants_.emplace(std::make_pair(shared, operand.offset), 0);
    if (is_new) {
      entry->second = NewSlot();
      function_.constants.push_back({entry->second, static_cast<uint64_t>(operand.offset), shared});
    }
    return entry->second;
  }
  auto address = program_.addresses.find(name);
  if (address != program_.addresses.end()) return Constant(address->second + operand.offset);
  auto function = program_.function_index.find(name);
  if (function != program_.function_index.end()) {
    program_.address_taken[function->second] = true;
    return Constant(kFunctionWindow + function->second);
  }
  Fail("unknown name '" + name + "'");
  return sink_;
}

uint32_t Decoder::Source(const Operand& operand, Type type) {
  if (type == Type::kPred) return Predicate(operand);
  switch (operand.kind) {
    case Operand::kRegister:
      return operand.slot;
    case Operand::kImmediate:
      return Constant(operand.immediate.As(type));
    case Operand::kName:
      return NameSource(operand);
    default:
      Fail("an operand of another kind is expected");
      return sink_;
  }
}

uint32_t Decoder::Predicate(const Operand& operand) {
  if (operand.kind == Operand::kImmediate) return Constant((operand.immediate.bits != 0) != operand.negated);
  if (operand.kind != Operand::kRegister) {
    Fail("a predicate is expected");
    return sink_;
  }
  if (!operand.negated) return operand.slot;
  const uint32_t slot = NewSlot();
  Emit(NotPredicate, slot, operand.slot);
  return slot;
}

uint32_t Decoder::Destination(const Operand& operand) {
  if (operand.kind == Operand::kSink) return sink_;
  if (operand.kind != Operand::kRegister) Fail("a register is expected as destination");
  return operand.slot;
}

Decoder::Address Decoder::AddressOf(const Operand& operand, Space* space) {
  if (operand.kind != Operand::kAddress) {
    Fail("an address is expected");
    return {sink_, 0};
  }
  if (operand.base_is_register) {
    if (operand.width >= 8) return {operand.slot, operand.offset};
    const uint32_t slot = NewSlot();
    Emit(ZeroExtend, slot, operand.slot);
    return {slot, operand.offset};
  }
  if (operand.name.empty()) return {Constant(operand.immediate.bits), operand.offset};
  Operand base = operand;
  base.kind = Operand::kName;
  base.offset = 0;
  const Variable* variable = FrameVariable(operand.name);
  if (variable != nullptr && variable->space == Space::kParam) *space = Space::kGeneric;
  if (EntryParameter(operand.name) != nullptr) *space = Space::kGeneric;
  return {NameSource(base), operand.offset};
}

void Decoder::Branch(Instruction& instruction, std::string_view label) {
  auto found = text_.Find(text_.labels, statement_->scope, label);
  if (found == text_.labels.end()) {
    Fail("unknown label '" + std::string(label) + "'");
    return;
  }
  fixups_.push_back({static_cast<size_t>(&instruction - function_.code.data()), found->second});
}

std::vector<const Instruction*>* Decoder::BranchTable(std::string_view name) {
  auto found = text_.Find(text_.tables, statement_->scope, name);
  if (found == text_.tables.end()) {
    Fail("unknown list of branch targets '" + std::string(name) + "'");
    return nullptr;
  }
  function_.branch_tables.push_back(std::make_unique<std::vector<const Instruction*>>());
  TableFixup fixup{function_.branch_tables.back().get(), {}};
  for (std::string_view label : found->second) {
    auto target = text_.Find(text_.labels, statement_->scope, label);
    if (target == text_.labels.end()) {
      Fail("unknown label '" + std::string(label) + "'");
      return nullptr;
    }
    fixup.statements.push_back(target->second);
  }
  table_fixups_.push_back(fixup);
  return fixup.table;
}

std::string Decoder::Run() {
  const auto& opcodes = Opcodes();
  for (const Statement& statement : text_.statements) {
    statement_ = &statement;
    first_instruction_.push_back(function_.code.size());
    const bool is_branch = statement.opcode == "bra";
    size_t skip = 0;
    if (statement.is_predicated && !is_branch) {
      skip = function_.code.size();
      Emit(statement.predicate_negated ? SkipIf : SkipUnless, 0, statement.predicate);
    }
    auto opcode = opcodes.find(statement.opcode);
    const bool known = opcode != opcodes.end() && opcode->second(*this, statement);
    if (!known || !error_.empty()) {
      return "line " + std::to_string(statement.line) + ": " +
             (error_.empty() ? "unknown instruction '" : error_ + " in '") + Describe(statement) + "'";
    }
    if (statement.is_predicated && !is_branch) function_.code[skip].immediate = function_.code.size();
  }
  first_instruction_.push_back(function_.code.size());
  Emit(EndOfFunction);
  for (Instruction& instruction : function_.code) {
    if (instruction.run == SkipIf || instruction.run == SkipUnless) {
      instruction.immediate = reinterpret_cast<int64_t>(function_.code.data() + instruction.immediate);
    }
  }
  for (const Fixup& fixup : fixups_) {
    function_.code[fixup.instruction].immediate =
        reinterpret_cast<int64_t>(function_.code.data() + first_instruction_[fixup.statement]);
  }
  for (const TableFixup& fixup : table_fixups_) {
    for (size_t statement : fixup.statements) {
      fixup.table->push_back(function_.code.data() + first_instruction_[statement]);
    }
  }
  return "";
}

bool Decoder::Call(const Statement& statement) {
  auto site = std::make_unique<CallSite>();
  size_t at = 0;
  auto slices_of = [&](const Operand& list, std::vector<Function::Slice>* slices) {
    for (const Operand& element : list.elements) {
      const Variable* variable = element.kind == Operand::kName ? FrameVariable(element.name) : nullptr;
      if (variable == nullptr) return Fail("arguments of a call must be .param variables");
      slices->push_back({static_cast<uint32_t>(variable->frame_offset), static_cast<uint32_t>(variable->size)});
    }
    return true;
  };
  const auto& operands = statement.operands;
  if (at < operands.size() && operands[at].kind == Operand::kList && !slices_of(operands[at++], &site->results)) {
    return false;
  }
  if (at >= operands.size()) return false;
  const Operand& target = operands[at++];
  if (at < operands.size() && operands[at].kind == Operand::kList && !slices_of(operands[at], &site->arguments)) {
    return false;
  }
  if (target.kind == Operand::kRegister) {
    site->target_slot = target.slot;
    function_.calls_indirectly = true;
  } else {
    auto found = program_.function_index.find(std::string(target.name));
    if (found == program_.function_index.end()) return Fail("unknown function '" + std::string(target.name) + "'");
    const Function& callee = program_.functions[found->second];
    site->builtin = callee.is_defined ? nullptr : FindBuiltin(target.name);
    if (!callee.is_defined && site->builtin == nullptr) {
      return Fail("function '" + callee.name + "' is not defined");
    }
    if (callee.is_defined) {
      site->callee = &callee;
      function_.callees.push_back(callee.index);
    }
  }
  static const Handler call = [](uint64_t* r, const Instruction* i, Thread* t) -> const Instruction* {
    const CallSite& site = *reinterpret_cast<const CallSite*>(i->immediate);
    if (site.builtin != nullptr) return site.builtin(t, i, site);
    const Function* callee = site.callee;
    if (callee == nullptr) {
      const uint64_t index = r[site.target_slot] - kFunctionWindow;
      const auto& functions = t->launch->kernel->program->functions;
      if (index >= functions.size() || !functions[index].is_defined) {
        return Fault(t, i, 718 /* CUDA_ERROR_INVALID_PC */, "a call through a register that holds no function");
      }
      callee = &functions[index];
    }
    return t->block->Enter(t, i, *callee, site);
  };
  Emit(call, 0, 0, 0, 0, reinterpret_cast<int64_t>(site.get()));
  function_.call_sites.push_back(std::move(site));
  return true;
}

std::string Decode(Program* program) {
  const ModuleText& text = program->text;
  for (const Variable& variable : text.variables) {
    if (variable.space == Space::kShared) {
      program->shared_variables.push_back({variable.name, variable.size, variable.alignment, variable.is_dynamic});
    }
  }
  program->functions.resize(text.functions.size());
  program->address_taken.resize(text.functions.size());
  for (size_t i = 0; i < text.functions.size(); ++i) {
    const FunctionText& from = text.functions[i];
    Function& function = program->functions[i];
    function.name = from.name;
    function.index = static_cast<int>(i);
    function.is_entry = from.is_entry;
    function.is_defined = from.has_body;
    function.frame_bytes = static_cast<uint32_t>((from.frame_bytes + 15) / 16 * 16);
    function.parameter_bytes = static_cast<uint32_t>(from.parameter_bytes);
    function.max_threads = from.max_threads;
    for (const Variable& each : from.parameters) {
      function.parameters.push_back({static_cast<uint32_t>(each.frame_offset), static_cast<uint32_t>(each.size)});
    }
    for (const Variable& each : from.results) {
      function.results.push_back({static_cast<uint32_t>(each.frame_offset), static_cast<uint32_t>(each.size)});
    }
    for (const Variable& each : from.shared_variables) {
      program->shared_variables.push_back({from.name + ":" + each.name, each.size, each.alignment, each.is_dynamic});
    }
    program->function_index[from.name] = function.index;
  }
  for (const Variable& variable : text.variables) {
    for (const Variable::Reference& reference : variable.references) {
      auto function = program->function_index.find(reference.name);
      if (function != program->function_index.end()) program->address_taken[function->second] = true;
    }
  }
  for (size_t i = 0; i < text.functions.size(); ++i) {
    if (!text.functions[i].has_body) continue;
    std::string error = Decoder(program, text.functions[i], &program->functions[i]).Run();
    if (!error.empty()) return error + " (function " + text.functions[i].name + ")";
  }
  return "";
}

Kernel MakeKernel(Program* program, const Function& function) {
  std::set<int> functions;
  std::vector<int> pending = {function.index};
  while (!pending.empty()) {
    const int index = pending.back();
    pending.pop_back();
    if (!functions.insert(index).second) continue;
    const Function& each = program->functions[index];
    pending.insert(pending.end(), each.callees.begin(), each.callees.end());
    if (each.calls_indirectly) {
      for (size_t i = 0; i < program->functions.size(); ++i) {
        if (program->address_taken[i] && program->functions[i].is_defined) pending.push_back(static_cast<int>(i));
      }
    }
  }
  std::set<int> variables;
  for (int index : functions) {
    const auto& used = program->functions[index].shared_variables;
    variables.insert(used.begin(), used.end());
  }
  Kernel kernel{program, &function, {}, 0};
  kernel.shared_offsets.resize(program->shared_variables.size());
  uint32_t offset = 0;
  for (int index : variables) {
    const SharedVariable& variable = program->shared_variables[index];
    if (variable.is_dynamic) continue;
    const uint32_t alignment = static_cast<uint32_t>(std::max<size_t>(variable.alignment, 1));
    offset = (offset + alignment - 1) / alignment * alignment;
    kernel.shared_offsets[index] = kSharedStart + offset;
    offset += static_cast<uint32_t>(variable.size);
  }
  kernel.static_shared_bytes = offset;
  uint32_t dynamic = offset;
  for (int index : variables) {
    const SharedVariable& variable = program->shared_variables[index];
    if (!variable.is_dynamic) continue;
    const uint32_t alignment = static_cast<uint32_t>(std::max<size_t>(variable.alignment, 16));
    dynamic = std::max(dynamic, (offset + alignment - 1) / alignment * alignment);
  }
  for (int index : variables) {
    if (program->shared_variables[index].is_dynamic) kernel.shared_offsets[index] = kSharedStart + dynamic;
  }
  if (dynamic != offset) kernel.static_shared_bytes = dynamic;
  return kernel;
}

}  // namespace cuda_emulator
