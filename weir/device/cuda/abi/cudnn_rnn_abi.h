// The part of cuDNN 9's interface for recurrent layers that weir uses.
#ifndef WEIR_DEVICE_CUDA_ABI_CUDNN_RNN_ABI_H_
#define WEIR_DEVICE_CUDA_ABI_CUDNN_RNN_ABI_H_

#include "weir/device/cuda/abi/cudnn_abi.h"

namespace weir::cuda {

enum CudnnRnnAlgo : int { kCudnnRnnStandard = 0, kCudnnRnnPersistStatic = 1 };
enum CudnnForwardMode : int { kCudnnInference = 0, kCudnnTraining = 1 };
enum CudnnRnnMode : int { kCudnnRnnRelu = 0, kCudnnRnnTanh = 1, kCudnnLstm = 2, kCudnnGru = 3 };
enum CudnnRnnBiasMode : int { kCudnnRnnNoBias = 0, kCudnnRnnDoubleBias = 2 };
enum CudnnDirectionMode : int { kCudnnUnidirectional = 0, kCudnnBidirectional = 1 };
enum CudnnRnnInputMode : int { kCudnnLinearInput = 0, kCudnnSkipInput = 1 };
enum CudnnRnnDataLayout : int {
  kCudnnSequenceMajorUnpacked = 0,
  kCudnnSequenceMajorPacked = 1,
  kCudnnBatchMajorUnpacked = 2
};
enum CudnnWeightGradientMode : int { kCudnnWeightGradientAdd = 0, kCudnnWeightGradientSet = 1 };
enum CudnnRnnFlags : uint32_t { kCudnnRnnPaddedIoDisabled = 0, kCudnnRnnPaddedIoEnabled = 1 };

using CudnnRnnDesc = struct CudnnRnnDescOpaque*;
using CudnnRnnDataDesc = struct CudnnRnnDataDescOpaque*;
using CudnnTensorDesc = struct CudnnTensorDescOpaque*;
using CudnnDropoutDesc = struct CudnnDropoutDescOpaque*;

// The functions, by the names that the library exports them under after "cudnn".
#define WEIR_CUDNN_RNN_FUNCTIONS(X)                                                                                    \
  X(CudnnStatus, CreateTensorDescriptor, cudnnCreateTensorDescriptor, (CudnnTensorDesc * desc))                        \
  X(CudnnStatus, DestroyTensorDescriptor, cudnnDestroyTensorDescriptor, (CudnnTensorDesc desc))                        \
  X(CudnnStatus, SetTensorNdDescriptor, cudnnSetTensorNdDescriptor,                                                    \
    (CudnnTensorDesc desc, CudnnDataType type, int rank, const int* dims, const int* strides))                         \
  X(CudnnStatus, GetTensorNdDescriptor, cudnnGetTensorNdDescriptor,                                                    \
    (CudnnTensorDesc desc, int requested, CudnnDataType* type, int* rank, int* dims, int* strides))                    \
  X(CudnnStatus, CreateDropoutDescriptor, cudnnCreateDropoutDescriptor, (CudnnDropoutDesc * desc))                     \
  X(CudnnStatus, DestroyDropoutDescriptor, cudnnDestroyDropoutDescriptor, (CudnnDropoutDesc desc))                     \
  X(CudnnStatus, DropoutGetStatesSize, cudnnDropoutGetStatesSize, (CudnnHandle handle, size_t * size))                 \
  X(CudnnStatus, SetDropoutDescriptor, cudnnSetDropoutDescriptor,                                                      \
    (CudnnDropoutDesc desc, CudnnHandle handle, float dropout, void* states, size_t size, unsigned long long seed))    \
  X(CudnnStatus, CreateRNNDescriptor, cudnnCreateRNNDescriptor, (CudnnRnnDesc * desc))                                 \
  X(CudnnStatus, DestroyRNNDescriptor, cudnnDestroyRNNDescriptor, (CudnnRnnDesc desc))                                 \
  X(CudnnStatus, SetRNNDescriptor_v8, cudnnSetRNNDescriptor_v8,                                                        \
    (CudnnRnnDesc desc, CudnnRnnAlgo algo, CudnnRnnMode mode, CudnnRnnBiasMode bias, CudnnDirectionMode direction,     \
     CudnnRnnInputMode input, CudnnDataType type, CudnnDataType math_precision, CudnnMathType math_type,               \
     int32_t input_size, int32_t hidden_size, int32_t projection_size, int32_t layers, CudnnDropoutDesc dropout,       \
     uint32_t flags))                                                                                                  \
  X(CudnnStatus, GetRNNTempSpaceSizes, cudnnGetRNNTempSpaceSizes,                                                      \
    (CudnnHandle handle, CudnnRnnDesc desc, CudnnForwardMode mode, CudnnRnnDataDesc x, size_t * workspace_size,        \
     size_t * reserve_size))                                                                                           \
  X(CudnnStatus, GetRNNWeightSpaceSize, cudnnGetRNNWeightSpaceSize,                                                    \
    (CudnnHandle handle, CudnnRnnDesc desc, size_t * size))                                                            \
  X(CudnnStatus, GetRNNWeightParams, cudnnGetRNNWeightParams,                                                          \
    (CudnnHandle handle, CudnnRnnDesc desc, int32_t pseudo_layer, size_t size, const void* weights,                    \
     int32_t linear_layer, CudnnTensorDesc matrix_desc, void** matrix, CudnnTensorDesc bias_desc, void** bias))        \
  X(CudnnStatus, CreateRNNDataDescriptor, cudnnCreateRNNDataDescriptor, (CudnnRnnDataDesc * desc))                     \
  X(CudnnStatus, DestroyRNNDataDescriptor, cudnnDestroyRNNDataDescriptor, (CudnnRnnDataDesc desc))                     \
  X(CudnnStatus, SetRNNDataDescriptor, cudnnSetRNNDataDescriptor,                                                      \
    (CudnnRnnDataDesc desc, CudnnDataType type, CudnnRnnDataLayout layout, int max_length, int batch, int vector_size, \
     const int* lengths, void* padding_fill))                                                                          \
  X(CudnnStatus, RNNForward, cudnnRNNForward,                                                                          \
    (CudnnHandle handle, CudnnRnnDesc desc, CudnnForwardMode mode, const int32_t* lengths, CudnnRnnDataDesc x_desc,    \
     const void* x, CudnnRnnDataDesc y_desc, void* y, CudnnTensorDesc h_desc, const void* hx, void* hy,                \
     CudnnTensorDesc c_desc, const void* cx, void* cy, size_t weights_size, const void* weights,                       \
     size_t workspace_size, void* workspace, size_t reserve_size, void* reserve))                                      \
  X(CudnnStatus, RNNBackwardData_v8, cudnnRNNBackwardData_v8,                                                          \
    (CudnnHandle handle, CudnnRnnDesc desc, const int32_t* lengths, CudnnRnnDataDesc y_desc, const void* y,            \
     const void* dy, CudnnRnnDataDesc x_desc, void* dx, CudnnTensorDesc h_desc, const void* hx, const void* dhy,       \
     void* dhx, CudnnTensorDesc c_desc, const void* cx, const void* dcy, void* dcx, size_t weights_size,               \
     const void* weights, size_t workspace_size, void* workspace, size_t reserve_size, void* reserve))                 \
  X(CudnnStatus, RNNBackwardWeights_v8, cudnnRNNBackwardWeights_v8,                                                    \
    (CudnnHandle handle, CudnnRnnDesc desc, CudnnWeightGradientMode mode, const int32_t* lengths,                      \
     CudnnRnnDataDesc x_desc, const void* x, CudnnTensorDesc h_desc, const void* hx, CudnnRnnDataDesc y_desc,          \
     const void* y, size_t weights_size, void* dweights, size_t workspace_size, void* workspace, size_t reserve_size,  \
     void* reserve))

struct CudnnRnnFunctions {
#define WEIR_CUDA_MEMBER(type, name, symbol, parameters) type(*name) parameters = nullptr;
  WEIR_CUDNN_RNN_FUNCTIONS(WEIR_CUDA_MEMBER)
#undef WEIR_CUDA_MEMBER
};

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_ABI_CUDNN_RNN_ABI_H_
