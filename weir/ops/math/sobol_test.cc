#include <gtest/gtest.h>

#include "weir/base/fingerprint.h"
#include "weir/ops/math/register.h"
#include "weir/ops/math/sobol_directions.h"
#include "weir/testing/kernel_runner.h"

namespace weir {
namespace {

TEST(SobolSample, PolynomialsArePrimitive) {
  EXPECT_EQ(PrimitivePolynomials(1), std::vector<uint32_t>({0b11}));
  EXPECT_EQ(PrimitivePolynomials(3), std::vector<uint32_t>({0b1011, 0b1101}));
  EXPECT_EQ(PrimitivePolynomials(4), std::vector<uint32_t>({0b10011, 0b11001}));
  EXPECT_EQ(PrimitivePolynomials(17).size(), 7710u);
}

// Fingerprints of the points that TensorFlow gives.
TEST(SobolSample, EveryDimensionIsTensorFlows) {
  KernelRunner run({RegisterMathKernels});
  struct Row {
    int32_t skip;
    uint64_t fingerprint;
  };
  for (const Row& row : {Row{0, 16278901884905082660u}, Row{123456, 15959876084051460066u},
                         Row{0x15555555, 12009334096131176935u}, Row{(1 << 29) - 5, 16214178149589263654u}}) {
    auto out = run("SobolSample")
                   .Attr("dtype", DType::kDouble)
                   .Input(Tensor::Scalar<int32_t>(kMaxSobolDimensions))
                   .Input(Tensor::Scalar<int32_t>(3))
                   .Input(Tensor::Scalar<int32_t>(row.skip))
                   .Run();
    ASSERT_TRUE(out.ok()) << out.status();
    const Tensor& points = (*out)[0];
    const std::string_view bytes(static_cast<const char*>(points.raw_data()), points.num_bytes());
    EXPECT_EQ(Fingerprint64(bytes), row.fingerprint) << row.skip;
  }
}

}  // namespace
}  // namespace weir
