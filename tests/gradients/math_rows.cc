#include "gradient_rows.h"

namespace weir::gradient_rows {
namespace {

const std::vector<DType> kFloats = {DType::kDouble, DType::kFloat};

}  // namespace

std::vector<GradientCase> Math() {
  using Case = GradientCase;
  std::vector<Case> rows;
  auto add = [&](Case row) { rows.push_back(std::move(row)); };

  for (const char* op : {"Neg", "Square", "Exp", "Expm1", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Tanh", "Sigmoid",
                         "Asinh", "Atan", "Erf", "Erfc", "Conj"}) {
    if (std::string_view(op) != "Conj") add(Case(op).In({2, 3}).Types(kFloats).Twice());
  }
  for (const char* op : {"Log", "Log1p", "Sqrt", "Rsqrt", "Reciprocal", "Inv", "Lgamma", "Digamma", "Expint"}) {
    add(Case(op).In({2, 3}, 0.4, 2.5).Twice());
  }
  for (const char* op : {"Asin", "Acos", "Atanh", "Erfinv", "Dawsn", "FresnelCos", "FresnelSin"}) {
    add(Case(op).In({2, 3}, -0.8, 0.8));
  }
  add(Case("Acosh").In({4}, 1.2, 3));
  add(Case("Ndtri").In({4}, 0.1, 0.9));
  add(Case("Spence").In({4}, 0.2, 1.8));
  for (const char* op : {"Abs", "Sign"}) add(Case(op).Values({4}, {-1.5, 0.7, 2, -0.3}));
  for (const char* op : {"Floor", "Ceil", "Round", "Rint"}) add(Case(op).Values({3}, {-1.3, 0.7, 2.2}));

  for (const char* op : {"Neg", "Square", "Exp", "Expm1", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Tanh", "Sigmoid",
                         "Conj", "Reciprocal", "Sqrt", "Log", "Log1p"}) {
    add(Case(op).In({3}, 0.3, 0.9).Complex());
  }
  for (const char* op : {"Real", "Imag", "Angle", "ComplexAbs"}) {
    add(Case(op).In({3}, 0.3, 1.4).Complex().Attr("Tout", DType::kDouble));
  }
  add(Case("Complex").In({2, 3}).In({3}).Attr("Tout", DType::kComplex128));

  for (const char* op : {"Add", "AddV2", "Sub", "Mul", "SquaredDifference"}) {
    add(Case(op).In({2, 3}).In({2, 3}).Types(kFloats));
    add(Case(op).In({2, 3}).In({3}).Twice());
    add(Case(op).In({1, 3}).In({2, 1}));
    add(Case(op).In(Shape()).In({2, 2}));
  }
  for (const char* op : {"Add", "AddV2", "Sub", "Mul", "RealDiv"}) add(Case(op).In({2}).In({2}, 0.5, 1).Complex());
  for (const char* op : {"RealDiv", "Div", "DivNoNan", "Xdivy", "Pow", "Xlogy", "Xlog1py", "Atan2"}) {
    add(Case(op).In({2, 3}, 0.5, 2).In({3}, 0.6, 1.9).Twice());
    add(Case(op).In({3}, 0.5, 2).In({2, 3}, 0.6, 1.9));
  }
  add(Case("MulNoNan").In({2, 3}).In({3}));
  add(Case("Pow").Values({3}, {2, 3, 1.5}).Values(Shape(), {2}));
  for (const char* op : {"Maximum", "Minimum"}) {
    add(Case(op).Values({2, 2}, {1, -2, 3, 0.5}).Values({2}, {0.2, 1}));
  }
  add(Case("FloorMod").Values({3}, {5.3, -2.6, 7.1}).Values({3}, {2, 2.5, 3}));
  for (const char* op : {"FloorDiv", "TruncateDiv"}) {
    if (std::string_view(op) == "FloorDiv") add(Case(op).Values({2}, {5.3, 2.6}).Values({2}, {2, 2.5}));
  }
  add(Case("NextAfter").In({3}).In({3}));
  add(Case("ClipByValue").Values({4}, {-2, 0.2, 0.5, 3}).Values(Shape(), {-1}).Values(Shape(), {1}));
  add(Case("Igamma").In({3}, 0.8, 2).In({3}, 0.7, 2.2).Types({DType::kDouble}));
  add(Case("Igammac").In({3}, 0.8, 2).In({2, 3}, 0.7, 2.2));
  add(Case("Betainc").In({3}, 0.8, 2).In({3}, 0.7, 2.2).In({3}, 0.2, 0.8).Without({0, 1}));
  add(Case("Zeta").In({3}, 2, 3).In({3}, 1.1, 2.2).Without({0}));
  add(Case("Polygamma").Values({2}, {1, 2}).In({2}, 1.1, 2.2).Without({0}));
  add(Case("AddN").In({2, 2}).In({2, 2}).In({2, 2}).Types(kFloats));
  add(Case("Cross").In({2, 3}).In({2, 3}));
  add(Case("Select").In(Tensor::Vector<bool>({true, false, true})).In({3}).In({3}));
  add(Case("SelectV2").In(Tensor::Vector<bool>({true, false, true})).In({2, 3}).In({1, 3}));
  add(Case("Cast").In({3}).Attr("DstT", DType::kFloat).Types({DType::kFloat}));
  add(Case("Cast").In({3}).Attr("DstT", DType::kComplex128));
  return rows;
}

std::vector<GradientCase> Products() {
  using Case = GradientCase;
  std::vector<Case> rows;
  auto add = [&](Case row) { rows.push_back(std::move(row)); };
  for (bool a : {false, true}) {
    for (bool b : {false, true}) {
      auto shape = [](bool transposed, int64_t rows, int64_t columns) {
        return transposed ? Shape({columns, rows}) : Shape({rows, columns});
      };
      add(Case("MatMul").In(shape(a, 2, 3)).In(shape(b, 3, 4)).Attr("transpose_a", a).Attr("transpose_b", b).Twice());
      auto batch = [](bool transposed, int64_t rows, int64_t columns) {
        return transposed ? Shape({2, columns, rows}) : Shape({2, rows, columns});
      };
      for (const char* op : {"BatchMatMul", "BatchMatMulV2"}) {
        add(Case(op).In(batch(a, 2, 3)).In(batch(b, 3, 2)).Attr("adj_x", a).Attr("adj_y", b));
      }
      add(Case("MatMul").In(shape(a, 2, 2)).In(shape(b, 2, 1)).Attr("transpose_a", a).Attr("transpose_b", b).Complex());
      add(Case("BatchMatMulV2").In(batch(a, 2, 1)).In(batch(b, 1, 2)).Attr("adj_x", a).Attr("adj_y", b).Complex());
    }
  }
  add(Case("BatchMatMulV2").In({3, 2, 2}).In({1, 2, 2}));
  add(Case("BatchMatMulV2").In({2, 2}).In({2, 2, 2}));
  for (const char* op : {"FFT", "IFFT", "FFT2D", "IFFT2D", "FFT3D", "IFFT3D"}) add(Case(op).In({2, 2, 3}).Complex());
  for (int64_t length : {4, 5}) {
    add(Case("RFFT").In({2, length}).Ints({length}).Attr("Tcomplex", DType::kComplex128));
    add(Case("RFFT2D").In({3, length}).Ints({3, length}).Attr("Tcomplex", DType::kComplex128));
  }
  return rows;
}

std::vector<GradientCase> Reductions() {
  using Case = GradientCase;
  std::vector<Case> rows;
  auto add = [&](Case row) { rows.push_back(std::move(row)); };
  for (const char* op : {"Sum", "Mean", "Max", "Min", "Prod", "EuclideanNorm"}) {
    for (bool keep : {false, true}) {
      add(Case(op).In({2, 3}, 0.5, 2).Ints({1}).Attr("keep_dims", keep).Types({DType::kDouble, DType::kFloat}));
      add(Case(op).In({2, 3, 2}, 0.5, 2).Ints({-1, 0}).Attr("keep_dims", keep));
      add(Case(op).In({2, 2}, 0.5, 2).Ints({0, 1}).Attr("keep_dims", keep));
      add(Case(op).In({2, 2}, 0.5, 2).Int(0).Attr("keep_dims", keep));
      add(Case(op).In({3}, 0.5, 2).Ints({}).Attr("keep_dims", keep));
    }
  }
  add(Case("Prod").Values({2, 2}, {0, 2, 3, 4}).Ints({0}));
  add(Case("Mean").In({2, 3}).Ints({0}).Complex());
  add(Case("Sum").In({2, 3}).Ints({0}).Complex());
  for (bool exclusive : {false, true}) {
    for (bool reverse : {false, true}) {
      for (const char* op : {"Cumsum", "Cumprod", "CumulativeLogsumexp"}) {
        // Before the first element the sum of none is -inf.
        if (exclusive && std::string_view(op) == "CumulativeLogsumexp") continue;
        add(Case(op).In({3, 2}, 0.5, 2).Int(0).Attr("exclusive", exclusive).Attr("reverse", reverse));
      }
    }
  }
  const Tensor sorted = Tensor::Vector<int32_t>({0, 0, 1, 2}), any = Tensor::Vector<int32_t>({2, 0, -1, 2});
  for (const char* op : {"SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin", "SegmentProd"}) {
    add(Case(op).In({4, 2}, 0.5, 2).In(sorted));
    add(Case(op).In({4}, 0.5, 2).In(sorted));
  }
  add(Case("SegmentProd").Values({4}, {0, 2, 3, 4}).In(sorted));
  for (const char* op : {"UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd"}) {
    add(Case(op).In({4, 2}, 0.5, 2).In(any).Int(3));
    add(Case(op).In({4}, 0.5, 2).In(sorted).Int(3));
  }
  for (const char* op : {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}) {
    add(Case(op).In({4, 2}).Ints({3, 0, 3}).Ints({0, 0, 1}));
    add(Case(Cat(op, "WithNumSegments")).In({4, 2}).Ints({3, 0, 3}).Ints({0, 0, 2}).Int(4));
  }
  return rows;
}

}  // namespace weir::gradient_rows
