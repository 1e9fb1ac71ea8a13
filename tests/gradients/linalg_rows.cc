#include "gradient_rows.h"

namespace weir::gradient_rows {

std::vector<GradientCase> Linalg() {
  using Case = GradientCase;
  std::vector<Case> rows;
  auto add = [&](Case row) { rows.push_back(std::move(row)); };
  // Far from singular.
  const std::vector<double> square = {3, 0.5, -0.25, 0.75, 2.5, 0.5, -0.5, 0.25, 4};
  const std::vector<double> two = {3, 0.5, 0.75, 2.5, -2, 1, 0.5, 3.5};

  add(Case("MatrixDeterminant").Values({3, 3}, square).Twice());
  add(Case("MatrixDeterminant").Values({2, 2, 2}, two));
  add(Case("LogMatrixDeterminant").Values({2, 2, 2}, two));
  for (bool adjoint : {false, true}) {
    add(Case("MatrixInverse").Values({2, 2, 2}, two).Attr("adjoint", adjoint).Twice());
    add(Case("MatrixSolve").Values({3, 3}, square).In({3, 2}).Attr("adjoint", adjoint));
    for (bool lower : {false, true}) {
      add(Case("MatrixTriangularSolve")
              .Values({3, 3}, square)
              .In({3, 2})
              .Attr("lower", lower)
              .Attr("adjoint", adjoint));
    }
  }
  add(Case("MatrixSquareRoot").Values({2, 2}, {3, 0.5, 0.75, 2.5}));
  add(Case("Svd").Values({3, 2}, {3, 0.5, 0.75, 1.5, -0.25, 0.5}).Attr("compute_uv", false));
  add(Case("TridiagonalMatMul").In({1, 3}).In({1, 3}).In({1, 3}).In({3, 2}));
  add(Case("TridiagonalSolve").Values({3, 3}, {0.5, 0.25, 0, 3, 2.5, 4, 0, 0.5, 0.75}).In({3, 2}));
  for (const char* equation : {"ij,jk->ik", "bij,bjk->bik", "ij->ji", "ij,ij->", "...ij,...jk->...ik"}) {
    const bool batched = equation[0] == 'b' || equation[0] == '.';
    Case row = Case("Einsum").Attr("equation", equation);
    if (batched) {
      add(row.In({2, 2, 3}).In({2, 3, 2}).Attr("N", 2));
    } else if (std::string_view(equation) == "ij->ji") {
      add(row.In({2, 3}).Attr("N", 1));
    } else {
      add(row.In({3, 3}).In({3, 3}).Attr("N", 2));
    }
  }
  add(Case("MatrixInverse").In({2, 2}, 1, 3).Complex());
  return rows;
}

std::vector<GradientCase> Sequences() {
  using Case = GradientCase;
  std::vector<Case> rows;
  const std::vector<int64_t> where = {0, 0, 0, 1, 1, 0};
  for (bool merge : {true, false}) {
    rows.push_back(Case("CTCLoss")
                       .In({4, 2, 3})
                       .In(Tensor::FromSpan<int64_t>(where, Shape({3, 2})))
                       .Ints({0, 1, 1})
                       .Ints({4, 3})
                       .Attr("ctc_merge_repeated", merge)
                       .Outputs(1));
    rows.back().types = {DType::kFloat};  // as TensorFlow's, the op adds floats in any type
  }
  return rows;
}

}  // namespace weir::gradient_rows
