#include "gradient_rows.h"

namespace weir::gradient_rows {

std::vector<GradientCase> Array() {
  using Case = GradientCase;
  std::vector<Case> rows;
  auto add = [&](Case row) { rows.push_back(std::move(row)); };
  auto matrix = [](std::vector<int32_t> values, int64_t columns) {
    return Tensor::FromSpan<int32_t>(values, Shape({static_cast<int64_t>(values.size()) / columns, columns}));
  };

  add(Case("Identity").In({2, 2}).Types({DType::kDouble, DType::kFloat}));
  add(Case("PlaceholderWithDefault").In({2}).Attr("shape", PartialShape({2})));
  add(Case("EnsureShape").In({2}).Attr("shape", PartialShape({-1})));
  add(Case("CheckNumerics").In({2}).Attr("message", "x"));
  add(Case("Reshape").In({2, 3}).Ints({3, -1}).Twice());
  add(Case("ExpandDims").In({2, 3}).Int(1));
  add(Case("Squeeze").In({2, 1, 3}));
  add(Case("Fill").Ints({2, 2}).In(Shape()));
  add(Case("BroadcastTo").In({2, 1}).Ints({3, 2, 2}));
  add(Case("Tile").In({2, 2}).Ints({2, 3}));
  add(Case("ConcatV2").In({2, 1}).In({2, 3}).Int(1).Attr("N", 2));
  add(Case("ConcatV2").In({2, 1}).In({3, 1}).In({1, 1}).Int(-2).Attr("N", 3));
  add(Case("Concat").Int(0).In({1, 2}).In({2, 2}).Attr("N", 2));
  add(Case("Pack").In({2}).In({2}).In({2}).Attr("axis", 1));
  add(Case("Unpack").In({2, 3}).Attr("num", 3).Attr("axis", 1));
  add(Case("Split").Int(1).In({2, 4}).Attr("num_split", 2));
  add(Case("SplitV").In({4, 2}).Ints({1, 3}).Int(0).Attr("num_split", 2));
  add(Case("Slice").In({3, 4}).Ints({1, 0}).Ints({2, -1}).Twice());
  add(Case("StridedSlice").In({4, 3}).Ints({1, 0}).Ints({4, 3}).Ints({2, 1}).Twice());
  add(Case("StridedSlice").In({4, 3}).Ints({1, 2}).Ints({2, 0}).Ints({1, -1}).Attr("shrink_axis_mask", 1));
  add(Case("Pad").In({2, 2}).In(matrix({1, 0, 0, 2}, 2)).Twice());
  add(Case("PadV2").In({2, 2}).In(matrix({1, 0, 0, 2}, 2)).In(Tensor::Scalar(0.5)).Without({2}));
  for (const char* mode : {"REFLECT", "SYMMETRIC"}) {
    add(Case("MirrorPad").In({3, 3}).In(matrix({1, 1, 2, 0}, 2)).Attr("mode", mode));
  }
  for (int axis : {0, 1}) {
    add(Case("GatherV2").In({3, 2}).In(matrix({1, 0, 1, 1}, 2)).Int(axis));
  }
  add(Case("GatherV2").In({3, 2}).Ints({2, 0, 2}).Int(0));
  add(Case("GatherV2").In({2, 3, 2}).In(matrix({2, 0, 1, 1}, 2)).Int(1).Attr("batch_dims", 1));
  add(Case("GatherV2").In({2, 2, 3}).In(matrix({2, 0, 1, 1}, 2)).Int(2).Attr("batch_dims", 1));
  add(Case("Gather").In({3, 2}).Ints({2, 0, 2}));
  add(Case("GatherNd").In({3, 2}).In(matrix({1, 1, 0, 0, 1, 1}, 2)));
  add(Case("GatherNd").In({3, 2}).In(matrix({1, 0, 1}, 1)));
  add(Case("Transpose").In({2, 3, 2}).Ints({2, 0, 1}));
  add(Case("ConjugateTranspose").In({2, 3}).Ints({1, 0}).Complex());
  add(Case("ReverseV2").In({2, 3}).Ints({1}));
  add(Case("Reverse").In({2, 3}).In(Tensor::Vector<bool>({false, true})));
  add(Case("ReverseSequence").In({2, 3}).Ints({2, 3}).Attr("seq_dim", 1));
  add(Case("Roll").In({2, 3}).Ints({1}).Ints({1}));
  add(Case("SpaceToBatchND").In({1, 2, 2, 1}).Ints({2, 2}).In(matrix({0, 0, 0, 0}, 2)));
  add(Case("BatchToSpaceND").In({4, 1, 1, 1}).Ints({2, 2}).In(matrix({0, 0, 0, 0}, 2)));
  add(Case("SpaceToBatch").In({1, 2, 2, 1}).In(matrix({0, 0, 0, 0}, 2)).Attr("block_size", 2));
  add(Case("BatchToSpace").In({4, 1, 1, 1}).In(matrix({0, 0, 0, 0}, 2)).Attr("block_size", 2));
  add(Case("SpaceToDepth").In({1, 2, 2, 1}).Attr("block_size", 2));
  add(Case("DepthToSpace").In({1, 1, 1, 4}).Attr("block_size", 2));
  add(Case("MatrixBandPart").In({3, 3}).In(Tensor::Scalar<int64_t>(1)).In(Tensor::Scalar<int64_t>(0)));
  add(Case("Diag").In({2, 2}));
  add(Case("DiagPart").In({3, 3}));
  add(Case("MatrixDiag").In({2, 2}));
  add(Case("MatrixDiagPart").In({2, 2, 3}));
  add(Case("MatrixSetDiag").In({2, 3, 2}).In({2, 2}));
  const Tensor zero = Tensor::Scalar(0.0);
  for (const char* version : {"V2", "V3"}) {
    add(Case(Cat("MatrixDiag", version)).In({2, 3}).Ints({-1, 0}).Int(3).Int(3).In(zero).Without({4}));
    add(Case(Cat("MatrixDiagPart", version)).In({3, 4}).Ints({0, 1}).In(zero).Without({2}));
    add(Case(Cat("MatrixSetDiag", version)).In({3, 3}).In({2, 3}).Ints({-1, 0}));
  }
  add(Case("ScatterNd").In(matrix({1, 3}, 1)).In({2, 2}).Ints({4, 2}));
  add(Case("TensorScatterAdd").In({4, 2}).In(matrix({1, 3}, 1)).In({2, 2}));
  add(Case("TensorScatterSub").In({4, 2}).In(matrix({1, 3}, 1)).In({2, 2}));
  add(Case("TensorScatterUpdate").In({4, 2}).In(matrix({1, 3}, 1)).In({2, 2}));
  add(Case("TensorScatterMax").In({4}).In(matrix({1, 3}, 1)).In({2}));
  add(Case("TensorScatterMin").In({4}).In(matrix({1, 3}, 1)).In({2}));
  add(Case("ScatterNdNonAliasingAdd").In({4, 2}).In(matrix({1, 3}, 1)).In({2, 2}));
  add(Case("TensorStridedSliceUpdate").In({4}).Ints({1}).Ints({3}).Ints({1}).In({2}));
  return rows;
}

}  // namespace weir::gradient_rows
