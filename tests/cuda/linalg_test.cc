#include <gtest/gtest.h>

#include <cmath>

#include "tests/cuda/gpu_fixture.h"
#include "weir/testing/tensor_matchers.h"

namespace weir::gpu_testing {
namespace {

const std::vector<DType> kSolverTypes = {DType::kFloat, DType::kDouble, DType::kComplex64, DType::kComplex128};
double ToleranceOf(DType dtype) { return dtype == DType::kDouble || dtype == DType::kComplex128 ? 1e-9 : 1e-3; }

Tensor OnHost(const std::string& op, const std::vector<Tensor>& inputs, const Attrs& attrs = {}) {
  StatusOr<std::vector<Tensor>> outputs = RunOn("/device:CPU:0", op, inputs, attrs);
  EXPECT_TRUE(outputs.ok()) << op << ": " << outputs.status();
  return (*outputs)[0];
}

DType RealPart(DType dtype) { return dtype == DType::kComplex64 ? DType::kFloat : DType::kDouble; }

Tensor Matrix(int64_t rows, int64_t columns, const std::vector<float>& values) {
  return Tensor::FromSpan<float>(values, Shape({rows, columns}));
}

TEST(GpuLinalg, CholeskyAgreesWithTheHost) {
  for (DType dtype : kSolverTypes) {
    const Tensor a = Random(dtype, {3, 4, 5});
    const Tensor definite = OnHost("BatchMatMulV2", {a, a}, {{"adj_y", true}});
    ExpectAgree("Cholesky", {definite}, {}, 10 * ToleranceOf(dtype));
    ExpectAgree(
        "Cholesky",
        {OnHost("Reshape",
                {OnHost("Slice", {definite, Tensor::Vector<int32_t>({0, 0, 0}), Tensor::Vector<int32_t>({1, 4, 4})}),
                 Tensor::Vector<int32_t>({4, 4})})},
        {}, 10 * ToleranceOf(dtype));
  }
  ExpectAgree("Cholesky", {Matrix(2, 2, {1, 2, 2, 1})});     // NaN
  ExpectAgree("Cholesky", {Random(DType::kFloat, {2, 3})});  // an error
  ExpectAgree("Cholesky", {Random(DType::kFloat, {0, 3, 3})});
}

// The diagonal of a matrix that has a factor is real: what else is written there does not count.
TEST(GpuLinalg, CholeskyTakesTheDiagonalAsReal) {
  for (DType dtype : {DType::kComplex64, DType::kComplex128}) {
    for (const auto& dims : {std::vector<int64_t>{3, 1, 1}, std::vector<int64_t>{1, 1}}) {
      const Tensor real = RandomPositive(RealPart(dtype), dims), imaginary = Random(RealPart(dtype), dims, 2);
      ExpectAgree("Cholesky", {OnHost("Complex", {real, imaginary}, {{"Tout", dtype}})});
    }
    const Tensor a = Random(dtype, {2, 3, 3}), unit = Random(RealPart(dtype), {2, 3}, 3);
    const Tensor definite = OnHost("BatchMatMulV2", {a, a}, {{"adj_y", true}});
    const Tensor zeros = OnHost("ZerosLike", {unit});
    const Tensor turned = OnHost("MatrixDiag", {OnHost("Complex", {zeros, unit}, {{"Tout", dtype}})});
    ExpectAgree("Cholesky", {OnHost("AddV2", {definite, turned})}, {}, 10 * ToleranceOf(dtype));
  }
}

TEST(GpuLinalg, LuFactorsInversesSolutionsAndDeterminantsAgree) {
  for (DType dtype : kSolverTypes) {
    const Tensor a = Random(dtype, {2, 4, 4}), rhs = Random(dtype, {2, 4, 3}, 2);
    ExpectAgree("Lu", {a}, {{"output_idx_type", DType::kInt64}}, 10 * ToleranceOf(dtype));
    ExpectAgree("MatrixDeterminant", {a}, {}, 10 * ToleranceOf(dtype));
    ExpectAgree("LogMatrixDeterminant", {a}, {}, 10 * ToleranceOf(dtype));
    for (bool adjoint : {false, true}) {
      ExpectAgree("MatrixInverse", {a}, {{"adjoint", adjoint}}, 10 * ToleranceOf(dtype));
      ExpectAgree("MatrixSolve", {a, rhs}, {{"adjoint", adjoint}}, 10 * ToleranceOf(dtype));
    }
  }
  const Tensor singular = Matrix(2, 2, {1, 2, 2, 4});
  ExpectAgree("MatrixInverse", {singular});  // an error
  ExpectAgree("MatrixSolve", {singular, singular});
  ExpectAgree("MatrixDeterminant", {singular});
  ExpectAgree("MatrixDeterminant", {Random(DType::kFloat, {2, 0, 0})});
}

TEST(GpuLinalg, TriangularAndTridiagonalSystemsAgree) {
  for (DType dtype : kSolverTypes) {
    for (int flags = 0; flags < 4; ++flags) {
      ExpectAgree("MatrixTriangularSolve", {RandomPositive(dtype, {2, 1, 5, 5}), Random(dtype, {3, 5, 2}, 2)},
                  {{"lower", (flags & 1) != 0}, {"adjoint", (flags & 2) != 0}}, 10 * ToleranceOf(dtype));
    }
    const Tensor diagonals = Random(dtype, {3, 3, 6}), rhs = Random(dtype, {3, 6, 2}, 2);
    ExpectAgree("TridiagonalSolve", {diagonals, rhs}, {}, 10 * ToleranceOf(dtype));
    ExpectAgree("TridiagonalSolve", {diagonals, rhs}, {{"partial_pivoting", false}}, 100 * ToleranceOf(dtype));
    ExpectAgree("TridiagonalSolve", {diagonals, rhs}, {{"perturb_singular", true}}, 10 * ToleranceOf(dtype));
    ExpectAgree("TridiagonalMatMul", {Random(dtype, {2, 1, 4}), Random(dtype, {2, 1, 4}, 2),
                                      Random(dtype, {2, 1, 4}, 3), Random(dtype, {2, 4, 3}, 4)});
  }
}

TEST(GpuLinalg, EigenvaluesAgreeAndVectorsBelongToThem) {
  for (DType dtype : kSolverTypes) {
    const Tensor a = Random(dtype, {2, 4, 4});
    const Tensor symmetric = OnHost("BatchMatMulV2", {a, a}, {{"adj_y", true}});
    ExpectAgree("SelfAdjointEigV2", {symmetric}, {{"compute_v", false}}, ToleranceOf(dtype));
    StatusOr<std::vector<Tensor>> pair = RunOn("/device:GPU:0", "SelfAdjointEigV2", {symmetric}, {});
    ASSERT_TRUE(pair.ok()) << pair.status();
    // a v = v diag(e)
    const Tensor left = OnHost("BatchMatMulV2", {symmetric, (*pair)[1]});
    const Tensor right = OnHost("BatchMatMulV2", {(*pair)[1], OnHost("MatrixDiag", {(*pair)[0]})});
    ExpectTensorNear(left, right, 10 * ToleranceOf(dtype), 10 * ToleranceOf(dtype));
  }
}

TEST(GpuLinalg, SingularValuesAgreeAndFactorsGiveTheMatrixBack) {
  for (DType dtype : {DType::kFloat, DType::kDouble}) {
    for (const auto& dims :
         {std::vector<int64_t>{2, 3, 5}, std::vector<int64_t>{2, 5, 3}, std::vector<int64_t>{4, 4}}) {
      const Tensor a = Random(dtype, dims);
      ExpectAgree("Svd", {a}, {{"compute_uv", false}}, ToleranceOf(dtype));
      for (bool full : {false, true}) {
        StatusOr<std::vector<Tensor>> svd = RunOn("/device:GPU:0", "Svd", {a}, {{"full_matrices", full}});
        ASSERT_TRUE(svd.ok()) << svd.status();
        StatusOr<std::vector<Tensor>> host = RunOn("/device:CPU:0", "Svd", {a}, {{"full_matrices", full}});
        for (int i = 0; i < 3; ++i) EXPECT_EQ((*svd)[i].shape(), (*host)[i].shape());
        if (full) continue;
        const Tensor scaled = OnHost("BatchMatMulV2", {(*svd)[1], OnHost("MatrixDiag", {(*svd)[0]})});
        const Tensor back = OnHost("BatchMatMulV2", {scaled, (*svd)[2]}, {{"adj_y", true}});
        ExpectTensorNear(back, a, ToleranceOf(dtype), ToleranceOf(dtype));
      }
    }
  }
  ExpectAgree("Svd", {Matrix(1, 2, {1, NAN})});
  ExpectAgree("Svd", {Random(DType::kFloat, {2, 0})}, {{"full_matrices", true}});
}

TEST(GpuLinalg, EinsumsAgree) {
  for (DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kComplex64}) {
    const Tensor a = Random(dtype, {2, 3, 4}), b = Random(dtype, {2, 4, 5}, 2);
    const double tolerance = dtype == DType::kHalf ? 1e-2 : 1e-4;
    for (const char* equation : {"bij,bjk->bik", "bij,bjk->kb", "bij,bjk->ikb", "bij,ckj->ik"}) {
      if (std::string(equation) == "bij,ckj->ik") {
        ExpectAgree("Einsum", {a, Random(dtype, {3, 5, 4}, 2)}, {{"equation", equation}}, tolerance);
      } else {
        ExpectAgree("Einsum", {a, b}, {{"equation", equation}}, tolerance);
      }
    }
    ExpectAgree("Einsum", {a}, {{"equation", "bij->jb"}}, tolerance);
    ExpectAgree("Einsum", {a}, {{"equation", "...j->..."}}, tolerance);
    ExpectAgree("Einsum", {Random(dtype, {3, 3})}, {{"equation", "ii->i"}}, tolerance);
    ExpectAgree("Einsum", {Random(dtype, {3})}, {{"equation", "i->ii"}}, tolerance);
    ExpectAgree("Einsum", {Random(dtype, {2, 3}), Random(dtype, {4, 1, 3}, 2)}, {{"equation", "...i,...i->...i"}},
                tolerance);
  }
  ExpectAgree("Einsum", {Random(DType::kFloat, {2, 3}), Random(DType::kFloat, {2, 3})},
              {{"equation", "ij,jk->ik"}});  // an error
}

TEST(GpuLinalg, FourierTransformsAgree) {
  for (DType dtype : {DType::kComplex64, DType::kComplex128}) {
    const bool is_double = dtype == DType::kComplex128;
    const DType real = is_double ? DType::kDouble : DType::kFloat;
    const double tolerance = is_double ? 1e-10 : 1e-4;
    const Tensor x = Random(dtype, {2, 3, 4, 6});
    for (const char* op : {"FFT", "IFFT", "FFT2D", "IFFT2D", "FFT3D", "IFFT3D"}) ExpectAgree(op, {x}, {}, tolerance);
    for (const char* suffix : {"", "2D", "3D"}) {
      const std::string name = std::string("RFFT") + suffix;
      const int axes = *suffix == '\0' ? 1 : *suffix - '0';
      std::vector<int32_t> lengths = {3, 4, 5}, even = {2, 4, 6};
      lengths.erase(lengths.begin(), lengths.end() - axes);
      even.erase(even.begin(), even.end() - axes);
      for (const auto& given : {lengths, even}) {
        const Tensor length = Tensor::Vector<int32_t>(given);
        ExpectAgree(name, {Random(real, {2, 3, 4, 6}), length}, {{"Tcomplex", dtype}}, tolerance);
        // What a real signal gives, so that the inverse is real.
        const Tensor spectrum = OnHost(name, {Random(real, {2, 3, 4, 6}), length}, {{"Tcomplex", dtype}});
        ExpectAgree("I" + name, {spectrum, length}, {{"Treal", real}}, tolerance);
      }
    }
  }
  ExpectAgree("RFFT", {Random(DType::kFloat, {2, 3}), Tensor::Vector<int32_t>({5})});  // an error
  ExpectAgree("FFT", {Random(DType::kComplex64, {0, 3})});
}

TEST(GpuLinalg, RecurrentCellsAgree) {
  for (DType dtype : {DType::kFloat, DType::kHalf}) {
    const double tolerance = dtype == DType::kHalf ? 2e-2 : 1e-5;
    const int64_t time = 4, batch = 2, inputs = 3, cells = 5;
    const Tensor x = Random(dtype, {time, batch, inputs}), cs = Random(dtype, {batch, cells}, 2);
    const Tensor h = Random(dtype, {batch, cells}, 3), w = Random(dtype, {inputs + cells, 4 * cells}, 4);
    const Tensor wci = Random(dtype, {cells}, 5), wcf = Random(dtype, {cells}, 6), wco = Random(dtype, {cells}, 7);
    const Tensor b = Random(dtype, {4 * cells}, 8), steps = Tensor::Scalar<int64_t>(3);
    for (bool peephole : {false, true}) {
      const Attrs attrs = {{"use_peephole", peephole}};
      for (const char* version : {"", "V2"}) {
        const std::string name = std::string("BlockLSTM") + version;
        const std::vector<Tensor> given = {steps, x, cs, h, w, wci, wcf, wco, b};
        ExpectAgree(name, given, attrs, tolerance);
        std::vector<Tensor> gradient = given;
        const std::vector<Tensor> values = RunOn("/device:CPU:0", name, given, attrs).value();
        gradient.insert(gradient.end(), values.begin(), values.end());
        gradient.push_back(Random(dtype, {time, batch, cells}, 9));
        gradient.push_back(Random(dtype, {time, batch, cells}, 10));
        ExpectAgree(std::string("BlockLSTMGrad") + version, gradient, attrs, 4 * tolerance);
      }
      const std::vector<Tensor> cell = {Random(dtype, {batch, inputs}), cs, h, w, wci, wcf, wco, b};
      ExpectAgree("LSTMBlockCell", cell, attrs, tolerance);
      std::vector<Tensor> gradient = cell;
      const std::vector<Tensor> values = RunOn("/device:CPU:0", "LSTMBlockCell", cell, attrs).value();
      for (int i = 0; i < 6; ++i) gradient.push_back(values[i]);
      gradient.push_back(Random(dtype, {batch, cells}, 9));
      gradient.push_back(Random(dtype, {batch, cells}, 10));
      ExpectAgree("LSTMBlockCellGrad", gradient, attrs, tolerance);
    }
  }
  const DType dtype = DType::kFloat;
  std::vector<Tensor> gru = {Random(dtype, {2, 3}),    Random(dtype, {2, 4}, 2), Random(dtype, {7, 8}, 3),
                             Random(dtype, {7, 4}, 4), Random(dtype, {8}, 5),    Random(dtype, {4}, 6)};
  ExpectAgree("GRUBlockCell", gru);
  const std::vector<Tensor> values = RunOn("/device:CPU:0", "GRUBlockCell", gru, {}).value();
  for (int i = 0; i < 3; ++i) gru.push_back(values[i]);
  gru.push_back(Random(dtype, {2, 4}, 7));
  ExpectAgree("GRUBlockCellGrad", gru);
}

}  // namespace
}  // namespace weir::gpu_testing
