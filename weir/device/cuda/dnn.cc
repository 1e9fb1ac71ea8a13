#include "weir/device/cuda/dnn.h"

#include <bit>
#include <limits>

#include "weir/device/cuda/blas.h"
#include "weir/device/cuda/dnn_graph.h"

namespace weir::cuda {
namespace {

enum TensorId : int64_t { kImageId = 1, kFilterId, kOutputId, kBiasId, kAddendId, kFirstVirtualId };

// Dimensions in cuDNN's order, batch and channels first, whatever the strides are.
struct DnnShape {
  std::vector<int64_t> dims, strides;
};

// [outer, channels, spatial...] with the channels last in memory.
DnnShape ChannelsLast(int64_t outer, int64_t channels, std::span<const int64_t> spatial) {
  DnnShape shape{{outer, channels}, {0, 1}};
  shape.dims.insert(shape.dims.end(), spatial.begin(), spatial.end());
  shape.strides.resize(shape.dims.size(), 1);
  int64_t stride = channels;
  for (size_t d = shape.dims.size(); d-- > 2;) {
    shape.strides[d] = stride;
    stride *= shape.dims[d];
  }
  shape.strides[0] = stride;
  return shape;
}

int64_t AlignmentFor(DeviceAddress address) {
  return address == 0 ? 16 : int64_t{1} << std::min(std::countr_zero(address), 4);
}

class ConvolutionGraph {
 public:
  ConvolutionGraph(const CudnnFunctions& dnn, const Convolution& c, int64_t alignment, int64_t multiprocessors)
      : c_(c), alignment_(alignment), multiprocessors_(multiprocessors), graph_(std::make_unique<DnnGraph>(dnn)) {
    std::vector<int64_t> inputs, sizes, outputs;
    for (int i = 0; i < c.spatial; ++i) {
      inputs.push_back(c.axes[i].input);
      sizes.push_back(c.axes[i].size);
      outputs.push_back(c.axes[i].output);
    }
    image_ = ChannelsLast(c.batch, c.in_channels, inputs);
    filter_ = ChannelsLast(c.out_channels, c.in_channels / c.groups, sizes);
    output_ = ChannelsLast(c.batch, c.out_channels, outputs);
    const std::vector<int64_t> ones(static_cast<size_t>(c.spatial), 1);
    bias_ = ChannelsLast(1, c.out_channels, ones);
  }

  StatusOr<std::unique_ptr<DnnGraph>> Make() {
    WEIR_ASSIGN_OR_RETURN(type_, CudnnTypeOf(c_.dtype));
    WEIR_ASSIGN_OR_RETURN(const DnnDescriptor* image, Add(kImageId, image_, type_, false));
    WEIR_ASSIGN_OR_RETURN(const DnnDescriptor* filter,
                          Add(kFilterId, filter_, c_.has_float_filter ? kCudnnFloat : type_, false));
    const int rest = int{c_.has_addend} + c_.has_bias + c_.has_relu;
    WEIR_ASSIGN_OR_RETURN(const DnnDescriptor* output, AddResult(rest == 0));
    WEIR_RETURN_IF_ERROR(AddConvolution(*image, *filter, *output));
    if (c_.has_addend) {
      WEIR_ASSIGN_OR_RETURN(const DnnDescriptor* addend, Add(kAddendId, output_, type_, false));
      WEIR_RETURN_IF_ERROR(AddPointwise(kCudnnPointwiseAdd, &output, addend, !c_.has_bias && !c_.has_relu));
    }
    if (c_.has_bias) {
      WEIR_ASSIGN_OR_RETURN(const DnnDescriptor* bias, Add(kBiasId, bias_, type_, false));
      WEIR_RETURN_IF_ERROR(AddPointwise(kCudnnPointwiseAdd, &output, bias, !c_.has_relu));
    }
    if (c_.has_relu) WEIR_RETURN_IF_ERROR(AddPointwise(kCudnnPointwiseReluForward, &output, nullptr, true));
    if (c_.has_float_filter) AddSplits();
    return std::move(graph_);
  }

 private:
  StatusOr<const DnnDescriptor*> Add(int64_t id, const DnnShape& shape, CudnnDataType type, bool is_virtual) {
    return graph_->AddTensor(id, type, shape.dims, shape.strides, alignment_, is_virtual);
  }
  // What an operation gives: the output, or what the next one takes.
  StatusOr<const DnnDescriptor*> AddResult(bool is_last) {
    return is_last ? Add(kOutputId, output_, type_, false) : Add(next_virtual_++, output_, kCudnnFloat, true);
  }

  Status AddConvolution(const DnnDescriptor& image, const DnnDescriptor& filter, const DnnDescriptor& output) {
    const CudnnFunctions& dnn = graph_->functions();
    WEIR_ASSIGN_OR_RETURN(DnnDescriptor convolution, DnnDescriptor::Make(dnn, kCudnnConvolutionDescriptor));
    std::vector<int64_t> strides, dilations, before, after;
    for (int i = 0; i < c_.spatial; ++i) {
      const Convolution::Axis& axis = c_.axes[i];
      strides.push_back(axis.stride);
      dilations.push_back(axis.dilation);
      before.push_back(axis.before);
      after.push_back(axis.after);
    }
    WEIR_RETURN_IF_ERROR(convolution.Set(kCudnnAttrConvolutionSpatialDims, kCudnnTypeInt64, int64_t{c_.spatial}));
    WEIR_RETURN_IF_ERROR(convolution.Set(kCudnnAttrConvolutionComputeType, kCudnnTypeDataType, kCudnnFloat));
    WEIR_RETURN_IF_ERROR(convolution.Set(kCudnnAttrConvolutionMode, kCudnnTypeConvolutionMode, kCudnnCrossCorrelation));
    WEIR_RETURN_IF_ERROR(convolution.SetInts(kCudnnAttrConvolutionFilterStrides, strides));
    WEIR_RETURN_IF_ERROR(convolution.SetInts(kCudnnAttrConvolutionDilations, dilations));
    WEIR_RETURN_IF_ERROR(convolution.SetInts(kCudnnAttrConvolutionPrePaddings, before));
    WEIR_RETURN_IF_ERROR(convolution.SetInts(kCudnnAttrConvolutionPostPaddings, after));
    WEIR_RETURN_IF_ERROR(convolution.Finalize());
    const DnnDescriptor& kept = *graph_->Keep(std::move(convolution));
    struct Names {
      CudnnDescriptorType type;
      CudnnAttribute image, filter, output, convolution, alpha, beta;
    };
    constexpr Names kNames[] = {
        {kCudnnConvolutionForwardDescriptor, kCudnnAttrForwardX, kCudnnAttrForwardW, kCudnnAttrForwardY,
         kCudnnAttrForwardConvolution, kCudnnAttrForwardAlpha, kCudnnAttrForwardBeta},
        {kCudnnConvolutionBackwardDataDescriptor, kCudnnAttrBackwardDataDx, kCudnnAttrBackwardDataW,
         kCudnnAttrBackwardDataDy, kCudnnAttrBackwardDataConvolution, kCudnnAttrBackwardDataAlpha,
         kCudnnAttrBackwardDataBeta},
        {kCudnnConvolutionBackwardFilterDescriptor, kCudnnAttrBackwardFilterX, kCudnnAttrBackwardFilterDw,
         kCudnnAttrBackwardFilterDy, kCudnnAttrBackwardFilterConvolution, kCudnnAttrBackwardFilterAlpha,
         kCudnnAttrBackwardFilterBeta}};
    const Names& names = kNames[static_cast<int>(c_.part)];
    const float one = 1, zero = 0;
    WEIR_ASSIGN_OR_RETURN(DnnDescriptor operation, DnnDescriptor::Make(dnn, names.type));
    WEIR_RETURN_IF_ERROR(operation.Set(names.image, image));
    WEIR_RETURN_IF_ERROR(operation.Set(names.filter, filter));
    WEIR_RETURN_IF_ERROR(operation.Set(names.output, output));
    WEIR_RETURN_IF_ERROR(operation.Set(names.convolution, kept));
    WEIR_RETURN_IF_ERROR(operation.Set(names.alpha, kCudnnTypeFloat, one));
    WEIR_RETURN_IF_ERROR(operation.Set(names.beta, kCudnnTypeFloat, zero));
    WEIR_RETURN_IF_ERROR(operation.Finalize());
    graph_->AddOperation(std::move(operation));
    return OkStatus();
  }

  // The engine that gives gradients of filters in float for half operands does not split their long sums by itself, and
  // the heuristics do not say into how many parts it should. Two of its kernels are tried: the usual one with tiles of
  // 128 x 128 products for each tap, and one with half as large ones, which take a little more than half the time.
  void AddSplits() {
    constexpr int64_t kHalfTiles = 8;
    const auto [split, time] = BestSplit(128, 1);
    const auto [half_split, half_time] = BestSplit(64, 0.58);
    const DnnSetting whole = {{kCudnnKnobSplitK, split}};
    const DnnSetting half = {{kCudnnKnobSplitK, half_split}, {kCudnnKnobKernelConfig, kHalfTiles}};
    graph_->AddSetting(time <= half_time ? whole : half);
    graph_->AddSetting(time <= half_time ? half : whole);
  }
  // The number of parts with which all multiprocessors are busy the shortest, and that time relative to `cost`, the
  // time of one tile. Parts are added up afterwards.
  std::pair<int64_t, double> BestSplit(int64_t columns, double cost) const {
    auto blocks = [](int64_t n, int64_t size) { return (n + size - 1) / size; };
    int64_t taps = 1, places = c_.batch;
    for (int i = 0; i < c_.spatial; ++i) {
      taps *= c_.axes[i].size;
      places *= c_.axes[i].output;
    }
    const int64_t tiles = taps * blocks(c_.in_channels, 128) * blocks(c_.out_channels, columns);
    // In the time of a tile a multiprocessor would add up some 16 numbers for each place.
    const double addition = static_cast<double>(taps * c_.in_channels * c_.out_channels) /
                            (16.0 * static_cast<double>(places * multiprocessors_));
    std::pair<int64_t, double> best = {1, std::numeric_limits<double>::max()};
    for (int64_t split = 1; split <= std::min<int64_t>(128, blocks(places, 512)); ++split) {
      const auto waves = static_cast<double>(blocks(tiles * split, multiprocessors_));
      const double parts = static_cast<double>(split);
      const double time = cost * waves / parts + (split > 1 ? addition * (parts + 1) : 0);
      if (time < best.second) best = {split, time};
    }
    return best;
  }

  // *value becomes the operation's result.
  Status AddPointwise(CudnnPointwiseMode mode, const DnnDescriptor** value, const DnnDescriptor* second, bool is_last) {
    const CudnnFunctions& dnn = graph_->functions();
    WEIR_ASSIGN_OR_RETURN(DnnDescriptor pointwise, DnnDescriptor::Make(dnn, kCudnnPointwiseDescriptor));
    WEIR_RETURN_IF_ERROR(pointwise.Set(kCudnnAttrPointwiseMode, kCudnnTypePointwiseMode, mode));
    WEIR_RETURN_IF_ERROR(pointwise.Set(kCudnnAttrPointwiseMathPrecision, kCudnnTypeDataType, kCudnnFloat));
    WEIR_RETURN_IF_ERROR(pointwise.Finalize());
    const DnnDescriptor& kept = *graph_->Keep(std::move(pointwise));
    WEIR_ASSIGN_OR_RETURN(const DnnDescriptor* result, AddResult(is_last));
    WEIR_ASSIGN_OR_RETURN(DnnDescriptor operation, DnnDescriptor::Make(dnn, kCudnnOperationPointwiseDescriptor));
    WEIR_RETURN_IF_ERROR(operation.Set(kCudnnAttrOperationPointwise, kept));
    WEIR_RETURN_IF_ERROR(operation.Set(kCudnnAttrOperationPointwiseX, **value));
    if (second != nullptr) WEIR_RETURN_IF_ERROR(operation.Set(kCudnnAttrOperationPointwiseB, *second));
    WEIR_RETURN_IF_ERROR(operation.Set(kCudnnAttrOperationPointwiseY, *result));
    WEIR_RETURN_IF_ERROR(operation.Finalize());
    graph_->AddOperation(std::move(operation));
    *value = result;
    return OkStatus();
  }

  const Convolution& c_;
  const int64_t alignment_, multiprocessors_;
  std::unique_ptr<DnnGraph> graph_;
  DnnShape image_, filter_, output_, bias_;
  CudnnDataType type_ = kCudnnFloat;
  int64_t next_virtual_ = kFirstVirtualId;
};

}  // namespace

std::string KeyOf(const Convolution& c) {
  std::string key = Cat("convolution", static_cast<int>(c.part), Name(c.dtype), ",", c.batch, ",", c.in_channels, ",",
                        c.out_channels, ",", c.groups, ",", c.has_bias, c.has_addend, c.has_relu, c.has_float_filter);
  for (int i = 0; i < c.spatial; ++i) {
    const Convolution::Axis& a = c.axes[i];
    key += Cat(";", a.input, ",", a.size, ",", a.stride, ",", a.dilation, ",", a.before, ",", a.after, ",", a.output);
  }
  return key;
}

StatusOr<bool> RunConvolution(KernelContext& ctx, const Convolution& c, const ConvolutionTensors& tensors) {
  WEIR_ASSIGN_OR_RETURN(DnnStream * stream, DnnStream::Of(ctx));
  std::vector<int64_t> ids = {kImageId, kFilterId, kOutputId};
  std::vector<DeviceAddress> addresses = {tensors.image, tensors.filter, tensors.output};
  if (c.has_bias) {
    ids.push_back(kBiasId);
    addresses.push_back(tensors.bias);
  }
  if (c.has_addend) {
    ids.push_back(kAddendId);
    addresses.push_back(tensors.addend);
  }
  int64_t alignment = 16;
  for (DeviceAddress address : addresses) alignment = std::min(alignment, AlignmentFor(address));
  const DnnEngineLimits limits{.deterministic = ctx.step().deterministic,
                               .without_tensor_float = c.dtype == DType::kFloat && !AllowsTensorFloat32()};
  WEIR_ASSIGN_OR_RETURN(DnnPlan * plan,
                        stream->Find(Cat(KeyOf(c), ",", alignment), limits, [&](const CudnnFunctions& dnn) {
                          return ConvolutionGraph(dnn, c, alignment, DeviceOf(ctx).gpu().multiprocessors()).Make();
                        }));
  if (plan == nullptr) return false;
  WEIR_RETURN_IF_ERROR(stream->Run(ctx, *plan, ids, addresses));
  return true;
}

}  // namespace weir::cuda
