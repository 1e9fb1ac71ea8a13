#include <gtest/gtest.h>

#include "tests/cuda/gpu_fixture.h"

namespace weir::gpu_testing {
namespace {

const std::vector<DType> kProductTypes = {DType::kFloat,    DType::kDouble,    DType::kHalf,
                                          DType::kBFloat16, DType::kComplex64, DType::kComplex128};

AttrList Strings(std::vector<std::string> values) {
  AttrList list;
  list.s = std::move(values);
  return list;
}

TEST(GpuMatMul, AgreesWithTheHostForAllTypesAndTranspositions) {
  for (DType dtype : kProductTypes) {
    for (int flags = 0; flags < 4; ++flags) {
      const bool a = flags & 1, b = flags & 2;
      ExpectAgree("MatMul",
                  {Random(dtype, a ? std::vector<int64_t>{3, 2} : std::vector<int64_t>{2, 3}),
                   Random(dtype, b ? std::vector<int64_t>{5, 3} : std::vector<int64_t>{3, 5}, 2)},
                  {{"transpose_a", a}, {"transpose_b", b}});
    }
  }
}

TEST(GpuMatMul, EmptyAndIllFormedOperandsAreLikeOnTheHost) {
  ExpectAgree("MatMul", {Random(DType::kFloat, {2, 0}), Random(DType::kFloat, {0, 3})});
  ExpectAgree("MatMul", {Random(DType::kFloat, {0, 2}), Random(DType::kFloat, {2, 3})});
  ExpectAgree("MatMul", {Random(DType::kFloat, {2, 3}), Random(DType::kFloat, {2, 3})});
  ExpectAgree("MatMul", {Random(DType::kFloat, {2, 3, 1}), Random(DType::kFloat, {2, 3})});
}

TEST(GpuMatMul, BatchesBroadcastAndAreConjugated) {
  for (DType dtype : kProductTypes) {
    ExpectAgree("BatchMatMulV2", {Random(dtype, {2, 1, 3, 2}), Random(dtype, {4, 3, 5}, 2)}, {{"adj_x", true}});
    ExpectAgree("BatchMatMulV2", {Random(dtype, {2, 4, 2, 3}), Random(dtype, {5, 3}, 2)}, {{"adj_y", true}});
    ExpectAgree("BatchMatMul", {Random(dtype, {2, 2, 3}), Random(dtype, {2, 3, 2}, 2)});
    ExpectAgree("BatchMatMulV3", {Random(dtype, {2, 2, 3}), Random(dtype, {1, 3, 2}, 2)}, {{"Tout", dtype}});
  }
  ExpectAgree("BatchMatMul", {Random(DType::kFloat, {2, 2, 3}), Random(DType::kFloat, {1, 3, 2}, 2)});  // an error
  ExpectAgree("BatchMatMulV2", {Random(DType::kFloat, {0, 2, 3}), Random(DType::kFloat, {1, 3, 2}, 2)});
}

TEST(GpuMatMul, FusedProductsAgreeWithTheHost) {
  const Tensor a = Random(DType::kFloat, {4, 3}), b = Random(DType::kFloat, {3, 8}, 2),
               bias = Random(DType::kFloat, {8}, 3);
  for (const char* activation : {"", "Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu"}) {
    std::vector<std::string> ops = {"BiasAdd"};
    if (*activation != '\0') ops.push_back(activation);
    ExpectAgree("_FusedMatMul", {a, b, bias}, {{"fused_ops", Strings(ops)}, {"num_args", int64_t{1}}});
  }
  const Attrs constant = {
      {"fused_ops", Strings({"BiasAdd", "Relu"})}, {"num_args", int64_t{1}}, {"_constant_weights", true}};
  ExpectAgree("_FusedMatMul", {a, b, bias}, constant);
  const Attrs sum = {{"fused_ops", Strings({"BiasAdd", "Add", "Relu"})}, {"num_args", int64_t{2}}};
  ExpectAgree("_FusedMatMul", {a, b, bias, Random(DType::kFloat, {4, 8}, 4)}, sum);
  ExpectAgree("_FusedMatMul", {a, b, bias, Random(DType::kFloat, {2, 1, 8}, 4)}, sum);
  ExpectAgree("_FusedMatMul", {a, b, Random(DType::kFloat, {7}, 3)},
              {{"fused_ops", Strings({"BiasAdd"})}, {"num_args", int64_t{1}}});
}

TEST(GpuMatMul, ProductsOfViewsAgreeWithTheHost) {
  auto ints = [](std::vector<int64_t> values) {
    AttrList list;
    list.i = std::move(values);
    return list;
  };
  struct Case {
    std::vector<int64_t> x, y;  // shapes
    std::vector<int64_t> perm_x, perm_y, perm_output;
    bool adj_x, adj_y;
    int64_t slice_x = -1;
  };
  // As attention uses them: heads beside each other, results back in order; then odd ones.
  const Case cases[] = {
      {{2, 3, 4, 5}, {2, 6, 4, 5}, {0, 2, 1, 3}, {0, 2, 1, 3}, {0, 1, 2, 3}, false, true},
      {{2, 4, 3, 6}, {2, 6, 4, 5}, {0, 1, 2, 3}, {0, 2, 1, 3}, {0, 2, 1, 3}, false, false},
      {{2, 4, 3, 6}, {2, 6, 4, 5}, {0, 1, 2, 3}, {0, 2, 1, 3}, {0, 1, 3, 2}, false, false},
      {{3, 2, 4}, {2, 4, 5}, {1, 0, 2}, {0, 1, 2}, {2, 1, 0}, false, false},
      {{5, 3, 2}, {5, 3, 4}, {1, 2, 0}, {1, 2, 0}, {0, 1, 2}, false, true},
      {{2, 3, 4}, {4, 5}, {0, 1, 2}, {0, 1}, {1, 0}, false, false, 1},
  };
  for (const Case& c : cases) {
    ExpectAgree("_BatchMatMulOfViews", {Random(DType::kFloat, c.x), Random(DType::kFloat, c.y, 2)},
                {{"perm_x", ints(c.perm_x)},
                 {"perm_y", ints(c.perm_y)},
                 {"perm_output", ints(c.perm_output)},
                 {"adj_x", c.adj_x},
                 {"adj_y", c.adj_y},
                 {"slice_x", c.slice_x}});
  }
}

TEST(GpuMatMul, SparseProductsAgreeWithTheHost) {
  for (DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kComplex64}) {
    for (DType index : {DType::kInt32, DType::kInt64}) {
      const std::vector<int32_t> places = {0, 1, 2, 0, 2, 3, 0, 1};
      Tensor indices = Tensor::FromSpan<int32_t>(places, Shape({4, 2}));
      if (index == DType::kInt64) indices = RunOn("/device:CPU:0", "Cast", {indices}, {{"DstT", index}}).value()[0];
      const Tensor values = Random(dtype, {4}), shape = Tensor::Vector<int64_t>({3, 4});
      ExpectAgree("SparseTensorDenseMatMul", {indices, values, shape, Random(dtype, {4, 5}, 2)}, {}, 1e-3);
      ExpectAgree("SparseTensorDenseMatMul", {indices, values, shape, Random(dtype, {5, 3}, 2)},
                  {{"adjoint_a", true}, {"adjoint_b", true}}, 1e-3);
    }
  }
  const Tensor outside = Tensor::FromSpan<int64_t>(std::vector<int64_t>{3, 0}, Shape({1, 2}));
  ExpectAgree("SparseTensorDenseMatMul",
              {outside, Random(DType::kFloat, {1}), Tensor::Vector<int64_t>({3, 4}), Random(DType::kFloat, {4, 5})});
}

TEST(GpuMatMul, TopKAgreesWithTheHost) {
  const Tensor k = Tensor::Scalar<int32_t>(3);
  for (DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kInt8, DType::kUInt16, DType::kInt64}) {
    ExpectAgree("TopKV2", {Random(dtype, {2, 3, 10}), k});
  }
  ExpectAgree("TopKV2", {Random(DType::kFloat, {2, 5000}), k});
  ExpectAgree("TopKV2", {Random(DType::kFloat, {2, 2100}), Tensor::Scalar<int32_t>(1500)});
  ExpectAgree("TopKV2", {Random(DType::kFloat, {3}), Tensor::Scalar<int32_t>(4)});  // an error
  ExpectAgree("TopK", {Random(DType::kFloat, {4, 6})}, {{"k", int64_t{0}}});
}

}  // namespace
}  // namespace weir::gpu_testing
