// Attributes and inputs of FusedBatchNorm and its gradient, checked: what the kernels of all devices share.
#ifndef WEIR_OPS_NN_BATCH_NORM_H_
#define WEIR_OPS_NN_BATCH_NORM_H_

#include <string>

#include "weir/framework/kernel.h"

namespace weir::nn {

struct NormAttrs {
  float epsilon = 0;
  float average_factor = 1;
  bool is_training = true;
  bool channels_second = false;
  bool has_relu = false;

  static StatusOr<NormAttrs> Read(const KernelInit& init) {
    NormAttrs attrs;
    WEIR_ASSIGN_OR_RETURN(attrs.epsilon, init.Attr<float>("epsilon"));
    WEIR_ASSIGN_OR_RETURN(attrs.is_training, init.Attr<bool>("is_training"));
    if (init.HasAttr("exponential_avg_factor")) {
      WEIR_ASSIGN_OR_RETURN(attrs.average_factor, init.Attr<float>("exponential_avg_factor"));
    }
    WEIR_ASSIGN_OR_RETURN(std::string format, init.Attr<std::string>("data_format"));
    attrs.channels_second = format.starts_with("NC");
    if (init.HasAttr("activation_mode")) {
      WEIR_ASSIGN_OR_RETURN(std::string activation, init.Attr<std::string>("activation_mode"));
      attrs.has_relu = activation == "Relu";
      if (!attrs.has_relu || attrs.channels_second) {
        return Unimplemented("A norm is fused with a Relu of channels-last images only, not with ", activation, " of ",
                             format);
      }
    }
    return attrs;
  }
};

inline Status CheckNormImage(const Shape& shape) {
  if (shape.rank() == 4 || shape.rank() == 5) return OkStatus();
  return InvalidArgument("input must be 4 or 5-dimensional", shape.ToString());
}

inline Status CheckNormVector(const KernelContext& ctx, int i, int64_t channels) {
  const Shape& shape = ctx.input(i).shape();
  const std::string& name = ctx.node().schema->inputs[i].name;
  if (!shape.IsVector()) return InvalidArgument(name, " must be 1-dimensional", shape.ToString());
  if (shape.dim(0) != channels) {
    return InvalidArgument(name, " must have the same number of elements as the channels of x, got ", shape.dim(0),
                           " and ", channels);
  }
  return OkStatus();
}

// Of the forward op: the vectors, and the side input of _FusedBatchNormEx.
inline Status CheckNormInputs(const KernelContext& ctx, const NormAttrs& attrs, int64_t channels) {
  const bool uses_estimates = !attrs.is_training || attrs.average_factor != 1;
  for (int i = 1; i < (uses_estimates ? 5 : 3); ++i) WEIR_RETURN_IF_ERROR(CheckNormVector(ctx, i, channels));
  for (int i = 3; i < 5; ++i) {
    if (ctx.input(i).rank() != 1) {
      return InvalidArgument(i == 3 ? "estimated_mean" : "estimated_variance", " must be 1-dimensional",
                             ctx.input(i).shape().ToString());
    }
  }
  const Shape& x = ctx.input(0).shape();
  if (ctx.num_inputs() > 5 && (ctx.num_inputs() > 6 || ctx.input(5).shape() != x)) {
    return InvalidArgument("side_input must be one of the shape of x, ", x.ToString(), ", not ",
                           ctx.input(5).shape().ToString());
  }
  return OkStatus();
}

// Of the gradient op: all images have one shape.
inline Status CheckNormGradImages(const KernelContext& ctx, const NormAttrs& attrs) {
  const Shape &gradient = ctx.input(0).shape(), &x = ctx.input(1).shape();
  if (gradient != x) {
    return InvalidArgument("x and y_backprop must have same shape, but x has shape ", x.ToString(),
                           " and y_backprop has shape ", gradient.ToString());
  }
  if (!attrs.has_relu) return OkStatus();
  if (ctx.num_outputs() > 5) return Unimplemented("The gradient of a side input is not part of the norm's");
  if (ctx.input(7).shape() != x) {
    return InvalidArgument("x and y must have same shape, but x has shape ", x.ToString(), " and y has shape ",
                           ctx.input(7).shape().ToString());
  }
  return OkStatus();
}

}  // namespace weir::nn

#endif  // WEIR_OPS_NN_BATCH_NORM_H_
