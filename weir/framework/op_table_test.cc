#include "weir/framework/op_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace weir {
namespace {

using ::testing::HasSubstr;

OpSchema ParseOne(std::string_view text) {
  auto schemas = ParseOpTable(text);
  EXPECT_TRUE(schemas.ok()) << schemas.status();
  if (!schemas.ok() || schemas->size() != 1) return {};
  return schemas->front();
}

TEST(OpTable, ReadsArgumentsOfEveryForm) {
  OpSchema op = ParseOne(R"(
    op Mix(a: f32, b: T, c: N*T, d: @Ts, e: &T, f: N*i64) -> (y: &str, z: &N*T)
      T: type
      N: int >= 1
      Ts: list(type))");
  ASSERT_EQ(op.inputs.size(), 6u);
  EXPECT_EQ(op.inputs[0].type, DType::kFloat);
  EXPECT_EQ(op.inputs[1].type_attr, "T");
  EXPECT_EQ(op.inputs[2].number_attr, "N");
  EXPECT_EQ(op.inputs[2].type_attr, "T");
  EXPECT_EQ(op.inputs[3].type_list_attr, "Ts");
  EXPECT_TRUE(op.inputs[4].is_ref);
  EXPECT_EQ(op.inputs[5].type, DType::kInt64);
  EXPECT_TRUE(op.outputs[0].is_ref);
  EXPECT_EQ(op.outputs[0].type, DType::kString);
  EXPECT_EQ(op.outputs[1].number_attr, "N");
}

TEST(OpTable, ReadsAttributesOfEveryKind) {
  OpSchema op = ParseOne(R"(
    types small = i8 u8
    op Mix() -> ()
      s: string {"a" "b\n"} = "b\n"
      i: int >= -3 = -2
      f: float = 1e-05
      g: float = -inf
      b: bool = true
      T: {small f32} = u8
      shape: shape = [2, ?]
      any: shape = ?
      t: tensor = u8 [4] {255 0 0 255}
      func: func
      li: list(int) >= 2 = [1, 1]
      lt: list(type) {small} = []
      lf: list(float) = [0.75, 1.33]
      doc "Has: everything.")");
  ASSERT_EQ(op.attrs.size(), 13u);
  EXPECT_EQ(*op.attrs[0].default_value, Attribute("b\n"));
  EXPECT_EQ(op.attrs[0].allowed->s, (std::vector<std::string>{"a", "b\n"}));
  EXPECT_EQ(op.attrs[1].minimum, -3);
  EXPECT_EQ(*op.attrs[2].default_value, Attribute(1e-05f));
  EXPECT_EQ(*op.attrs[3].default_value, Attribute(-std::numeric_limits<float>::infinity()));
  EXPECT_EQ(op.attrs[5].type, "type");
  EXPECT_EQ(op.attrs[5].allowed->type, (std::vector<DType>{DType::kInt8, DType::kUInt8, DType::kFloat}));
  EXPECT_EQ(*op.attrs[6].default_value, Attribute(PartialShape({2, -1})));
  EXPECT_EQ(*op.attrs[7].default_value, Attribute(PartialShape()));
  EXPECT_EQ(*op.attrs[8].default_value, Attribute(Tensor::Vector<uint8_t>({255, 0, 0, 255})));
  EXPECT_FALSE(op.attrs[9].default_value.has_value());
  EXPECT_EQ(op.attrs[10].default_value->get_if<AttrList>()->i, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(op.attrs[11].default_value->get_if<AttrList>()->size(), 0u);
  EXPECT_EQ(op.doc, "Has: everything.");
}

TEST(OpTable, ReadsTraits) {
  OpSchema op = ParseOne(R"(op Old(x: f32) -> (y: f32) stateful commutative aggregate
      allows_uninitialized_input distributed_communication shape unchanged gradient none
      deprecated 13 "Use New.")");
  EXPECT_TRUE(op.is_stateful && op.is_commutative && op.is_aggregate);
  EXPECT_TRUE(op.allows_uninitialized_input && op.is_distributed_communication);
  EXPECT_EQ(op.shape_function_name, "unchanged");
  EXPECT_EQ(op.gradient, Gradient::kNone);
  EXPECT_EQ(op.deprecated_since, 13);
  EXPECT_EQ(op.deprecation_reason, "Use New.");
}

TEST(OpTable, AttributesMayBeNamedLikeKeywordsAndOpsHaveNamespaces) {
  OpSchema op = ParseOne("op My>Space>Op() -> ()\n op: string\n doc: int\n shape: shape\n types: list(type)");
  EXPECT_EQ(op.name, "My>Space>Op");
  ASSERT_EQ(op.attrs.size(), 4u);
  EXPECT_EQ(op.attrs[0].name, "op");
}

TEST(OpTable, FormatsWhatParsesBackToTheSame) {
  const std::string text =
      "op Mix(a: f32, c: &N*T, d: @Ts) -> (y: str)\n"
      "  T: {f32 f64} = f32\n"
      "  N: int >= 1 = 2\n"
      "  Ts: list(type) >= 0\n"
      "  mode: string {\"A\" \"\\\"q\\\"\"} = \"A\"\n"
      "  eps: float = 0.25\n"
      "  s: list(shape) = [[2, ?], ?]\n"
      "  t: tensor = u8 [2] {1 255}\n"
      "  stateful\n"
      "  shape unknown\n"
      "  gradient yes\n"
      "  deprecated 3 \"Use B.\"\n"
      "  doc \"Mixes.\"\n";
  EXPECT_EQ(FormatOpSchema(ParseOne(text)), text);
}

TEST(OpTable, ErrorsNameLineAndColumn) {
  struct Case {
    std::string_view text, error;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"op A(x: f32) -> (y: f32)\n  oops", "line 2, column 3: 'oops' is no trait"},
           {"op A(x: U) -> ()", "line 1, column 9: op A has no attribute 'U'"},
           {"op A(x: n*f32) -> ()\n n: float", "line 1, column 9: attribute 'n' should be a int but is a float"},
           {"op A() -> ()\n n: int >= 1 = 0", "line 2, column 16: Value for attr 'n' of 0 must be at least minimum 1"},
           {"op A() -> ()\n T: {f32} = f64", "is not in the list of allowed values: float"},
           {"op A() -> ()\n T: {f33}", "line 2, column 6: 'f33' is neither a type nor a set"},
           {"op A() -> ()\n s: string = \"open", "a string without its closing quote"},
           {"op A() -> ()\n s: string = \"\\q\"", "unknown escape"},
           {"op A() -> ()\n s: strung", "'strung' is no kind of attribute"},
           {"op A() -> ()\n i: int = 99999999999999999999", "an int64"},
           {"op A() -> ()\n a: int\n a: int", "two attributes 'a'"},
           {"op A(a: f32, a: f32) -> ()", "two arguments 'a'"},
           {"op A() -> () op A() -> ()", "op A is declared twice"},
           {"op A(", "expected an argument's name but found the end of the text"},
           {"op A()", "expected '->'"},
           {"types f32 = f64", "'f32' is a type"},
           {"hello", "expected 'op' or 'types'"},
           {"op A() -> ()\n t: tensor = u8 [2] {1 256}", "256 does not fit uint8"},
           {"op A() -> ()\n t: tensor = u8 [99999999] {}", "small, known shape"},
           {"op A() -> ()\n deprecated 0 \"x\"", "no GraphDef version"},
       }) {
    auto result = ParseOpTable(c.text);
    ASSERT_FALSE(result.ok()) << c.text;
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(result.status()), HasSubstr(std::string(c.error))) << c.text;
  }
}

TEST(OpTable, EveryPrefixOfATextIsParsedOrRefused) {
  const std::string text =
      "types a = f32 f64 # c\nop Mix(a: f32, c: &N*T, d: @Ts) -> (y: str)\n T: {a} = f32\n N: int >= 1 = 2\n"
      " Ts: list(type) >= 0\n m: string {\"A\"} = \"\\x41\"\n e: float = -1e-4\n s: list(shape) = [[2, ?], ?]\n"
      " t: tensor = u8 [2] {1 255}\n stateful shape unknown gradient yes deprecated 3 \"B\\\\\" doc \"M.\"\n";
  for (size_t n = 0; n <= text.size(); ++n) {
    auto result = ParseOpTable(std::string_view(text).substr(0, n));
    if (!result.ok()) {
      EXPECT_THAT(Message(result.status()), HasSubstr("line "));
    }
  }
  EXPECT_TRUE(ParseOpTable(text).ok());
}

}  // namespace
}  // namespace weir
