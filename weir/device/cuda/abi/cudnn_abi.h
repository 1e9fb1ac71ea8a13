// The part of cuDNN 9's binary interface that weir uses: the graph interface; the recurrent layers are in
// cudnn_rnn_abi.h. See cublaslt_abi.h.
#ifndef WEIR_DEVICE_CUDA_ABI_CUDNN_ABI_H_
#define WEIR_DEVICE_CUDA_ABI_CUDNN_ABI_H_

#include <cstddef>
#include <cstdint>

namespace weir::cuda {

enum CudnnStatus : int {
  kCudnnSuccess = 0,
  kCudnnNotInitialized = 1001,
  kCudnnBadParam = 2000,
  kCudnnBadParamNullPointer = 2002,
  kCudnnBadParamNotFinalized = 2004,
  kCudnnBadParamOutOfBound = 2005,
  kCudnnBadParamSizeInsufficient = 2006,
  kCudnnBadParamShapeMismatch = 2008,
  kCudnnBadParamAttributeType = 2010,
  kCudnnBadParamDescriptorType = 2012,
  kCudnnNotSupported = 3000,
  kCudnnNotSupportedGraphPattern = 3001,
  kCudnnNotSupportedDataType = 3003,
  kCudnnInternalError = 4000,
  kCudnnExecutionFailed = 5000,
};

enum CudnnDataType : int {
  kCudnnFloat = 0,
  kCudnnDouble = 1,
  kCudnnHalf = 2,
  kCudnnInt8 = 3,
  kCudnnInt32 = 4,
  kCudnnBfloat16 = 9,
  kCudnnInt64 = 10,
  kCudnnBoolean = 11,
};

enum CudnnMathType : int {
  kCudnnDefaultMath = 0,
  kCudnnTensorOpMath = 1,
  kCudnnTensorOpMathAllowConversion = 2,
  kCudnnFmaMath = 3,
};

enum CudnnConvolutionMode : int { kCudnnConvolution = 0, kCudnnCrossCorrelation = 1 };

enum CudnnPointwiseMode : int {
  kCudnnPointwiseAdd = 0,
  kCudnnPointwiseMul = 1,
  kCudnnPointwiseMin = 2,
  kCudnnPointwiseMax = 3,
  kCudnnPointwiseDiv = 6,
  kCudnnPointwiseSub = 9,
  kCudnnPointwiseExp = 13,
  kCudnnPointwiseLog = 15,
  kCudnnPointwiseIdentity = 21,
  kCudnnPointwiseReluForward = 100,
  kCudnnPointwiseTanhForward = 101,
  kCudnnPointwiseSigmoidForward = 102,
  kCudnnPointwiseEluForward = 103,
  kCudnnPointwiseGeluForward = 104,
  kCudnnPointwiseGeluTanhForward = 107,
  kCudnnPointwiseCompareGe = 303,
  kCudnnPointwiseGenerateIndex = 501,
  kCudnnPointwiseSelect = 601,
};

enum CudnnReduction : int { kCudnnReduceAdd = 0, kCudnnReduceMax = 3 };

enum CudnnHeuristicMode : int {
  kCudnnHeuristicInstant = 0,
  kCudnnHeuristicB = 1,
  kCudnnHeuristicFallback = 2,
  kCudnnHeuristicA = 3
};

// What can be set of an engine.
enum CudnnKnob : int {
  kCudnnKnobSplitK = 17,        // parts that long sums are split into
  kCudnnKnobKernelConfig = 24,  // one of some kernels, by tiles
};

enum CudnnNumericalNote : int {
  kCudnnNoteTensorCore = 0,
  kCudnnNoteDownConvertInputs = 1,
  kCudnnNoteReducedPrecisionReduction = 2,
  kCudnnNoteNondeterministic = 4,
};
inline constexpr int kCudnnNumericalNotes = 10;

enum CudnnDescriptorType : int {
  kCudnnPointwiseDescriptor = 0,
  kCudnnConvolutionDescriptor = 1,
  kCudnnEngineDescriptor = 2,
  kCudnnEngineConfigDescriptor = 3,
  kCudnnEngineHeuristicDescriptor = 4,
  kCudnnExecutionPlanDescriptor = 5,
  kCudnnKnobChoiceDescriptor = 7,
  kCudnnKnobInfoDescriptor = 8,
  kCudnnConvolutionForwardDescriptor = 10,
  kCudnnConvolutionBackwardFilterDescriptor = 11,
  kCudnnConvolutionBackwardDataDescriptor = 12,
  kCudnnOperationPointwiseDescriptor = 13,
  kCudnnOperationGraphDescriptor = 15,
  kCudnnVariantPackDescriptor = 16,
  kCudnnTensorDescriptor = 17,
  kCudnnMatmulDescriptor = 18,
  kCudnnOperationMatmulDescriptor = 19,
  kCudnnReductionDescriptor = 21,
  kCudnnOperationReductionDescriptor = 22,
  kCudnnOperationReshapeDescriptor = 31,
};

// The type of an attribute's elements.
enum CudnnAttributeType : int {
  kCudnnTypeHandle = 0,
  kCudnnTypeDataType = 1,
  kCudnnTypeBoolean = 2,
  kCudnnTypeInt64 = 3,
  kCudnnTypeFloat = 4,
  kCudnnTypeDouble = 5,
  kCudnnTypeVoidPtr = 6,
  kCudnnTypeConvolutionMode = 7,
  kCudnnTypeHeuristicMode = 8,
  kCudnnTypeKnobType = 9,
  kCudnnTypeNumericalNote = 11,
  kCudnnTypePointwiseMode = 14,
  kCudnnTypeBackendDescriptor = 15,
  kCudnnTypeReduction = 18,
};

enum CudnnAttribute : int {
  kCudnnAttrPointwiseMode = 0,
  kCudnnAttrPointwiseMathPrecision = 1,
  kCudnnAttrPointwiseReluLowerClip = 3,
  kCudnnAttrPointwiseReluUpperClip = 4,
  kCudnnAttrPointwiseReluLowerClipSlope = 5,
  kCudnnAttrPointwiseEluAlpha = 6,
  kCudnnAttrPointwiseAxis = 9,

  kCudnnAttrConvolutionComputeType = 100,
  kCudnnAttrConvolutionMode = 101,
  kCudnnAttrConvolutionDilations = 102,
  kCudnnAttrConvolutionFilterStrides = 103,
  kCudnnAttrConvolutionPostPaddings = 104,
  kCudnnAttrConvolutionPrePaddings = 105,
  kCudnnAttrConvolutionSpatialDims = 106,

  kCudnnAttrHeuristicMode = 200,
  kCudnnAttrHeuristicOperationGraph = 201,
  kCudnnAttrHeuristicResults = 202,

  kCudnnAttrEngineConfigEngine = 300,
  kCudnnAttrEngineConfigKnobChoices = 302,

  kCudnnAttrPlanHandle = 400,
  kCudnnAttrPlanEngineConfig = 401,
  kCudnnAttrPlanWorkspaceSize = 402,

  kCudnnAttrKnobChoiceType = 600,
  kCudnnAttrKnobChoiceValue = 601,

  kCudnnAttrForwardAlpha = 700,
  kCudnnAttrForwardBeta = 701,
  kCudnnAttrForwardConvolution = 702,
  kCudnnAttrForwardW = 703,
  kCudnnAttrForwardX = 704,
  kCudnnAttrForwardY = 705,
  kCudnnAttrBackwardDataAlpha = 706,
  kCudnnAttrBackwardDataBeta = 707,
  kCudnnAttrBackwardDataConvolution = 708,
  kCudnnAttrBackwardDataW = 709,
  kCudnnAttrBackwardDataDx = 710,
  kCudnnAttrBackwardDataDy = 711,
  kCudnnAttrBackwardFilterAlpha = 712,
  kCudnnAttrBackwardFilterBeta = 713,
  kCudnnAttrBackwardFilterConvolution = 714,
  kCudnnAttrBackwardFilterDw = 715,
  kCudnnAttrBackwardFilterX = 716,
  kCudnnAttrBackwardFilterDy = 717,

  kCudnnAttrOperationPointwise = 750,
  kCudnnAttrOperationPointwiseX = 751,
  kCudnnAttrOperationPointwiseB = 752,
  kCudnnAttrOperationPointwiseY = 753,
  kCudnnAttrOperationPointwiseAlpha1 = 754,
  kCudnnAttrOperationPointwiseAlpha2 = 755,
  kCudnnAttrOperationPointwiseT = 758,

  kCudnnAttrOperationGraphHandle = 800,
  kCudnnAttrOperationGraphOps = 801,

  kCudnnAttrTensorByteAlignment = 900,
  kCudnnAttrTensorDataType = 901,
  kCudnnAttrTensorDimensions = 902,
  kCudnnAttrTensorStrides = 903,
  kCudnnAttrTensorUniqueId = 906,
  kCudnnAttrTensorIsVirtual = 907,
  kCudnnAttrTensorIsByValue = 908,

  kCudnnAttrVariantPackUniqueIds = 1000,
  kCudnnAttrVariantPackDataPointers = 1001,
  kCudnnAttrVariantPackWorkspace = 1003,

  kCudnnAttrKnobInfoType = 1200,
  kCudnnAttrKnobInfoMaximum = 1201,
  kCudnnAttrKnobInfoMinimum = 1202,

  kCudnnAttrEngineOperationGraph = 1300,
  kCudnnAttrEngineGlobalIndex = 1301,
  kCudnnAttrEngineKnobInfo = 1302,
  kCudnnAttrEngineNumericalNote = 1303,

  kCudnnAttrMatmulComputeType = 1500,
  kCudnnAttrOperationMatmulA = 1520,
  kCudnnAttrOperationMatmulB = 1521,
  kCudnnAttrOperationMatmulC = 1522,
  kCudnnAttrOperationMatmul = 1523,

  kCudnnAttrReductionOperator = 1600,
  kCudnnAttrReductionComputeType = 1601,
  kCudnnAttrOperationReductionX = 1610,
  kCudnnAttrOperationReductionY = 1611,
  kCudnnAttrOperationReduction = 1612,

  kCudnnAttrOperationReshapeX = 2200,
  kCudnnAttrOperationReshapeY = 2201,
};

using CudnnHandle = struct CudnnHandleOpaque*;
using CudnnDescriptor = void*;

// The functions, by the names that the library exports them under after "cudnn".
#define WEIR_CUDNN_FUNCTIONS(X)                                                                                      \
  X(size_t, GetVersion, cudnnGetVersion, ())                                                                         \
  X(const char*, GetErrorString, cudnnGetErrorString, (CudnnStatus status))                                          \
  X(void, GetLastErrorString, cudnnGetLastErrorString, (char* message, size_t size))                                 \
  X(CudnnStatus, Create, cudnnCreate, (CudnnHandle * handle))                                                        \
  X(CudnnStatus, Destroy, cudnnDestroy, (CudnnHandle handle))                                                        \
  X(CudnnStatus, SetStream, cudnnSetStream, (CudnnHandle handle, void* stream))                                      \
  X(CudnnStatus, BackendCreateDescriptor, cudnnBackendCreateDescriptor,                                              \
    (CudnnDescriptorType type, CudnnDescriptor * descriptor))                                                        \
  X(CudnnStatus, BackendDestroyDescriptor, cudnnBackendDestroyDescriptor, (CudnnDescriptor descriptor))              \
  X(CudnnStatus, BackendFinalize, cudnnBackendFinalize, (CudnnDescriptor descriptor))                                \
  X(CudnnStatus, BackendSetAttribute, cudnnBackendSetAttribute,                                                      \
    (CudnnDescriptor descriptor, CudnnAttribute name, CudnnAttributeType type, int64_t count, const void* elements)) \
  X(CudnnStatus, BackendGetAttribute, cudnnBackendGetAttribute,                                                      \
    (CudnnDescriptor descriptor, CudnnAttribute name, CudnnAttributeType type, int64_t requested, int64_t * count,   \
     void* elements))                                                                                                \
  X(CudnnStatus, BackendExecute, cudnnBackendExecute,                                                                \
    (CudnnHandle handle, CudnnDescriptor plan, CudnnDescriptor variant_pack))

struct CudnnFunctions {
#define WEIR_CUDA_MEMBER(type, name, symbol, parameters) type(*name) parameters = nullptr;
  WEIR_CUDNN_FUNCTIONS(WEIR_CUDA_MEMBER)
#undef WEIR_CUDA_MEMBER
};

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_ABI_CUDNN_ABI_H_
