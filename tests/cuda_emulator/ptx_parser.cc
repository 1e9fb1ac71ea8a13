#include <bit>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "ptx.h"
#include "ptx_lexer.h"

namespace cuda_emulator {
namespace {

size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

Immediate ParseNumber(std::string_view text) {
  const std::string copy(text);
  if (text.size() == 10 && (text.substr(0, 2) == "0f" || text.substr(0, 2) == "0F")) {
    return {Immediate::kFloatBits, std::strtoull(copy.c_str() + 2, nullptr, 16)};
  }
  if (text.size() == 18 && (text.substr(0, 2) == "0d" || text.substr(0, 2) == "0D")) {
    return {Immediate::kDoubleBits, std::strtoull(copy.c_str() + 2, nullptr, 16)};
  }
  if (text.substr(0, 2) == "0b" || text.substr(0, 2) == "0B") {
    return {Immediate::kInteger, std::strtoull(copy.c_str() + 2, nullptr, 2)};
  }
  const bool hexadecimal = text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X";
  if (!hexadecimal && text.find_first_of(".eE") != std::string_view::npos) {
    return {Immediate::kDecimal, std::bit_cast<uint64_t>(std::strtod(copy.c_str(), nullptr))};
  }
  return {Immediate::kInteger, std::strtoull(copy.c_str(), nullptr, 0)};
}

class Parser {
 public:
  Parser(const std::vector<Token>& tokens, ModuleText* module) : tokens_(tokens), module_(*module) {}

  std::string Parse() {
    while (Peek().kind != TokenKind::kEnd) ParseTopLevel();
    return error_;
  }

 private:
  const Token& Peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& Next() {
    const Token& token = Peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool Accept(char c) {
    if (!Peek().Is(c)) return false;
    Next();
    return true;
  }
  bool Accept(std::string_view word) {
    if (!Peek().Is(word)) return false;
    Next();
    return true;
  }
  void Expect(char c) {
    if (!Accept(c)) Fail(std::string("expected '") + c + "' before '" + std::string(Peek().text) + "'");
  }
  // Keeps the first error and jumps to the end, where every loop ends.
  void Fail(const std::string& message) {
    if (error_.empty()) error_ = "line " + std::to_string(Peek().line) + ": " + message;
    at_ = tokens_.size() - 1;
  }
  void SkipTo(char c) {
    while (Peek().kind != TokenKind::kEnd && !Accept(c)) Next();
  }

  void ParseTopLevel();
  void ParseVariables(Space space, bool is_external, std::vector<Variable>* result);
  Variable ParseDeclarator(Space space, Type type, size_t alignment, int vector);
  void ParseInitializer(Type type, Variable* variable);
  void ParseInitialValue(Type type, Variable* variable, size_t* offset);
  void ParseFunction(bool is_entry);
  std::vector<Variable> ParseFormals();
  void ParseBody();
  void ParseBodyDirective();
  void ParseRegisters();
  void DeclareInFrame(Variable variable);
  void ParseStatement();
  Operand ParseOperand();
  Operand ParseWordOperand();
  Operand ParseAddress();
  bool FindRegister(std::string_view name, Operand* operand) const;
  std::string Qualified(std::string_view name) const { return std::to_string(scope_) + ":" + std::string(name); }
  uint64_t ParseInteger();

  struct RegisterName {
    uint32_t first_slot;
    uint32_t count;  // 0 for a single register
    uint8_t width;
  };

  const std::vector<Token>& tokens_;
  ModuleText& module_;
  size_t at_ = 0;
  std::string error_;
  FunctionText* function_ = nullptr;
  int scope_ = 0;
  std::vector<std::unordered_map<std::string_view, RegisterName>> registers_;  // by scope
};

uint64_t Parser::ParseInteger() {
  const bool negative = Accept('-');
  if (Peek().kind != TokenKind::kNumber) Fail("expected a number before '" + std::string(Peek().text) + "'");
  const uint64_t value = ParseNumber(Next().text).bits;
  return negative ? 0 - value : value;
}

void Parser::ParseTopLevel() {
  bool is_external = false;
  while (true) {
    const Token& token = Next();
    if (token.Is(".visible") || token.Is(".weak") || token.Is(".common")) continue;
    if (token.Is(".extern")) {
      is_external = true;
    } else if (token.Is(".version")) {
      const std::string version(Next().text);
      module_.version = static_cast<int>(std::strtod(version.c_str(), nullptr) * 10 + 0.5);
      return;
    } else if (token.Is(".target")) {
      module_.target_name = std::string(Next().text);
      const size_t digits = module_.target_name.find_first_of("0123456789");
      if (digits != std::string::npos) module_.target = std::atoi(module_.target_name.c_str() + digits);
      while (Accept(',')) Next();
      return;
    } else if (token.Is(".address_size")) {
      if (ParseInteger() != 64) Fail("only an address size of 64 is known");
      return;
    } else if (token.Is(".global")) {
      return ParseVariables(Space::kGlobal, is_external, &module_.variables);
    } else if (token.Is(".const")) {
      return ParseVariables(Space::kConst, is_external, &module_.variables);
    } else if (token.Is(".shared")) {
      return ParseVariables(Space::kShared, is_external, &module_.variables);
    } else if (token.Is(".func")) {
      return ParseFunction(false);
    } else if (token.Is(".entry")) {
      return ParseFunction(true);
    } else if (token.Is(".file")) {
      while (Peek().kind == TokenKind::kNumber || Peek().kind == TokenKind::kString || Peek().Is(',')) Next();
      return;
    } else if (token.Is(".section")) {
      return SkipTo('}');
    } else if (token.Is(".alias") || token.Is(".pragma")) {
      if (token.Is(".alias")) Fail(".alias is not known");
      return SkipTo(';');
    } else if (token.Is(';')) {
      return;
    } else {
      return Fail("unknown directive '" + std::string(token.text) + "'");
    }
  }
}

void Parser::ParseVariables(Space space, bool is_external, std::vector<Variable>* result) {
  size_t alignment = 0;
  int vector = 1;
  Type type = Type::kNone;
  while (type == Type::kNone) {
    const Token& token = Next();
    if (token.Is(".align")) {
      alignment = ParseInteger();
    } else if (token.Is(".v2") || token.Is(".v4")) {
      vector = token.text[2] - '0';
    } else if (token.kind == TokenKind::kWord && token.text.starts_with('.') &&
               TypeOf(token.text.substr(1)) != Type::kNone) {
      type = TypeOf(token.text.substr(1));
    } else if (token.Is(".attribute")) {
      SkipTo(')');
    } else {
      return Fail("unknown type '" + std::string(token.text) + "' of a variable");
    }
  }
  do {
    Variable variable = ParseDeclarator(space, type, alignment, vector);
    variable.is_external = is_external;
    variable.is_dynamic = is_external && space == Space::kShared;
    if (Accept('=')) ParseInitializer(type, &variable);
    result->push_back(std::move(variable));
  } while (Accept(','));
  Expect(';');
}

Variable Parser::ParseDeclarator(Space space, Type type, size_t alignment, int vector) {
  Variable variable;
  variable.space = space;
  const size_t element = SizeOf(type) * vector;
  variable.alignment = alignment != 0 ? alignment : element;
  variable.name = std::string(Next().text);
  variable.size = element;
  while (Accept('[')) {
    variable.size *= Peek().kind == TokenKind::kNumber ? ParseInteger() : 0;
    Expect(']');
  }
  return variable;
}

void Parser::ParseInitializer(Type type, Variable* variable) {
  variable->initial.assign(variable->size, 0);
  size_t offset = 0;
  ParseInitialValue(type, variable, &offset);
}

void Parser::ParseInitialValue(Type type, Variable* variable, size_t* offset) {
  if (Accept('{')) {
    while (!Accept('}') && Peek().kind != TokenKind::kEnd) {
      ParseInitialValue(type, variable, offset);
      Accept(',');
    }
    return;
  }
  const size_t width = SizeOf(type);
  if (*offset + width > variable->size) return Fail("too many initial values for " + variable->name);
  uint64_t bits = 0;
  if (Peek().kind == TokenKind::kNumber || Peek().Is('-')) {
    const bool negative = Accept('-');
    Immediate value = ParseNumber(Next().text);
    bits = value.As(type);
    if (negative) bits = 0 - bits;
  } else {
    // An address: `name`, `name+4`, `generic(name)+4`; or one byte of it, `0xFF00(name)`, which is not known here.
    const bool generic = Accept("generic");
    if (generic) Expect('(');
    Variable::Reference reference{*offset, std::string(Next().text), 0, static_cast<int>(width)};
    if (generic) Expect(')');
    if (Accept('+')) {
      reference.addend = static_cast<int64_t>(ParseInteger());
    } else if (Peek().Is('-')) {
      reference.addend = static_cast<int64_t>(ParseInteger());
    }
    if (width != 8) Fail("an address as initial value of a type that is not 8 bytes wide");
    variable->references.push_back(std::move(reference));
  }
  std::memcpy(variable->initial.data() + *offset, &bits, width);
  *offset += width;
}

std::vector<Variable> Parser::ParseFormals() {
  std::vector<Variable> formals;
  if (!Accept('(')) return formals;
  while (!Accept(')') && Peek().kind != TokenKind::kEnd) {
    if (!Accept(".param")) {
      Fail("formal parameters must be in .param space");
      break;
    }
    size_t alignment = 0;
    Type type = Type::kNone;
    while (type == Type::kNone && Peek().kind != TokenKind::kEnd) {
      const Token& token = Next();
      if (token.Is(".align")) {
        alignment = ParseInteger();
      } else {
        type = token.text.starts_with('.') ? TypeOf(token.text.substr(1)) : Type::kNone;
        if (type == Type::kNone) Fail("unknown type '" + std::string(token.text) + "' of a parameter");
        if (Accept(".ptr")) {  // .ptr .global .align 4: what the pointer points to
          while (Peek().Is(".global") || Peek().Is(".const") || Peek().Is(".shared") || Peek().Is(".local")) Next();
          if (Accept(".align")) ParseInteger();
        }
      }
    }
    formals.push_back(ParseDeclarator(Space::kParam, type, alignment, 1));
    Accept(',');
  }
  return formals;
}

void Parser::ParseFunction(bool is_entry) {
  FunctionText function;
  function.line = Peek().line;
  function.is_entry = is_entry;
  if (Peek().Is('(')) function.results = ParseFormals();
  function.name = std::string(Next().text);
  function.parameters = ParseFormals();
  while (Peek().kind == TokenKind::kWord && Peek().text.starts_with('.')) {
    const Token& directive = Next();
    if (directive.Is(".maxntid") || directive.Is(".reqntid")) {
      int threads = 1;
      do threads *= static_cast<int>(ParseInteger());
      while (Accept(','));
      function.max_threads = threads;
    } else {
      while (Peek().kind == TokenKind::kNumber || Peek().Is(',') || Peek().kind == TokenKind::kString) Next();
      if (directive.Is(".pragma")) Accept(';');
    }
  }
  size_t offset = 0;
  for (Variable& parameter : function.parameters) {
    offset = RoundUp(offset, std::max<size_t>(parameter.alignment, 1));
    parameter.frame_offset = offset;
    offset += parameter.size;
  }
  function.parameter_bytes = offset;
  if (Accept(';')) {
    for (const FunctionText& known : module_.functions) {
      if (known.name == function.name) return;
    }
    module_.functions.push_back(std::move(function));
    return;
  }
  function.has_body = true;
  function_ = &function;
  ParseBody();
  function_ = nullptr;
  for (FunctionText& known : module_.functions) {
    if (known.name == function.name) {
      if (known.has_body) return Fail("function " + function.name + " is defined twice");
      known = std::move(function);
      return;
    }
  }
  module_.functions.push_back(std::move(function));
}

void Parser::DeclareInFrame(Variable variable) {
  const size_t alignment = std::max<size_t>(variable.alignment, 8);
  variable.frame_offset = RoundUp(function_->frame_bytes, alignment);
  function_->frame_bytes = variable.frame_offset + variable.size;
  const std::string key = Qualified(variable.name);
  function_->frame_variables.insert_or_assign(key, std::move(variable));
}

void Parser::ParseBody() {
  scope_ = 0;
  registers_.assign(1, {});
  function_->scope_parents.assign(1, -1);
  if (!function_->is_entry) {
    for (Variable& parameter : function_->parameters) {
      DeclareInFrame(parameter);
      parameter.frame_offset = function_->frame_variables[Qualified(parameter.name)].frame_offset;
    }
    for (Variable& result : function_->results) {
      DeclareInFrame(result);
      result.frame_offset = function_->frame_variables[Qualified(result.name)].frame_offset;
    }
  }
  Expect('{');
  int depth = 1;
  while (Peek().kind != TokenKind::kEnd) {
    if (Accept('{')) {
      ++depth;
      function_->scope_parents.push_back(scope_);
      scope_ = static_cast<int>(function_->scope_parents.size()) - 1;
      registers_.emplace_back();
    } else if (Accept('}')) {
      if (--depth == 0) return;
      scope_ = function_->scope_parents[scope_];
    } else if (Peek().kind == TokenKind::kWord && Peek(1).Is(':')) {
      const std::string_view name = Next().text;
      Next();
      if (Accept(".callprototype")) {
        SkipTo(';');
      } else if (Accept(".branchtargets")) {
        std::vector<std::string_view>& labels = function_->tables[Qualified(name)];
        do labels.push_back(Next().text);
        while (Accept(','));
        Expect(';');
      } else {
        function_->labels[Qualified(name)] = function_->statements.size();
      }
    } else if (Peek().kind == TokenKind::kWord && Peek().text.starts_with('.')) {
      ParseBodyDirective();
    } else if (!Accept(';')) {
      ParseStatement();
    }
  }
  Fail("function " + function_->name + " does not end");
}

void Parser::ParseBodyDirective() {
  const Token& directive = Next();
  if (directive.Is(".reg")) return ParseRegisters();
  if (directive.Is(".local") || directive.Is(".param")) {
    std::vector<Variable> variables;
    ParseVariables(directive.Is(".local") ? Space::kLocal : Space::kParam, false, &variables);
    for (Variable& variable : variables) DeclareInFrame(std::move(variable));
    return;
  }
  if (directive.Is(".shared")) return ParseVariables(Space::kShared, false, &function_->shared_variables);
  if (directive.Is(".loc")) {
    const int line = directive.line;
    while (Peek().line == line && Peek().kind != TokenKind::kEnd) Next();
    return;
  }
  if (directive.Is(".pragma")) return SkipTo(';');
  Fail("unknown directive '" + std::string(directive.text) + "'");
}

void Parser::ParseRegisters() {
  const Token& type_token = Next();
  const Type type = TypeOf(type_token.text.substr(1));
  if (type == Type::kNone) return Fail("unknown type '" + std::string(type_token.text) + "' of a register");
  if (type == Type::kB128) return Fail("registers of 128 bits are not known");
  do {
    const std::string_view name = Next().text;
    RegisterName entry{function_->num_slots, 0, static_cast<uint8_t>(SizeOf(type))};
    if (Accept('<')) {
      entry.count = static_cast<uint32_t>(ParseInteger());
      Expect('>');
    }
    function_->num_slots += std::max<uint32_t>(entry.count, 1);
    registers_[scope_].insert_or_assign(name, entry);
  } while (Accept(','));
  Expect(';');
}

bool Parser::FindRegister(std::string_view name, Operand* operand) const {
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  const std::string_view prefix = name.substr(0, digits);
  const uint32_t number =
      digits < name.size() ? static_cast<uint32_t>(std::strtoul(std::string(name.substr(digits)).c_str(), nullptr, 10))
                           : 0;
  for (int scope = scope_; scope >= 0; scope = function_->scope_parents[scope]) {
    const auto& names = registers_[scope];
    auto whole = names.find(name);
    if (whole != names.end() && whole->second.count == 0) {
      operand->slot = whole->second.first_slot;
      operand->width = whole->second.width;
      return true;
    }
    if (digits == name.size()) continue;
    auto range = names.find(prefix);
    if (range != names.end() && number < range->second.count) {
      operand->slot = range->second.first_slot + number;
      operand->width = range->second.width;
      return true;
    }
  }
  return false;
}

Operand Parser::ParseWordOperand() {
  Operand operand;
  const std::string_view name = Next().text;
  if (name == "_") {
    operand.kind = Operand::kSink;
  } else if (FindRegister(name, &operand)) {
    operand.kind = Operand::kRegister;
  } else {
    operand.kind = Operand::kName;
    operand.name = name;
  }
  return operand;
}

Operand Parser::ParseAddress() {
  Operand operand;
  if (Peek().kind == TokenKind::kWord) {
    operand = ParseWordOperand();
    operand.base_is_register = operand.kind == Operand::kRegister;
  } else {
    operand.immediate = {Immediate::kInteger, ParseInteger()};
  }
  operand.kind = Operand::kAddress;
  if (Accept('+')) {
    operand.offset = static_cast<int64_t>(ParseInteger());
  } else if (Peek().Is('-')) {
    operand.offset = static_cast<int64_t>(ParseInteger());
  }
  Expect(']');
  return operand;
}

Operand Parser::ParseOperand() {
  Operand operand;
  if (Accept('[')) return ParseAddress();
  if (Peek().Is('{') || Peek().Is('(')) {
    const char end = Next().Is('{') ? '}' : ')';
    operand.kind = Operand::kList;
    while (!Accept(end) && Peek().kind != TokenKind::kEnd) {
      operand.elements.push_back(ParseOperand());
      Accept(',');
    }
    return operand;
  }
  if (Accept('!')) {
    operand = ParseOperand();
    operand.negated = !operand.negated;
    return operand;
  }
  if (Peek().kind == TokenKind::kNumber || Peek().Is('-')) {
    const bool negative = Accept('-');
    operand.kind = Operand::kImmediate;
    if (Peek().kind != TokenKind::kNumber) Fail("expected a number");
    operand.immediate = ParseNumber(Next().text);
    if (negative) {
      if (operand.immediate.kind == Immediate::kDecimal) {
        operand.immediate.bits ^= uint64_t{1} << 63;
      } else {
        operand.immediate.bits = 0 - operand.immediate.bits;
      }
    }
    return operand;
  }
  if (Peek().kind != TokenKind::kWord) {
    Fail("unexpected '" + std::string(Peek().text) + "'");
    return operand;
  }
  operand = ParseWordOperand();
  if (Accept('|')) operand.second = std::make_shared<Operand>(ParseOperand());
  if (operand.kind == Operand::kName && (Peek().Is('+') || Peek().Is('-'))) {
    Accept('+');
    operand.offset = static_cast<int64_t>(ParseInteger());
  }
  return operand;
}

void Parser::ParseStatement() {
  Statement statement;
  statement.scope = scope_;
  if (Accept('@')) {
    statement.is_predicated = true;
    statement.predicate_negated = Accept('!');
    Operand predicate;
    if (!FindRegister(Next().text, &predicate)) return Fail("unknown predicate");
    statement.predicate = predicate.slot;
  }
  const Token& token = Next();
  if (token.kind != TokenKind::kWord) return Fail("unexpected '" + std::string(token.text) + "'");
  statement.line = token.line;
  std::string_view rest = token.text;
  for (bool first = true; !rest.empty(); first = false) {
    const size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    if (first) {
      statement.opcode = part;
    } else {
      statement.suffix.push_back(part);
    }
    rest = dot == std::string_view::npos ? "" : rest.substr(dot + 1);
  }
  while (!Accept(';') && Peek().kind != TokenKind::kEnd) {
    statement.operands.push_back(ParseOperand());
    if (!Accept(',') && !Peek().Is(';')) Fail("expected ',' or ';' before '" + std::string(Peek().text) + "'");
  }
  function_->statements.push_back(std::move(statement));
}

}  // namespace

std::string ParsePtx(std::string source, ModuleText* module) {
  module->source = std::move(source);
  const std::vector<Token> tokens = Tokenize(module->source);
  return Parser(tokens, module).Parse();
}

}  // namespace cuda_emulator
