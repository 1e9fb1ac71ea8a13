#include "weir/framework/attribute.h"

#include <gtest/gtest.h>

#include <cmath>

#include "weir/framework/attr_proto.h"
#include "weir/framework/op_table.h"
#include "weir/proto/graph.pb.h"

namespace weir {
namespace {

std::vector<Attribute> OneOfEach() {
  FunctionAttr func{"f", {}};
  func.attrs.Set("T", DType::kFloat);
  return {Attribute(),
          "text",
          7,
          2.5f,
          true,
          DType::kInt64,
          PartialShape({2, -1}),
          PartialShape(),
          Tensor::Vector<float>({1, 2}),
          Tensor::Vector<std::string>({"a", "b"}),
          AttrPlaceholder{"T"},
          func,
          AttrList(),
          AttrList{.i = {1, 2}},
          AttrList{.b = {true, false}},
          AttrList{.type = {DType::kFloat}},
          AttrList{.shape = {PartialShape({1})}},
          AttrList{.func = {func}}};
}

TEST(Attribute, DiffersFromEveryOtherAndHashesAlike) {
  std::vector<Attribute> values = OneOfEach(), copies = OneOfEach();
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = 0; j < values.size(); ++j) EXPECT_EQ(values[i] == copies[j], i == j) << i << " " << j;
    AttrMap a, b;
    a.Set("x", values[i]);
    b.Set("x", copies[i]);
    EXPECT_EQ(Hash(a), Hash(b));
    EXPECT_EQ(a, b);
  }
}

TEST(Attribute, NanEqualsItself) { EXPECT_EQ(Attribute(std::nanf("")), Attribute(std::nanf(""))); }

TEST(Attribute, ShowsItselfAsTensorFlowDoes) {
  EXPECT_EQ(Attribute("a\"b").ToString(), "\"a\\\"b\"");
  EXPECT_EQ(Attribute(DType::kFloat).ToString(), "DT_FLOAT");
  EXPECT_EQ(Attribute(PartialShape({2, -1})).ToString(), "[2,?]");
  EXPECT_EQ(Attribute(AttrList{.i = {1, 2}}).ToString(), "[1, 2]");
  EXPECT_EQ(Attribute(AttrPlaceholder{"T"}).ToString(), "$T");
}

TEST(AttrMap, KeepsNamesSortedAndUnique) {
  AttrMap attrs;
  attrs.Set("b", 1);
  attrs.Set("a", 2);
  attrs.Set("b", 3);
  ASSERT_EQ(attrs.size(), 2u);
  EXPECT_EQ(attrs.begin()->first, "a");
  EXPECT_EQ(*attrs.Find("b"), Attribute(3));
  EXPECT_TRUE(attrs.Erase("a"));
  EXPECT_FALSE(attrs.Erase("a"));
}

TEST(GetAttr, GivesValuesOrSaysWhatIsWrong) {
  AttrMap attrs;
  attrs.Set("i", int64_t{1} << 40);
  attrs.Set("list", AttrList{.i = {1, 2}});
  attrs.Set("empty", AttrList());
  attrs.Set("unset", Attribute());
  EXPECT_EQ(*GetAttr<int64_t>(attrs, "i"), int64_t{1} << 40);
  EXPECT_EQ(GetAttr<int>(attrs, "i").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*GetAttr<std::vector<int>>(attrs, "list"), (std::vector<int>{1, 2}));
  EXPECT_TRUE(GetAttr<std::vector<DType>>(attrs, "empty")->empty());
  EXPECT_TRUE(GetAttr<std::vector<std::string>>(attrs, "unset")->empty());
  EXPECT_EQ(Message(GetAttr<bool>(attrs, "i").status()),
            "AttrValue had value with type 'int' when 'bool' expected\n\t for attr 'i'");
  EXPECT_EQ(GetAttr<std::vector<float>>(attrs, "list").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(GetAttr<bool>(attrs, "none").status().code(), absl::StatusCode::kNotFound);
}

TEST(AttrProto, RoundTripsEveryKind) {
  for (const Attribute& value : OneOfEach()) {
    AttrValue proto;
    ASSERT_TRUE(ToProto(value, &proto).ok());
    auto back = FromProto(proto);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, value) << value.ToString();
  }
}

TEST(AttrProto, RefusesUnknownTypesAndShapes) {
  AttrValue proto;
  proto.set_type(static_cast<DataType>(77));
  EXPECT_FALSE(FromProto(proto).ok());
  proto.set_type(static_cast<DataType>(300));
  EXPECT_FALSE(FromProto(proto).ok());
  proto.mutable_list()->add_type(static_cast<DataType>(-1));
  EXPECT_FALSE(FromProto(proto).ok());
  proto.mutable_shape()->add_dim()->set_size(-2);
  EXPECT_FALSE(FromProto(proto).ok());
}

TEST(AttrProto, RoundTripsSchemas) {
  const char text[] =
      "op Op(a: f32, c: &N*T, d: @Ts) -> (y: str)\n  T: {f32 f64} = f32\n  N: int >= 1 = 2\n  Ts: list(type) >= 0\n"
      "  mode: string {\"A\"} = \"A\"\n  stateful commutative\n  deprecated 3 \"Use B.\"\n  doc \"Mixes.\"\n";
  auto schemas = ParseOpTable(text);
  ASSERT_TRUE(schemas.ok()) << schemas.status();
  OpDef proto;
  ASSERT_TRUE(ToProto(schemas->front(), &proto).ok());
  auto back = FromProto(proto);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(FormatOpSchema(*back), text);
  proto.mutable_attr()->RemoveLast();
  proto.mutable_attr()->RemoveLast();
  EXPECT_FALSE(FromProto(proto).ok());
}

}  // namespace
}  // namespace weir
