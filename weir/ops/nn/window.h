// The geometry of convolutions and pools: windows that slide over an image.
#ifndef WEIR_OPS_NN_WINDOW_H_
#define WEIR_OPS_NN_WINDOW_H_

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "weir/base/status.h"

namespace weir::nn {

// One dimension of the image.
struct WindowAxis {
  int64_t input = 0;
  int64_t size = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;  // padding
  int64_t output = 0;

  // Where element `k` of window `o` lies; perhaps outside [0, input).
  int64_t At(int64_t o, int64_t k) const { return o * stride - before + k * dilation; }
  // The part [begin, end) of window `o` that lies inside, of a window without dilation.
  int64_t Begin(int64_t o) const { return std::max<int64_t>(0, At(o, 0)); }
  int64_t End(int64_t o) const { return std::min(input, At(o, size)); }
};

inline StatusOr<WindowAxis> MakeWindowAxis(int64_t input, int64_t size, int64_t stride, int64_t dilation,
                                           std::string_view padding, int64_t before, int64_t after) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  if (stride <= 0) return InvalidArgument("Stride must be > 0, but got ", stride);
  if (dilation < 1) return InvalidArgument("Dilation rate must be >= 1, but got ", dilation);
  if (size < 1) return InvalidArgument("Window size must be > 0, but got ", size);
  if (std::max({input, size, stride, dilation, before, after}) >= kLimit || before < 0 || after < 0) {
    return InvalidArgument("Sizes of a window are out of range");
  }
  WindowAxis axis{input, size, stride, dilation, 0, 0};
  const int64_t reach = (size - 1) * dilation + 1;
  if (padding == "SAME") {
    axis.output = (input + stride - 1) / stride;
    axis.before = std::max<int64_t>(0, (axis.output - 1) * stride + reach - input) / 2;
  } else {
    const int64_t padded = input + (padding == "EXPLICIT" ? before + after : 0);
    axis.output = (padded - reach + stride) / stride;
    if (axis.output < 0) {
      return InvalidArgument("Computed output size would be negative: ", axis.output, " [input_size: ", input,
                             ", effective_filter_size: ", reach, ", stride: ", stride, "]");
    }
    axis.before = padding == "EXPLICIT" ? before : 0;
  }
  return axis;
}

// The attributes of a two-dimensional window, checked; indices of its axes in a shape.
struct Window2D {
  std::vector<int64_t> ksize = {1, 1, 1, 1};  // pools only
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations = {1, 1, 1, 1};
  std::vector<int64_t> explicit_paddings;
  std::string padding;
  bool channels_second = false;

  int height() const { return channels_second ? 2 : 1; }
  int width() const { return channels_second ? 3 : 2; }
  int channels() const { return channels_second ? 1 : 3; }
  // `dim`: height() or width().
  StatusOr<WindowAxis> Axis(int dim, int64_t input, int64_t size) const {
    int64_t before = 0, after = 0;
    if (padding == "EXPLICIT") {
      before = explicit_paddings[static_cast<size_t>(2 * dim)];
      after = explicit_paddings[static_cast<size_t>(2 * dim + 1)];
    }
    return MakeWindowAxis(input, size, strides[static_cast<size_t>(dim)], dilations[static_cast<size_t>(dim)], padding,
                          before, after);
  }
};

// From the attributes of a node; `Source` is a KernelInit or a ShapeContext.
template <typename Source>
StatusOr<Window2D> ReadWindow2D(const Source& source, bool is_pool) {
  Window2D window;
  WEIR_ASSIGN_OR_RETURN(window.strides, source.template Attr<std::vector<int64_t>>("strides"));
  WEIR_ASSIGN_OR_RETURN(window.padding, source.template Attr<std::string>("padding"));
  auto format = source.template Attr<std::string>("data_format");  // some pools know one format only
  window.channels_second = format.ok() && format->starts_with("NC");
  if (is_pool) {
    WEIR_ASSIGN_OR_RETURN(window.ksize, source.template Attr<std::vector<int64_t>>("ksize"));
    if (window.ksize.size() != 4) return InvalidArgument("Sliding window ksize field must specify 4 dimensions");
  } else {
    WEIR_ASSIGN_OR_RETURN(window.dilations, source.template Attr<std::vector<int64_t>>("dilations"));
    if (window.dilations.size() != 4) {
      return InvalidArgument("Sliding window dilations field must specify 4 dimensions");
    }
  }
  if (window.strides.size() != 4) return InvalidArgument("Sliding window strides field must specify 4 dimensions");
  const size_t channels = static_cast<size_t>(window.channels());
  if (is_pool) {
    if (window.strides[0] != 1) return Unimplemented("Pooling is not yet supported on the batch dimension.");
  } else if (window.strides[0] != 1 || window.strides[channels] != 1) {
    return Unimplemented("Current implementation does not yet support strides in the batch and depth dimensions.");
  }
  if (window.dilations[0] != 1 || window.dilations[channels] != 1) {
    return Unimplemented("Current implementation does not yet support dilations in the batch and depth dimensions.");
  }
  if (window.padding == "EXPLICIT") {
    WEIR_ASSIGN_OR_RETURN(window.explicit_paddings, source.template Attr<std::vector<int64_t>>("explicit_paddings"));
    if (window.explicit_paddings.size() != 8) {
      return InvalidArgument("explicit_paddings attribute must contain 8 values, but got: ",
                             window.explicit_paddings.size());
    }
  }
  return window;
}

// A max pool over the channels of NHWC images: windows stand side by side and fill the depth; rows and columns stay.
inline Status CheckDepthWindow(std::span<const int64_t> sizes, std::span<const int64_t> strides, int64_t depth) {
  if (sizes[1] != 1 || sizes[2] != 1) {
    return Unimplemented("MaxPooling supports exactly one of pooling across depth or pooling across width/height.");
  }
  if (depth % sizes[3] != 0) {
    return Unimplemented("Depthwise max pooling requires the depth window to evenly divide the input depth");
  }
  if (strides[3] != sizes[3]) {
    return Unimplemented("Depthwise max pooling requires the depth window to equal the depth stride");
  }
  return OkStatus();
}

}  // namespace weir::nn

#endif  // WEIR_OPS_NN_WINDOW_H_
