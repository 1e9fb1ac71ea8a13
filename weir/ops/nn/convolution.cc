#include "weir/ops/nn/convolution.h"

namespace weir::nn {

StatusOr<Shape> ConvGeometry::OutputShape() const {
  const int64_t dims[] = {batch, h.output, w.output, out_channels};
  return Shape::Make(dims);
}

StatusOr<ConvGeometry> MakeConvGeometry(const Window2D& window, const Shape& input, const Shape& filter) {
  if (input.rank() != 4) return InvalidArgument("input must be 4-dimensional: ", input.ToString());
  if (filter.rank() != 4) return InvalidArgument("filter must be 4-dimensional: ", filter.ToString());
  ConvGeometry g{};
  g.batch = input.dim(0);
  g.in_channels = input.dim(3);
  g.group_in = filter.dim(2);
  g.out_channels = filter.dim(3);
  if (g.group_in <= 0) return InvalidArgument("filter depth must be stricly greated than 0: ", filter.ToString());
  if (g.in_channels % g.group_in != 0) {
    return InvalidArgument("input depth must be evenly divisible by filter depth: ", g.in_channels, " vs ", g.group_in);
  }
  g.groups = g.in_channels / g.group_in;
  if (g.groups > 0 && g.out_channels % g.groups != 0) {
    return InvalidArgument("output depth must be evenly divisible by number of groups: ", g.out_channels, " vs ",
                           g.groups);
  }
  g.group_out = g.groups > 0 ? g.out_channels / g.groups : 0;
  WEIR_ASSIGN_OR_RETURN(g.h, window.Axis(window.height(), input.dim(1), filter.dim(0)));
  WEIR_ASSIGN_OR_RETURN(g.w, window.Axis(window.width(), input.dim(2), filter.dim(1)));
  return g;
}

StatusOr<Shape> GroupedDepthwiseFilter(const Shape& input, const Shape& filter) {
  if (filter.rank() != 4) return InvalidArgument("filter must be 4-dimensional: ", filter.ToString());
  if (input.rank() == 4 && input.dim(3) != filter.dim(2)) {
    return InvalidArgument("input and filter must have the same depth: ", input.dim(3), " vs ", filter.dim(2));
  }
  const int64_t dims[] = {filter.dim(0), filter.dim(1), 1, filter.dim(2) * filter.dim(3)};
  return Shape::Make(dims);
}

ConvolutionShape::Axis LibraryAxis(const WindowAxis& axis) {
  return {axis.input, axis.size, axis.stride, axis.dilation, axis.before, axis.output};
}

ConvolutionShape LibraryShape(const ConvGeometry& g) {
  return {g.batch, g.groups, g.in_channels, g.out_channels, 2, {LibraryAxis(g.h), LibraryAxis(g.w)}};
}

bool HasConstantWeights(const KernelInit& init) {
  return init.HasAttr(kConstantWeights) && init.Attr<bool>(kConstantWeights).value_or(false);
}

std::unique_ptr<WinogradConvolver> WinogradFor(const KernelInit& init) {
  const bool is_allowed = init.HasAttr(kWinograd) && init.Attr<bool>(kWinograd).value_or(false);
  return is_allowed ? std::make_unique<WinogradConvolver>() : nullptr;
}

std::shared_ptr<PackedWeights> PackedWeightsFor(const KernelInit& init) {
  return HasConstantWeights(init) ? MakePackedWeights() : nullptr;
}

StatusOr<const float*> LoopWeights(const Weights& weights) {
  const float* elements = PlainElements(weights);
  if (elements == nullptr)
    return ResourceExhausted("No memory for the weights of shape ", weights.tensor->shape().ToString());
  return elements;
}

}  // namespace weir::nn
