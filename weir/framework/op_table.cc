#include "weir/framework/op_table.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "weir/framework/op_table_lexer.h"
#include "weir/framework/op_trait_names.h"

namespace weir {
namespace {

constexpr std::string_view kKinds[] = {"string", "int", "float", "bool", "type", "shape", "tensor", "func"};

// An argument's type as written; what its words mean is known only after the attributes.
struct ArgText {
  std::string_view name, number, type;
  bool is_ref = false, is_list = false;
};

class Parser {
 public:
  Parser(std::string_view text, std::string_view family) : lexer_(text), family_(family), text_size_(text.size()) {}

  StatusOr<std::vector<OpSchema>> Parse() {
    std::vector<OpSchema> schemas;
    schemas.reserve(text_size_ / 128);
    StringSet names;
    while (lexer_.peek().kind != TokenKind::kEnd) {
      if (lexer_.PeekIsWord("types")) {
        WEIR_RETURN_IF_ERROR(ParseTypeSet());
      } else if (lexer_.PeekIsWord("op")) {
        lexer_.Next();
        std::string_view name = lexer_.peek().text;
        OpSchema& schema = schemas.emplace_back();
        WEIR_RETURN_IF_ERROR(ParseOp(schema));
        if (!names.insert(schema.name).second) return lexer_.ErrorAt(name, "op ", name, " is declared twice");
      } else {
        return lexer_.Error("expected 'op' or 'types' but found '", lexer_.peek().text, "'");
      }
    }
    return schemas;
  }

 private:
  // types NAME = word...; it ends where the next statement begins.
  Status ParseTypeSet() {
    lexer_.Next();
    WEIR_ASSIGN_OR_RETURN(std::string_view name, lexer_.ExpectWord("the name of a set of types"));
    if (ParseDType(name)) return lexer_.ErrorAt(name, "'", name, "' is a type, so it cannot name a set");
    WEIR_RETURN_IF_ERROR(lexer_.Expect("="));
    std::vector<DType> types;
    while (lexer_.peek().kind == TokenKind::kWord && !lexer_.PeekIsWord("op") && !lexer_.PeekIsWord("types")) {
      WEIR_RETURN_IF_ERROR(AppendTypes(lexer_.Next().text, types));
    }
    sets_[std::string(name)] = std::move(types);
    return OkStatus();
  }

  Status AppendTypes(std::string_view word, std::vector<DType>& types) {
    if (auto set = sets_.find(word); set != sets_.end()) {
      types.insert(types.end(), set->second.begin(), set->second.end());
      return OkStatus();
    }
    std::optional<DType> type = ParseDType(word);
    if (!type) return lexer_.ErrorAt(word, "'", word, "' is neither a type nor a set of types declared before");
    types.push_back(*type);
    return OkStatus();
  }

  Status ParseOp(OpSchema& schema) {
    schema.family = family_;
    schema.attrs.reserve(4);
    WEIR_ASSIGN_OR_RETURN(std::string_view name, lexer_.ExpectWord("an op's name"));
    schema.name = name;
    std::vector<ArgText> inputs, outputs;
    WEIR_RETURN_IF_ERROR(ParseArgs(inputs));
    WEIR_RETURN_IF_ERROR(lexer_.Expect("->"));
    WEIR_RETURN_IF_ERROR(ParseArgs(outputs));
    while (lexer_.peek().kind == TokenKind::kWord) {
      if (lexer_.ColonFollows()) {
        WEIR_RETURN_IF_ERROR(ParseAttr(schema));
      } else if (lexer_.PeekIsWord("op") || lexer_.PeekIsWord("types")) {
        break;
      } else {
        WEIR_RETURN_IF_ERROR(ParseTrait(schema));
      }
    }
    WEIR_RETURN_IF_ERROR(ResolveArgs(schema, inputs, schema.inputs));
    return ResolveArgs(schema, outputs, schema.outputs);
  }

  Status ParseArgs(std::vector<ArgText>& args) {
    WEIR_RETURN_IF_ERROR(lexer_.Expect("("));
    if (lexer_.Take(")")) return OkStatus();
    do {
      ArgText& arg = args.emplace_back();
      WEIR_ASSIGN_OR_RETURN(arg.name, lexer_.ExpectWord("an argument's name"));
      for (const ArgText& other : args) {
        if (&other != &arg && other.name == arg.name) return lexer_.ErrorAt(arg.name, "two arguments '", arg.name, "'");
      }
      WEIR_RETURN_IF_ERROR(lexer_.Expect(":"));
      arg.is_ref = lexer_.Take("&");
      arg.is_list = lexer_.Take("@");
      WEIR_ASSIGN_OR_RETURN(arg.type, lexer_.ExpectWord("a type or attribute"));
      if (!arg.is_list && lexer_.Take("*")) {
        arg.number = arg.type;
        WEIR_ASSIGN_OR_RETURN(arg.type, lexer_.ExpectWord("a type or attribute"));
      }
    } while (lexer_.Take(","));
    return lexer_.Expect(")");
  }

  Status ResolveArgs(const OpSchema& schema, const std::vector<ArgText>& texts, std::vector<ArgSchema>& args) {
    auto expect_attr = [&](std::string_view name, std::string_view type) -> Status {
      const AttrSchema* attr = schema.FindAttr(name);
      if (attr == nullptr) return lexer_.ErrorAt(name, "op ", schema.name, " has no attribute '", name, "'");
      if (attr->type == type) return OkStatus();
      return lexer_.ErrorAt(name, "attribute '", name, "' should be a ", type, " but is a ", attr->type);
    };
    args.reserve(texts.size());
    for (const ArgText& text : texts) {
      ArgSchema& arg = args.emplace_back();
      arg.name = text.name;
      arg.is_ref = text.is_ref;
      if (!text.number.empty()) {
        WEIR_RETURN_IF_ERROR(expect_attr(text.number, "int"));
        arg.number_attr = text.number;
      }
      if (text.is_list) {
        WEIR_RETURN_IF_ERROR(expect_attr(text.type, "list(type)"));
        arg.type_list_attr = text.type;
      } else if (schema.FindAttr(text.type) == nullptr && ParseDType(text.type)) {
        arg.type = *ParseDType(text.type);
      } else {
        WEIR_RETURN_IF_ERROR(expect_attr(text.type, "type"));
        arg.type_attr = text.type;
      }
    }
    return OkStatus();
  }

  // name: kind {allowed} >= minimum = default
  Status ParseAttr(OpSchema& schema) {
    std::string_view name = lexer_.Next().text;
    if (schema.FindAttr(name) != nullptr) return lexer_.ErrorAt(name, "two attributes '", name, "'");
    lexer_.Next();  // the colon
    AttrSchema& attr = schema.attrs.emplace_back();
    attr.name = name;
    std::string_view element = "type";
    bool is_list = false;
    if (!lexer_.PeekIs("{")) {
      WEIR_RETURN_IF_ERROR(ParseKind(element, is_list));
    }
    attr.type = is_list ? Cat("list(", element, ")") : std::string(element);
    if (lexer_.PeekIs("{")) WEIR_RETURN_IF_ERROR(ParseAllowed(element, attr));
    if (lexer_.Take(">=")) {
      if (!is_list && element != "int") return lexer_.Error("only an int or a list has a minimum");
      WEIR_ASSIGN_OR_RETURN(attr.minimum, lexer_.ExpectInt("a minimum"));
    }
    if (!lexer_.Take("=")) return OkStatus();
    std::string_view where = lexer_.peek().text;
    if (is_list) {
      WEIR_ASSIGN_OR_RETURN(attr.default_value, ParseList(element));
    } else {
      WEIR_ASSIGN_OR_RETURN(attr.default_value, ParseValue(element));
    }
    Status status = CheckAttr(attr, *attr.default_value);
    return status.ok() ? status : lexer_.ErrorAt(where, Message(status));
  }

  Status ParseKind(std::string_view& element, bool& is_list) {
    WEIR_ASSIGN_OR_RETURN(element, lexer_.ExpectWord("a kind of attribute"));
    if (element == "list") {
      is_list = true;
      WEIR_RETURN_IF_ERROR(lexer_.Expect("("));
      WEIR_ASSIGN_OR_RETURN(element, lexer_.ExpectWord("a kind of attribute"));
      WEIR_RETURN_IF_ERROR(lexer_.Expect(")"));
    }
    if (std::ranges::find(kKinds, element) != std::end(kKinds)) return OkStatus();
    return lexer_.ErrorAt(element, "'", element,
                          "' is no kind of attribute; kinds are string int float bool type shape tensor func");
  }

  Status ParseAllowed(std::string_view element, AttrSchema& attr) {
    if (element != "type" && element != "string") return lexer_.Error("only types and strings have allowed values");
    lexer_.Next();
    AttrList& allowed = attr.allowed.emplace();
    while (!lexer_.Take("}")) {
      if (element == "string") {
        WEIR_ASSIGN_OR_RETURN(std::string value, lexer_.ExpectString("an allowed value"));
        allowed.s.push_back(std::move(value));
      } else {
        WEIR_ASSIGN_OR_RETURN(std::string_view word, lexer_.ExpectWord("a type or set of types"));
        WEIR_RETURN_IF_ERROR(AppendTypes(word, allowed.type));
      }
    }
    return OkStatus();
  }

  StatusOr<Attribute> ParseList(std::string_view element) {
    AttrList list;
    WEIR_RETURN_IF_ERROR(lexer_.Expect("["));
    if (lexer_.Take("]")) return Attribute(std::move(list));
    do {
      WEIR_ASSIGN_OR_RETURN(Attribute value, ParseValue(element));
      if (auto* s = value.get_if<std::string>()) list.s.push_back(*s);
      if (auto* i = value.get_if<int64_t>()) list.i.push_back(*i);
      if (auto* f = value.get_if<float>()) list.f.push_back(*f);
      if (auto* b = value.get_if<bool>()) list.b.push_back(*b);
      if (auto* type = value.get_if<DType>()) list.type.push_back(*type);
      if (auto* shape = value.get_if<PartialShape>()) list.shape.push_back(*shape);
      if (auto* tensor = value.get_if<Tensor>()) list.tensor.push_back(*tensor);
      if (auto* func = value.get_if<FunctionAttr>()) list.func.push_back(*func);
    } while (lexer_.Take(","));
    WEIR_RETURN_IF_ERROR(lexer_.Expect("]"));
    return Attribute(std::move(list));
  }

  StatusOr<Attribute> ParseValue(std::string_view element) {
    if (element == "string") return Wrap(lexer_.ExpectString("a string"));
    if (element == "int") return Wrap(lexer_.ExpectInt("an integer"));
    if (element == "float") return Wrap(ParseFloat());
    if (element == "shape") return Wrap(ParseShape());
    if (element == "tensor") return Wrap(ParseTensor());
    WEIR_ASSIGN_OR_RETURN(std::string_view word, lexer_.ExpectWord(Cat("a ", element)));
    if (element == "func") return Attribute(FunctionAttr{std::string(word), {}});
    if (element == "bool") {
      if (word == "true" || word == "false") return Attribute(word == "true");
      return lexer_.ErrorAt(word, "expected true or false but found '", word, "'");
    }
    std::optional<DType> type = ParseDType(word);
    if (!type) return lexer_.ErrorAt(word, "'", word, "' is not a type");
    return Attribute(*type);
  }

  template <typename T>
  static StatusOr<Attribute> Wrap(StatusOr<T> value) {
    if (!value.ok()) return std::move(value).status();
    return Attribute(*std::move(value));
  }

  StatusOr<float> ParseFloat() {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    if (lexer_.PeekIsWord("inf") || lexer_.PeekIsWord("nan")) {
      return lexer_.Next().text == "inf" ? kInfinity : std::numeric_limits<float>::quiet_NaN();
    }
    std::string_view text = lexer_.peek().text;
    if (lexer_.peek().kind == TokenKind::kNumber) {
      float value = 0;
      auto result = std::from_chars(text.data(), text.data() + text.size(), value);
      if (result.ec == std::errc() && result.ptr == text.data() + text.size()) {
        lexer_.Next();
        return value;
      }
    }
    return lexer_.Error("expected a float but found '", text, "'");
  }

  // [2,?] or ? for an unknown rank.
  StatusOr<PartialShape> ParseShape() {
    if (lexer_.Take("?")) return PartialShape();
    std::string_view where = lexer_.peek().text;
    WEIR_RETURN_IF_ERROR(lexer_.Expect("["));
    std::vector<int64_t> dims;
    if (!lexer_.Take("]")) {
      do {
        int64_t dim = PartialShape::kUnknown;
        if (!lexer_.Take("?")) {
          WEIR_ASSIGN_OR_RETURN(dim, lexer_.ExpectInt("a dimension"));
        }
        dims.push_back(dim);
      } while (lexer_.Take(","));
      WEIR_RETURN_IF_ERROR(lexer_.Expect("]"));
    }
    StatusOr<PartialShape> shape = PartialShape::Make(dims);
    if (!shape.ok()) return lexer_.ErrorAt(where, Message(shape.status()));
    return shape;
  }

  // type shape {values}: u8 [4] {255 0 0 255}
  StatusOr<Tensor> ParseTensor() {
    WEIR_ASSIGN_OR_RETURN(std::string_view word, lexer_.ExpectWord("a tensor's type"));
    std::optional<DType> type = ParseDType(word);
    if (!type || IsRef(*type)) return lexer_.ErrorAt(word, "'", word, "' is not a type");
    std::string_view where = lexer_.peek().text;
    WEIR_ASSIGN_OR_RETURN(PartialShape partial, ParseShape());
    std::optional<Shape> shape = partial.ToShape();
    if (!shape || shape->num_elements() > kMostElements) return lexer_.ErrorAt(where, "expected a small, known shape");
    WEIR_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Zeros(*type, *shape));
    WEIR_RETURN_IF_ERROR(lexer_.Expect("{"));
    for (int64_t i = 0; i < shape->num_elements(); ++i) WEIR_RETURN_IF_ERROR(ParseElement(tensor, i));
    WEIR_RETURN_IF_ERROR(lexer_.Expect("}"));
    return tensor;
  }

  Status ParseElement(Tensor& tensor, int64_t i) {
    if (tensor.dtype() == DType::kString) {
      WEIR_ASSIGN_OR_RETURN(tensor.data<std::string>()[i], lexer_.ExpectString("an element"));
      return OkStatus();
    }
    if (tensor.dtype() == DType::kFloat || tensor.dtype() == DType::kDouble) {
      WEIR_ASSIGN_OR_RETURN(float value, ParseFloat());
      if (tensor.dtype() == DType::kFloat) tensor.data<float>()[i] = value;
      if (tensor.dtype() == DType::kDouble) tensor.data<double>()[i] = value;
      return OkStatus();
    }
    std::string_view where = lexer_.peek().text;
    WEIR_ASSIGN_OR_RETURN(int64_t value, lexer_.ExpectInt("an element"));
    bool fits = true;
    bool known = DispatchDType(tensor.dtype(), SignedTypes{} + TypeList<uint8_t, uint16_t, uint32_t>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      fits = std::in_range<T>(value);
      tensor.data<T>()[i] = static_cast<T>(value);
    });
    if (!known)
      return lexer_.ErrorAt(where, "elements of type ", Name(tensor.dtype()), " cannot be written in a table");
    return fits ? OkStatus() : lexer_.ErrorAt(where, value, " does not fit ", Name(tensor.dtype()));
  }

  template <typename Value, size_t kSize>
  Status ParseChoice(std::string_view trait, const NamedValue<Value> (&choices)[kSize], Value& value) {
    std::string names;
    for (const auto& choice : choices) names += Cat(names.empty() ? "" : " ", choice.name);
    WEIR_ASSIGN_OR_RETURN(std::string_view word, lexer_.ExpectWord(Cat("one of ", names)));
    for (const auto& choice : choices) {
      if (choice.name != word) continue;
      value = choice.value;
      return OkStatus();
    }
    return lexer_.ErrorAt(word, "expected one of ", names, " after '", trait, "'");
  }

  Status ParseTrait(OpSchema& schema) {
    std::string_view word = lexer_.Next().text;
    for (const OpFlag& flag : kOpFlags) {
      if (flag.name != word) continue;
      schema.*flag.member = true;
      return OkStatus();
    }
    for (const auto& [name, waiting] : kWaitingNames) {
      if (name != word) continue;
      if (schema.waiting != Waiting::kUnsaid) return lexer_.ErrorAt(word, "op ", schema.name, " waits in two ways");
      schema.waiting = waiting;
      return OkStatus();
    }
    if (word == "cost") return ParseChoice(word, kCostNames, schema.cost);
    if (word == "contraction") return ParseChoice(word, kContractionNames, schema.contraction);
    if (word == "mixed_precision") return ParseChoice(word, kMixedPrecisionNames, schema.mixed_precision);
    if (word == "shape") {
      WEIR_ASSIGN_OR_RETURN(schema.shape_function_name, lexer_.ExpectWord("a shape function's name"));
    } else if (word == "gradient") {
      WEIR_ASSIGN_OR_RETURN(std::string_view value, lexer_.ExpectWord("yes or none"));
      if (value != "yes" && value != "none") return lexer_.ErrorAt(value, "expected yes or none after 'gradient'");
      schema.gradient = value == "yes" ? Gradient::kYes : Gradient::kNone;
    } else if (word == "deprecated") {
      std::string_view where = lexer_.peek().text;
      WEIR_ASSIGN_OR_RETURN(int64_t since, lexer_.ExpectInt("a GraphDef version"));
      if (since < 1 || since > std::numeric_limits<int>::max()) return lexer_.ErrorAt(where, "no GraphDef version");
      schema.deprecated_since = static_cast<int>(since);
      WEIR_ASSIGN_OR_RETURN(schema.deprecation_reason, lexer_.ExpectString("the reason"));
    } else if (word == "doc") {
      WEIR_ASSIGN_OR_RETURN(schema.doc, lexer_.ExpectString("the text"));
    } else {
      std::string traits;
      for (const OpFlag& flag : kOpFlags) traits += Cat(flag.name, " ");
      for (const auto& waiting : kWaitingNames) traits += Cat(waiting.name, " ");
      return lexer_.ErrorAt(word, "'", word, "' is no trait; traits are ", traits,
                            "cost contraction mixed_precision shape gradient deprecated doc");
    }
    return OkStatus();
  }

  static constexpr int64_t kMostElements = 1024;
  OpTableLexer lexer_;
  std::string_view family_;
  size_t text_size_;
  StringMap<std::vector<DType>> sets_;
};

}  // namespace

StatusOr<std::vector<OpSchema>> ParseOpTable(std::string_view text, std::string_view family) {
  return Parser(text, family).Parse();
}

}  // namespace weir
