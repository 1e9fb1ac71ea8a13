// JSON, HTTP and configuration files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/serving/config.h"
#include "weir/serving/http_server.h"
#include "weir/serving/json_tensors.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Signature Takes(std::map<std::string, DType> inputs) {
  Signature out;
  for (const auto& [name, dtype] : inputs) out.inputs[name] = {name + ":0", dtype, PartialShape()};
  return out;
}

TEST(JsonTensorsTest, RowsOfOneInput) {
  StatusOr<NamedTensors> read = ReadInstances("[[1, 2.5], [NaN, -Infinity]]", Takes({{"x", DType::kFloat}}));
  ASSERT_TRUE(read.ok()) << read.status();
  const Tensor& x = (*read)[0].second;
  EXPECT_EQ(x.shape().ToString(), "[2,2]");
  EXPECT_EQ(x.data<float>()[1], 2.5f);
  EXPECT_NE(x.data<float>()[2], x.data<float>()[2]);
  EXPECT_LT(x.data<float>()[3], 0);
}

TEST(JsonTensorsTest, NamedRowsAndBytes) {
  StatusOr<NamedTensors> read = ReadInstances(R"([{"s": "a\u00e9", "b": {"b64": "AP8="}}, {"b": "", "s": "c"}])",
                                              Takes({{"s", DType::kString}, {"b", DType::kString}}));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)[0].second.data<std::string>()[0], std::string("\0\xff", 2));
  EXPECT_EQ((*read)[1].second.data<std::string>()[0], "a\xc3\xa9");
}

TEST(JsonTensorsTest, RefusesWhatDoesNotFit) {
  const Signature x = Takes({{"x", DType::kFloat}}), i = Takes({{"i", DType::kInt32}});
  EXPECT_THAT(ReadInstances("[[1], [1, 2]]", x).status().message(), HasSubstr("irregular shape"));
  EXPECT_THAT(ReadInstances("[1, [2]]", x).status().message(), HasSubstr("irregular shape"));
  for (const char* bad : {"[1.0]", "[2147483648]", "[true]", "[\"a\"]", "[null]", "[]", "{}", "1"}) {
    EXPECT_EQ(ReadInstances(bad, i).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_EQ(ReadInputs("1", Takes({{"h", DType::kHalf}})).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_FALSE(ReadInputs(std::string(1000, '[') + std::string(1000, ']'), x).ok());
}

TEST(JsonTensorsTest, WritesShortestFloatsAndBytesByName) {
  NamedTensors outputs = {{"a_bytes", Tensor::Vector<std::string>({"\x01"})}, {"y", Tensor::Vector<float>({0.1f})}};
  std::string text;
  ASSERT_TRUE(WritePredictions(outputs, &text).ok());
  EXPECT_THAT(text, HasSubstr("\"a_bytes\": {\"b64\": \"AQ==\"}"));
  EXPECT_THAT(text, HasSubstr("\"y\": 0.1"));
  text.clear();
  ASSERT_TRUE(WriteOutputs({{"y", Tensor::Vector<float>({2, -3.5f})}}, &text).ok());
  EXPECT_THAT(text, HasSubstr("\"outputs\": [2.0, -3.5]"));
}

TEST(HttpParserTest, TakesWholeRequestsOnly) {
  HttpParser parser(1024, 100);
  std::string bytes = "POST /v1/models/m:predict?x=1 HTTP/1.1\r\nContent-Length: 3\r\n\r\nab";
  HttpRequest request;
  EXPECT_EQ(*parser.Take(&bytes, &request), false);
  bytes += "cGET / HTTP/1.0\r\n\r\n";
  ASSERT_EQ(*parser.Take(&bytes, &request), true);
  EXPECT_EQ(request.path, "/v1/models/m:predict");
  EXPECT_EQ(request.body, "abc");
  EXPECT_TRUE(request.keep_alive);
  ASSERT_EQ(*parser.Take(&bytes, &request), true);
  EXPECT_FALSE(request.keep_alive);
  EXPECT_TRUE(bytes.empty());
}

TEST(HttpParserTest, ChunksAndLimits) {
  HttpParser parser(100, 10);
  HttpRequest request;
  std::string chunks = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  ASSERT_EQ(*parser.Take(&chunks, &request), true);
  EXPECT_EQ(request.body, "abcde");
  std::string large = "POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\n";
  EXPECT_EQ(parser.Take(&large, &request).status().code(), absl::StatusCode::kResourceExhausted);
  std::string head(200, 'a');
  EXPECT_EQ(parser.Take(&head, &request).status().code(), absl::StatusCode::kResourceExhausted);
  for (std::string bad :
       {"nonsense\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"}) {
    EXPECT_EQ(parser.Take(&bad, &request).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(ConfigTest, ModelsPoliciesAndLabels) {
  StatusOr<std::vector<ModelSettings>> models = ParseModelConfig(R"(model_config_list {
    config { name: "a" base_path: "/a" model_platform: "tensorflow"
             model_version_policy { specific { versions: 1 versions: 3 } } version_labels { key: "stable" value: 1 } }
    config { name: "b" base_path: "/b" model_version_policy { latest { num_versions: 2 } } } })");
  ASSERT_TRUE(models.ok()) << models.status();
  EXPECT_THAT((*models)[0].policy.versions, ElementsAre(1, 3));
  EXPECT_EQ((*models)[0].labels["stable"], 1);
  EXPECT_EQ((*models)[1].policy.count, 2);
  EXPECT_FALSE(ParseModelConfig("model_config_list { config { name: 'a' } }").ok());
  EXPECT_FALSE(ParseModelConfig("nonsense").ok());
}

TEST(ConfigTest, BatchingParameters) {
  StatusOr<BatchingFile> file = ParseBatchingParameters(
      "max_batch_size { value: 8 } batch_timeout_micros { value: 300 } allowed_batch_sizes: 4 allowed_batch_sizes: 8");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->rules.max_batch_size, 8);
  EXPECT_EQ(file->rules.timeout, absl::Microseconds(300));
  EXPECT_FALSE(ParseBatchingParameters("max_batch_size { value: 8 } allowed_batch_sizes: 4").ok());
}

}  // namespace
}  // namespace weir
