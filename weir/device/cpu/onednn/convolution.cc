// Convolutions and their gradients. Images stay channels-last; filters are brought into the order that oneDNN likes.
#include <algorithm>
#include <optional>
#include <vector>

#include "weir/device/cpu/contraction.h"
#include "weir/device/cpu/onednn/pieces_internal.h"
#include "weir/framework/kernel.h"

namespace weir {
namespace {

using namespace onednn;
using Dims = absl::InlinedVector<int64_t, 6>;

// Below this the loops are done before oneDNN has begun.
constexpr double kMinOperations = 16'000;

enum class Part { kForward, kInput, kFilter };

double Operations(const ConvolutionShape& s) {
  double count = 2.0 * static_cast<double>(s.batch) * static_cast<double>(s.out_channels) *
                 static_cast<double>(s.in_channels) / static_cast<double>(s.groups);
  for (int i = 0; i < s.rank; ++i) count *= static_cast<double>(s.axes[i].output * s.axes[i].filter);
  return count;
}

// [batch, axes..., channels] in oneDNN's order of dimensions: batch, channels, axes.
template <typename Size>
MemoryDesc DescribeImage(const ConvolutionShape& s, int64_t channels, Size size) {
  Dims dims(static_cast<size_t>(s.rank + 2)), strides(dims.size());
  dims[0] = s.batch;
  dims[1] = channels;
  strides[1] = 1;
  int64_t stride = channels;
  for (int i = s.rank - 1; i >= 0; --i) {
    dims[i + 2] = size(s.axes[i]);
    strides[i + 2] = stride;
    stride *= dims[i + 2];
  }
  strides[0] = stride;
  return MemoryDesc::Strided(dims, strides);
}

// [axes..., in / groups, out] as [groups,] out / groups, in / groups, axes. The filter may be a part of a larger one
// with other numbers of channels.
struct Channels {
  int64_t in, out;
};
struct FilterDims {
  Dims dims, strides;
  FilterDims(const ConvolutionShape& s, const Channels& whole) {
    const int64_t in = s.in_channels / s.groups, out = s.out_channels / s.groups;
    if (s.groups > 1) {
      dims.push_back(s.groups);
      strides.push_back(out);
    }
    const size_t first = dims.size();
    dims.insert(dims.end(), {out, in});
    strides.insert(strides.end(), {1, whole.out});
    int64_t stride = whole.in / s.groups * whole.out;
    dims.resize(first + 2 + static_cast<size_t>(s.rank));
    strides.resize(dims.size());
    for (int i = s.rank - 1; i >= 0; --i) {
      dims[first + 2 + i] = s.axes[i].filter;
      strides[first + 2 + i] = stride;
      stride *= s.axes[i].filter;
    }
  }
};

struct Windows {
  dnnl_dims_t strides{}, dilations{}, before{}, after{};
  explicit Windows(const ConvolutionShape& s) {
    for (int i = 0; i < s.rank; ++i) {
      const ConvolutionShape::Axis& axis = s.axes[i];
      strides[i] = axis.stride;
      dilations[i] = axis.dilation - 1;
      before[i] = axis.before;
      const int64_t reach = (axis.filter - 1) * axis.dilation + 1;
      after[i] = std::max<int64_t>(0, (axis.output - 1) * axis.stride + reach - axis.input - axis.before);
    }
  }
};

dnnl_primitive_desc_t ForwardDesc(const ConvolutionShape& s, const MemoryDesc& src, const MemoryDesc& weights,
                                  const MemoryDesc& bias, const MemoryDesc& dst, PrimitiveAttr& attr) {
  const Library& library = *GetLibrary();
  const Windows w(s);
  dnnl_primitive_desc_t desc = nullptr;
  library.convolution_forward_primitive_desc_create(&desc, library.engine, dnnl_forward_training,
                                                    dnnl_convolution_direct, src.get(), weights.get(), bias.get(),
                                                    dst.get(), w.strides, w.dilations, w.before, w.after, attr.get());
  return desc;
}

dnnl_primitive_desc_t BackwardDesc(Part part, const ConvolutionShape& s, const MemoryDesc& src,
                                   const MemoryDesc& weights, const MemoryDesc& dst) {
  const Library& library = *GetLibrary();
  const Windows w(s);
  PrimitiveAttr attr;
  dnnl_primitive_desc_t forward = ForwardDesc(s, src, weights, MemoryDesc(), dst, attr);
  if (forward == nullptr) return nullptr;
  dnnl_primitive_desc_t desc = nullptr;
  if (part == Part::kInput) {
    library.convolution_backward_data_primitive_desc_create(&desc, library.engine, dnnl_convolution_direct, src.get(),
                                                            weights.get(), dst.get(), w.strides, w.dilations, w.before,
                                                            w.after, forward, attr.get());
  } else {
    library.convolution_backward_weights_primitive_desc_create(&desc, library.engine, dnnl_convolution_direct,
                                                               src.get(), weights.get(), nullptr, dst.get(), w.strides,
                                                               w.dilations, w.before, w.after, forward, attr.get());
  }
  library.primitive_desc_destroy(forward);
  return desc;
}

// Arguments: image, filter, pooled image, then those of the epilogue.
std::unique_ptr<Operation> Make(Part part, const ConvolutionShape& s, const Channels& whole, const Epilogue& epilogue) {
  MemoryDesc src = DescribeImage(s, s.in_channels, [](const auto& axis) { return axis.input; });
  MemoryDesc dst = DescribeImage(s, s.out_channels, [](const auto& axis) { return axis.output; });
  const FilterDims filter(s, whole);
  const MemoryDesc weights = MemoryDesc::Any(filter.dims);
  const int64_t bias_dims[] = {s.out_channels}, bias_strides[] = {1};
  const MemoryDesc bias = MemoryDesc::Strided(bias_dims, bias_strides);
  Dims column_dims(static_cast<size_t>(s.rank + 2), 1), column_strides(column_dims.size(), s.out_channels);
  column_dims[1] = s.out_channels;
  column_strides[1] = 1;
  PrimitiveAttr attr;
  EpilogueArguments extra(epilogue, MemoryDesc::Strided(column_dims, column_strides), dst, attr);
  const MemoryDesc none;
  dnnl_primitive_desc_t desc = part == Part::kForward
                                   ? ForwardDesc(s, src, weights, extra.has_own_bias() ? bias : none, dst, attr)
                                   : BackwardDesc(part, s, src, weights, dst);
  const bool is_input = part == Part::kInput, is_filter = part == Part::kFilter;
  std::vector<Operation::Argument> arguments;
  arguments.push_back({is_input ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC,
                       is_input ? dnnl_query_diff_src_md : dnnl_query_src_md, std::move(src), is_input});
  arguments.push_back({is_filter ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS,
                       is_filter ? dnnl_query_diff_weights_md : dnnl_query_weights_md,
                       MemoryDesc::Strided(filter.dims, filter.strides), is_filter});
  arguments.push_back({part == Part::kForward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST,
                       part == Part::kForward ? dnnl_query_dst_md : dnnl_query_diff_dst_md, std::move(dst),
                       part == Part::kForward});
  extra.AppendTo(arguments, bias);
  return Operation::Make(Primitive(desc), std::move(arguments));
}

std::shared_ptr<const Operation> Find(Part part, const ConvolutionShape& s, const Channels& whole,
                                      const Epilogue& epilogue) {
  OperationKey key = {
      1 + static_cast<int64_t>(part), s.batch, s.groups, s.in_channels, s.out_channels, whole.in, whole.out};
  for (int i = 0; i < s.rank; ++i) {
    const ConvolutionShape::Axis& a = s.axes[i];
    for (int64_t size : {a.input, a.filter, a.stride, a.dilation, a.before, a.output}) key.push_back(size);
  }
  key.push_back(EpilogueArguments::Flags(epilogue));
  return FindOrMake(key, [&] { return Make(part, s, whole, epilogue); });
}

// A piece of a convolution: some of its images, a strip of one that is cut along its first axis, or some channels of
// what it writes.
struct Strip {
  ConvolutionShape shape;
  int64_t image = 0, pooled = 0, filter = 0;  // where it begins in each
  Range channels = {0, 0};                    // empty: all
};

// The strip of one image that writes `rows`: the image's for its gradient, else the pooled image's. Nothing if it has
// no windows, or these leave gaps.
std::optional<Strip> CutStrip(Part part, const ConvolutionShape& s, Range rows) {
  const ConvolutionShape::Axis& axis = s.axes[0];
  const int64_t reach = (axis.filter - 1) * axis.dilation + 1;
  Range image = rows, pooled = rows;
  if (part == Part::kInput) {  // the windows that have some of the rows
    const int64_t first = rows.begin + axis.before - (reach - 1);
    pooled = {first > 0 ? (first + axis.stride - 1) / axis.stride : 0,
              std::min(axis.output, (rows.end - 1 + axis.before) / axis.stride + 1)};
  } else {
    image = {std::max<int64_t>(0, rows.begin * axis.stride - axis.before),
             std::min(axis.input, (rows.end - 1) * axis.stride - axis.before + reach)};
  }
  const int64_t before = image.begin + axis.before - pooled.begin * axis.stride;
  if (image.size() <= 0 || pooled.size() <= 0 || before < 0) return std::nullopt;
  Strip out{s, image.begin * s.in_channels, pooled.begin * s.out_channels, 0, {0, 0}};
  out.shape.batch = 1;
  out.shape.axes[0] = {image.size(), axis.filter, axis.stride, axis.dilation, before, pooled.size()};
  for (int i = 1; i < s.rank; ++i) {
    out.image *= s.axes[i].input;
    out.pooled *= s.axes[i].output;
  }
  return out;
}

// Elements of an image, a pooled one, and the filter.
struct Sizes {
  int64_t image, pooled, filter;
  explicit Sizes(const ConvolutionShape& s)
      : image(s.in_channels), pooled(s.out_channels), filter(s.in_channels / s.groups * s.out_channels) {
    for (int i = 0; i < s.rank; ++i) {
      image *= s.axes[i].input;
      pooled *= s.axes[i].output;
      filter *= s.axes[i].filter;
    }
  }
};

// Where a convolution is cut by channels, these are the image's, and those of the pooled image if that is what it
// makes.
bool CutsImage(Part part) { return part != Part::kForward; }

// Pieces of images all read the filter, or each make one, which are added. Pieces of channels all read one of the
// images and copy their part of the other.
bool IsBetterByChannels(Part part, const ConvolutionShape& s, int64_t pieces) {
  constexpr int64_t kMinChannels = 32;
  const Sizes sizes(s);
  const int64_t channels = CutsImage(part) ? s.in_channels : s.out_channels;
  const int64_t read = s.batch * (CutsImage(part) ? sizes.pooled : sizes.image);
  const int64_t copied = s.batch * (CutsImage(part) ? sizes.image : sizes.pooled);
  const int64_t filters = (part == Part::kFilter ? 2 * pieces - 1 : pieces - 1) * sizes.filter;
  return s.groups == 1 && channels >= kMinChannels * pieces && filters > (pieces - 1) * read + 2 * copied;
}

// Whether each pixel of the result is made of one pixel of the image.
bool IsProduct(const ConvolutionShape& s) {
  return s.groups == 1 && std::all_of(s.axes, s.axes + s.rank, [](const ConvolutionShape::Axis& axis) {
           return axis.filter == 1 && axis.stride == 1 && axis.before == 0 && axis.output == axis.input;
         });
}

std::vector<Strip> CutChannels(Part part, const ConvolutionShape& s, int64_t pieces) {
  constexpr int64_t kUnit = 16;
  std::vector<Strip> strips;
  for (int64_t i = 0; i < pieces; ++i) {
    Strip strip{s};
    if (CutsImage(part)) {
      strip.channels = PartOf(s.in_channels, pieces, i, kUnit);
      strip.shape.in_channels = strip.channels.size();
      strip.image = strip.channels.begin;
      strip.filter = strip.channels.begin * s.out_channels;
    } else {
      strip.channels = PartOf(s.out_channels, pieces, i, kUnit);
      strip.shape.out_channels = strip.channels.size();
      strip.pooled = strip.filter = strip.channels.begin;
    }
    strips.push_back(strip);
  }
  return strips;
}

// In a deterministic step: image by image, except for the gradient by the filter, which is a sum over all of them.
std::vector<Strip> Cut(const KernelContext& ctx, Part part, const ConvolutionShape& s) {
  constexpr int64_t kMinRows = 4;
  const Sizes sizes(s);
  const int64_t rows = part == Part::kInput ? s.axes[0].input : s.axes[0].output;
  const int64_t pieces = NumPieces(ctx, Operations(s));
  if (pieces > 1 && IsBetterByChannels(part, s, pieces)) return CutChannels(part, s, pieces);
  Groups groups = GroupItems(s.batch, pieces);
  if (ctx.step().deterministic) groups = {part == Part::kFilter ? 1 : s.batch, 1};
  const int64_t cuts = std::clamp<int64_t>(rows / kMinRows, 1, groups.cuts);
  std::vector<Strip> strips;
  for (int64_t i = 0; i < groups.groups; ++i) {
    const Range images = PartOf(s.batch, groups.groups, i);
    for (int64_t cut = 0; cut < cuts; ++cut) {
      std::optional<Strip> strip = Strip{s};
      if (cuts > 1) strip = CutStrip(part, s, PartOf(rows, cuts, cut));
      if (!strip.has_value()) return {Strip{s}};
      strip->shape.batch = images.size();
      strip->image += images.begin * sizes.image;
      strip->pooled += images.begin * sizes.pooled;
      strips.push_back(*strip);
    }
  }
  return strips;
}

// Gradients by the filter that pieces have made: the first piece writes the result, the others into memory of their
// own, which is added to it.
class PartialFilters {
 public:
  PartialFilters(size_t pieces, const ConvolutionShape& s)
      : count_(static_cast<int64_t>(pieces) - 1), size_(Sizes(s).filter) {}
  bool ok() const { return memory_.ok(); }
  float* Get(int64_t piece) const { return reinterpret_cast<float*>(memory_.data()) + (piece - 1) * size_; }
  void AddTo(const KernelContext& ctx, float* sum) const {
    if (count_ == 0) return;
    ctx.ParallelFor(size_, 0.3 * static_cast<double>(count_), [&](int64_t begin, int64_t end) {
      for (int64_t piece = 1; piece <= count_; ++piece) {
        const float* more = Get(piece);
        for (int64_t i = begin; i < end; ++i) sum[i] += more[i];
      }
    });
  }

 private:
  const int64_t count_, size_;
  const Scratch memory_{static_cast<size_t>(count_ * size_) * sizeof(float)};
};

// Gives a piece of channels a copy of the image that is cut. The end of the epilogue is left to the one that stores it.
void CopyChannels(Part part, const ConvolutionShape& s, const Strip& strip, Epilogue& epilogue, Piece& piece) {
  const size_t argument = CutsImage(part) ? 0 : 2;
  const int64_t stride = CutsImage(part) ? s.in_channels : s.out_channels;
  const int64_t rows = s.batch * (CutsImage(part) ? Sizes(s).image : Sizes(s).pooled) / stride;
  piece.columns = {rows,     strip.channels.size(), stride,          static_cast<float*>(piece.data[argument]),
                   argument, part != Part::kFilter, epilogue.addend, epilogue.relu};
  if (epilogue.addend != nullptr) epilogue.relu = epilogue.in_place = false;
  epilogue.addend = nullptr;
  if (epilogue.scale != nullptr) epilogue.scale += strip.channels.begin;
  if (epilogue.bias != nullptr) epilogue.bias += strip.channels.begin;
}

bool Run(const KernelContext& ctx, Part part, const ConvolutionShape& s, const Epilogue& epilogue, const float* image,
         const float* filter, const float* pooled, const Weights* weights = nullptr) {
  if (Operations(s) < kMinOperations || GetLibrary() == nullptr) return false;
  const std::vector<Strip> strips = Cut(ctx, part, s);
  const bool by_channels = strips[0].channels.size() > 0;
  const PartialFilters partial(part == Part::kFilter && !by_channels ? strips.size() : 1, s);
  if (!partial.ok()) return false;
  Pieces pieces;
  for (const Strip& strip : strips) {
    const int index = static_cast<int>(pieces.size()), count = static_cast<int>(strips.size());
    const bool is_partial = part == Part::kFilter && !by_channels && index > 0;
    Piece piece;
    piece.data = {const_cast<float*>(image) + strip.image,
                  is_partial ? partial.Get(index) : const_cast<float*>(filter) + strip.filter,
                  const_cast<float*>(pooled) + strip.pooled};
    Epilogue end = epilogue;
    if (end.addend != nullptr) end.addend += strip.pooled;
    if (by_channels) CopyChannels(part, s, strip, end, piece);
    piece.operation = Find(part, strip.shape, {s.in_channels, s.out_channels}, end);
    if (piece.operation == nullptr) return false;
    EpilogueArguments::AppendData(end, piece.data);
    piece.constant = {weights, strip.filter, by_channels ? index : 0, by_channels ? count : 1};
    pieces.push_back(std::move(piece));
  }
  if (!RunPieces(ctx, pieces, Operations(s), 0)) return false;
  partial.AddTo(ctx, const_cast<float*>(filter));
  return true;
}

}  // namespace

bool Convolve(const KernelContext& ctx, const ConvolutionShape& shape, const float* input, const Weights& filter,
              const Epilogue& epilogue, float* output) {
  // A large filter of one element with few pixels is faster as the product that it is.
  const int64_t pieces = NumPieces(ctx, Operations(shape));
  if (pieces > 1 && IsProduct(shape) && IsBetterByChannels(Part::kForward, shape, pieces)) {
    const int64_t pixels = shape.batch * Sizes(shape).pooled / shape.out_channels;
    const ProductShape product = {1, pixels, shape.out_channels, shape.in_channels};
    const MatrixOperand a = {input, shape.in_channels, 1, 0};
    const MatrixOperand b = {filter.tensor->data<float>(), shape.out_channels, 1, 0};
    return MultiplyMatrices(ctx, product, a, b, epilogue, output, &filter);
  }
  return Run(ctx, Part::kForward, shape, epilogue, input, filter.tensor->data<float>(), output, &filter);
}
bool ConvolveBackwardInput(const KernelContext& ctx, const ConvolutionShape& shape, const float* filter,
                           const float* gradient, float* input_gradient) {
  return Run(ctx, Part::kInput, shape, {}, input_gradient, filter, gradient);
}
bool ConvolveBackwardFilter(const KernelContext& ctx, const ConvolutionShape& shape, const float* input,
                            const float* gradient, float* filter_gradient) {
  return Run(ctx, Part::kFilter, shape, {}, input, filter_gradient, gradient);
}

}  // namespace weir
