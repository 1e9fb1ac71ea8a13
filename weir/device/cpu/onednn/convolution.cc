// Convolutions and their gradients. Images stay channels-last; filters are brought into the order that oneDNN likes.
#include "weir/device/cpu/contraction.h"
#include "weir/device/cpu/onednn/operation_internal.h"

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

// [axes..., in / groups, out] as [groups,] out / groups, in / groups, axes.
struct FilterDims {
  Dims dims, strides;
  explicit FilterDims(const ConvolutionShape& s) {
    const int64_t in = s.in_channels / s.groups, out = s.out_channels / s.groups;
    if (s.groups > 1) {
      dims.push_back(s.groups);
      strides.push_back(out);
    }
    const size_t first = dims.size();
    dims.insert(dims.end(), {out, in});
    strides.insert(strides.end(), {1, s.out_channels});
    int64_t stride = in * s.out_channels;
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
std::unique_ptr<Operation> Make(Part part, const ConvolutionShape& s, const Epilogue& epilogue) {
  MemoryDesc src = DescribeImage(s, s.in_channels, [](const auto& axis) { return axis.input; });
  MemoryDesc dst = DescribeImage(s, s.out_channels, [](const auto& axis) { return axis.output; });
  const FilterDims filter(s);
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

bool RunAtOnce(const KernelContext& ctx, Part part, const ConvolutionShape& s, const Epilogue& epilogue,
               const float* image, const float* filter, const float* pooled, const Weights* weights) {
  const ThreadGrant grant(ctx, Operations(s), ThreadGrant::Share::kInTurn);
  OperationKey key = {
      1 + static_cast<int64_t>(part), grant.threads(), s.batch, s.groups, s.in_channels, s.out_channels};
  for (int i = 0; i < s.rank; ++i) {
    const ConvolutionShape::Axis& a = s.axes[i];
    for (int64_t size : {a.input, a.filter, a.stride, a.dilation, a.before, a.output}) key.push_back(size);
  }
  key.push_back(EpilogueArguments::Flags(epilogue));
  auto operation = FindOrMake(key, [&] { return Make(part, s, epilogue); });
  if (operation == nullptr) return false;
  absl::InlinedVector<void*, 8> data = {const_cast<float*>(image), const_cast<float*>(filter),
                                        const_cast<float*>(pooled)};
  EpilogueArguments::AppendData(epilogue, data);
  return operation->Run(data, weights);
}

// Image by image.
bool RunInPieces(const KernelContext& ctx, Part part, const ConvolutionShape& s, const Epilogue& epilogue,
                 const float* image, const float* filter, const float* pooled, const Weights* weights) {
  ConvolutionShape one = s;
  one.batch = 1;
  int64_t image_size = s.in_channels, pooled_size = s.out_channels;
  for (int i = 0; i < s.rank; ++i) {
    image_size *= s.axes[i].input;
    pooled_size *= s.axes[i].output;
  }
  return RunPieces(ctx, s.batch, Operations(s), [&](int64_t i) {
    Epilogue end = epilogue;
    if (end.addend != nullptr) end.addend += i * pooled_size;
    return RunAtOnce(ctx, part, one, end, image + i * image_size, filter, pooled + i * pooled_size, weights);
  });
}

bool Run(const KernelContext& ctx, Part part, const ConvolutionShape& s, const Epilogue& epilogue, const float* image,
         const float* filter, const float* pooled, const Weights* weights = nullptr) {
  if (Operations(s) < kMinOperations || GetLibrary() == nullptr) return false;
  // The gradient by the filter is a sum over the images, and has to be done by one thread then.
  const bool is_split = ctx.step().deterministic && part != Part::kFilter;
  return (is_split ? RunInPieces : RunAtOnce)(ctx, part, s, epilogue, image, filter, pooled, weights);
}

}  // namespace

bool Convolve(const KernelContext& ctx, const ConvolutionShape& shape, const float* input, const Weights& filter,
              const Epilogue& epilogue, float* output) {
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
