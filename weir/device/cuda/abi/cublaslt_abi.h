// The part of cuBLASLt's binary interface that weir uses, declared here so that no toolkit is needed to build.
// abi_check.cc compares values and signatures with NVIDIA's headers where those are installed.
#ifndef WEIR_DEVICE_CUDA_ABI_CUBLASLT_ABI_H_
#define WEIR_DEVICE_CUDA_ABI_CUBLASLT_ABI_H_

#include <cstddef>
#include <cstdint>

namespace weir::cuda {

enum CublasStatus : int {
  kCublasSuccess = 0,
  kCublasNotInitialized = 1,
  kCublasAllocFailed = 3,
  kCublasInvalidValue = 7,
  kCublasArchMismatch = 8,
  kCublasExecutionFailed = 13,
  kCublasInternalError = 14,
  kCublasNotSupported = 15,
};

enum CublasOperation : int { kCublasOpN = 0, kCublasOpT = 1, kCublasOpC = 2 };
enum CublasFillMode : int { kCublasFillLower = 0, kCublasFillUpper = 1 };

enum CublasComputeType : int {
  kCublasCompute16F = 64,
  kCublasCompute32F = 68,
  kCublasCompute64F = 70,
  kCublasCompute32I = 72,
  kCublasCompute32FFastTF32 = 77,
};

// cudaDataType_t.
enum CudaDataType : int {
  kCudaR32F = 0,
  kCudaR64F = 1,
  kCudaR16F = 2,
  kCudaR8I = 3,
  kCudaC32F = 4,
  kCudaC64F = 5,
  kCudaR32I = 10,
  kCudaR16BF = 14,
};

enum CublasLtOrder : int { kCublasLtOrderCol = 0, kCublasLtOrderRow = 1 };

enum CublasLtLayoutAttribute : int {
  kCublasLtLayoutType = 0,                // uint32_t
  kCublasLtLayoutOrder = 1,               // int32_t
  kCublasLtLayoutRows = 2,                // uint64_t
  kCublasLtLayoutCols = 3,                // uint64_t
  kCublasLtLayoutLeadingDimension = 4,    // int64_t
  kCublasLtLayoutBatchCount = 5,          // int32_t
  kCublasLtLayoutStridedBatchOffset = 6,  // int64_t, in elements
};

enum CublasLtMatmulDescAttribute : int {
  kCublasLtMatmulComputeType = 0,              // int32_t
  kCublasLtMatmulScaleType = 1,                // int32_t
  kCublasLtMatmulPointerMode = 2,              // int32_t
  kCublasLtMatmulTransA = 3,                   // int32_t
  kCublasLtMatmulTransB = 4,                   // int32_t
  kCublasLtMatmulEpilogue = 7,                 // uint32_t
  kCublasLtMatmulBiasPointer = 8,              // void*
  kCublasLtMatmulBiasBatchStride = 10,         // int64_t
  kCublasLtMatmulEpilogueAuxPointer = 11,      // void*
  kCublasLtMatmulEpilogueAuxLd = 12,           // int64_t, in elements; bits for the ReLU mask
  kCublasLtMatmulEpilogueAuxBatchStride = 13,  // int64_t
  kCublasLtMatmulEpilogueAuxDataType = 22,     // int32_t
  kCublasLtMatmulBiasDataType = 26,            // int32_t
};

enum CublasLtEpilogue : int {
  kCublasLtEpilogueDefault = 1,
  kCublasLtEpilogueRelu = 2,
  kCublasLtEpilogueReluAux = 2 | 128,
  kCublasLtEpilogueBias = 4,
  kCublasLtEpilogueReluBias = 2 | 4,
  kCublasLtEpilogueReluAuxBias = 2 | 128 | 4,
  kCublasLtEpilogueDRelu = 8 | 128,
  kCublasLtEpilogueDReluBgrad = 8 | 128 | 16,
  kCublasLtEpilogueGelu = 32,
  kCublasLtEpilogueGeluAux = 32 | 128,
  kCublasLtEpilogueGeluBias = 32 | 4,
  kCublasLtEpilogueGeluAuxBias = 32 | 128 | 4,
  kCublasLtEpilogueDGelu = 64 | 128,
  kCublasLtEpilogueDGeluBgrad = 64 | 128 | 16,
  kCublasLtEpilogueBgradA = 256,
  kCublasLtEpilogueBgradB = 512,
};

enum CublasLtPreferenceAttribute : int {
  kCublasLtPreferenceMaxWorkspaceBytes = 1,    // uint64_t
  kCublasLtPreferenceReductionSchemeMask = 3,  // uint32_t
  kCublasLtPreferenceMinAlignmentABytes = 5,   // uint32_t
  kCublasLtPreferenceMinAlignmentBBytes = 6,   // uint32_t
  kCublasLtPreferenceMinAlignmentCBytes = 7,   // uint32_t
  kCublasLtPreferenceMinAlignmentDBytes = 8,   // uint32_t
};

struct CublasLtAlgo {
  uint64_t data[8];
};

struct CublasLtHeuristicResult {
  CublasLtAlgo algo;
  size_t workspace_size;
  CublasStatus state;  // the entry may be used when this is kCublasSuccess
  float waves_count;
  int reserved[4];
};

using CublasLtHandle = struct CublasLtHandleOpaque*;
using CublasLtMatmulDesc = struct CublasLtMatmulDescOpaque*;
using CublasLtLayout = struct CublasLtLayoutOpaque*;
using CublasLtPreference = struct CublasLtPreferenceOpaque*;

// The functions, by the names that the library exports them under after "cublasLt".
#define WEIR_CUBLASLT_FUNCTIONS(X)                                                                                     \
  X(CublasStatus, Create, cublasLtCreate, (CublasLtHandle * handle))                                                   \
  X(CublasStatus, Destroy, cublasLtDestroy, (CublasLtHandle handle))                                                   \
  X(size_t, GetVersion, cublasLtGetVersion, ())                                                                        \
  X(const char*, GetStatusString, cublasLtGetStatusString, (CublasStatus status))                                      \
  X(CublasStatus, MatmulDescCreate, cublasLtMatmulDescCreate,                                                          \
    (CublasLtMatmulDesc * desc, CublasComputeType compute, CudaDataType scale))                                        \
  X(CublasStatus, MatmulDescDestroy, cublasLtMatmulDescDestroy, (CublasLtMatmulDesc desc))                             \
  X(CublasStatus, MatmulDescSetAttribute, cublasLtMatmulDescSetAttribute,                                              \
    (CublasLtMatmulDesc desc, CublasLtMatmulDescAttribute attribute, const void* value, size_t size))                  \
  X(CublasStatus, MatrixLayoutCreate, cublasLtMatrixLayoutCreate,                                                      \
    (CublasLtLayout * layout, CudaDataType type, uint64_t rows, uint64_t cols, int64_t leading_dimension))             \
  X(CublasStatus, MatrixLayoutDestroy, cublasLtMatrixLayoutDestroy, (CublasLtLayout layout))                           \
  X(CublasStatus, MatrixLayoutSetAttribute, cublasLtMatrixLayoutSetAttribute,                                          \
    (CublasLtLayout layout, CublasLtLayoutAttribute attribute, const void* value, size_t size))                        \
  X(CublasStatus, MatmulPreferenceCreate, cublasLtMatmulPreferenceCreate, (CublasLtPreference * preference))           \
  X(CublasStatus, MatmulPreferenceDestroy, cublasLtMatmulPreferenceDestroy, (CublasLtPreference preference))           \
  X(CublasStatus, MatmulPreferenceSetAttribute, cublasLtMatmulPreferenceSetAttribute,                                  \
    (CublasLtPreference preference, CublasLtPreferenceAttribute attribute, const void* value, size_t size))            \
  X(CublasStatus, MatmulAlgoGetHeuristic, cublasLtMatmulAlgoGetHeuristic,                                              \
    (CublasLtHandle handle, CublasLtMatmulDesc desc, CublasLtLayout a, CublasLtLayout b, CublasLtLayout c,             \
     CublasLtLayout d, CublasLtPreference preference, int requested, CublasLtHeuristicResult* results, int* returned)) \
  X(CublasStatus, Matmul, cublasLtMatmul,                                                                              \
    (CublasLtHandle handle, CublasLtMatmulDesc desc, const void* alpha, const void* a, CublasLtLayout a_layout,        \
     const void* b, CublasLtLayout b_layout, const void* beta, const void* c, CublasLtLayout c_layout, void* d,        \
     CublasLtLayout d_layout, const CublasLtAlgo* algo, void* workspace, size_t workspace_size, void* stream))

struct CublasLtFunctions {
#define WEIR_CUDA_MEMBER(type, name, symbol, parameters) type(*name) parameters = nullptr;
  WEIR_CUBLASLT_FUNCTIONS(WEIR_CUDA_MEMBER)
#undef WEIR_CUDA_MEMBER
};

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_ABI_CUBLASLT_ABI_H_
