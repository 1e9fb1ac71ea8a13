// Gradients of Fourier transforms: the inverse transform, scaled.
#include <numbers>

#include "weir/autodiff/emit.h"
#include "weir/ops/gradients.h"

namespace weir::emit {
namespace {

using G = GradientContext;

// The number of elements of the last `rank` dimensions.
Value TransformSize(Value x, int rank) { return Prod(SubVector(Shape(x), -rank, 0), Ints(x, {0})); }
DType RealOf(DType dtype) {
  return dtype == DType::kComplex128 || dtype == DType::kDouble ? DType::kDouble : DType::kFloat;
}
DType ComplexOf(DType dtype) { return RealOf(dtype) == DType::kDouble ? DType::kComplex128 : DType::kComplex64; }

void AddPair(GradientRegistry& r, const char* forward, const char* inverse, int rank) {
  r.Add(forward, [inverse, rank](G& g) -> Gradients {
    Value flow = g.grad();
    return {Unary(inverse, flow) * Cast(TransformSize(flow, rank), flow.dtype())};
  });
  r.Add(inverse, [forward, rank](G& g) -> Gradients {
    Value flow = g.grad();
    return {Unary(forward, flow) / Cast(TransformSize(flow, rank), flow.dtype())};
  });
}

// Elements [begin, end) of the last dimension; `to_end` instead of an end.
Value LastElements(Value x, int64_t begin, int64_t end, bool to_end) {
  if (!x) return {};
  return x.emitter().Op("StridedSlice", {x, Ints(x, {0, begin}), Ints(x, {0, end}), Ints(x, {1, 1})},
                        {{"ellipsis_mask", 1}, {"end_mask", to_end ? 2 : 0}});
}

// The real transform gives one half of the frequencies. The inverse counts all but the first (and, for an even length,
// the last) twice; these are added once more and all is halved.
Gradients RealGradient(G& g, const char* inverse, int rank) {
  Value x = g.input(0), length = g.input(1), flow = g.grad(), shape = Shape(x);
  const DType complex = flow.dtype(), real = RealOf(complex);
  Value columns = At(shape, -1);
  Value is_even = Cast(Int(x, 1) - Binary("FloorMod", At(length, -1), Int(x, 2)), complex);
  Value signs = Cast(Int(x, 1) - Int(x, 2) * Binary("FloorMod", Range(Int(x, 0), columns), Int(x, 2)), complex);
  Value first = LastElements(flow, 0, 1, false), last = LastElements(flow, -1, 0, true);
  Value extra;
  if (rank == 1) {
    extra = first + is_even * last * signs;
  } else {
    // exp(-2 pi i a b / rows) over the other dimension.
    Value rows = At(shape, -2), steps = Range(Int(x, 0), rows);
    Value products = Cast(ExpandDims(steps, 0) * ExpandDims(steps, 1), real);
    Value angles = (-2 * std::numbers::pi) * products / Cast(rows, real);
    Value mask = g.Op("Complex", {Unary("Cos", angles), Unary("Sin", angles)}, {{"Tout", complex}});
    extra = BatchMatMul(mask, Conj(first)) + is_even * (BatchMatMul(mask, Conj(last)) * signs);
  }
  Value back = g.Op(inverse, {flow, length}, {{"Treal", real}});
  Value size = Cast(TransformSize(x, rank), real);
  return {0.5 * (back * size + g.Op("Real", {extra}, {{"Tout", real}}))};
}

Gradients InverseRealGradient(G& g, const char* forward, int rank) {
  Value x = g.input(0), length = g.input(1), flow = g.grad();
  const DType real = flow.dtype(), complex = ComplexOf(real);
  Value odd = Binary("FloorMod", At(length, -1), Int(x, 2));
  Value inner = Reshape(At(Shape(x), -1) - Int(x, 2) + odd, Ints(x, {1}));
  Value outer = Reshape(Int(x, 1) - odd, Ints(x, {1}));
  Value one = Fill(Ints(x, {1}), Scalar(flow, 1));
  Value mask = Concat({one, Fill(inner, Scalar(flow, 2)), Fill(outer, Scalar(flow, 1))}, 0);
  Value scaled = mask / Cast(TransformSize(flow, rank), real);
  return {g.Op(forward, {flow, length}, {{"Tcomplex", complex}}) * Cast(scaled, complex)};
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterAudioGradients(GradientRegistry& r) {
  emit::AddPair(r, "FFT", "IFFT", 1);
  emit::AddPair(r, "FFT2D", "IFFT2D", 2);
  emit::AddPair(r, "FFT3D", "IFFT3D", 3);
  r.Add("RFFT", [](GradientContext& g) { return emit::RealGradient(g, "IRFFT", 1); });
  r.Add("RFFT2D", [](GradientContext& g) { return emit::RealGradient(g, "IRFFT2D", 2); });
  r.Add("IRFFT", [](GradientContext& g) { return emit::InverseRealGradient(g, "RFFT", 1); });
  r.Add("IRFFT2D", [](GradientContext& g) { return emit::InverseRealGradient(g, "RFFT2D", 2); });
}

}  // namespace weir
