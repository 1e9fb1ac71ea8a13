// What the operations of cuDNN's graph interface compute, and which of them the stand-in's engines take.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "tests/cuda_emulator/libraries/cudnn_descriptor.h"

namespace weir::cuda_emulator {
namespace {

using namespace cuda;

int64_t Product(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

// The attributes of the three kinds of convolution.
struct ConvolutionRole {
  CudnnAttribute image, filter, result, convolution, alpha, beta;  // result: what corresponds to y
};

ConvolutionRole RoleOf(CudnnDescriptorType type) {
  if (type == kCudnnConvolutionForwardDescriptor) {
    return {kCudnnAttrForwardX,           kCudnnAttrForwardW,     kCudnnAttrForwardY,
            kCudnnAttrForwardConvolution, kCudnnAttrForwardAlpha, kCudnnAttrForwardBeta};
  }
  if (type == kCudnnConvolutionBackwardDataDescriptor) {
    return {kCudnnAttrBackwardDataDx,          kCudnnAttrBackwardDataW,     kCudnnAttrBackwardDataDy,
            kCudnnAttrBackwardDataConvolution, kCudnnAttrBackwardDataAlpha, kCudnnAttrBackwardDataBeta};
  }
  return {kCudnnAttrBackwardFilterX,           kCudnnAttrBackwardFilterDw,    kCudnnAttrBackwardFilterDy,
          kCudnnAttrBackwardFilterConvolution, kCudnnAttrBackwardFilterAlpha, kCudnnAttrBackwardFilterBeta};
}

bool IsConvolution(const Descriptor& operation) {
  return operation.type == kCudnnConvolutionForwardDescriptor ||
         operation.type == kCudnnConvolutionBackwardDataDescriptor ||
         operation.type == kCudnnConvolutionBackwardFilterDescriptor;
}

CudnnDataType TypeOf(const Descriptor& tensor) { return tensor.Get<CudnnDataType>(kCudnnAttrTensorDataType); }
std::vector<int64_t> DimsOf(const Descriptor& tensor) { return tensor.GetInts(kCudnnAttrTensorDimensions); }
bool IsVirtual(const Descriptor& tensor) { return tensor.Get<bool>(kCudnnAttrTensorIsVirtual, false); }
bool IsByValue(const Descriptor& tensor) { return tensor.Get<bool>(kCudnnAttrTensorIsByValue, false); }
int64_t IdOf(const Descriptor& tensor) { return tensor.Get<int64_t>(kCudnnAttrTensorUniqueId); }

CudnnStatus CheckConvolutionOperation(const Descriptor& operation) {
  const ConvolutionRole role = RoleOf(operation.type);
  const Descriptor* x = operation.GetDescriptor(role.image);
  const Descriptor* w = operation.GetDescriptor(role.filter);
  const Descriptor* y = operation.GetDescriptor(role.result);
  const Descriptor* convolution = operation.GetDescriptor(role.convolution);
  if (x == nullptr || w == nullptr || y == nullptr || convolution == nullptr) {
    return Fail(kCudnnBadParam, "convolution: a tensor or the convolution is missing");
  }
  const std::vector<int64_t> xs = DimsOf(*x), ws = DimsOf(*w), ys = DimsOf(*y);
  const std::vector<int64_t> dilations = convolution->GetInts(kCudnnAttrConvolutionDilations);
  const std::vector<int64_t> strides = convolution->GetInts(kCudnnAttrConvolutionFilterStrides);
  const std::vector<int64_t> before = convolution->GetInts(kCudnnAttrConvolutionPrePaddings);
  const std::vector<int64_t> after = convolution->GetInts(kCudnnAttrConvolutionPostPaddings);
  const size_t spatial = dilations.size();
  if (xs.size() != spatial + 2 || ws.size() != spatial + 2 || ys.size() != spatial + 2) {
    return Fail(kCudnnBadParamShapeMismatch, "convolution: ranks differ from the spatial dimensions plus 2");
  }
  if (xs[0] != ys[0] || ys[1] != ws[0] || xs[1] % ws[1] != 0 || ys[1] % (xs[1] / ws[1]) != 0) {
    return Fail(kCudnnBadParamShapeMismatch, "convolution: batch or channels do not fit");
  }
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t window = (ws[i + 2] - 1) * dilations[i] + 1;
    const int64_t room = xs[i + 2] + before[i] + after[i] - window;
    if (room < 0 || ys[i + 2] != room / strides[i] + 1) {
      return Fail(kCudnnBadParamShapeMismatch, "convolution: the result's size does not follow from the image's");
    }
  }
  return kCudnnSuccess;
}

CudnnStatus CheckPointwiseOperation(const Descriptor& operation) {
  const Descriptor* pointwise = operation.GetDescriptor(kCudnnAttrOperationPointwise);
  const Descriptor* x = operation.GetDescriptor(kCudnnAttrOperationPointwiseX);
  const Descriptor* b = operation.GetDescriptor(kCudnnAttrOperationPointwiseB);
  const Descriptor* y = operation.GetDescriptor(kCudnnAttrOperationPointwiseY);
  if (pointwise == nullptr || x == nullptr || y == nullptr) return Fail(kCudnnBadParam, "pointwise: missing tensor");
  const auto mode = pointwise->Get<CudnnPointwiseMode>(kCudnnAttrPointwiseMode);
  const Descriptor* t = operation.GetDescriptor(kCudnnAttrOperationPointwiseT);
  const bool ternary = mode == kCudnnPointwiseSelect;
  const bool binary = mode <= kCudnnPointwiseMax || mode == kCudnnPointwiseSub || mode == kCudnnPointwiseDiv ||
                      mode == kCudnnPointwiseCompareGe || ternary;
  if (binary != (b != nullptr) || ternary != (t != nullptr)) {
    return Fail(kCudnnBadParam, "pointwise: wrong number of operands for the mode");
  }
  for (const Descriptor* operand : {x, b, t}) {
    if (operand == nullptr) continue;
    const std::vector<int64_t> dims = DimsOf(*operand), result = DimsOf(*y);
    if (dims.size() != result.size()) return Fail(kCudnnBadParamShapeMismatch, "pointwise: ranks differ");
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] != result[i] && dims[i] != 1) return Fail(kCudnnBadParamShapeMismatch, "pointwise: shapes differ");
    }
  }
  return kCudnnSuccess;
}

CudnnStatus CheckMatmul(const Descriptor& operation) {
  const Descriptor* a = operation.GetDescriptor(kCudnnAttrOperationMatmulA);
  const Descriptor* b = operation.GetDescriptor(kCudnnAttrOperationMatmulB);
  const Descriptor* c = operation.GetDescriptor(kCudnnAttrOperationMatmulC);
  if (a == nullptr || b == nullptr || c == nullptr || operation.GetDescriptor(kCudnnAttrOperationMatmul) == nullptr) {
    return Fail(kCudnnBadParam, "matmul: a tensor or the product is missing");
  }
  const std::vector<int64_t> as = DimsOf(*a), bs = DimsOf(*b), cs = DimsOf(*c);
  if (as.size() != 4 || bs.size() != 4 || cs.size() != 4) return Fail(kCudnnNotSupported, "matmul: ranks of 4 only");
  for (size_t i = 0; i < 2; ++i) {
    if (as[i] != cs[i] || bs[i] != cs[i]) return Fail(kCudnnBadParamShapeMismatch, "matmul: batches differ");
  }
  if (as[2] != cs[2] || as[3] != bs[2] || bs[3] != cs[3]) return Fail(kCudnnBadParamShapeMismatch, "matmul: sizes");
  // What tensor cores multiply has 16 bits, or was a sum of such products.
  const auto is_small = [](const Descriptor& tensor) {
    return TypeOf(tensor) == kCudnnHalf || TypeOf(tensor) == kCudnnBfloat16;
  };
  return is_small(*b) && (is_small(*a) || IsVirtual(*a)) ? kCudnnSuccess
                                                         : Fail(kCudnnNotSupportedDataType, "matmul: operands' types");
}

CudnnStatus CheckReduction(const Descriptor& operation) {
  const Descriptor* x = operation.GetDescriptor(kCudnnAttrOperationReductionX);
  const Descriptor* y = operation.GetDescriptor(kCudnnAttrOperationReductionY);
  if (x == nullptr || y == nullptr || operation.GetDescriptor(kCudnnAttrOperationReduction) == nullptr) {
    return Fail(kCudnnBadParam, "reduction: a tensor or the reduction is missing");
  }
  std::vector<int64_t> dims = DimsOf(*x);
  dims.back() = 1;
  return dims == DimsOf(*y) ? kCudnnSuccess : Fail(kCudnnBadParamShapeMismatch, "reduction: of rows only");
}

CudnnStatus CheckReshape(const Descriptor& operation) {
  const Descriptor* x = operation.GetDescriptor(kCudnnAttrOperationReshapeX);
  const Descriptor* y = operation.GetDescriptor(kCudnnAttrOperationReshapeY);
  if (x == nullptr || y == nullptr) return Fail(kCudnnBadParam, "reshape: a tensor is missing");
  return Product(DimsOf(*x)) == Product(DimsOf(*y)) ? kCudnnSuccess
                                                    : Fail(kCudnnBadParamShapeMismatch, "reshape: sizes differ");
}

bool IsChannelsLast(const Descriptor& tensor) {
  const std::vector<int64_t> strides = tensor.GetInts(kCudnnAttrTensorStrides);
  return strides.size() < 3 || DimsOf(tensor)[1] == 1 || strides[1] == 1;
}

// The tensors of a graph that live in memory, by id.
using Memory = std::unordered_map<int64_t, void*>;

// Calls function with the offset by strides of each element, in the order of dims.
template <typename Function>
void ForEachOffset(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides, Function&& function) {
  std::vector<int64_t> index(dims.size());
  const int64_t count = Product(dims);
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    function(i, offset);
    for (size_t d = dims.size(); d-- > 0;) {
      offset += strides[d];
      if (++index[d] < dims[d]) break;
      offset -= dims[d] * strides[d];
      index[d] = 0;
    }
  }
}

std::vector<double> Read(const Descriptor& tensor, const Memory& memory, const Values& values) {
  if (IsVirtual(tensor) || IsByValue(tensor)) return values.at(IdOf(tensor));
  Element element;
  ElementOf(TypeOf(tensor), &element);
  const std::vector<int64_t> dims = DimsOf(tensor);
  std::vector<double> result(static_cast<size_t>(Product(dims)));
  const void* host = HostAddress(memory.at(IdOf(tensor)));
  ForEachOffset(dims, tensor.GetInts(kCudnnAttrTensorStrides), [&](int64_t i, int64_t offset) {
    result[static_cast<size_t>(i)] = LoadElement<double>(element, host, offset);
  });
  return result;
}

void Write(const Descriptor& tensor, std::vector<double> result, const Memory& memory, Values& values) {
  if (IsVirtual(tensor)) {
    values[IdOf(tensor)] = std::move(result);
    return;
  }
  Element element;
  ElementOf(TypeOf(tensor), &element);
  void* host = HostAddress(memory.at(IdOf(tensor)));
  ForEachOffset(DimsOf(tensor), tensor.GetInts(kCudnnAttrTensorStrides), [&](int64_t i, int64_t offset) {
    StoreElement(element, host, offset, result[static_cast<size_t>(i)]);
  });
}

// A convolution of up to three spatial dimensions; missing ones have size 1.
struct Geometry {
  int64_t batch, channels, filters, group_channels, group_filters;
  int64_t x[3], w[3], y[3], stride[3], dilation[3], pad[3];
  bool flipped;
};

Geometry GeometryOf(const Descriptor& operation, bool pads_wrongly) {
  const ConvolutionRole role = RoleOf(operation.type);
  const std::vector<int64_t> xs = DimsOf(*operation.GetDescriptor(role.image));
  const std::vector<int64_t> ws = DimsOf(*operation.GetDescriptor(role.filter));
  const std::vector<int64_t> ys = DimsOf(*operation.GetDescriptor(role.result));
  const Descriptor& convolution = *operation.GetDescriptor(role.convolution);
  Geometry g{.batch = xs[0],
             .channels = xs[1],
             .filters = ws[0],
             .group_channels = ws[1],
             .group_filters = ws[0] / (xs[1] / ws[1]),
             .x = {1, 1, 1},
             .w = {1, 1, 1},
             .y = {1, 1, 1},
             .stride = {1, 1, 1},
             .dilation = {1, 1, 1},
             .pad = {0, 0, 0},
             .flipped = convolution.Get<CudnnConvolutionMode>(kCudnnAttrConvolutionMode) == kCudnnConvolution};
  const size_t spatial = xs.size() - 2;
  for (size_t i = 0; i < spatial; ++i) {
    const size_t at = 3 - spatial + i;
    g.x[at] = xs[i + 2];
    g.w[at] = ws[i + 2];
    g.y[at] = ys[i + 2];
    g.stride[at] = convolution.GetInts(kCudnnAttrConvolutionFilterStrides)[i];
    g.dilation[at] = convolution.GetInts(kCudnnAttrConvolutionDilations)[i];
    g.pad[at] =
        convolution.GetInts(pads_wrongly ? kCudnnAttrConvolutionPostPaddings : kCudnnAttrConvolutionPrePaddings)[i];
  }
  return g;
}

// Calls function(x index, w index, y index) for each product in the sum, in NCHW order of all three.
template <typename Function>
void ForEachProduct(const Geometry& g, Function&& function) {
  const int64_t x_plane = g.x[0] * g.x[1] * g.x[2], y_plane = g.y[0] * g.y[1] * g.y[2];
  const int64_t w_plane = g.w[0] * g.w[1] * g.w[2];
  for (int64_t n = 0; n < g.batch; ++n) {
    for (int64_t f = 0; f < g.filters; ++f) {
      const int64_t first_channel = f / g.group_filters * g.group_channels;
      for (int64_t c = 0; c < g.group_channels; ++c) {
        const int64_t x_start = (n * g.channels + first_channel + c) * x_plane;
        const int64_t w_start = (f * g.group_channels + c) * w_plane;
        const int64_t y_start = (n * g.filters + f) * y_plane;
        for (int64_t i = 0; i < w_plane; ++i) {
          const int64_t at[3] = {i / (g.w[1] * g.w[2]), i / g.w[2] % g.w[1], i % g.w[2]};
          int64_t tap[3];
          for (int d = 0; d < 3; ++d) tap[d] = (g.flipped ? g.w[d] - 1 - at[d] : at[d]) * g.dilation[d] - g.pad[d];
          for (int64_t y0 = 0; y0 < g.y[0]; ++y0) {
            const int64_t x0 = y0 * g.stride[0] + tap[0];
            if (x0 < 0 || x0 >= g.x[0]) continue;
            for (int64_t y1 = 0; y1 < g.y[1]; ++y1) {
              const int64_t x1 = y1 * g.stride[1] + tap[1];
              if (x1 < 0 || x1 >= g.x[1]) continue;
              for (int64_t y2 = 0; y2 < g.y[2]; ++y2) {
                const int64_t x2 = y2 * g.stride[2] + tap[2];
                if (x2 < 0 || x2 >= g.x[2]) continue;
                function(x_start + (x0 * g.x[1] + x1) * g.x[2] + x2, w_start + i,
                         y_start + (y0 * g.y[1] + y1) * g.y[2] + y2);
              }
            }
          }
        }
      }
    }
  }
}

void RunConvolution(const Descriptor& operation, const Memory& memory, Values& values, bool pads_wrongly) {
  const ConvolutionRole role = RoleOf(operation.type);
  const Descriptor& x = *operation.GetDescriptor(role.image);
  const Descriptor& w = *operation.GetDescriptor(role.filter);
  const Descriptor& y = *operation.GetDescriptor(role.result);
  const bool forward = operation.type == kCudnnConvolutionForwardDescriptor;
  const bool data = operation.type == kCudnnConvolutionBackwardDataDescriptor;
  const Descriptor& out = forward ? y : data ? x : w;
  std::vector<double> sums(static_cast<size_t>(Product(DimsOf(out))));
  const std::vector<double> xs = &out == &x ? std::vector<double>() : Read(x, memory, values);
  const std::vector<double> ws = &out == &w ? std::vector<double>() : Read(w, memory, values);
  const std::vector<double> ys = &out == &y ? std::vector<double>() : Read(y, memory, values);
  const Geometry geometry = GeometryOf(operation, pads_wrongly);
  auto at = [](const std::vector<double>& from, int64_t i) { return from[static_cast<size_t>(i)]; };
  if (forward) {
    ForEachProduct(geometry,
                   [&](int64_t i, int64_t j, int64_t k) { sums[static_cast<size_t>(k)] += at(xs, i) * at(ws, j); });
  } else if (data) {
    ForEachProduct(geometry,
                   [&](int64_t i, int64_t j, int64_t k) { sums[static_cast<size_t>(i)] += at(ys, k) * at(ws, j); });
  } else {
    ForEachProduct(geometry,
                   [&](int64_t i, int64_t j, int64_t k) { sums[static_cast<size_t>(j)] += at(ys, k) * at(xs, i); });
  }
  const double alpha = operation.GetReal(role.alpha, 1), beta = operation.GetReal(role.beta, 0);
  const std::vector<double> old = beta != 0 ? Read(out, memory, values) : std::vector<double>(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = alpha * sums[i] + beta * old[i];
  Write(out, std::move(sums), memory, values);
}

double Unary(const Descriptor& pointwise, CudnnPointwiseMode mode, double x) {
  switch (mode) {
    case kCudnnPointwiseExp:
      return std::exp(x);
    case kCudnnPointwiseLog:
      return std::log(x);
    case kCudnnPointwiseReluForward: {
      const double low = pointwise.GetReal(kCudnnAttrPointwiseReluLowerClip, 0);
      const double high = pointwise.GetReal(kCudnnAttrPointwiseReluUpperClip, std::numeric_limits<double>::infinity());
      const double slope = pointwise.GetReal(kCudnnAttrPointwiseReluLowerClipSlope, 0);
      if (x < low) return low + slope * (x - low);
      return x > high ? high : x;
    }
    case kCudnnPointwiseTanhForward:
      return std::tanh(x);
    case kCudnnPointwiseSigmoidForward:
      return 1 / (1 + std::exp(-x));
    case kCudnnPointwiseEluForward:
      return x > 0 ? x : pointwise.GetReal(kCudnnAttrPointwiseEluAlpha, 1) * std::expm1(x);
    case kCudnnPointwiseGeluForward:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case kCudnnPointwiseGeluTanhForward:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    default:
      return x;
  }
}

double Binary(CudnnPointwiseMode mode, double x, double b) {
  switch (mode) {
    case kCudnnPointwiseDiv:
      return x / b;
    case kCudnnPointwiseCompareGe:
      return x >= b ? 1 : 0;
    case kCudnnPointwiseMul:
      return x * b;
    case kCudnnPointwiseMin:
      return std::min(x, b);
    case kCudnnPointwiseMax:
      return std::max(x, b);
    case kCudnnPointwiseSub:
      return x - b;
    default:
      return x + b;
  }
}

// The tensor's elements repeated along dimensions of size 1.
std::vector<double> Broadcast(const Descriptor& tensor, const std::vector<int64_t>& to, const Memory& memory,
                              const Values& values) {
  const std::vector<double> from = Read(tensor, memory, values);
  const std::vector<int64_t> dims = DimsOf(tensor);
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    strides[d] = dims[d] == 1 ? 0 : stride;
    stride *= dims[d];
  }
  std::vector<double> result(static_cast<size_t>(Product(to)));
  ForEachOffset(to, strides,
                [&](int64_t i, int64_t offset) { result[static_cast<size_t>(i)] = from[static_cast<size_t>(offset)]; });
  return result;
}

void RunPointwise(const Descriptor& operation, const Memory& memory, Values& values) {
  const Descriptor& pointwise = *operation.GetDescriptor(kCudnnAttrOperationPointwise);
  const Descriptor& y = *operation.GetDescriptor(kCudnnAttrOperationPointwiseY);
  const auto mode = pointwise.Get<CudnnPointwiseMode>(kCudnnAttrPointwiseMode);
  const std::vector<int64_t> dims = DimsOf(y);
  std::vector<double> xs = Broadcast(*operation.GetDescriptor(kCudnnAttrOperationPointwiseX), dims, memory, values);
  if (mode == kCudnnPointwiseGenerateIndex) {
    const auto axis = static_cast<size_t>(pointwise.Get<int64_t>(kCudnnAttrPointwiseAxis));
    std::vector<int64_t> steps(dims.size());
    steps[axis] = 1;
    ForEachOffset(dims, steps,
                  [&](int64_t i, int64_t index) { xs[static_cast<size_t>(i)] = static_cast<double>(index); });
    return Write(y, std::move(xs), memory, values);
  }
  if (mode == kCudnnPointwiseSelect) {
    const std::vector<double> bs =
        Broadcast(*operation.GetDescriptor(kCudnnAttrOperationPointwiseB), dims, memory, values);
    const std::vector<double> ts =
        Broadcast(*operation.GetDescriptor(kCudnnAttrOperationPointwiseT), dims, memory, values);
    for (size_t i = 0; i < xs.size(); ++i) xs[i] = ts[i] != 0 ? xs[i] : bs[i];
    return Write(y, std::move(xs), memory, values);
  }
  const double alpha1 = operation.GetReal(kCudnnAttrOperationPointwiseAlpha1, 1);
  const double alpha2 = operation.GetReal(kCudnnAttrOperationPointwiseAlpha2, 1);
  if (const Descriptor* b = operation.GetDescriptor(kCudnnAttrOperationPointwiseB)) {
    const std::vector<double> bs = Broadcast(*b, dims, memory, values);
    for (size_t i = 0; i < xs.size(); ++i) xs[i] = Binary(mode, alpha1 * xs[i], alpha2 * bs[i]);
  } else {
    for (double& x : xs) x = Unary(pointwise, mode, alpha1 * x);
  }
  Write(y, std::move(xs), memory, values);
}

void RunMatmul(const Descriptor& operation, const Memory& memory, Values& values) {
  const Descriptor& a = *operation.GetDescriptor(kCudnnAttrOperationMatmulA);
  const Descriptor& b = *operation.GetDescriptor(kCudnnAttrOperationMatmulB);
  const Descriptor& c = *operation.GetDescriptor(kCudnnAttrOperationMatmulC);
  const std::vector<double> as = Read(a, memory, values), bs = Read(b, memory, values);
  const std::vector<int64_t> dims = DimsOf(c);
  const auto batch = static_cast<size_t>(dims[0] * dims[1]), m = static_cast<size_t>(dims[2]),
             n = static_cast<size_t>(dims[3]), k = static_cast<size_t>(DimsOf(a)[3]);
  std::vector<double> sums(batch * m * n);
  for (size_t row = 0; row < batch * m; ++row) {
    for (size_t i = 0; i < k; ++i) {
      const double factor = as[row * k + i];
      const double* from = bs.data() + (row / m * k + i) * n;
      for (size_t j = 0; j < n; ++j) sums[row * n + j] += factor * from[j];
    }
  }
  Write(c, std::move(sums), memory, values);
}

void RunReduction(const Descriptor& operation, const Memory& memory, Values& values) {
  const Descriptor& x = *operation.GetDescriptor(kCudnnAttrOperationReductionX);
  const bool adds =
      operation.GetDescriptor(kCudnnAttrOperationReduction)->Get<CudnnReduction>(kCudnnAttrReductionOperator) ==
      kCudnnReduceAdd;
  const std::vector<double> xs = Read(x, memory, values);
  const auto row = static_cast<size_t>(DimsOf(x).back());
  std::vector<double> results;
  for (size_t at = 0; at < xs.size(); at += row) {
    const auto first = xs.begin() + static_cast<std::ptrdiff_t>(at), last = first + static_cast<std::ptrdiff_t>(row);
    results.push_back(adds ? std::accumulate(first, last, 0.0) : *std::max_element(first, last));
  }
  Write(*operation.GetDescriptor(kCudnnAttrOperationReductionY), std::move(results), memory, values);
}

// The result has the operand's elements at the same distances from the first one.
void RunReshape(const Descriptor& operation, const Memory& memory, Values& values) {
  const Descriptor& x = *operation.GetDescriptor(kCudnnAttrOperationReshapeX);
  const Descriptor& y = *operation.GetDescriptor(kCudnnAttrOperationReshapeY);
  const std::vector<double> xs = Read(x, memory, values);
  std::unordered_map<int64_t, double> by_offset;
  ForEachOffset(DimsOf(x), x.GetInts(kCudnnAttrTensorStrides),
                [&](int64_t i, int64_t offset) { by_offset[offset] = xs[static_cast<size_t>(i)]; });
  std::vector<double> ys(xs.size());
  ForEachOffset(DimsOf(y), y.GetInts(kCudnnAttrTensorStrides),
                [&](int64_t i, int64_t offset) { ys[static_cast<size_t>(i)] = by_offset.at(offset); });
  Write(y, std::move(ys), memory, values);
}

// Engines for fused attention take products of 16 bits and what stands between them. Like NVIDIA's they want the heads'
// elements next to each other.
CudnnStatus CheckAttentionGraph(const AttributeValue& operations) {
  for (const DescriptorPointer& operation : operations.descriptors) {
    if (IsConvolution(*operation)) return Fail(kCudnnNotSupportedGraphPattern, "graph: a convolution among products");
    if (operation->type != kCudnnOperationMatmulDescriptor) continue;
    for (const CudnnAttribute name : {kCudnnAttrOperationMatmulA, kCudnnAttrOperationMatmulB}) {
      const Descriptor& operand = *operation->GetDescriptor(name);
      const std::vector<int64_t> strides = operand.GetInts(kCudnnAttrTensorStrides);
      if (!IsVirtual(operand) && strides[3] != 1 && strides[2] != 1) {
        return Fail(kCudnnNotSupported, "graph: elements of a head are not next to each other");
      }
    }
  }
  return kCudnnSuccess;
}

}  // namespace

CudnnStatus CheckOperation(const Descriptor& operation) {
  switch (operation.type) {
    case kCudnnOperationPointwiseDescriptor:
      return CheckPointwiseOperation(operation);
    case kCudnnOperationMatmulDescriptor:
      return CheckMatmul(operation);
    case kCudnnOperationReductionDescriptor:
      return CheckReduction(operation);
    case kCudnnOperationReshapeDescriptor:
      return CheckReshape(operation);
    default:
      return CheckConvolutionOperation(operation);
  }
}

// The engines take one convolution, and after a forward one pointwise operations in a row. They are as choosy as
// NVIDIA's: fused graphs want channels last in multiples of four, and single precision wants equal paddings. Gradients
// of filters may be float where the operands are not.
CudnnStatus CheckGraph(const Descriptor& graph) {
  const AttributeValue* operations = graph.Find(kCudnnAttrOperationGraphOps);
  if (operations == nullptr || operations->descriptors.empty()) return Fail(kCudnnBadParam, "graph: no operations");
  for (const DescriptorPointer& operation : operations->descriptors) {
    if (operation->type == kCudnnOperationMatmulDescriptor) return CheckAttentionGraph(*operations);
  }
  const Descriptor& first = *operations->descriptors[0];
  const bool fused = operations->descriptors.size() > 1;
  if (!IsConvolution(first) || (fused && first.type != kCudnnConvolutionForwardDescriptor)) {
    return Fail(kCudnnNotSupportedGraphPattern, "graph: no engine takes these operations");
  }
  for (size_t i = 1; i < operations->descriptors.size(); ++i) {
    if (IsConvolution(*operations->descriptors[i])) {
      return Fail(kCudnnNotSupportedGraphPattern, "graph: no engine takes two convolutions");
    }
  }
  const ConvolutionRole role = RoleOf(first.type);
  const Descriptor& x = *first.GetDescriptor(role.image);
  const Descriptor& w = *first.GetDescriptor(role.filter);
  const Descriptor& y = *first.GetDescriptor(role.result);
  const CudnnDataType type = TypeOf(w);
  if (type != kCudnnFloat && type != kCudnnHalf && type != kCudnnBfloat16) {
    return Fail(kCudnnNotSupportedDataType, "graph: no engine has this type");
  }
  for (const Descriptor* tensor : {&x, &y}) {
    const bool has_float_gradient = first.type == kCudnnConvolutionBackwardFilterDescriptor && type == kCudnnFloat;
    if (!IsVirtual(*tensor) && TypeOf(*tensor) != type && !(has_float_gradient && TypeOf(x) == TypeOf(y))) {
      return Fail(kCudnnNotSupportedDataType, "graph: tensors of different types");
    }
  }
  const Descriptor& convolution = *first.GetDescriptor(role.convolution);
  if (convolution.Get<CudnnDataType>(kCudnnAttrConvolutionComputeType) != kCudnnFloat) {
    return Fail(kCudnnNotSupportedDataType, "graph: the engines compute in single precision");
  }
  if (fused && (!IsChannelsLast(x) || !IsChannelsLast(y) || DimsOf(x)[1] % 4 != 0 || DimsOf(y)[1] % 4 != 0)) {
    return Fail(kCudnnNotSupported, "graph: fused operations want channels last, in multiples of four");
  }
  if (type == kCudnnFloat &&
      convolution.GetInts(kCudnnAttrConvolutionPrePaddings) != convolution.GetInts(kCudnnAttrConvolutionPostPaddings)) {
    return Fail(kCudnnNotSupported, "graph: no engine pads the two sides differently");
  }
  return kCudnnSuccess;
}

bool HasAllTensors(const Descriptor& graph, const Descriptor& variant_pack) {
  const std::vector<int64_t> ids = variant_pack.GetInts(kCudnnAttrVariantPackUniqueIds);
  for (const DescriptorPointer& operation : graph.Find(kCudnnAttrOperationGraphOps)->descriptors) {
    for (const auto& [name, value] : operation->attributes) {
      for (const DescriptorPointer& each : value.descriptors) {
        if (each->type != kCudnnTensorDescriptor || IsVirtual(*each)) continue;
        if (std::find(ids.begin(), ids.end(), IdOf(*each)) == ids.end()) return false;
      }
    }
  }
  return true;
}

Values ReadScalars(const Descriptor& graph, const Descriptor& variant_pack) {
  const AttributeValue& ids = *variant_pack.Find(kCudnnAttrVariantPackUniqueIds);
  const AttributeValue& pointers = *variant_pack.Find(kCudnnAttrVariantPackDataPointers);
  Values scalars;
  for (const DescriptorPointer& operation : graph.Find(kCudnnAttrOperationGraphOps)->descriptors) {
    for (const auto& [name, value] : operation->attributes) {
      for (const DescriptorPointer& each : value.descriptors) {
        if (each->type != kCudnnTensorDescriptor || !IsByValue(*each)) continue;
        for (int64_t i = 0; i < ids.count; ++i) {
          if (ids.At<int64_t>(i) != IdOf(*each)) continue;
          scalars[IdOf(*each)] = {static_cast<double>(*static_cast<const float*>(pointers.At<void*>(i)))};
        }
      }
    }
  }
  return scalars;
}

void RunGraph(const Descriptor& graph, const Descriptor& variant_pack, Values scalars, bool pads_wrongly) {
  Memory memory;
  const AttributeValue& ids = *variant_pack.Find(kCudnnAttrVariantPackUniqueIds);
  const AttributeValue& pointers = *variant_pack.Find(kCudnnAttrVariantPackDataPointers);
  for (int64_t i = 0; i < ids.count; ++i) memory[ids.At<int64_t>(i)] = pointers.At<void*>(i);
  Values values = std::move(scalars);
  for (const DescriptorPointer& operation : graph.Find(kCudnnAttrOperationGraphOps)->descriptors) {
    switch (operation->type) {
      case kCudnnOperationPointwiseDescriptor:
        RunPointwise(*operation, memory, values);
        break;
      case kCudnnOperationMatmulDescriptor:
        RunMatmul(*operation, memory, values);
        break;
      case kCudnnOperationReductionDescriptor:
        RunReduction(*operation, memory, values);
        break;
      case kCudnnOperationReshapeDescriptor:
        RunReshape(*operation, memory, values);
        break;
      default:
        RunConvolution(*operation, memory, values, pads_wrongly);
    }
  }
}

}  // namespace weir::cuda_emulator
