// The C interface: load, run, free.
#include "weir/client/weir_c.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace {

using ::testing::HasSubstr;

const std::string kToy = std::string(WEIR_SOURCE_DIR) + "/tests/fixtures/serving/toy/1";

TEST(WeirCTest, RunsAModel) {
  char error[256] = "";
  weir_model* model = weir_load(kToy.c_str(), error, sizeof(error));
  ASSERT_NE(model, nullptr) << error;
  const int64_t dims[2] = {2, 1};
  const float values[2] = {1, 2};
  const weir_tensor x = {"x", WEIR_FLOAT, 2, dims, values, sizeof(values)};
  weir_outputs* outputs = weir_run(model, nullptr, &x, 1, error, sizeof(error));
  ASSERT_NE(outputs, nullptr) << error;
  ASSERT_EQ(weir_num_outputs(outputs), 1u);
  const weir_tensor* y = weir_output(outputs, 0);
  EXPECT_STREQ(y->name, "y");
  ASSERT_EQ(y->bytes, sizeof(values));
  EXPECT_EQ(static_cast<const float*>(y->data)[0], 2.5f);
  EXPECT_EQ(weir_output(outputs, 1), nullptr);
  weir_free_outputs(outputs);
  weir_free_model(model);
}

TEST(WeirCTest, SaysWhatIsWrong) {
  char error[64] = "";
  EXPECT_EQ(weir_load("/no/such/model", error, sizeof(error)), nullptr);
  EXPECT_NE(std::strlen(error), 0u);
  EXPECT_EQ(weir_load("/no/such/model", nullptr, 0), nullptr);
  weir_model* model = weir_load(kToy.c_str(), error, sizeof(error));
  ASSERT_NE(model, nullptr) << error;
  const int64_t dims[1] = {2};
  const float value = 1;
  const weir_tensor x = {"x", WEIR_FLOAT, 1, dims, &value, sizeof(value)};
  EXPECT_EQ(weir_run(model, nullptr, &x, 1, error, sizeof(error)), nullptr);
  EXPECT_THAT(error, HasSubstr("has 4 bytes, but its shape needs 8"));
  EXPECT_EQ(weir_run(model, "nope", nullptr, 0, error, sizeof(error)), nullptr);
  EXPECT_THAT(error, HasSubstr("nope"));
  weir_free_outputs(nullptr);
  weir_free_model(model);
  weir_free_model(nullptr);
}

}  // namespace
