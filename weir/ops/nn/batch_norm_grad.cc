// Gradients of batch normalisation.
#include "weir/autodiff/emit.h"
#include "weir/ops/nn/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

const std::vector<std::string_view> kAttrs = {"epsilon", "data_format", "is_training"};

// `op` is the gradient op; `has_reserve` where a third reserved output exists.
GradientFunction FusedGradient(const char* op, bool has_reserve) {
  return [op, has_reserve](G& g) -> Gradients {
    const bool training = g.Attr<bool>("is_training");
    // In inference the statistics are inputs.
    EmitArguments inputs = {g.grad(0), g.input(0), g.input(1), training ? g.output(3) : g.input(3),
                            training ? g.output(4) : g.input(4)};
    if (has_reserve) inputs.push_back(g.output(5));
    Values grads = g.OutputsLike(op, inputs, kAttrs);
    return {grads[0], grads[1], grads[2]};
  };
}

// What the second derivative works with: everything in a shape that broadcasts against x.
struct Normalisation {
  std::vector<int64_t> axes;  // all but the channels
  bool channels_first = false;
  Value Spread(Value vector) const {
    if (!channels_first) return vector;
    std::vector<int64_t> shape(axes.size() + 1, 1);
    shape[1] = -1;
    return Reshape(vector, Ints(vector, shape));
  }
  Value Average(Value x) const { return Mean(x, Ints(x, axes), /*keep_dims=*/true); }
  Value Total(Value x) const { return Sum(x, axes); }  // a vector
};

// Of the gradient ops: (dy, x, scale, statistics...) -> (dx, dscale, doffset). With c = x - mean, r = 1 / sqrt(variance
// + epsilon) and M the mean over a channel, dx = scale r (dy - M(dy) - c r^2 M(dy c)); this is that formula's
// derivative.
Gradients FusedGradGradient(G& g) {
  const std::string format = g.Attr<std::string>("data_format");
  Normalisation n;
  n.channels_first = format.starts_with("NC");
  for (int64_t i = 0; i < static_cast<int64_t>(format.size()); ++i) {
    if (i != (n.channels_first ? 1 : static_cast<int64_t>(format.size()) - 1)) n.axes.push_back(i);
  }
  const double epsilon = g.Attr<float>("epsilon");
  const DType dtype = g.input(0).dtype();
  Value dy = Cast(g.input(0), DType::kFloat), x = Cast(g.input(1), DType::kFloat), scale = n.Spread(g.input(2));
  Value u = Cast(g.grad(0), DType::kFloat), u_scale = n.Spread(g.grad(1)), u_offset = n.Spread(g.grad(2));
  if (!g.Attr<bool>("is_training")) {
    Value r = Unary("Rsqrt", n.Spread(g.input(4)) + epsilon), centred = x - n.Spread(g.input(3));
    Value of_dy = u * scale * r + u_scale * centred * r + u_offset;
    return {Cast(of_dy, dtype), Cast(u_scale * dy * r, dtype), n.Total(u * dy * r)};
  }
  Value centred = x - n.Average(x);
  Value r = Unary("Rsqrt", n.Average(Unary("Square", centred)) + epsilon), r2 = Unary("Square", r);
  Value dy0 = dy - n.Average(dy), u0 = u - n.Average(u);
  Value a = n.Average(dy * centred), b = n.Average(u * centred);
  Value of_dy = scale * r * (u0 - centred * r2 * b) + u_scale * r * centred + u_offset;
  Value of_scale = n.Total(r * u * (dy0 - centred * r2 * a));
  Value covariance = n.Average(u * dy0);
  Value of_x = scale * r * r2 * (3.0 * (r2 * centred * a * b) - centred * covariance - u0 * a - b * dy0) +
               u_scale * r * (dy0 - r2 * centred * a);
  return {Cast(of_dy, dtype), Cast(of_x, dtype), of_scale};
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterBatchNormGradients(GradientRegistry& r) {
  r.Add("FusedBatchNorm", emit::FusedGradient("FusedBatchNormGrad", false));
  r.Add("FusedBatchNormV2", emit::FusedGradient("FusedBatchNormGradV2", false));
  r.Add("FusedBatchNormV3", emit::FusedGradient("FusedBatchNormGradV3", true));
  for (const char* op : {"FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"}) {
    r.Add(op, emit::FusedGradGradient);
  }
}

}  // namespace weir
