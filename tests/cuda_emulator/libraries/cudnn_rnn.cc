// cuDNN's functions for recurrent layers on the emulated driver.
#include "tests/cuda_emulator/libraries/cudnn_rnn.h"

#include <memory>
#include <type_traits>

#include "tests/cuda_emulator/libraries/cudnn_descriptor.h"

using namespace weir::cuda;
using weir::cuda_emulator::CountRnnReserve;
using weir::cuda_emulator::CountRnnWeights;
using weir::cuda_emulator::Element;
using weir::cuda_emulator::Enqueue;
using weir::cuda_emulator::Fail;
using weir::cuda_emulator::HostAddress;
using weir::cuda_emulator::RnnCall;

namespace {

constexpr size_t kWorkspaceSize = 256;
constexpr size_t kDropoutStates = 1024;

size_t SizeOfElement(Element element) {
  return weir::cuda_emulator::WithElement(element, [](auto sample) { return sizeof(sample); });
}

// Fills what both directions of a call share; bad status if the descriptors do not fit.
CudnnStatus Prepare(CudnnHandle handle, CudnnRnnDesc rnn, CudnnRnnDataDesc x, CudnnRnnDataDesc y, size_t weights_size,
                    size_t workspace_size, const void* workspace, RnnCall* call) {
  if (handle == nullptr || rnn == nullptr || x == nullptr || y == nullptr) {
    return Fail(kCudnnBadParamNullPointer, "recurrent layers: null argument");
  }
  if (!rnn->is_set || x->type != rnn->type || y->type != rnn->type || x->time != y->time || x->batch != y->batch ||
      x->size != rnn->input_size || y->size != rnn->hidden * rnn->directions() || x->layout != y->layout) {
    return Fail(kCudnnBadParam, "recurrent layers: x or y does not fit the layers");
  }
  if (!weir::cuda_emulator::ElementOf(rnn->type, &call->element)) return Fail(kCudnnNotSupported, "this type");
  if (weights_size < static_cast<size_t>(CountRnnWeights(*rnn)) * SizeOfElement(call->element) ||
      workspace_size < kWorkspaceSize || workspace == nullptr) {
    return Fail(kCudnnBadParamSizeInsufficient, "recurrent layers: the weights or the workspace are too small");
  }
  bool is_padded = false;
  for (int length : x->lengths) is_padded = is_padded || length != x->time;
  if (is_padded && !rnn->pads) return Fail(kCudnnNotSupported, "sequences of different lengths need padded data");
  call->rnn = *rnn;
  call->x_desc = *x;
  call->y_desc = *y;
  return kCudnnSuccess;
}

CudnnStatus CheckReserve(const RnnCall& call, size_t size, const void* reserve) {
  const int64_t count = CountRnnReserve(call.rnn, call.x_desc.time, call.x_desc.batch);
  if (reserve == nullptr || size < static_cast<size_t>(count) * sizeof(double)) {
    return Fail(kCudnnBadParamSizeInsufficient, "recurrent layers: the reserve space is too small");
  }
  return kCudnnSuccess;
}

}  // namespace

WEIR_EXPORT CudnnStatus cudnnCreateTensorDescriptor(CudnnTensorDesc* desc) {
  *desc = new CudnnTensorDescOpaque;
  return kCudnnSuccess;
}
WEIR_EXPORT CudnnStatus cudnnDestroyTensorDescriptor(CudnnTensorDesc desc) {
  delete desc;
  return kCudnnSuccess;
}
WEIR_EXPORT CudnnStatus cudnnSetTensorNdDescriptor(CudnnTensorDesc desc, CudnnDataType type, int rank, const int* dims,
                                                   const int* strides) {
  if (desc == nullptr || rank < 3 || rank > 8) return Fail(kCudnnBadParam, "a tensor has 3 to 8 dimensions");
  desc->type = type;
  desc->dims.assign(dims, dims + rank);
  desc->strides.assign(strides, strides + rank);
  return kCudnnSuccess;
}
WEIR_EXPORT CudnnStatus cudnnGetTensorNdDescriptor(CudnnTensorDesc desc, int requested, CudnnDataType* type, int* rank,
                                                   int* dims, int* strides) {
  if (desc == nullptr) return Fail(kCudnnBadParamNullPointer, "null tensor");
  *type = desc->type;
  *rank = static_cast<int>(desc->dims.size());
  for (int i = 0; i < std::min(requested, *rank); ++i) {
    dims[i] = desc->dims[static_cast<size_t>(i)];
    strides[i] = desc->strides[static_cast<size_t>(i)];
  }
  return kCudnnSuccess;
}

WEIR_EXPORT CudnnStatus cudnnCreateDropoutDescriptor(CudnnDropoutDesc* desc) {
  *desc = new CudnnDropoutDescOpaque;
  return kCudnnSuccess;
}
WEIR_EXPORT CudnnStatus cudnnDestroyDropoutDescriptor(CudnnDropoutDesc desc) {
  delete desc;
  return kCudnnSuccess;
}
WEIR_EXPORT CudnnStatus cudnnDropoutGetStatesSize(CudnnHandle, size_t* size) {
  *size = kDropoutStates;
  return kCudnnSuccess;
}
WEIR_EXPORT CudnnStatus cudnnSetDropoutDescriptor(CudnnDropoutDesc desc, CudnnHandle, float dropout, void* states,
                                                  size_t size, unsigned long long seed) {
  if (desc == nullptr || dropout < 0 || dropout > 1) return Fail(kCudnnBadParam, "dropout out of range");
  if (dropout > 0 && (states == nullptr || size < kDropoutStates)) {
    return Fail(kCudnnBadParamSizeInsufficient, "dropout needs memory for its states");
  }
  desc->dropout = dropout;
  desc->seed = seed;
  return kCudnnSuccess;
}

WEIR_EXPORT CudnnStatus cudnnCreateRNNDescriptor(CudnnRnnDesc* desc) {
  *desc = new CudnnRnnDescOpaque;
  return kCudnnSuccess;
}
WEIR_EXPORT CudnnStatus cudnnDestroyRNNDescriptor(CudnnRnnDesc desc) {
  delete desc;
  return kCudnnSuccess;
}
WEIR_EXPORT CudnnStatus cudnnSetRNNDescriptor_v8(CudnnRnnDesc desc, CudnnRnnAlgo, CudnnRnnMode mode,
                                                 CudnnRnnBiasMode bias, CudnnDirectionMode direction,
                                                 CudnnRnnInputMode input, CudnnDataType type,
                                                 CudnnDataType math_precision, CudnnMathType, int32_t input_size,
                                                 int32_t hidden_size, int32_t projection_size, int32_t layers,
                                                 CudnnDropoutDesc dropout, uint32_t flags) {
  if (desc == nullptr) return Fail(kCudnnBadParamNullPointer, "null descriptor");
  if (input_size < 1 || hidden_size < 1 || layers < 1) return Fail(kCudnnBadParam, "sizes must be positive");
  if (projection_size != hidden_size) return Fail(kCudnnNotSupported, "no projections here");
  if (input == kCudnnSkipInput && input_size != hidden_size) {
    return Fail(kCudnnBadParam, "an input that is skipped must be as large as the state");
  }
  const bool is_double = type == kCudnnDouble;
  if (is_double != (math_precision == kCudnnDouble)) return Fail(kCudnnNotSupported, "this precision of this type");
  *desc = {.is_set = true,
           .mode = mode,
           .has_bias = bias != kCudnnRnnNoBias,
           .bidirectional = direction == kCudnnBidirectional,
           .skips_input = input == kCudnnSkipInput,
           .pads = (flags & kCudnnRnnPaddedIoEnabled) != 0,
           .type = type,
           .input_size = input_size,
           .hidden = hidden_size,
           .layers = layers,
           .dropout = dropout == nullptr ? 0 : dropout->dropout,
           .seed = dropout == nullptr ? 0 : dropout->seed};
  return kCudnnSuccess;
}

WEIR_EXPORT CudnnStatus cudnnGetRNNTempSpaceSizes(CudnnHandle, CudnnRnnDesc desc, CudnnForwardMode mode,
                                                  CudnnRnnDataDesc x, size_t* workspace_size, size_t* reserve_size) {
  if (desc == nullptr || x == nullptr) return Fail(kCudnnBadParamNullPointer, "null descriptor");
  *workspace_size = kWorkspaceSize;
  const int64_t count = mode == kCudnnTraining ? CountRnnReserve(*desc, x->time, x->batch) : 0;
  *reserve_size = static_cast<size_t>(count) * sizeof(double);
  return kCudnnSuccess;
}

WEIR_EXPORT CudnnStatus cudnnGetRNNWeightSpaceSize(CudnnHandle, CudnnRnnDesc desc, size_t* size) {
  Element element;
  if (desc == nullptr || !weir::cuda_emulator::ElementOf(desc->type, &element)) {
    return Fail(kCudnnBadParam, "no descriptor, or no such type");
  }
  *size = static_cast<size_t>(CountRnnWeights(*desc)) * SizeOfElement(element);
  return kCudnnSuccess;
}

WEIR_EXPORT CudnnStatus cudnnGetRNNWeightParams(CudnnHandle, CudnnRnnDesc desc, int32_t pseudo_layer, size_t,
                                                const void* weights, int32_t linear_layer, CudnnTensorDesc matrix_desc,
                                                void** matrix, CudnnTensorDesc bias_desc, void** bias) {
  if (desc == nullptr || pseudo_layer < 0 || pseudo_layer >= desc->pseudo_layers() || linear_layer < 0 ||
      linear_layer >= 2 * desc->gates()) {
    return Fail(kCudnnBadParamOutOfBound, "no such layer");
  }
  Element element;
  weir::cuda_emulator::ElementOf(desc->type, &element);
  const auto at = weir::cuda_emulator::FindRnnWeight(*desc, pseudo_layer, linear_layer);
  auto place = [&](int64_t offset) -> void* {
    if (offset < 0) return nullptr;
    return static_cast<char*>(const_cast<void*>(weights)) + static_cast<size_t>(offset) * SizeOfElement(element);
  };
  *matrix = place(at.matrix);
  *bias = place(at.bias);
  const int columns = static_cast<int>(at.columns);
  *matrix_desc = {desc->type, {1, desc->hidden, columns}, {desc->hidden * columns, columns, 1}};
  *bias_desc = {desc->type, {1, desc->hidden, 1}, {desc->hidden, 1, 1}};
  return kCudnnSuccess;
}

WEIR_EXPORT CudnnStatus cudnnCreateRNNDataDescriptor(CudnnRnnDataDesc* desc) {
  *desc = new CudnnRnnDataDescOpaque;
  return kCudnnSuccess;
}
WEIR_EXPORT CudnnStatus cudnnDestroyRNNDataDescriptor(CudnnRnnDataDesc desc) {
  delete desc;
  return kCudnnSuccess;
}
WEIR_EXPORT CudnnStatus cudnnSetRNNDataDescriptor(CudnnRnnDataDesc desc, CudnnDataType type, CudnnRnnDataLayout layout,
                                                  int max_length, int batch, int vector_size, const int* lengths,
                                                  void*) {
  if (desc == nullptr || lengths == nullptr) return Fail(kCudnnBadParamNullPointer, "null descriptor or lengths");
  if (max_length < 1 || batch < 1 || vector_size < 1) return Fail(kCudnnBadParam, "sizes must be positive");
  if (layout == kCudnnSequenceMajorPacked) return Fail(kCudnnNotSupported, "no packed sequences here");
  for (int i = 0; i < batch; ++i) {
    if (lengths[i] < 0 || lengths[i] > max_length) return Fail(kCudnnBadParam, "a length is out of range");
  }
  *desc = {type, layout, max_length, batch, vector_size, std::vector<int>(lengths, lengths + batch)};
  return kCudnnSuccess;
}

WEIR_EXPORT CudnnStatus cudnnRNNForward(CudnnHandle handle, CudnnRnnDesc desc, CudnnForwardMode mode,
                                        const int32_t* lengths, CudnnRnnDataDesc x_desc, const void* x,
                                        CudnnRnnDataDesc y_desc, void* y, CudnnTensorDesc, const void* hx, void* hy,
                                        CudnnTensorDesc, const void* cx, void* cy, size_t weights_size,
                                        const void* weights, size_t workspace_size, void* workspace,
                                        size_t reserve_size, void* reserve) {
  RnnCall call;
  CudnnStatus status = Prepare(handle, desc, x_desc, y_desc, weights_size, workspace_size, workspace, &call);
  if (status != kCudnnSuccess) return status;
  call.training = mode == kCudnnTraining;
  if (call.training) status = CheckReserve(call, reserve_size, reserve);
  if (status != kCudnnSuccess) return status;
  (void)lengths;  // deprecated: those of x_desc are taken
  const bool enqueued = Enqueue(handle->stream, [=]() mutable {
    std::vector<double> own;
    call.x = HostAddress(x);
    call.y = HostAddress(y);
    call.hx = HostAddress(hx);
    call.hy = HostAddress(hy);
    call.cx = HostAddress(cx);
    call.cy = HostAddress(cy);
    call.weights = HostAddress(weights);
    if (call.training) {
      call.reserve = static_cast<double*>(HostAddress(reserve));
    } else {
      own.resize(static_cast<size_t>(CountRnnReserve(call.rnn, call.x_desc.time, call.x_desc.batch)));
      call.reserve = own.data();
    }
    RunRnnForward(call);
  });
  return enqueued ? kCudnnSuccess : Fail(kCudnnExecutionFailed, "the driver refused the work");
}

WEIR_EXPORT CudnnStatus cudnnRNNBackwardData_v8(CudnnHandle handle, CudnnRnnDesc desc, const int32_t*,
                                                CudnnRnnDataDesc y_desc, const void*, const void* dy,
                                                CudnnRnnDataDesc x_desc, void* dx, CudnnTensorDesc, const void* hx,
                                                const void* dhy, void* dhx, CudnnTensorDesc, const void* cx,
                                                const void* dcy, void* dcx, size_t weights_size, const void* weights,
                                                size_t workspace_size, void* workspace, size_t reserve_size,
                                                void* reserve) {
  RnnCall call;
  CudnnStatus status = Prepare(handle, desc, x_desc, y_desc, weights_size, workspace_size, workspace, &call);
  if (status == kCudnnSuccess) status = CheckReserve(call, reserve_size, reserve);
  if (status != kCudnnSuccess) return status;
  const bool enqueued = Enqueue(handle->stream, [=]() mutable {
    call.dy = HostAddress(dy);
    call.dx = HostAddress(dx);
    call.hx = HostAddress(hx);
    call.dhy = HostAddress(dhy);
    call.dhx = HostAddress(dhx);
    call.cx = HostAddress(cx);
    call.dcy = HostAddress(dcy);
    call.dcx = HostAddress(dcx);
    call.weights = HostAddress(weights);
    call.reserve = static_cast<double*>(HostAddress(reserve));
    RunRnnBackwardData(call);
  });
  return enqueued ? kCudnnSuccess : Fail(kCudnnExecutionFailed, "the driver refused the work");
}

WEIR_EXPORT CudnnStatus cudnnRNNBackwardWeights_v8(CudnnHandle handle, CudnnRnnDesc desc, CudnnWeightGradientMode mode,
                                                   const int32_t*, CudnnRnnDataDesc x_desc, const void* x,
                                                   CudnnTensorDesc, const void* hx, CudnnRnnDataDesc y_desc,
                                                   const void*, size_t weights_size, void* dweights,
                                                   size_t workspace_size, void* workspace, size_t reserve_size,
                                                   void* reserve) {
  // cuDNN 9 has no other mode.
  if (mode != kCudnnWeightGradientAdd) return Fail(kCudnnNotSupported, "gradients of weights are added");
  RnnCall call;
  CudnnStatus status = Prepare(handle, desc, x_desc, y_desc, weights_size, workspace_size, workspace, &call);
  if (status == kCudnnSuccess) status = CheckReserve(call, reserve_size, reserve);
  if (status != kCudnnSuccess) return status;
  const bool enqueued = Enqueue(handle->stream, [=]() mutable {
    call.x = HostAddress(x);
    call.hx = HostAddress(hx);
    call.dweights = HostAddress(dweights);
    call.reserve = static_cast<double*>(HostAddress(reserve));
    RunRnnBackwardWeights(call);
  });
  return enqueued ? kCudnnSuccess : Fail(kCudnnExecutionFailed, "the driver refused the work");
}

WEIR_CUDNN_RNN_FUNCTIONS(WEIR_CHECK_SIGNATURE)
