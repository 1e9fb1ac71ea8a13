// Single kernels against values and errors that TensorFlow gave; tests/fixtures/make_op_goldens makes the table.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "weir/client/builtin_kernels.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

using Json = nlohmann::json;

double NumberOf(const Json& value) {
  if (value.is_string()) {  // JSON has no words for these
    const std::string text = value.get<std::string>();
    return text == "nan" ? NAN : text == "inf" ? INFINITY : -INFINITY;
  }
  return value.is_boolean() ? value.get<bool>() : value.get<double>();
}

template <typename T>
T ElementOf(const Json& values, size_t i) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    using R = typename T::value_type;
    return T(static_cast<R>(NumberOf(values[2 * i])), static_cast<R>(NumberOf(values[2 * i + 1])));
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return values[i].get<T>();
  } else if constexpr (requires { T{}.value; }) {
    return T{values[i].get<decltype(T{}.value)>()};
  } else {
    return static_cast<T>(
        static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(NumberOf(values[i])));
  }
}

Tensor TensorFrom(const Json& json) {
  const DType dtype = ParseDType(json["dtype"].get<std::string>()).value();
  const std::vector<int64_t> dims = json["shape"];
  Tensor out = Tensor::Allocate(dtype, Shape::Make(dims).value()).value();
  const Json& values = json["values"];
  if (dtype == DType::kString) {
    for (int64_t i = 0; i < out.num_elements(); ++i) {
      std::string bytes;
      for (int byte : values[i]) bytes.push_back(static_cast<char>(byte));
      out.data<std::string>()[i] = bytes;
    }
    return out;
  }
  const bool known = DispatchDType(dtype, NumberTypes{} + TypeList<bool>{} + QuantizedTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < out.num_elements(); ++i) out.data<T>()[i] = ElementOf<T>(values, static_cast<size_t>(i));
  });
  EXPECT_TRUE(known) << json["dtype"];
  return out;
}

Attribute AttributeFrom(const Json& json) {
  if (json.contains("type")) return Attribute(ParseDType(json["type"].get<std::string>()).value());
  if (json.contains("shape")) {
    const std::vector<int64_t> dims = json["shape"];
    return Attribute(PartialShape::Make(dims).value());
  }
  if (json.contains("b")) return Attribute(json["b"].get<bool>());
  if (json.contains("i")) return Attribute(json["i"].get<int64_t>());
  if (json.contains("f")) return Attribute(json["f"].get<float>());
  if (json.contains("s")) return Attribute(json["s"].get<std::string>());
  AttrList list;
  if (json.contains("is")) list.i = json["is"].get<std::vector<int64_t>>();
  if (json.contains("fs")) list.f = json["fs"].get<std::vector<float>>();
  return Attribute(list);
}

void Compare(const Tensor& actual, const Tensor& expected, double tolerance) {
  const bool is_inexact = IsFloating(expected.dtype()) || IsComplex(expected.dtype());
  if (is_inexact) {
    ExpectTensorNear(actual, expected, tolerance, tolerance);
  } else {
    ExpectTensorEqual(actual, expected);
  }
}

void RunCase(KernelRunner& run, const Json& row) {
  KernelCall call = run(row["op"].get<std::string>());
  for (const auto& [name, value] : row["attrs"].items()) call.Attr(name, AttributeFrom(value));
  for (const Json& input : row["inputs"]) call.Input(TensorFrom(input));
  auto outputs = call.Run();
  if (row.contains("error")) {
    EXPECT_EQ(static_cast<int>(outputs.status().code()), row["error"]["code"].get<int>()) << outputs.status();
    const std::string message = row["error"].value("message", "");
    EXPECT_NE(Message(outputs.status()).find(message), std::string::npos)
        << outputs.status() << "\nexpected: " << message;
    return;
  }
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), row["outputs"].size());
  for (size_t i = 0; i < outputs->size(); ++i) {
    SCOPED_TRACE(Cat("output ", i));
    const Json& expected = row["outputs"][i];
    if (!expected.is_null()) Compare((*outputs)[i], TensorFrom(expected), row.value("tolerance", 1e-5));
  }
}

TEST(OpGoldens, AgreeWithTensorFlow) {
  std::ifstream file(std::string(WEIR_SOURCE_DIR) + "/tests/fixtures/op_goldens.jsonl");
  ASSERT_TRUE(file.good());
  KernelRunner run({RegisterBuiltinKernels});
  int rows = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    const Json row = Json::parse(line);
    SCOPED_TRACE(Cat("row ", rows + 1, ": ", row["name"].get<std::string>()));
    RunCase(run, row);
  }
  EXPECT_GT(rows, 100);
}

}  // namespace
}  // namespace weir
