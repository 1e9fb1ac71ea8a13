// Compares weir's declarations of NVIDIA's binary interfaces with the headers of an installed toolkit. Everything here
// happens while this file is compiled.
#include <cublasLt.h>
#include <cudnn.h>
#include <cufft.h>
#include <cusolverDn.h>
#include <nccl.h>

#include <type_traits>

#include "weir/device/cuda/abi/cublaslt_abi.h"
#include "weir/device/cuda/abi/cudnn_abi.h"
#include "weir/device/cuda/abi/cudnn_rnn_abi.h"
#include "weir/device/cuda/abi/cufft_abi.h"
#include "weir/device/cuda/abi/cusolver_abi.h"
#include "weir/device/cuda/abi/nccl_abi.h"

namespace weir::cuda {
namespace {

// Whether a value of one type is passed as one of the other is.
template <typename A, typename B>
constexpr bool PassedAlike() {
  if constexpr (std::is_void_v<A> || std::is_void_v<B>) {
    return std::is_void_v<A> && std::is_void_v<B>;
  } else {
    return sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
           std::is_floating_point_v<A> == std::is_floating_point_v<B> && std::is_class_v<A> == std::is_class_v<B>;
  }
}

template <typename Theirs, typename Ours>
struct SameSignature : std::false_type {};
template <typename R, typename... As, typename S, typename... Bs>
requires(sizeof...(As) == sizeof...(Bs)) struct SameSignature<R (*)(As...), S (*)(Bs...)>
    : std::bool_constant<PassedAlike<R, S>() && (PassedAlike<As, Bs>() && ...)> {
};

#define WEIR_VALUE(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))
#define WEIR_SIGNATURE(type, name, symbol, parameters) \
  static_assert(SameSignature<decltype(&::symbol), type(*) parameters>::value);

WEIR_VALUE(kCublasSuccess, CUBLAS_STATUS_SUCCESS);
WEIR_VALUE(kCublasNotInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
WEIR_VALUE(kCublasAllocFailed, CUBLAS_STATUS_ALLOC_FAILED);
WEIR_VALUE(kCublasInvalidValue, CUBLAS_STATUS_INVALID_VALUE);
WEIR_VALUE(kCublasArchMismatch, CUBLAS_STATUS_ARCH_MISMATCH);
WEIR_VALUE(kCublasExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
WEIR_VALUE(kCublasInternalError, CUBLAS_STATUS_INTERNAL_ERROR);
WEIR_VALUE(kCublasNotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
WEIR_VALUE(kCublasOpN, CUBLAS_OP_N);
WEIR_VALUE(kCublasOpT, CUBLAS_OP_T);
WEIR_VALUE(kCublasOpC, CUBLAS_OP_C);
WEIR_VALUE(kCublasFillLower, CUBLAS_FILL_MODE_LOWER);
WEIR_VALUE(kCublasFillUpper, CUBLAS_FILL_MODE_UPPER);
WEIR_VALUE(kCublasCompute16F, CUBLAS_COMPUTE_16F);
WEIR_VALUE(kCublasCompute32F, CUBLAS_COMPUTE_32F);
WEIR_VALUE(kCublasCompute64F, CUBLAS_COMPUTE_64F);
WEIR_VALUE(kCublasCompute32I, CUBLAS_COMPUTE_32I);
WEIR_VALUE(kCublasCompute32FFastTF32, CUBLAS_COMPUTE_32F_FAST_TF32);
WEIR_VALUE(kCudaR32F, CUDA_R_32F);
WEIR_VALUE(kCudaR64F, CUDA_R_64F);
WEIR_VALUE(kCudaR16F, CUDA_R_16F);
WEIR_VALUE(kCudaR8I, CUDA_R_8I);
WEIR_VALUE(kCudaC32F, CUDA_C_32F);
WEIR_VALUE(kCudaC64F, CUDA_C_64F);
WEIR_VALUE(kCudaR32I, CUDA_R_32I);
WEIR_VALUE(kCudaR16BF, CUDA_R_16BF);
WEIR_VALUE(kCublasLtOrderCol, CUBLASLT_ORDER_COL);
WEIR_VALUE(kCublasLtOrderRow, CUBLASLT_ORDER_ROW);
WEIR_VALUE(kCublasLtLayoutType, CUBLASLT_MATRIX_LAYOUT_TYPE);
WEIR_VALUE(kCublasLtLayoutOrder, CUBLASLT_MATRIX_LAYOUT_ORDER);
WEIR_VALUE(kCublasLtLayoutRows, CUBLASLT_MATRIX_LAYOUT_ROWS);
WEIR_VALUE(kCublasLtLayoutCols, CUBLASLT_MATRIX_LAYOUT_COLS);
WEIR_VALUE(kCublasLtLayoutLeadingDimension, CUBLASLT_MATRIX_LAYOUT_LD);
WEIR_VALUE(kCublasLtLayoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
WEIR_VALUE(kCublasLtLayoutStridedBatchOffset, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
WEIR_VALUE(kCublasLtMatmulComputeType, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE);
WEIR_VALUE(kCublasLtMatmulScaleType, CUBLASLT_MATMUL_DESC_SCALE_TYPE);
WEIR_VALUE(kCublasLtMatmulPointerMode, CUBLASLT_MATMUL_DESC_POINTER_MODE);
WEIR_VALUE(kCublasLtMatmulTransA, CUBLASLT_MATMUL_DESC_TRANSA);
WEIR_VALUE(kCublasLtMatmulTransB, CUBLASLT_MATMUL_DESC_TRANSB);
WEIR_VALUE(kCublasLtMatmulEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
WEIR_VALUE(kCublasLtMatmulBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
WEIR_VALUE(kCublasLtMatmulBiasBatchStride, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
WEIR_VALUE(kCublasLtMatmulEpilogueAuxPointer, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
WEIR_VALUE(kCublasLtMatmulEpilogueAuxLd, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
WEIR_VALUE(kCublasLtMatmulEpilogueAuxBatchStride, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE);
WEIR_VALUE(kCublasLtMatmulEpilogueAuxDataType, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE);
WEIR_VALUE(kCublasLtMatmulBiasDataType, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
WEIR_VALUE(kCublasLtEpilogueDefault, CUBLASLT_EPILOGUE_DEFAULT);
WEIR_VALUE(kCublasLtEpilogueRelu, CUBLASLT_EPILOGUE_RELU);
WEIR_VALUE(kCublasLtEpilogueReluAux, CUBLASLT_EPILOGUE_RELU_AUX);
WEIR_VALUE(kCublasLtEpilogueBias, CUBLASLT_EPILOGUE_BIAS);
WEIR_VALUE(kCublasLtEpilogueReluBias, CUBLASLT_EPILOGUE_RELU_BIAS);
WEIR_VALUE(kCublasLtEpilogueReluAuxBias, CUBLASLT_EPILOGUE_RELU_AUX_BIAS);
WEIR_VALUE(kCublasLtEpilogueDRelu, CUBLASLT_EPILOGUE_DRELU);
WEIR_VALUE(kCublasLtEpilogueDReluBgrad, CUBLASLT_EPILOGUE_DRELU_BGRAD);
WEIR_VALUE(kCublasLtEpilogueGelu, CUBLASLT_EPILOGUE_GELU);
WEIR_VALUE(kCublasLtEpilogueGeluAux, CUBLASLT_EPILOGUE_GELU_AUX);
WEIR_VALUE(kCublasLtEpilogueGeluBias, CUBLASLT_EPILOGUE_GELU_BIAS);
WEIR_VALUE(kCublasLtEpilogueGeluAuxBias, CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
WEIR_VALUE(kCublasLtEpilogueDGelu, CUBLASLT_EPILOGUE_DGELU);
WEIR_VALUE(kCublasLtEpilogueDGeluBgrad, CUBLASLT_EPILOGUE_DGELU_BGRAD);
WEIR_VALUE(kCublasLtEpilogueBgradA, CUBLASLT_EPILOGUE_BGRADA);
WEIR_VALUE(kCublasLtEpilogueBgradB, CUBLASLT_EPILOGUE_BGRADB);
WEIR_VALUE(kCublasLtPreferenceMaxWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
WEIR_VALUE(kCublasLtPreferenceReductionSchemeMask, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
WEIR_VALUE(kCublasLtPreferenceMinAlignmentABytes, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
WEIR_VALUE(kCublasLtPreferenceMinAlignmentBBytes, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
WEIR_VALUE(kCublasLtPreferenceMinAlignmentCBytes, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
WEIR_VALUE(kCublasLtPreferenceMinAlignmentDBytes, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(sizeof(CublasLtAlgo) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(CublasLtHeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(CublasLtHeuristicResult, workspace_size) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(CublasLtHeuristicResult, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
WEIR_CUBLASLT_FUNCTIONS(WEIR_SIGNATURE)

WEIR_VALUE(kCudnnSuccess, CUDNN_STATUS_SUCCESS);
WEIR_VALUE(kCudnnNotInitialized, CUDNN_STATUS_NOT_INITIALIZED);
WEIR_VALUE(kCudnnBadParam, CUDNN_STATUS_BAD_PARAM);
WEIR_VALUE(kCudnnBadParamNullPointer, CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
WEIR_VALUE(kCudnnBadParamNotFinalized, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
WEIR_VALUE(kCudnnBadParamOutOfBound, CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND);
WEIR_VALUE(kCudnnBadParamSizeInsufficient, CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
WEIR_VALUE(kCudnnBadParamShapeMismatch, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
WEIR_VALUE(kCudnnBadParamAttributeType, CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
WEIR_VALUE(kCudnnBadParamDescriptorType, CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
WEIR_VALUE(kCudnnNotSupported, CUDNN_STATUS_NOT_SUPPORTED);
WEIR_VALUE(kCudnnNotSupportedGraphPattern, CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
WEIR_VALUE(kCudnnNotSupportedDataType, CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE);
WEIR_VALUE(kCudnnInternalError, CUDNN_STATUS_INTERNAL_ERROR);
WEIR_VALUE(kCudnnExecutionFailed, CUDNN_STATUS_EXECUTION_FAILED);
WEIR_VALUE(kCudnnFloat, CUDNN_DATA_FLOAT);
WEIR_VALUE(kCudnnDouble, CUDNN_DATA_DOUBLE);
WEIR_VALUE(kCudnnHalf, CUDNN_DATA_HALF);
WEIR_VALUE(kCudnnInt8, CUDNN_DATA_INT8);
WEIR_VALUE(kCudnnInt32, CUDNN_DATA_INT32);
WEIR_VALUE(kCudnnBfloat16, CUDNN_DATA_BFLOAT16);
WEIR_VALUE(kCudnnInt64, CUDNN_DATA_INT64);
WEIR_VALUE(kCudnnBoolean, CUDNN_DATA_BOOLEAN);
WEIR_VALUE(kCudnnDefaultMath, CUDNN_DEFAULT_MATH);
WEIR_VALUE(kCudnnTensorOpMath, CUDNN_TENSOR_OP_MATH);
WEIR_VALUE(kCudnnTensorOpMathAllowConversion, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION);
WEIR_VALUE(kCudnnFmaMath, CUDNN_FMA_MATH);
WEIR_VALUE(kCudnnConvolution, CUDNN_CONVOLUTION);
WEIR_VALUE(kCudnnCrossCorrelation, CUDNN_CROSS_CORRELATION);
WEIR_VALUE(kCudnnPointwiseAdd, CUDNN_POINTWISE_ADD);
WEIR_VALUE(kCudnnPointwiseMul, CUDNN_POINTWISE_MUL);
WEIR_VALUE(kCudnnPointwiseMin, CUDNN_POINTWISE_MIN);
WEIR_VALUE(kCudnnPointwiseMax, CUDNN_POINTWISE_MAX);
WEIR_VALUE(kCudnnPointwiseDiv, CUDNN_POINTWISE_DIV);
WEIR_VALUE(kCudnnPointwiseSub, CUDNN_POINTWISE_SUB);
WEIR_VALUE(kCudnnPointwiseExp, CUDNN_POINTWISE_EXP);
WEIR_VALUE(kCudnnPointwiseLog, CUDNN_POINTWISE_LOG);
WEIR_VALUE(kCudnnPointwiseIdentity, CUDNN_POINTWISE_IDENTITY);
WEIR_VALUE(kCudnnPointwiseReluForward, CUDNN_POINTWISE_RELU_FWD);
WEIR_VALUE(kCudnnPointwiseTanhForward, CUDNN_POINTWISE_TANH_FWD);
WEIR_VALUE(kCudnnPointwiseSigmoidForward, CUDNN_POINTWISE_SIGMOID_FWD);
WEIR_VALUE(kCudnnPointwiseEluForward, CUDNN_POINTWISE_ELU_FWD);
WEIR_VALUE(kCudnnPointwiseGeluForward, CUDNN_POINTWISE_GELU_FWD);
WEIR_VALUE(kCudnnPointwiseGeluTanhForward, CUDNN_POINTWISE_GELU_APPROX_TANH_FWD);
WEIR_VALUE(kCudnnPointwiseCompareGe, CUDNN_POINTWISE_CMP_GE);
WEIR_VALUE(kCudnnPointwiseGenerateIndex, CUDNN_POINTWISE_GEN_INDEX);
WEIR_VALUE(kCudnnPointwiseSelect, CUDNN_POINTWISE_BINARY_SELECT);
WEIR_VALUE(kCudnnReduceAdd, CUDNN_REDUCE_TENSOR_ADD);
WEIR_VALUE(kCudnnReduceMax, CUDNN_REDUCE_TENSOR_MAX);
WEIR_VALUE(kCudnnHeuristicInstant, CUDNN_HEUR_MODE_INSTANT);
WEIR_VALUE(kCudnnHeuristicB, CUDNN_HEUR_MODE_B);
WEIR_VALUE(kCudnnHeuristicFallback, CUDNN_HEUR_MODE_FALLBACK);
WEIR_VALUE(kCudnnHeuristicA, CUDNN_HEUR_MODE_A);
WEIR_VALUE(kCudnnKnobSplitK, CUDNN_KNOB_TYPE_SPLIT_K_SLC);
WEIR_VALUE(kCudnnKnobKernelConfig, CUDNN_KNOB_TYPE_KERNEL_CFG);
WEIR_VALUE(kCudnnNoteTensorCore, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
WEIR_VALUE(kCudnnNoteDownConvertInputs, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
WEIR_VALUE(kCudnnNoteReducedPrecisionReduction, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
WEIR_VALUE(kCudnnNoteNondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
WEIR_VALUE(kCudnnNumericalNotes, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
WEIR_VALUE(kCudnnPointwiseDescriptor, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
WEIR_VALUE(kCudnnConvolutionDescriptor, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
WEIR_VALUE(kCudnnEngineDescriptor, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
WEIR_VALUE(kCudnnEngineConfigDescriptor, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
WEIR_VALUE(kCudnnEngineHeuristicDescriptor, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
WEIR_VALUE(kCudnnExecutionPlanDescriptor, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
WEIR_VALUE(kCudnnKnobChoiceDescriptor, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
WEIR_VALUE(kCudnnKnobInfoDescriptor, CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR);
WEIR_VALUE(kCudnnConvolutionForwardDescriptor, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
WEIR_VALUE(kCudnnConvolutionBackwardFilterDescriptor, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
WEIR_VALUE(kCudnnConvolutionBackwardDataDescriptor, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
WEIR_VALUE(kCudnnOperationPointwiseDescriptor, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
WEIR_VALUE(kCudnnOperationGraphDescriptor, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
WEIR_VALUE(kCudnnVariantPackDescriptor, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
WEIR_VALUE(kCudnnTensorDescriptor, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
WEIR_VALUE(kCudnnMatmulDescriptor, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
WEIR_VALUE(kCudnnOperationMatmulDescriptor, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
WEIR_VALUE(kCudnnReductionDescriptor, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
WEIR_VALUE(kCudnnOperationReductionDescriptor, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
WEIR_VALUE(kCudnnOperationReshapeDescriptor, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
WEIR_VALUE(kCudnnTypeHandle, CUDNN_TYPE_HANDLE);
WEIR_VALUE(kCudnnTypeDataType, CUDNN_TYPE_DATA_TYPE);
WEIR_VALUE(kCudnnTypeBoolean, CUDNN_TYPE_BOOLEAN);
WEIR_VALUE(kCudnnTypeInt64, CUDNN_TYPE_INT64);
WEIR_VALUE(kCudnnTypeFloat, CUDNN_TYPE_FLOAT);
WEIR_VALUE(kCudnnTypeDouble, CUDNN_TYPE_DOUBLE);
WEIR_VALUE(kCudnnTypeVoidPtr, CUDNN_TYPE_VOID_PTR);
WEIR_VALUE(kCudnnTypeConvolutionMode, CUDNN_TYPE_CONVOLUTION_MODE);
WEIR_VALUE(kCudnnTypeHeuristicMode, CUDNN_TYPE_HEUR_MODE);
WEIR_VALUE(kCudnnTypeKnobType, CUDNN_TYPE_KNOB_TYPE);
WEIR_VALUE(kCudnnTypeNumericalNote, CUDNN_TYPE_NUMERICAL_NOTE);
WEIR_VALUE(kCudnnTypePointwiseMode, CUDNN_TYPE_POINTWISE_MODE);
WEIR_VALUE(kCudnnTypeBackendDescriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR);
WEIR_VALUE(kCudnnTypeReduction, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
WEIR_VALUE(kCudnnAttrPointwiseMode, CUDNN_ATTR_POINTWISE_MODE);
WEIR_VALUE(kCudnnAttrPointwiseMathPrecision, CUDNN_ATTR_POINTWISE_MATH_PREC);
WEIR_VALUE(kCudnnAttrPointwiseReluLowerClip, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP);
WEIR_VALUE(kCudnnAttrPointwiseReluUpperClip, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP);
WEIR_VALUE(kCudnnAttrPointwiseReluLowerClipSlope, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE);
WEIR_VALUE(kCudnnAttrPointwiseAxis, CUDNN_ATTR_POINTWISE_AXIS);
WEIR_VALUE(kCudnnAttrPointwiseEluAlpha, CUDNN_ATTR_POINTWISE_ELU_ALPHA);
WEIR_VALUE(kCudnnAttrConvolutionComputeType, CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
WEIR_VALUE(kCudnnAttrConvolutionMode, CUDNN_ATTR_CONVOLUTION_CONV_MODE);
WEIR_VALUE(kCudnnAttrConvolutionDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS);
WEIR_VALUE(kCudnnAttrConvolutionFilterStrides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
WEIR_VALUE(kCudnnAttrConvolutionPostPaddings, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
WEIR_VALUE(kCudnnAttrConvolutionPrePaddings, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
WEIR_VALUE(kCudnnAttrConvolutionSpatialDims, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
WEIR_VALUE(kCudnnAttrHeuristicMode, CUDNN_ATTR_ENGINEHEUR_MODE);
WEIR_VALUE(kCudnnAttrHeuristicOperationGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
WEIR_VALUE(kCudnnAttrHeuristicResults, CUDNN_ATTR_ENGINEHEUR_RESULTS);
WEIR_VALUE(kCudnnAttrEngineConfigEngine, CUDNN_ATTR_ENGINECFG_ENGINE);
WEIR_VALUE(kCudnnAttrEngineConfigKnobChoices, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
WEIR_VALUE(kCudnnAttrPlanHandle, 400);  // deprecated there, still needed before 9.2
WEIR_VALUE(kCudnnAttrPlanEngineConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
WEIR_VALUE(kCudnnAttrPlanWorkspaceSize, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
WEIR_VALUE(kCudnnAttrKnobChoiceType, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
WEIR_VALUE(kCudnnAttrKnobChoiceValue, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
WEIR_VALUE(kCudnnAttrForwardAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
WEIR_VALUE(kCudnnAttrForwardBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
WEIR_VALUE(kCudnnAttrForwardConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
WEIR_VALUE(kCudnnAttrForwardW, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
WEIR_VALUE(kCudnnAttrForwardX, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
WEIR_VALUE(kCudnnAttrForwardY, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
WEIR_VALUE(kCudnnAttrBackwardDataAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA);
WEIR_VALUE(kCudnnAttrBackwardDataBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA);
WEIR_VALUE(kCudnnAttrBackwardDataConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
WEIR_VALUE(kCudnnAttrBackwardDataW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W);
WEIR_VALUE(kCudnnAttrBackwardDataDx, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX);
WEIR_VALUE(kCudnnAttrBackwardDataDy, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
WEIR_VALUE(kCudnnAttrBackwardFilterAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA);
WEIR_VALUE(kCudnnAttrBackwardFilterBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA);
WEIR_VALUE(kCudnnAttrBackwardFilterConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC);
WEIR_VALUE(kCudnnAttrBackwardFilterDw, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW);
WEIR_VALUE(kCudnnAttrBackwardFilterX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X);
WEIR_VALUE(kCudnnAttrBackwardFilterDy, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
WEIR_VALUE(kCudnnAttrOperationPointwise, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
WEIR_VALUE(kCudnnAttrOperationPointwiseX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
WEIR_VALUE(kCudnnAttrOperationPointwiseB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
WEIR_VALUE(kCudnnAttrOperationPointwiseY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
WEIR_VALUE(kCudnnAttrOperationPointwiseAlpha1, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1);
WEIR_VALUE(kCudnnAttrOperationPointwiseT, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
WEIR_VALUE(kCudnnAttrTensorIsByValue, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
WEIR_VALUE(kCudnnAttrMatmulComputeType, CUDNN_ATTR_MATMUL_COMP_TYPE);
WEIR_VALUE(kCudnnAttrOperationMatmulA, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
WEIR_VALUE(kCudnnAttrOperationMatmulB, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
WEIR_VALUE(kCudnnAttrOperationMatmulC, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
WEIR_VALUE(kCudnnAttrOperationMatmul, CUDNN_ATTR_OPERATION_MATMUL_DESC);
WEIR_VALUE(kCudnnAttrReductionOperator, CUDNN_ATTR_REDUCTION_OPERATOR);
WEIR_VALUE(kCudnnAttrReductionComputeType, CUDNN_ATTR_REDUCTION_COMP_TYPE);
WEIR_VALUE(kCudnnAttrOperationReductionX, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
WEIR_VALUE(kCudnnAttrOperationReductionY, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
WEIR_VALUE(kCudnnAttrOperationReduction, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
WEIR_VALUE(kCudnnAttrOperationReshapeX, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
WEIR_VALUE(kCudnnAttrOperationReshapeY, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
WEIR_VALUE(kCudnnAttrOperationPointwiseAlpha2, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2);
WEIR_VALUE(kCudnnAttrOperationGraphHandle, 800);  // deprecated there, still needed before 9.2
WEIR_VALUE(kCudnnAttrOperationGraphOps, CUDNN_ATTR_OPERATIONGRAPH_OPS);
WEIR_VALUE(kCudnnAttrTensorByteAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
WEIR_VALUE(kCudnnAttrTensorDataType, CUDNN_ATTR_TENSOR_DATA_TYPE);
WEIR_VALUE(kCudnnAttrTensorDimensions, CUDNN_ATTR_TENSOR_DIMENSIONS);
WEIR_VALUE(kCudnnAttrTensorStrides, CUDNN_ATTR_TENSOR_STRIDES);
WEIR_VALUE(kCudnnAttrTensorUniqueId, CUDNN_ATTR_TENSOR_UNIQUE_ID);
WEIR_VALUE(kCudnnAttrTensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
WEIR_VALUE(kCudnnAttrVariantPackUniqueIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
WEIR_VALUE(kCudnnAttrVariantPackDataPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
WEIR_VALUE(kCudnnAttrVariantPackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
WEIR_VALUE(kCudnnAttrEngineOperationGraph, CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
WEIR_VALUE(kCudnnAttrEngineGlobalIndex, CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
WEIR_VALUE(kCudnnAttrEngineKnobInfo, CUDNN_ATTR_ENGINE_KNOB_INFO);
WEIR_VALUE(kCudnnAttrKnobInfoType, CUDNN_ATTR_KNOB_INFO_TYPE);
WEIR_VALUE(kCudnnAttrKnobInfoMaximum, CUDNN_ATTR_KNOB_INFO_MAXIMUM_VALUE);
WEIR_VALUE(kCudnnAttrKnobInfoMinimum, CUDNN_ATTR_KNOB_INFO_MINIMUM_VALUE);
WEIR_VALUE(kCudnnAttrEngineNumericalNote, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
WEIR_CUDNN_FUNCTIONS(WEIR_SIGNATURE)

WEIR_VALUE(kCudnnRnnStandard, CUDNN_RNN_ALGO_STANDARD);
WEIR_VALUE(kCudnnRnnPersistStatic, CUDNN_RNN_ALGO_PERSIST_STATIC);
WEIR_VALUE(kCudnnInference, CUDNN_FWD_MODE_INFERENCE);
WEIR_VALUE(kCudnnTraining, CUDNN_FWD_MODE_TRAINING);
WEIR_VALUE(kCudnnRnnRelu, CUDNN_RNN_RELU);
WEIR_VALUE(kCudnnRnnTanh, CUDNN_RNN_TANH);
WEIR_VALUE(kCudnnLstm, CUDNN_LSTM);
WEIR_VALUE(kCudnnGru, CUDNN_GRU);
WEIR_VALUE(kCudnnRnnNoBias, CUDNN_RNN_NO_BIAS);
WEIR_VALUE(kCudnnRnnDoubleBias, CUDNN_RNN_DOUBLE_BIAS);
WEIR_VALUE(kCudnnUnidirectional, CUDNN_UNIDIRECTIONAL);
WEIR_VALUE(kCudnnBidirectional, CUDNN_BIDIRECTIONAL);
WEIR_VALUE(kCudnnLinearInput, CUDNN_LINEAR_INPUT);
WEIR_VALUE(kCudnnSkipInput, CUDNN_SKIP_INPUT);
WEIR_VALUE(kCudnnSequenceMajorUnpacked, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED);
WEIR_VALUE(kCudnnSequenceMajorPacked, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED);
WEIR_VALUE(kCudnnBatchMajorUnpacked, CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED);
WEIR_VALUE(kCudnnWeightGradientAdd, CUDNN_WGRAD_MODE_ADD);
WEIR_VALUE(kCudnnWeightGradientSet, CUDNN_WGRAD_MODE_SET);
WEIR_VALUE(kCudnnRnnPaddedIoDisabled, CUDNN_RNN_PADDED_IO_DISABLED);
WEIR_VALUE(kCudnnRnnPaddedIoEnabled, CUDNN_RNN_PADDED_IO_ENABLED);
WEIR_CUDNN_RNN_FUNCTIONS(WEIR_SIGNATURE)

WEIR_VALUE(kCufftSuccess, CUFFT_SUCCESS);
WEIR_VALUE(kCufftInvalidPlan, CUFFT_INVALID_PLAN);
WEIR_VALUE(kCufftAllocFailed, CUFFT_ALLOC_FAILED);
WEIR_VALUE(kCufftInvalidType, CUFFT_INVALID_TYPE);
WEIR_VALUE(kCufftInvalidValue, CUFFT_INVALID_VALUE);
WEIR_VALUE(kCufftInternalError, CUFFT_INTERNAL_ERROR);
WEIR_VALUE(kCufftExecFailed, CUFFT_EXEC_FAILED);
WEIR_VALUE(kCufftSetupFailed, CUFFT_SETUP_FAILED);
WEIR_VALUE(kCufftInvalidSize, CUFFT_INVALID_SIZE);
WEIR_VALUE(kCufftNoWorkspace, CUFFT_NO_WORKSPACE);
WEIR_VALUE(kCufftNotSupported, CUFFT_NOT_SUPPORTED);
WEIR_VALUE(kCufftC2C, CUFFT_C2C);
WEIR_VALUE(kCufftR2C, CUFFT_R2C);
WEIR_VALUE(kCufftC2R, CUFFT_C2R);
WEIR_VALUE(kCufftZ2Z, CUFFT_Z2Z);
WEIR_VALUE(kCufftD2Z, CUFFT_D2Z);
WEIR_VALUE(kCufftZ2D, CUFFT_Z2D);
WEIR_VALUE(kCufftForward, CUFFT_FORWARD);
WEIR_VALUE(kCufftInverse, CUFFT_INVERSE);
WEIR_CUFFT_FUNCTIONS(WEIR_SIGNATURE)

WEIR_VALUE(kCusolverSuccess, CUSOLVER_STATUS_SUCCESS);
WEIR_VALUE(kCusolverNotInitialized, CUSOLVER_STATUS_NOT_INITIALIZED);
WEIR_VALUE(kCusolverAllocFailed, CUSOLVER_STATUS_ALLOC_FAILED);
WEIR_VALUE(kCusolverInvalidValue, CUSOLVER_STATUS_INVALID_VALUE);
WEIR_VALUE(kCusolverExecutionFailed, CUSOLVER_STATUS_EXECUTION_FAILED);
WEIR_VALUE(kCusolverInternalError, CUSOLVER_STATUS_INTERNAL_ERROR);
WEIR_VALUE(kCusolverNotSupported, CUSOLVER_STATUS_NOT_SUPPORTED);
WEIR_VALUE(kCusolverNoVectors, CUSOLVER_EIG_MODE_NOVECTOR);
WEIR_VALUE(kCusolverVectors, CUSOLVER_EIG_MODE_VECTOR);
WEIR_CUSOLVER_HANDLE_FUNCTIONS(WEIR_SIGNATURE)
#define WEIR_ROUTINE(letter, ours, theirs) \
  static_assert(SameSignature<decltype(&cusolverDn##letter##theirs), decltype(CusolverTypedFunctions::ours)>::value)
#define WEIR_ROUTINES(letter, orgqr_name, syevd_name)              \
  WEIR_ROUTINE(letter, potrf_bufferSize, potrf_bufferSize);        \
  WEIR_ROUTINE(letter, potrf, potrf);                              \
  WEIR_ROUTINE(letter, potrfBatched, potrfBatched);                \
  WEIR_ROUTINE(letter, getrf_bufferSize, getrf_bufferSize);        \
  WEIR_ROUTINE(letter, getrf, getrf);                              \
  WEIR_ROUTINE(letter, getrs, getrs);                              \
  WEIR_ROUTINE(letter, geqrf_bufferSize, geqrf_bufferSize);        \
  WEIR_ROUTINE(letter, geqrf, geqrf);                              \
  WEIR_ROUTINE(letter, orgqr_bufferSize, orgqr_name##_bufferSize); \
  WEIR_ROUTINE(letter, orgqr, orgqr_name);                         \
  WEIR_ROUTINE(letter, syevd_bufferSize, syevd_name##_bufferSize); \
  WEIR_ROUTINE(letter, syevd, syevd_name);                         \
  WEIR_ROUTINE(letter, gesvd_bufferSize, gesvd_bufferSize);        \
  WEIR_ROUTINE(letter, gesvd, gesvd)
WEIR_ROUTINES(S, orgqr, syevd);
WEIR_ROUTINES(D, orgqr, syevd);
WEIR_ROUTINES(C, ungqr, heevd);
WEIR_ROUTINES(Z, ungqr, heevd);

WEIR_VALUE(kNcclSuccess, ncclSuccess);
WEIR_VALUE(kNcclUnhandledCudaError, ncclUnhandledCudaError);
WEIR_VALUE(kNcclSystemError, ncclSystemError);
WEIR_VALUE(kNcclInternalError, ncclInternalError);
WEIR_VALUE(kNcclInvalidArgument, ncclInvalidArgument);
WEIR_VALUE(kNcclInvalidUsage, ncclInvalidUsage);
WEIR_VALUE(kNcclRemoteError, ncclRemoteError);
WEIR_VALUE(kNcclInProgress, ncclInProgress);
WEIR_VALUE(kNcclSum, ncclSum);
WEIR_VALUE(kNcclProd, ncclProd);
WEIR_VALUE(kNcclMax, ncclMax);
WEIR_VALUE(kNcclMin, ncclMin);
WEIR_VALUE(kNcclAvg, ncclAvg);
WEIR_VALUE(kNcclInt8, ncclInt8);
WEIR_VALUE(kNcclUint8, ncclUint8);
WEIR_VALUE(kNcclInt32, ncclInt32);
WEIR_VALUE(kNcclUint32, ncclUint32);
WEIR_VALUE(kNcclInt64, ncclInt64);
WEIR_VALUE(kNcclUint64, ncclUint64);
WEIR_VALUE(kNcclFloat16, ncclFloat16);
WEIR_VALUE(kNcclFloat32, ncclFloat32);
WEIR_VALUE(kNcclFloat64, ncclFloat64);
WEIR_VALUE(kNcclBfloat16, ncclBfloat16);
static_assert(sizeof(NcclUniqueId) == sizeof(ncclUniqueId));
static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(sizeof(NcclConfig) <= sizeof(ncclConfig_t));
WEIR_NCCL_FUNCTIONS(WEIR_SIGNATURE)

}  // namespace
}  // namespace weir::cuda
