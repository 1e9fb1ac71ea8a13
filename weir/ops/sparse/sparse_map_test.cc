// Sparse tensors that are kept between steps, and ragged tensors as variants.
#include <gtest/gtest.h>

#include "weir/ops/sparse/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

class SparseMap : public ::testing::Test {
 protected:
  KernelCall Add(const char* op, Tensor indices, Tensor values, Tensor shape) {
    return run(op).Inputs({std::move(indices), std::move(values), std::move(shape)}).Attr("shared_name", "map");
  }
  KernelCall Take(Tensor handles, DType dtype = DType::kFloat) {
    return run("TakeManySparseFromTensorsMap")
        .Input(std::move(handles))
        .Attr("dtype", dtype)
        .Attr("shared_name", "map");
  }
  KernelRunner run{{RegisterSparseKernels}};
};

TEST_F(SparseMap, GivesBackWhatItKeepsOnce) {
  auto handles = Add("AddManySparseToTensorsMap", TensorOf<int64_t>({3, 2}, {0, 0, 0, 2, 2, 1}),
                     Tensor::Vector<float>({1, 2, 3}), Tensor::Vector<int64_t>({3, 4}))
                     .Run();
  ASSERT_TRUE(handles.ok()) << handles.status();
  ExpectTensorEqual((*handles)[0], Tensor::Vector<int64_t>({0, 1, 2}));
  auto taken = Take((*handles)[0]).Run();
  ASSERT_TRUE(taken.ok()) << taken.status();
  ExpectTensorEqual((*taken)[0], TensorOf<int64_t>({3, 2}, {0, 0, 0, 2, 2, 1}));
  ExpectTensorEqual((*taken)[1], Tensor::Vector<float>({1, 2, 3}));
  ExpectTensorEqual((*taken)[2], Tensor::Vector<int64_t>({3, 4}));
  EXPECT_EQ(Take((*handles)[0]).Run().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SparseMap, RefusesWhatDoesNotGoTogether) {
  auto one = Add("AddSparseToTensorsMap", TensorOf<int64_t>({1, 1}, {0}), Tensor::Vector<float>({1}),
                 Tensor::Vector<int64_t>({3}))
                 .Run();
  auto two = Add("AddSparseToTensorsMap", TensorOf<int64_t>({1, 2}, {0, 0}), Tensor::Vector<float>({1}),
                 Tensor::Vector<int64_t>({3, 3}))
                 .Run();
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_FALSE(Take((*one)[0]).Run().ok()) << "a scalar";
  const Tensor both = Tensor::Vector<int64_t>({(*one)[0].scalar<int64_t>(), (*two)[0].scalar<int64_t>()});
  EXPECT_EQ(Message(Take(both).Run().status()),
            "Inconsistent rank across SparseTensors: rank prior to SparseTensor[1] was: 1 but rank of SparseTensor[1] "
            "is: 2");
  EXPECT_FALSE(Add("AddManySparseToTensorsMap", TensorOf<int64_t>({0, 2}, {}), Tensor::Vector<float>({}),
                   Tensor::Vector<int64_t>({INT64_MAX / 2, 1}))
                   .Run()
                   .ok())
      << "a batch that no memory holds";
}

TEST(RaggedVariant, GoesThereAndBack) {
  KernelRunner run({RegisterSparseKernels});
  const Tensor outer = Tensor::Vector<int64_t>({0, 2, 3}), inner = Tensor::Vector<int64_t>({0, 1, 3, 4});
  const Tensor values = Tensor::Vector<float>({1, 2, 3, 4});
  for (bool batched : {true, false}) {
    auto encoded = run("RaggedTensorToVariant").Inputs({outer, inner, values}).Attr("batched_input", batched).Run();
    ASSERT_TRUE(encoded.ok()) << encoded.status();
    EXPECT_EQ((*encoded)[0].rank(), batched ? 1 : 0);
    auto decoded = run("RaggedTensorFromVariant")
                       .Input((*encoded)[0])
                       .Attr("input_ragged_rank", int64_t{-1})
                       .Attr("output_ragged_rank", int64_t{2})
                       .Attr("Tvalues", DType::kFloat)
                       .Run();
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    ExpectTensorEqual((*decoded)[0], outer);
    ExpectTensorEqual((*decoded)[1], inner);
    ExpectTensorEqual((*decoded)[2], values);
  }
  const Tensor bad = Tensor::Vector<int64_t>({0, 9});
  EXPECT_EQ(run("RaggedTensorToVariant").Inputs({bad, values}).Attr("batched_input", true).Run().status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(RaggedVariant, GradientsOfRowsAreJoined) {
  KernelRunner run({RegisterSparseKernels});
  const Tensor splits = Tensor::Vector<int64_t>({0, 2, 3}), values = Tensor::Vector<float>({1, 2, 3});
  auto rows = run("RaggedTensorToVariant").Inputs({splits, values}).Attr("batched_input", true).Run();
  ASSERT_TRUE(rows.ok()) << rows.status();
  auto joined = run("RaggedTensorToVariantGradient")
                    .Inputs({(*rows)[0], splits, Tensor::Vector<int32_t>({3})})
                    .Attr("Tvalues", DType::kFloat)
                    .Run();
  ASSERT_TRUE(joined.ok()) << joined.status();
  ExpectTensorEqual((*joined)[0], values);
}

TEST(CsrMatrix, OfABatchGoesThereAndBack) {
  KernelRunner run({RegisterSparseKernels});
  const Tensor indices = TensorOf<int64_t>({3, 3}, {0, 0, 2, 0, 1, 0, 1, 1, 1});
  const Tensor values = Tensor::Vector<float>({1, 2, 3}), shape = Tensor::Vector<int64_t>({2, 2, 3});
  auto matrix = run("SparseTensorToCSRSparseMatrix").Inputs({indices, values, shape}).Run();
  ASSERT_TRUE(matrix.ok()) << matrix.status();
  auto dense = run("CSRSparseMatrixToDense").Input((*matrix)[0]).Attr("type", DType::kFloat).Run();
  ASSERT_TRUE(dense.ok()) << dense.status();
  ExpectTensorEqual((*dense)[0], TensorOf<float>({2, 2, 3}, {0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 3, 0}));
  auto sparse = run("CSRSparseMatrixToSparseTensor").Input((*matrix)[0]).Attr("type", DType::kFloat).Run();
  ASSERT_TRUE(sparse.ok()) << sparse.status();
  ExpectTensorEqual((*sparse)[0], indices);
  ExpectTensorEqual((*sparse)[1], values);
  EXPECT_FALSE(run("CSRSparseMatrixToDense").Input((*matrix)[0]).Attr("type", DType::kDouble).Run().ok());
  const Tensor unordered = TensorOf<int64_t>({3, 3}, {0, 1, 0, 0, 0, 2, 1, 1, 1});
  EXPECT_FALSE(run("SparseTensorToCSRSparseMatrix").Inputs({unordered, values, shape}).Run().ok());
}

}  // namespace
}  // namespace weir
