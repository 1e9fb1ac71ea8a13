#include "gradient_rows.h"

namespace weir::gradient_rows {

std::vector<GradientCase> Image() {
  using Case = GradientCase;
  std::vector<Case> rows;
  auto add = [&](Case row) { rows.push_back(std::move(row)); };
  const std::vector<DType> floats = {DType::kFloat};
  for (const char* op : {"ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor"}) {
    for (int choice : {0, 1, 2}) {
      Case row = Case(op).In({1, 3, 2, 1}).Ints({4, 3}).Types(floats);
      add(row.Attr("align_corners", choice == 1).Attr("half_pixel_centers", choice == 2));
    }
  }
  const Tensor scale = Tensor::Vector<float>({1.3f, 1.4f}), move = Tensor::Vector<float>({0.1f, 0.2f});
  add(Case("ScaleAndTranslate").In({1, 3, 2, 1}).Ints({4, 3}).In(scale).In(move).Types(floats).Without({2, 3}));
  const Tensor boxes = Tensor::FromSpan<float>(std::vector<float>{0.1f, 0.1f, 0.7f, 0.8f}, Shape({1, 4}));
  add(Case("CropAndResize").In({1, 4, 4, 1}).In(boxes).Ints({0}).Ints({2, 3}).Types(floats).Without({1}));
  // Away from where two colours are alike.
  add(Case("RGBToHSV").Values({3, 3}, {0.9, 0.5, 0.2, 0.3, 0.8, 0.55, 0.4, 0.2, 0.7}).Types({DType::kDouble}));
  return rows;
}

}  // namespace weir::gradient_rows
