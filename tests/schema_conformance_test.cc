// The built-in op tables against TensorFlow's registry, which fixtures/opdefs.jsonl lists one op a line: names and
// types of arguments, attributes with order, defaults, allowed values and minima, flags, deprecation, and whether there
// is a gradient.
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "weir/framework/op_registry.h"
#include "weir/framework/op_table.h"
#include "weir/ops/op_tables.h"

namespace weir {
namespace {

using Json = nlohmann::ordered_json;

std::string ArgText(const ArgSchema& arg) {
  std::string type = arg.type != DType::kInvalid   ? std::string(ShortName(arg.type))
                     : !arg.type_list_attr.empty() ? "@" + arg.type_list_attr
                                                   : "$" + arg.type_attr;
  if (!arg.number_attr.empty()) type = Cat("$", arg.number_attr, "*", type);
  return Cat(arg.name, ":", arg.is_ref ? "&" : "", type);
}

std::vector<std::string> ArgTexts(const std::vector<ArgSchema>& args) {
  std::vector<std::string> out;
  for (const ArgSchema& arg : args) out.push_back(ArgText(arg));
  return out;
}

Json ToJson(const std::string& v) { return v; }
Json ToJson(int64_t v) { return v; }
Json ToJson(bool v) { return v; }
Json ToJson(DType v) { return std::string(ShortName(v)); }
Json ToJson(const PartialShape& v) {
  if (!v.has_rank()) return nullptr;
  return std::vector<int64_t>(v.dims().begin(), v.dims().end());
}

std::string QuoteInfinities(std::string line) {  // Python writes them bare
  for (std::string_view word : {":-Infinity", ":Infinity"}) {
    for (size_t at; (at = line.find(word)) != line.npos;) {
      line.replace(at, word.size(), Cat(":\"", word.substr(1), "\""));
    }
  }
  return line;
}

// Floats are compared as floats: the fixture has them in the fewest decimals.
bool SameFloat(const Json& json, float value) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (json.is_string()) return value == (json == "Infinity" ? kInfinity : -kInfinity);
  return json.is_number() && json.get<float>() == value;
}

template <typename T>
bool SameList(const Json& json, const std::vector<T>& values) {
  if (json.size() != values.size()) return false;
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<T, float>) {
      if (!SameFloat(json[i], values[i])) return false;
    } else if (json[i] != ToJson(values[i])) {
      return false;
    }
  }
  return true;
}

bool SameDefault(const Json& json, const std::string& type, const Attribute& value) {
  if (auto* v = value.get_if<float>()) return SameFloat(json, *v);
  if (auto* v = value.get_if<std::string>()) return type == "string" && json == ToJson(*v);
  if (auto* v = value.get_if<int64_t>()) return type == "int" && json == ToJson(*v);
  if (auto* v = value.get_if<bool>()) return type == "bool" && json == ToJson(*v);
  if (auto* v = value.get_if<DType>()) return type == "type" && json == ToJson(*v);
  if (auto* v = value.get_if<PartialShape>()) return type == "shape" && json == ToJson(*v);
  if (value.get_if<Tensor>() != nullptr) return json == "tensor";  // its value is checked by itself below
  const AttrList* list = value.get_if<AttrList>();
  if (list == nullptr || !json.is_array() || json.size() != list->size()) return false;
  if (type == "list(int)") return SameList(json, list->i);
  if (type == "list(float)") return SameList(json, list->f);
  if (type == "list(string)") return SameList(json, list->s);
  if (type == "list(type)") return SameList(json, list->type);
  if (type == "list(shape)") return SameList(json, list->shape);
  return false;
}

bool SameAllowed(const Json& json, const AttrList& allowed) {
  if (json.is_array()) return allowed.type.empty() && SameList(json, allowed.s);
  std::string types;
  for (DType type : allowed.type) types += Cat(types.empty() ? "" : " ", ShortName(type));
  return allowed.s.empty() && json == types;
}

void ExpectSame(const Json& json, const OpSchema& schema) {
  EXPECT_EQ(json["in"], Json(ArgTexts(schema.inputs)));
  EXPECT_EQ(json["out"], Json(ArgTexts(schema.outputs)));
  const Json attrs = json.value("attr", Json::object());
  ASSERT_EQ(attrs.size(), schema.attrs.size());
  size_t index = 0;
  for (const auto& [name, expected] : attrs.items()) {
    SCOPED_TRACE(name);
    const AttrSchema& attr = schema.attrs[index++];
    EXPECT_EQ(attr.name, name);
    EXPECT_EQ(attr.type, expected["type"].get<std::string>());
    ASSERT_EQ(attr.default_value.has_value(), expected.contains("default"));
    if (attr.default_value) {
      EXPECT_TRUE(SameDefault(expected["default"], attr.type, *attr.default_value)) << attr.default_value->ToString();
    }
    ASSERT_EQ(attr.allowed.has_value(), expected.contains("allowed"));
    if (attr.allowed) {
      EXPECT_TRUE(SameAllowed(expected["allowed"], *attr.allowed)) << expected["allowed"];
    }
    ASSERT_EQ(attr.minimum.has_value(), expected.contains("min"));
    if (attr.minimum) {
      EXPECT_EQ(*attr.minimum, expected["min"].get<int64_t>());
    }
  }
  EXPECT_EQ(schema.is_stateful, json.value("is_stateful", false));
  EXPECT_EQ(schema.is_commutative, json.value("is_commutative", false));
  EXPECT_EQ(schema.is_aggregate, json.value("is_aggregate", false));
  EXPECT_EQ(schema.allows_uninitialized_input, json.value("allows_uninitialized_input", false));
  EXPECT_EQ(schema.is_distributed_communication, json.value("is_distributed_communication", false));
  const Json deprecated = json.value("deprecated", Json::array({0, ""}));
  EXPECT_EQ(schema.deprecated_since, deprecated[0].get<int>());
  EXPECT_EQ(schema.deprecation_reason, deprecated[1].get<std::string>());
  constexpr const char* kGradients[] = {"absent", "none", "yes"};
  // TensorFlow has no gradients of collectives.
  const bool is_more = json["grad"] == "absent" && schema.name.starts_with("Collective");
  if (!is_more) {
    EXPECT_EQ(kGradients[static_cast<int>(schema.gradient)], json["grad"].get<std::string>());
  }
}

class SchemaConformance : public ::testing::Test {
 protected:
  void SetUp() override {
    Status status = RegisterBuiltinOps(registry_);
    ASSERT_TRUE(status.ok()) << status;
  }
  OpRegistry registry_;
};

// What rewriting makes and no client ever names, and collectives between processes (weir/client/collective_ops.h).
constexpr std::string_view kOwnOps[] = {"_Attention",
                                        "_AttentionGrad",
                                        "_BatchMatMulOfViews",
                                        "_FusedConv2DOfBFloat16",
                                        "_FusedElementwise",
                                        "_FusedMixedElementwise",
                                        "_PackedAttention",
                                        "_PackedAttentionGrad",
                                        "_ResourceApplyMany",
                                        "_ScaledResourceScatterSub",
                                        "_BatchNormReluGrad",
                                        "_SparseCrossEntropy",
                                        "_SparseCrossEntropyGrad",
                                        "_ProcessAllGather",
                                        "_ProcessAllReduce",
                                        "_ProcessAllToAll",
                                        "_ProcessAllGatherGrad",
                                        "_ProcessBroadcast",
                                        "_ProcessSize",
                                        "_ProcessBroadcastGrad",
                                        "_ProcessReduceScatter",
                                        "_ProcessGroupedAllReduce"};

TEST_F(SchemaConformance, EveryOpIsTensorFlows) {
  std::ifstream file(WEIR_SOURCE_DIR "/tests/fixtures/opdefs.jsonl");
  ASSERT_TRUE(file.is_open());
  size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(QuoteInfinities(std::move(line)));
    const std::string name = json["op"];
    SCOPED_TRACE(name);
    const OpSchema* schema = registry_.Find(name);
    ASSERT_NE(schema, nullptr);
    ExpectSame(json, *schema);
    ++count;
  }
  for (std::string_view own : kOwnOps) EXPECT_NE(registry_.Find(own), nullptr) << own;
  EXPECT_EQ(count + std::size(kOwnOps), registry_.All().size());
}

TEST_F(SchemaConformance, TheOneTensorDefaultIsRed) {
  const AttrSchema* attr = registry_.Find("ImageSummary")->FindAttr("bad_color");
  ASSERT_NE(attr, nullptr);
  EXPECT_EQ(*attr->default_value, Attribute(Tensor::Vector<uint8_t>({255, 0, 0, 255})));
}

TEST_F(SchemaConformance, PrintedTablesParseBack) {
  for (const OpSchema* schema : registry_.All()) {
    const std::string text = FormatOpSchema(*schema);
    auto back = ParseOpTable(text, schema->family);
    ASSERT_TRUE(back.ok()) << text << back.status();
    ASSERT_EQ(back->size(), 1u);
    EXPECT_EQ(FormatOpSchema(back->front()), text);
    EXPECT_EQ(Summarize(back->front()), Summarize(*schema));
  }
}

}  // namespace
}  // namespace weir
