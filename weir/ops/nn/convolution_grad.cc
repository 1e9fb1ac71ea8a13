// Gradients of convolutions, and of their gradient ops.
#include "weir/autodiff/emit.h"
#include "weir/ops/nn/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

const std::vector<std::string_view> kAttrs = {"strides",     "padding",          "explicit_paddings",
                                              "data_format", "use_cudnn_on_gpu", "dilations"};
const std::vector<std::string_view> kAttrs3D = {"strides", "padding", "data_format", "dilations"};

// One kind of convolution: the op, its gradients of input (sizes, filter, dy) and filter (x, sizes, dy), and what all
// three have in common.
void AddConvolution(GradientRegistry& r, const char* op, const char* input_op, const char* filter_op,
                    const std::vector<std::string_view>& attrs) {
  r.Add(op, [=](G& g) -> Gradients {
    Value x = g.input(0), filter = g.input(1), dy = g.grad();
    return {g.OpLike(input_op, {Shape(x), filter, dy}, attrs), g.OpLike(filter_op, {x, Shape(filter), dy}, attrs)};
  });
  r.Add(input_op, [=](G& g) -> Gradients {
    Value filter = g.input(1), dy = g.input(2), flow = g.grad();
    return {{}, g.OpLike(filter_op, {flow, Shape(filter), dy}, attrs), g.OpLike(op, {flow, filter}, attrs)};
  });
  r.Add(filter_op, [=](G& g) -> Gradients {
    Value x = g.input(0), dy = g.input(2), flow = g.grad();
    return {g.OpLike(input_op, {Shape(x), flow, dy}, attrs), {}, g.OpLike(op, {x, flow}, attrs)};
  });
}

void AddAll(GradientRegistry& r) {
  AddConvolution(r, "Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", kAttrs);
  AddConvolution(r, "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
                 "DepthwiseConv2dNativeBackpropFilter", kAttrs);
  AddConvolution(r, "Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2", kAttrs3D);
  r.Add("Dilation2D", [](G& g) -> Gradients {
    const EmitArguments inputs = {g.input(0), g.input(1), g.grad()};
    return {g.OpLike("Dilation2DBackpropInput", inputs, {"strides", "rates", "padding"}),
            g.OpLike("Dilation2DBackpropFilter", inputs, {"strides", "rates", "padding"})};
  });
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterConvolutionGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
