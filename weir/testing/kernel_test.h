// For tests of a family's kernels: what a call gives, or how it fails.
#ifndef WEIR_TESTING_KERNEL_TEST_H_
#define WEIR_TESTING_KERNEL_TEST_H_

#include <gtest/gtest.h>

#include <string_view>

#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {

class KernelTest : public ::testing::Test {
 protected:
  void Expect(KernelCall call, const Tensor& expected, int output = 0) {
    auto out = call.Run();
    ASSERT_TRUE(out.ok()) << out.status();
    ExpectTensorEqual((*out)[output], expected);
  }
  void ExpectError(KernelCall call, std::string_view message,
                   absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
    Status status = call.Run().status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_EQ(Message(status), message);
  }
};

}  // namespace weir

#endif  // WEIR_TESTING_KERNEL_TEST_H_
