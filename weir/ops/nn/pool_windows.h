// Windows of pools over images and volumes with channels last: an image is a volume of one plane.
#ifndef WEIR_OPS_NN_POOL_WINDOWS_H_
#define WEIR_OPS_NN_POOL_WINDOWS_H_

#include <array>
#include <span>
#include <string_view>

#include "weir/framework/kernel.h"
#include "weir/ops/nn/window.h"

namespace weir::nn {

struct PoolWindows {
  int64_t batch = 0, channels = 0;
  std::array<WindowAxis, 3> axis;  // planes, rows, columns
  Shape output;

  int64_t places() const { return axis[0].input * axis[1].input * axis[2].input; }  // of an image
  int64_t windows() const { return axis[0].output * axis[1].output * axis[2].output; }
  double window_size() const { return static_cast<double>(axis[0].size * axis[1].size * axis[2].size); }

  // Calls body(place) for every place of window `w` inside the image, in order.
  template <typename Body>
  void ForWindow(int64_t w, Body body) const {
    const int64_t x = w % axis[2].output, y = w / axis[2].output % axis[1].output,
                  z = w / axis[2].output / axis[1].output;
    for (int64_t p = axis[0].Begin(z); p < axis[0].End(z); ++p) {
      for (int64_t r = axis[1].Begin(y); r < axis[1].End(y); ++r) {
        const int64_t row = (p * axis[1].input + r) * axis[2].input;
        for (int64_t c = axis[2].Begin(x); c < axis[2].End(x); ++c) body(row + c);
      }
    }
  }
  int64_t CountInside(int64_t w) const {
    int64_t count = 0;
    ForWindow(w, [&](int64_t) { ++count; });
    return count;
  }
};

// `sizes` and `strides` are those of all dimensions of `input`, whose rank is 4 or 5.
inline StatusOr<PoolWindows> MakePoolWindows(const Shape& input, std::span<const int64_t> sizes,
                                             std::span<const int64_t> strides, std::string_view padding) {
  const int axes = input.rank() - 2;
  PoolWindows out;
  out.batch = input.dim(0);
  out.channels = input.dim(axes + 1);
  out.axis.fill(WindowAxis{1, 1, 1, 1, 0, 1});
  Shape shape({out.batch});
  for (int i = 0; i < axes; ++i) {
    WEIR_ASSIGN_OR_RETURN(WindowAxis axis,
                          MakeWindowAxis(input.dim(i + 1), sizes[i + 1], strides[i + 1], 1, padding, 0, 0));
    WEIR_RETURN_IF_ERROR(shape.AddDim(axis.output));
    out.axis[3 - axes + i] = axis;
  }
  WEIR_RETURN_IF_ERROR(shape.AddDim(out.channels));
  out.output = shape;
  return out;
}

// Windows over the channels of images: the channels of a place are the columns of a row, which has one channel.
inline StatusOr<PoolWindows> MakeDepthWindows(const Shape& input, std::span<const int64_t> sizes,
                                              std::span<const int64_t> strides) {
  const int64_t depth = input.dim(3), size = sizes[3];
  WEIR_RETURN_IF_ERROR(CheckDepthWindow(sizes, strides, depth));
  PoolWindows out;
  out.batch = input.dim(0);
  out.channels = 1;
  out.axis.fill(WindowAxis{1, 1, 1, 1, 0, 1});
  WEIR_ASSIGN_OR_RETURN(out.axis[1], MakeWindowAxis(input.dim(1) * input.dim(2), 1, 1, 1, "VALID", 0, 0));
  WEIR_ASSIGN_OR_RETURN(out.axis[2], MakeWindowAxis(depth, size, size, 1, "VALID", 0, 0));
  const int64_t dims[] = {out.batch, input.dim(1), input.dim(2), depth / size};
  WEIR_ASSIGN_OR_RETURN(out.output, Shape::Make(dims));
  return out;
}

// The window of a pool over images from a node's attributes. `over_depth`: whether windows over channels are allowed.
inline StatusOr<Window2D> ReadPoolWindow(const KernelInit& init, bool over_depth) {
  WEIR_ASSIGN_OR_RETURN(Window2D window, ReadWindow2D(init, /*is_pool=*/true));
  if (window.ksize[0] != 1) return Unimplemented("Pooling is not yet supported on the batch dimension.");
  // Where a window is one channel deep its stride along the depth means nothing.
  if (window.ksize[static_cast<size_t>(window.channels())] != 1 && (!over_depth || window.channels_second)) {
    return Unimplemented("Pooling is not yet supported on the depth dimension.");
  }
  for (int64_t size : window.ksize) {
    if (size <= 0) return InvalidArgument("Sliding window ksize must be positive, got ", size);
  }
  return window;
}

// The windows over images of shape `input`, whose channels are last whatever the window's format says; so are the
// output's.
inline StatusOr<PoolWindows> MakeImageWindows(const Window2D& window, const Shape& input) {
  if (input.rank() != 4) return InvalidArgument("tensor_in must be 4-dimensional");
  if (!window.channels_second && window.ksize[3] != 1) return MakeDepthWindows(input, window.ksize, window.strides);
  const auto height = static_cast<size_t>(window.height());
  for (size_t i = 2 * height; i < 2 * height + 4 && window.padding == "EXPLICIT"; ++i) {
    if (window.explicit_paddings[i] >= window.ksize[i / 2]) {
      const std::string_view sides[] = {"Top", "Bottom", "Left", "Right"};
      return InvalidArgument(sides[i - 2 * height], " padding ", window.explicit_paddings[i],
                             " needs to be smaller than the window size ", window.ksize[i / 2]);
    }
  }
  PoolWindows out;
  out.batch = input.dim(0);
  out.channels = input.dim(3);
  out.axis[0] = WindowAxis{1, 1, 1, 1, 0, 1};
  WEIR_ASSIGN_OR_RETURN(out.axis[1], window.Axis(window.height(), input.dim(1), window.ksize[height]));
  WEIR_ASSIGN_OR_RETURN(out.axis[2], window.Axis(window.width(), input.dim(2), window.ksize[height + 1]));
  const int64_t dims[] = {out.batch, out.axis[1].output, out.axis[2].output, out.channels};
  WEIR_ASSIGN_OR_RETURN(out.output, Shape::Make(dims));
  return out;
}

// Checks sizes and strides as pools over `rank` dimensions ask for them.
inline Status CheckPoolSizes(std::span<const int64_t> sizes, std::span<const int64_t> strides, int rank,
                             bool over_depth = false) {
  const size_t n = static_cast<size_t>(rank);
  if (sizes.size() != n) return InvalidArgument("Sliding window ksize field must specify ", rank, " dimensions");
  if (strides.size() != n) return InvalidArgument("Sliding window stride field must specify ", rank, " dimensions");
  for (size_t i = 0; i < n; ++i) {
    if (sizes[i] <= 0) return InvalidArgument("Sliding window ksize must be positive.");
    if (strides[i] <= 0) return InvalidArgument("Sliding window strides must be positive.");
  }
  if (sizes[0] != 1 || strides[0] != 1) {
    return Unimplemented("Pooling is not yet supported on the batch dimension.");
  }
  if (!over_depth && (sizes[n - 1] != 1 || strides[n - 1] != 1)) {
    return Unimplemented("Pooling is not yet supported on the depth dimension.");
  }
  return OkStatus();
}

inline Status CheckShape(const KernelContext& ctx, int input, const Shape& shape) {
  if (ctx.input(input).shape() == shape) return OkStatus();
  return InvalidArgument("Expected ", ctx.node().schema->inputs[input].name, " shape to be ", shape.ToString(),
                         ", but got ", ctx.input(input).shape().ToString());
}

}  // namespace weir::nn

#endif  // WEIR_OPS_NN_POOL_WINDOWS_H_
