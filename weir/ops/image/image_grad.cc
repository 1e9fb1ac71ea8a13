// Gradients of resizing and of colours.
#include "weir/autodiff/emit.h"
#include "weir/ops/gradients.h"

namespace weir::emit {
namespace {

using G = GradientContext;

const std::vector<std::string_view> kCorners = {"align_corners", "half_pixel_centers"};

// The gradient ops that take the image itself, for its shape and type.
GradientFunction Resize(const char* op) {
  return [op](G& g) -> Gradients { return {g.OpLike(op, {g.grad(), g.input(0)}, kCorners)}; };
}

Gradients CropGradient(G& g) {
  Value image = g.input(0), boxes = g.input(1), which = g.input(2), flow = g.grad();
  Gradients out(2);
  if (IsFloating(image.dtype())) {
    out[0] = g.OpLike("CropAndResizeGradImage", {flow, boxes, which, Shape(image)}, {"T", "method"});
  }
  out[1] = g.Op("CropAndResizeGradBoxes", {flow, image, boxes, which});
  return out;
}

// The transform that undoes it, applied to what flows in. A projection is (a0 a1 a2; b0 b1 b2; c0 c1 1).
Gradients ProjectiveGradient(G& g, bool has_fill) {
  Value image = g.input(0), rows = g.input(1), flow = g.grad();
  Value ones = Fill(Concat({SubVector(Shape(rows), 0, 1), Ints(rows, {1})}, 0), Scalar(rows, 1));
  Value matrices = Reshape(Concat({rows, ones}, 1), Ints(rows, {-1, 3, 3}));
  Value inverse = Reshape(Unary("MatrixInverse", matrices), Ints(rows, {-1, 9}));
  inverse = inverse / Slice(inverse, Ints(rows, {0, 8}), Ints(rows, {-1, 1}));
  inverse = Slice(inverse, Ints(rows, {0, 0}), Ints(rows, {-1, 8}));
  Value size = SubVector(Shape(image), 1, 3);
  EmitArguments inputs = {flow, inverse, size};
  if (has_fill) inputs.push_back(Scalar(g.input(3), 0));
  return {g.OpLike(g.op(), inputs, {"interpolation", "fill_mode"})};
}

// One colour at each corner of the cases: hue has a formula for every order of red, green and blue.
Gradients ColourGradient(G& g) {
  Values rgb = g.Outputs("Unpack", {g.input(0)}, {{"num", 3}, {"axis", -1}});
  Values hsv = g.Outputs("Unpack", {g.output(0)}, {{"num", 3}, {"axis", -1}});
  Values flow = g.Outputs("Unpack", {g.grad()}, {{"num", 3}, {"axis", -1}});
  Value r = rgb[0], green = rgb[1], b = rgb[2], saturation = hsv[1], value = hsv[2];
  auto is = [&](const char* op, Value x, Value y) { return Binary(op, x, y); };
  auto both = [&](Value x, Value y) { return Cast(Binary("LogicalAnd", x, y), r.dtype()); };
  Value big[3] = {both(is("GreaterEqual", r, b), is("GreaterEqual", r, green)),
                  both(is("Greater", green, r), is("GreaterEqual", green, b)),
                  both(is("Greater", b, r), is("Greater", b, green))};
  Value small[3] = {both(is("Less", r, b), is("Less", r, green)), both(is("LessEqual", green, r), is("Less", green, b)),
                    both(is("LessEqual", b, r), is("LessEqual", b, green))};
  Value colour[3] = {r, green, b};
  auto inverse = [&](Value x) { return Binary("DivNoNan", Scalar(x, 1), x); };
  auto positive = [&](Value x) { return Cast(is("Greater", x, Scalar(x, 0)), x.dtype()); };
  auto square = [](Value x) { return Unary("Square", x); };
  Value scale = inverse(square(saturation)) * inverse(square(value));
  std::vector<Value> out;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    Value x = colour[i], y = colour[j], z = colour[k];
    Value smallest = small[j] * y + small[k] * z, biggest = big[j] * y + big[k] * z;
    Value ds = positive(x) * (big[i] * smallest * inverse(square(x)) - small[i] * inverse(biggest));
    // Where x is the biggest the hue turns by (y - z); elsewhere by the distance from the biggest.
    Value dh = -(positive(x) * big[i] * (y - z) * scale);
    dh = dh + positive(y) * big[j] * small[i] * (z - y) * inverse(square(x - y));
    dh = dh - positive(y) * big[j] * small[k] * inverse(y - z);
    dh = dh + positive(z) * big[k] * small[i] * (z - y) * inverse(square(z - x));
    dh = dh + positive(z) * big[k] * small[j] * inverse(z - y);
    out.push_back(flow[2] * big[i] + flow[1] * ds + (1.0 / 6) * (flow[0] * dh));
  }
  return {g.Op("Pack", {out}, {{"axis", -1}})};
}

void AddAll(GradientRegistry& r) {
  r.Add("ResizeNearestNeighbor", [](G& g) -> Gradients {
    return {g.OpLike("ResizeNearestNeighborGrad", {g.grad(), SubVector(Shape(g.input(0)), 1, 3)}, kCorners)};
  });
  r.Add("ResizeBilinear", Resize("ResizeBilinearGrad"));
  r.Add("ResizeBicubic", [](G& g) -> Gradients {
    const DType dtype = g.input(0).dtype();
    if (dtype != DType::kFloat && dtype != DType::kDouble) return {};
    return {g.OpLike("ResizeBicubicGrad", {g.grad(), g.input(0)}, kCorners)};
  });
  r.Add("ScaleAndTranslate", [](G& g) -> Gradients {
    return {g.OpLike("ScaleAndTranslateGrad", {g.grad(), g.input(0), g.input(2), g.input(3)},
                     {"kernel_type", "antialias"})};
  });
  r.Add("CropAndResize", CropGradient);
  r.Add("ImageProjectiveTransformV2", [](G& g) { return ProjectiveGradient(g, false); });
  r.Add("ImageProjectiveTransformV3", [](G& g) { return ProjectiveGradient(g, true); });
  r.Add("RGBToHSV", ColourGradient);
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterImageGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
