#include "weir/io/example_parser.h"

#include <gtest/gtest.h>

#include "weir/io/sequence_example_parser.h"
#include "weir/proto/example.pb.h"

namespace weir {
namespace {

using S = std::string;

struct Values {
  std::vector<float> floats;
  std::vector<int64_t> integers;
  std::vector<S> strings;
};

S Serialize(const std::vector<std::pair<S, Values>>& features) {
  Example example;
  for (const auto& [key, values] : features) {
    Feature& feature = (*example.mutable_features()->mutable_feature())[key];
    for (float v : values.floats) feature.mutable_float_list()->add_value(v);
    for (int64_t v : values.integers) feature.mutable_int64_list()->add_value(v);
    for (const S& v : values.strings) feature.mutable_bytes_list()->add_value(v);
  }
  return example.SerializeAsString();
}

template <typename T>
std::vector<T> List(const Tensor& tensor) {
  std::span<const T> span = tensor.span<T>();
  return {span.begin(), span.end()};
}

const Tensor kRequired = Tensor::Vector<float>({});

std::unique_ptr<ExampleParser> Parser(ExampleSpec spec) {
  auto parser = ExampleParser::Create(std::move(spec));
  EXPECT_TRUE(parser.ok()) << parser.status();
  return *std::move(parser);
}

TEST(ExampleParser, DenseValuesFillRowsAndMissingOnesGetTheDefault) {
  auto parser = Parser(
      {.dense = {{"a", DType::kFloat, {2}, kRequired}, {"b", DType::kInt64, Shape(), Tensor::Scalar<int64_t>(-1)}}});
  const S examples[] = {Serialize({{"a", {.floats = {1, 2}}}, {"b", {.integers = {-7}}}}),
                        Serialize({{"a", {.floats = {3, 4}}}, {"unasked", {.strings = {"x"}}}})};
  auto parsed = parser->ParseBatch(examples);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->dense_values[0].shape(), Shape({2, 2}));
  EXPECT_EQ(List<float>(parsed->dense_values[0]), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(List<int64_t>(parsed->dense_values[1]), (std::vector<int64_t>{-7, -1}));
}

TEST(ExampleParser, ShorterExamplesArePadded) {
  auto parser = Parser({.dense = {{"a", DType::kFloat, {-1, 2}, Tensor::Scalar(9.0f)}}});
  const S examples[] = {Serialize({{"a", {.floats = {1, 2}}}}), Serialize({}),
                        Serialize({{"a", {.floats = {3, 4, 5, 6}}}})};
  auto parsed = parser->ParseBatch(examples);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->dense_values[0].shape(), Shape({3, 2, 2}));
  EXPECT_EQ(List<float>(parsed->dense_values[0]), (std::vector<float>{1, 2, 9, 9, 9, 9, 9, 9, 3, 4, 5, 6}));
}

TEST(ExampleParser, SparseAndRaggedValues) {
  auto parser = Parser(
      {.sparse = {{"s", DType::kString}, {"none", DType::kFloat}}, .ragged = {{"r", DType::kInt64, DType::kInt32}}});
  const S examples[] = {Serialize({{"s", {.strings = {"x", "y"}}}, {"r", {.integers = {1, 300}}}}), Serialize({}),
                        Serialize({{"s", {.strings = {"z"}}}, {"r", {.integers = {5}}}})};
  auto parsed = parser->ParseBatch(examples);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(List<int64_t>(parsed->sparse_indices[0]), (std::vector<int64_t>{0, 0, 0, 1, 2, 0}));
  EXPECT_EQ(List<S>(parsed->sparse_values[0]), (std::vector<S>{"x", "y", "z"}));
  EXPECT_EQ(List<int64_t>(parsed->sparse_shapes[0]), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(parsed->sparse_indices[1].shape(), Shape({0, 2}));
  EXPECT_EQ(List<int64_t>(parsed->ragged_values[0]), (std::vector<int64_t>{1, 300, 5}));
  EXPECT_EQ(List<int32_t>(parsed->ragged_splits[0]), (std::vector<int32_t>{0, 2, 2, 3}));

  auto single = parser->ParseSingle(examples[0]);
  ASSERT_TRUE(single.ok()) << single.status();
  EXPECT_EQ(single->sparse_indices[0].shape(), Shape({2, 1}));
  EXPECT_EQ(List<int64_t>(single->sparse_shapes[0]), (std::vector<int64_t>{2}));
  EXPECT_EQ(single->ragged_splits[0].shape(), Shape({0}));
}

TEST(ExampleParser, TheLastOfEqualKeysCountsAndUnpackedNumbersAreRead) {
  auto parser = Parser({.sparse = {{"a", DType::kFloat}, {"b", DType::kInt64}}});
  // b: two values one by one, then one packed.
  const S unpacked(
      "\n\x10\n\x0e\n\x01"
      "b\x12\x09\x1a\x07\x08\x05\x08\x06\n\x01\x07",
      18);
  const S twice = Serialize({{"a", {.floats = {1}}}}) + Serialize({{"a", {.floats = {2}}}}) + unpacked;
  auto parsed = parser->ParseBatch(std::span(&twice, 1));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(List<float>(parsed->sparse_values[0]), (std::vector<float>{2}));
  EXPECT_EQ(List<int64_t>(parsed->sparse_values[1]), (std::vector<int64_t>{5, 6, 7}));
}

TEST(ExampleParser, ErrorsAreTensorFlows) {
  const S examples[] = {Serialize({{"a", {.floats = {1, 2}}}, {"b", {.integers = {3}}}})};
  const S names[] = {"first"};
  struct Row {
    ExampleSpec spec;
    S message;
  };
  const Row rows[] = {
      {{.dense = {{"z", DType::kFloat, {2}, kRequired}}},
       "Name: first, Feature: z (data type: float) is required but could not be found."},
      {{.dense = {{"b", DType::kFloat, {1}, kRequired}}},
       "Name: first, Key: b, Index: 0.  Data types don't match. Data type: int64 but expected type: float"},
      {{.sparse = {{"b", DType::kFloat}}},
       "Name: first, Key: b, Index: 0.  Data types don't match. Expected type: float, Actual type: int64"},
      {{.dense = {{"a", DType::kFloat, {3}, kRequired}}},
       "Name: first, Key: a, Index: 0.  Number of float values != expected.  Values size: 2 but output shape: [3]"},
      {{.dense = {{"a", DType::kFloat, {-1, 3}, Tensor::Scalar(0.0f)}}},
       "Name: first, Key: a, Index: 0.  Number of float values is not a multiple of stride length. Saw 2 values but "
       "output shape is: [?,3]"},
  };
  for (const Row& row : rows) {
    auto parsed = Parser(row.spec)->ParseBatch(examples, names);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(Message(parsed.status()), row.message);
  }
  EXPECT_EQ(Message(ExampleParser::Create({.dense = {{"a", DType::kFloat, {2, -1}, kRequired}}}).status()),
            "dense_shapes[0] has unknown rank or unknown inner dimensions: [2,?]");
  EXPECT_EQ(
      Message(ExampleParser::Create({.dense = {{"a", DType::kFloat, {3}, Tensor::Vector<float>({1, 2})}}}).status()),
      "def_value[0].shape() == [2] is not compatible with dense_shapes_[0] == [3]");
  EXPECT_FALSE(ExampleParser::Create({.sparse = {{"a", DType::kInt32}}}).ok());
}

S SequenceBytes() {
  SequenceExample example;
  (*example.mutable_context()->mutable_feature())["id"].mutable_int64_list()->add_value(5);
  FeatureList& tokens = (*example.mutable_feature_lists()->mutable_feature_list())["tokens"];
  for (int step = 0; step < 3; ++step) {
    Feature* feature = tokens.add_feature();
    for (int i = 0; i < 2 - step; ++i) feature->mutable_int64_list()->add_value(10 * step + i);
  }
  FeatureList& scores = (*example.mutable_feature_lists()->mutable_feature_list())["scores"];
  for (float score : {0.5f, 1.5f}) scores.add_feature()->mutable_float_list()->add_value(score);
  return example.SerializeAsString();
}

SequenceSpec FullSequenceSpec() {
  return {.context = {.sparse = {{"id", DType::kInt64}}},
          .dense = {{"scores", DType::kFloat, {1}, true}},
          .sparse = {{"tokens", DType::kInt64}},
          .ragged = {{"tokens", DType::kInt64, DType::kInt64}}};
}

TEST(SequenceExampleParser, ContextAndLists) {
  auto parser = SequenceExampleParser::Create(FullSequenceSpec());
  ASSERT_TRUE(parser.ok()) << parser.status();
  const S examples[] = {SequenceBytes(), S()};
  auto parsed = (*parser)->ParseBatch(examples);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(List<int64_t>(parsed->context.sparse_values[0]), (std::vector<int64_t>{5}));
  EXPECT_EQ(parsed->dense_values[0].shape(), Shape({2, 2, 1}));
  EXPECT_EQ(List<float>(parsed->dense_values[0]), (std::vector<float>{0.5, 1.5, 0, 0}));
  EXPECT_EQ(List<int64_t>(parsed->dense_lengths[0]), (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(List<int64_t>(parsed->sparse_indices[0]), (std::vector<int64_t>{0, 0, 0, 0, 0, 1, 0, 1, 0}));
  EXPECT_EQ(List<int64_t>(parsed->sparse_shapes[0]), (std::vector<int64_t>{2, 3, 2}));
  EXPECT_EQ(List<int64_t>(parsed->ragged_outer_splits[0]), (std::vector<int64_t>{0, 3, 3}));
  EXPECT_EQ(List<int64_t>(parsed->ragged_inner_splits[0]), (std::vector<int64_t>{0, 2, 3, 3}));
}

// Any prefix and any changed bit gives an answer or an error; sanitizers see to the rest.
TEST(ExampleParser, SurvivesDamage) {
  auto parser = Parser({.dense = {{"a", DType::kFloat, {2}, Tensor::Vector<float>({0, 0})},
                                  {"p", DType::kString, {-1}, Tensor::Scalar("")}},
                        .sparse = {{"s", DType::kString}, {"i", DType::kInt64}},
                        .ragged = {{"f", DType::kFloat, DType::kInt64}}});
  auto sequences = SequenceExampleParser::Create(FullSequenceSpec());
  const S good = Serialize({{"a", {.floats = {1, 2}}},
                            {"p", {.strings = {"x", "", "yy"}}},
                            {"s", {.strings = {"text"}}},
                            {"i", {.integers = {1, -1, INT64_MAX}}},
                            {"f", {.floats = {1, 2, 3}}}});
  int accepted = 0;
  auto check = [&](const S& bytes) {
    for (const auto& status : {parser->ParseBatch(std::span(&bytes, 1)).status(), parser->ParseSingle(bytes).status(),
                               (*sequences)->ParseBatch(std::span(&bytes, 1)).status(),
                               (*sequences)->ParseSingle(bytes, "", true).status()}) {
      accepted += status.ok();
      EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kInvalidArgument) << status;
    }
  };
  for (const S& whole : {good, SequenceBytes()}) {
    for (size_t length = 0; length <= whole.size(); ++length) check(whole.substr(0, length));
    for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      S bad = whole;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
      check(bad);
    }
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace weir
