#include "weir/framework/op_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/framework/op_registry.h"
#include "weir/framework/op_table.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OpSchema Schema(std::string_view text) { return ParseOpTable(text)->front(); }

const char kPack[] = "op Pack(values: N*T, rest: @Ts) -> (out: &T)\n N: int >= 1\n T: {f32 f64}\n Ts: list(type) = []";

TEST(ResolveArgTypes, FollowsAttributes) {
  AttrMap attrs;
  attrs.Set("N", 2);
  attrs.Set("T", DType::kDouble);
  attrs.Set("Ts", AttrList{.type = {DType::kInt32, DType::kString}});
  OpSchema schema = Schema(kPack);
  auto types = ResolveArgTypes(schema, attrs);
  ASSERT_TRUE(types.ok()) << types.status();
  EXPECT_THAT(types->inputs, ElementsAre(DType::kDouble, DType::kDouble, DType::kInt32, DType::kString));
  EXPECT_THAT(types->outputs, ElementsAre(RefType(DType::kDouble)));
  auto range = ResolveArgRange(schema.inputs, attrs, 1);
  ASSERT_TRUE(range.ok());
  EXPECT_EQ(range->begin, 2);
  EXPECT_EQ(range->end, 4);
  EXPECT_FALSE(ResolveArgRange(schema.inputs, attrs, 2).ok());
}

TEST(ResolveArgTypes, RefusesAbsurdCounts) {
  AttrMap attrs;
  attrs.Set("T", DType::kFloat);
  attrs.Set("Ts", AttrList());
  for (int64_t n : {int64_t{-1}, int64_t{1} << 40}) {
    attrs.Set("N", n);
    EXPECT_EQ(ResolveArgTypes(Schema(kPack), attrs).status().code(), absl::StatusCode::kInvalidArgument);
  }
  attrs.Erase("N");
  EXPECT_FALSE(ResolveArgTypes(Schema(kPack), attrs).ok());
}

TEST(CheckAttrs, AddsDefaultsAndKeepsFreeNames) {
  AttrMap attrs;
  attrs.Set("N", 1);
  attrs.Set("T", DType::kFloat);
  attrs.Set("_class", "x");
  ASSERT_TRUE(CheckAttrs(Schema(kPack), attrs).ok());
  EXPECT_NE(attrs.Find("Ts"), nullptr);
  EXPECT_EQ(attrs.size(), 4u);
}

TEST(CheckAttrs, SaysWhatTensorFlowSays) {
  OpSchema schema = Schema(
      "op Op(x: T) -> (y: T)\n T: {f32 f64}\n N: int >= 1 = 1\n ksize: list(int) >= 2 = [1, 1]\n"
      "padding: string {\"SAME\" \"VALID\"} = \"SAME\"");
  auto error = [&](std::string_view name, Attribute value) {
    AttrMap attrs;
    attrs.Set("T", DType::kFloat);
    attrs.Set(name, std::move(value));
    return Message(CheckAttrs(schema, attrs));
  };
  EXPECT_EQ(error("T", DType::kString),
            "Value for attr 'T' of string is not in the list of allowed values: float, double");
  EXPECT_EQ(error("T", 3), "AttrValue had value with type 'int' when 'type' expected\n\t for attr 'T'");
  EXPECT_EQ(error("T", RefType(DType::kFloat)),
            "AttrValue must not have reference type value of float_ref\n\t for attr 'T'");
  EXPECT_EQ(error("T", DType::kInvalid), "AttrValue has invalid DataType\n\t for attr 'T'");
  EXPECT_EQ(error("N", 0), "Value for attr 'N' of 0 must be at least minimum 1");
  EXPECT_EQ(error("ksize", AttrList()), "Length for attr 'ksize' of 0 must be at least minimum 2");
  EXPECT_EQ(error("ksize", AttrList{.i = {1}, .type = {DType::kFloat}}),
            "AttrValue had value with type 'list(type)' when 'list(int)' expected\n\t for attr 'ksize'");
  EXPECT_EQ(error("padding", "FOO"),
            "Value for attr 'padding' of \"FOO\" is not in the list of allowed values: \"SAME\", \"VALID\"");
  EXPECT_THAT(error("other", 1), HasSubstr("NodeDef mentions attr 'other' not in Op<name=Op; signature=x:T -> y:T; "
                                           "attr=T:type,allowed=[DT_FLOAT, DT_DOUBLE]; attr=N:int,default=1,min=1;"));
}

TEST(CheckAttrs, NamesAllThatIsMissing) {
  OpSchema schema =
      Schema("op Variable() -> (ref: &dtype)\n shape: shape\n dtype: type\n name: string = \"\"\n stateful");
  AttrMap attrs;
  EXPECT_EQ(Message(CheckAttrs(schema, attrs)),
            "NodeDef missing attrs 'dtype', 'shape' from Op<name=Variable; signature= -> ref:Ref(dtype); "
            "attr=shape:shape; attr=dtype:type; attr=name:string,default=\"\"; is_stateful=true>");
}

TEST(OpRegistry, RegistersTablesWholeOrNotAtAll) {
  OpRegistry registry;
  ASSERT_TRUE(registry.RegisterTable("op B() -> ()\nop A() -> ()", "mine").ok());
  EXPECT_EQ(registry.Find("A")->family, "mine");
  Status twice = registry.RegisterTable("op C() -> ()\nop B() -> ()", "mine");
  EXPECT_EQ(twice.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(registry.Find("C"), nullptr);
  EXPECT_EQ(registry.LookUp("C").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(registry.LookUp("C").status()), HasSubstr("Op type not registered 'C' in binary running on"));
  auto all = registry.All();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]->name, "A");
}

TEST(OpRegistry, ResolvesShapeFunctionsInAnyOrder) {
  ShapeFunction function = [](ShapeContext&) { return OkStatus(); };
  OpRegistry registry;
  ASSERT_TRUE(registry.RegisterTable("op A() -> () shape mine", "").ok());
  EXPECT_EQ(registry.Find("A")->shape_function, nullptr);
  registry.RegisterShapeFunction("mine", function);
  ASSERT_TRUE(registry.RegisterTable("op B() -> () shape mine", "").ok());
  EXPECT_EQ(registry.Find("A")->shape_function, function);
  EXPECT_EQ(registry.Find("B")->shape_function, function);
}

}  // namespace
}  // namespace weir
