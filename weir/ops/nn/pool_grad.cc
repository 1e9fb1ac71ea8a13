// Gradients of pools, and of their gradient ops.
#include "weir/autodiff/emit.h"
#include "weir/ops/nn/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

const std::vector<std::string_view> kAttrs = {"ksize", "strides", "padding", "explicit_paddings", "data_format"};
const std::vector<std::string_view> kInnerAttrs = {"ksize", "strides", "padding", "data_format"};

void AddAveragePool(GradientRegistry& r, const char* op, const char* gradient_op) {
  r.Add(op, [=](G& g) -> Gradients { return {g.OpLike(gradient_op, {Shape(g.input(0)), g.grad()}, kInnerAttrs)}; });
  r.Add(gradient_op, [=](G& g) -> Gradients { return {{}, g.OpLike(op, {g.grad()}, kInnerAttrs)}; });
}

// The gradient of a gradient op with (input, output, flow): linear in the flow alone.
void AddLinear(GradientRegistry& r, const char* op, const char* other, const std::vector<std::string_view>& attrs) {
  r.Add(op, [=](G& g) -> Gradients {
    return {ZerosLike(g.input(0)), ZerosLike(g.input(1)), g.OpLike(other, {g.input(0), g.input(1), g.grad()}, attrs)};
  });
}

void AddMaxPool(GradientRegistry& r) {
  r.Add("MaxPool", [](G& g) -> Gradients {
    return {g.OpLike("MaxPoolGrad", {g.input(0), g.output(0), g.grad()}, kAttrs)};
  });
  AddLinear(r, "MaxPoolGrad", "MaxPoolGradGrad", kInnerAttrs);
  AddLinear(r, "MaxPoolGradGrad", "MaxPoolGrad", kInnerAttrs);
  r.Add("MaxPoolV2", [](G& g) -> Gradients {
    return {g.OpLike("MaxPoolGradV2", {g.input(0), g.output(0), g.grad(), g.input(1), g.input(2)},
                     {"padding", "data_format"})};
  });
  r.Add("MaxPoolGradV2", [](G& g) -> Gradients {
    return {ZerosLike(g.input(0)), ZerosLike(g.input(1)),
            g.OpLike("MaxPoolGradGradV2", {g.input(0), g.input(1), g.grad(), g.input(3), g.input(4)},
                     {"padding", "data_format"})};
  });
  r.Add("MaxPoolWithArgmax", [](G& g) -> Gradients {
    return {g.OpLike("MaxPoolGradWithArgmax", {g.input(0), g.grad(), g.output(1)},
                     {"ksize", "strides", "padding", "include_batch_in_index"})};
  });
  r.Add("MaxPool3D", [](G& g) -> Gradients {
    return {g.OpLike("MaxPool3DGrad", {g.input(0), g.output(0), g.grad()}, kInnerAttrs)};
  });
  AddLinear(r, "MaxPool3DGrad", "MaxPool3DGradGrad", kInnerAttrs);
  AddLinear(r, "MaxPool3DGradGrad", "MaxPool3DGrad", kInnerAttrs);
}

void AddAll(GradientRegistry& r) {
  AddAveragePool(r, "AvgPool", "AvgPoolGrad");
  AddAveragePool(r, "AvgPool3D", "AvgPool3DGrad");
  AddMaxPool(r);
  r.Add("FractionalMaxPool", [](G& g) -> Gradients {
    return {g.OpLike("FractionalMaxPoolGrad", {g.input(0), g.output(0), g.grad(), g.output(1), g.output(2)},
                     {"overlapping"})};
  });
  r.Add("FractionalAvgPool", [](G& g) -> Gradients {
    return {g.OpLike("FractionalAvgPoolGrad", {Shape(g.input(0), DType::kInt64), g.grad(), g.output(1), g.output(2)},
                     {"overlapping"})};
  });
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterPoolGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
