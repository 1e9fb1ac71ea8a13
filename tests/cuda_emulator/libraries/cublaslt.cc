// A stand-in for libcublasLt.so.13 on the emulated driver: the products of the documentation as plain loops.
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "tests/cuda_emulator/libraries/emulator.h"
#include "weir/device/cuda/abi/cublaslt_abi.h"

namespace weir::cuda {

struct CublasLtHandleOpaque {};

struct CublasLtMatmulDescOpaque {
  CublasComputeType compute = kCublasCompute32F;
  CudaDataType scale = kCudaR32F;
  int32_t pointer_mode = 0;
  int32_t trans_a = kCublasOpN;
  int32_t trans_b = kCublasOpN;
  uint32_t epilogue = kCublasLtEpilogueDefault;
  void* bias = nullptr;
  int64_t bias_batch_stride = 0;
  void* aux = nullptr;
  int64_t aux_ld = 0;
  int64_t aux_batch_stride = 0;
  int32_t aux_type = -1;   // D's type
  int32_t bias_type = -1;  // D's type
};

struct CublasLtLayoutOpaque {
  uint32_t type = kCudaR32F;
  int32_t order = kCublasLtOrderCol;
  uint64_t rows = 0;
  uint64_t cols = 0;
  int64_t ld = 0;
  int32_t batch = 1;
  int64_t batch_offset = 0;

  int64_t RowStride() const { return order == kCublasLtOrderCol ? 1 : ld; }
  int64_t ColStride() const { return order == kCublasLtOrderCol ? ld : 1; }
};

struct CublasLtPreferenceOpaque {
  uint64_t max_workspace = 0;
};

namespace {

using cuda_emulator::Element;
using cuda_emulator::HostAddress;
using cuda_emulator::LoadElement;
using cuda_emulator::StoreElement;

constexpr uint64_t kAlgoMark = 0x77656972616c676f;

bool ElementOf(int type, Element* element) {
  switch (type) {
    case kCudaR32F:
      *element = Element::kFloat;
      return true;
    case kCudaR64F:
      *element = Element::kDouble;
      return true;
    case kCudaR16F:
      *element = Element::kHalf;
      return true;
    case kCudaR16BF:
      *element = Element::kBfloat16;
      return true;
    case kCudaR8I:
      *element = Element::kInt8;
      return true;
    case kCudaR32I:
      *element = Element::kInt32;
      return true;
    case kCudaC32F:
      *element = Element::kComplex64;
      return true;
    case kCudaC64F:
      *element = Element::kComplex128;
      return true;
  }
  return false;
}

// One call of cublasLtMatmul. Descriptors are copied: the caller may destroy them once it has returned.
struct Product {
  CublasLtMatmulDescOpaque desc;
  CublasLtLayoutOpaque a_layout, b_layout, c_layout, d_layout;
  const void* a;
  const void* b;
  const void* c;
  void* d;
  std::complex<double> alpha = 1, beta = 0;
  Element a_type = {}, b_type = {}, c_type = {}, d_type = {}, bias_type = {}, aux_type = {};

  int64_t m() const { return static_cast<int64_t>(d_layout.rows); }
  int64_t n() const { return static_cast<int64_t>(d_layout.cols); }
  int64_t k() const { return static_cast<int64_t>(desc.trans_a == kCublasOpN ? a_layout.cols : a_layout.rows); }
};

// The combinations of types that the documentation's table of cublasLtMatmul lists, as far as weir has the types.
bool TypesAreSupported(CublasComputeType compute, int scale, int a, int b, int c, int d) {
  if (a != b || c != d) return false;
  switch (compute) {
    case kCublasCompute16F:
      return scale == kCudaR16F && a == kCudaR16F && d == kCudaR16F;
    case kCublasCompute32I:
      return (scale == kCudaR32I && a == kCudaR8I && d == kCudaR32I) ||
             (scale == kCudaR32F && a == kCudaR8I && d == kCudaR8I);
    case kCublasCompute64F:
      return (scale == kCudaR64F && a == kCudaR64F && d == kCudaR64F) ||
             (scale == kCudaC64F && a == kCudaC64F && d == kCudaC64F);
    case kCublasCompute32FFastTF32:
      return (scale == kCudaR32F && a == kCudaR32F && d == kCudaR32F) ||
             (scale == kCudaC32F && a == kCudaC32F && d == kCudaC32F);
    case kCublasCompute32F:
      if (scale == kCudaC32F) return a == kCudaC32F && d == kCudaC32F;
      if (scale != kCudaR32F) return false;
      if (a == kCudaR16F || a == kCudaR16BF) return d == a || d == kCudaR32F;
      return a == kCudaR32F && d == kCudaR32F;
  }
  return false;
}

bool LayoutIsValid(const CublasLtLayoutOpaque& layout) {
  const int64_t shortest = static_cast<int64_t>(layout.order == kCublasLtOrderCol ? layout.rows : layout.cols);
  return layout.rows > 0 && layout.cols > 0 && layout.ld >= shortest && layout.batch > 0;
}

CublasStatus CheckProduct(const CublasLtMatmulDescOpaque& desc, const CublasLtLayoutOpaque& a,
                          const CublasLtLayoutOpaque& b, const CublasLtLayoutOpaque& c, const CublasLtLayoutOpaque& d) {
  for (const CublasLtLayoutOpaque* layout : {&a, &b, &c, &d}) {
    if (!LayoutIsValid(*layout) || layout->batch != d.batch) return kCublasInvalidValue;
  }
  const uint64_t m = desc.trans_a == kCublasOpN ? a.rows : a.cols;
  const uint64_t k = desc.trans_a == kCublasOpN ? a.cols : a.rows;
  const uint64_t k_of_b = desc.trans_b == kCublasOpN ? b.rows : b.cols;
  const uint64_t n = desc.trans_b == kCublasOpN ? b.cols : b.rows;
  if (k != k_of_b || d.rows != m || d.cols != n || c.rows != m || c.cols != n) return kCublasInvalidValue;
  if (!TypesAreSupported(desc.compute, desc.scale, static_cast<int>(a.type), static_cast<int>(b.type),
                         static_cast<int>(c.type), static_cast<int>(d.type))) {
    return kCublasNotSupported;
  }
  const uint32_t epilogue = desc.epilogue;
  if (epilogue != kCublasLtEpilogueDefault) {
    const bool is_complex = desc.scale == kCudaC32F || desc.scale == kCudaC64F;
    if (is_complex || desc.compute == kCublasCompute32I || d.order != kCublasLtOrderCol) return kCublasNotSupported;
    // Double precision has no fused activations.
    if (desc.compute == kCublasCompute64F) return kCublasNotSupported;
    const bool wants_bias =
        (epilogue & (kCublasLtEpilogueBias | 16 | kCublasLtEpilogueBgradA | kCublasLtEpilogueBgradB)) != 0;
    if (wants_bias && desc.bias == nullptr) return kCublasInvalidValue;
    if ((epilogue & 128) != 0) {
      const bool relu = (epilogue & (kCublasLtEpilogueRelu | 8)) != 0;
      if (desc.aux == nullptr || desc.aux_ld < static_cast<int64_t>(d.rows)) return kCublasInvalidValue;
      if (desc.aux_ld % (relu ? 128 : 8) != 0) return kCublasNotSupported;
    }
  }
  return kCublasSuccess;
}

double Gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double GeluGradient(double x) {
  const double scale = std::sqrt(2 / M_PI);
  const double t = std::tanh(scale * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * scale * (1 + 3 * 0.044715 * x * x);
}

// op(matrix) of one batch as packed columns.
template <typename Wide>
std::vector<Wide> Columns(Element type, const void* matrix, const CublasLtLayoutOpaque& layout, int operation,
                          int64_t batch, int64_t rows, int64_t cols) {
  std::vector<Wide> columns(static_cast<size_t>(rows * cols));
  const void* host = HostAddress(matrix);
  int64_t row_stride = layout.RowStride();
  int64_t col_stride = layout.ColStride();
  if (operation != kCublasOpN) std::swap(row_stride, col_stride);
  for (int64_t j = 0; j < cols; ++j) {
    for (int64_t i = 0; i < rows; ++i) {
      Wide value = LoadElement<Wide>(type, host, batch * layout.batch_offset + i * row_stride + j * col_stride);
      if constexpr (!std::is_same_v<Wide, double>) {
        if (operation == kCublasOpC) value = std::conj(value);
      }
      columns[static_cast<size_t>(j * rows + i)] = value;
    }
  }
  return columns;
}

template <typename Wide>
Wide ScaleOf(std::complex<double> value) {
  if constexpr (std::is_same_v<Wide, double>)
    return value.real();
  else
    return value;
}

// Applies the epilogue to a batch's m x n results. Only for real types.
void ApplyEpilogue(const Product& p, int64_t batch, std::vector<double>& result) {
  const uint32_t epilogue = p.desc.epilogue;
  const int64_t m = p.m(), n = p.n();
  void* bias = HostAddress(p.desc.bias);
  void* aux = HostAddress(p.desc.aux);
  const int64_t bias_start = batch * p.desc.bias_batch_stride;
  std::vector<double> bias_gradient(static_cast<size_t>(m));
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < m; ++i) {
      double& value = result[static_cast<size_t>(j * m + i)];
      const int64_t at = batch * p.desc.aux_batch_stride + j * p.desc.aux_ld + i;
      auto mask_bit = [&]() -> std::pair<uint8_t*, uint8_t> {
        return {static_cast<uint8_t*>(aux) + at / 8, static_cast<uint8_t>(1u << (at % 8))};
      };
      if (epilogue & kCublasLtEpilogueBias) value += LoadElement<double>(p.bias_type, bias, bias_start + i);
      if (epilogue & kCublasLtEpilogueRelu) {
        if (epilogue & 128) {
          auto [byte, bit] = mask_bit();
          *byte = static_cast<uint8_t>(value > 0 ? *byte | bit : *byte & ~bit);
        }
        value = std::max(value, 0.0);
      } else if (epilogue & kCublasLtEpilogueGelu) {
        if (epilogue & 128) StoreElement(p.aux_type, aux, at, value);
        value = Gelu(value);
      } else if (epilogue & 8) {
        auto [byte, bit] = mask_bit();
        if ((*byte & bit) == 0) value = 0;
      } else if (epilogue & 64) {
        value *= GeluGradient(LoadElement<double>(p.aux_type, aux, at));
      }
      bias_gradient[static_cast<size_t>(i)] += value;
    }
  }
  if (epilogue & 16) {
    for (int64_t i = 0; i < m; ++i) {
      StoreElement(p.bias_type, bias, bias_start + i, bias_gradient[static_cast<size_t>(i)]);
    }
  }
}

// Sums of op(A)'s rows or op(B)'s columns, over the contracted dimension.
void StoreOperandGradient(const Product& p, int64_t batch, const std::vector<double>& a, const std::vector<double>& b) {
  void* bias = HostAddress(p.desc.bias);
  const bool of_a = (p.desc.epilogue & kCublasLtEpilogueBgradA) != 0;
  for (int64_t i = 0; i < (of_a ? p.m() : p.n()); ++i) {
    double sum = 0;
    for (int64_t l = 0; l < p.k(); ++l) {
      sum += of_a ? a[static_cast<size_t>(l * p.m() + i)] : b[static_cast<size_t>(i * p.k() + l)];
    }
    StoreElement(p.bias_type, bias, batch * p.desc.bias_batch_stride + i, sum);
  }
}

template <typename Wide>
void Multiply(const Product& p) {
  const int64_t m = p.m(), n = p.n(), k = p.k();
  const Wide alpha = ScaleOf<Wide>(p.alpha);
  const Wide beta = ScaleOf<Wide>(p.beta);
  const void* c = HostAddress(p.c);
  void* d = HostAddress(p.d);
  for (int64_t batch = 0; batch < p.d_layout.batch; ++batch) {
    const std::vector<Wide> a = Columns<Wide>(p.a_type, p.a, p.a_layout, p.desc.trans_a, batch, m, k);
    const std::vector<Wide> b = Columns<Wide>(p.b_type, p.b, p.b_layout, p.desc.trans_b, batch, k, n);
    std::vector<Wide> result(static_cast<size_t>(m * n));
    for (int64_t j = 0; j < n; ++j) {
      Wide* column = result.data() + j * m;
      for (int64_t l = 0; l < k; ++l) {
        const Wide factor = b[static_cast<size_t>(j * k + l)];
        const Wide* from = a.data() + l * m;
        for (int64_t i = 0; i < m; ++i) column[i] += from[i] * factor;
      }
      for (int64_t i = 0; i < m; ++i) {
        column[i] *= alpha;
        if (beta != Wide(0)) {
          column[i] += beta * LoadElement<Wide>(p.c_type, c,
                                                batch * p.c_layout.batch_offset + i * p.c_layout.RowStride() +
                                                    j * p.c_layout.ColStride());
        }
      }
    }
    if constexpr (std::is_same_v<Wide, double>) {
      ApplyEpilogue(p, batch, result);
      if (p.desc.epilogue & (kCublasLtEpilogueBgradA | kCublasLtEpilogueBgradB)) StoreOperandGradient(p, batch, a, b);
    }
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < m; ++i) {
        StoreElement(p.d_type, d,
                     batch * p.d_layout.batch_offset + i * p.d_layout.RowStride() + j * p.d_layout.ColStride(),
                     result[static_cast<size_t>(j * m + i)]);
      }
    }
  }
}

template <typename T>
CublasStatus Set(T* field, const void* value, size_t size) {
  if (value == nullptr || size != sizeof(T)) return kCublasInvalidValue;
  std::memcpy(field, value, size);
  return kCublasSuccess;
}

}  // namespace
}  // namespace weir::cuda

using namespace weir::cuda;

WEIR_EXPORT CublasStatus cublasLtCreate(CublasLtHandle* handle) {
  if (handle == nullptr) return kCublasInvalidValue;
  *handle = new CublasLtHandleOpaque;
  return kCublasSuccess;
}

WEIR_EXPORT CublasStatus cublasLtDestroy(CublasLtHandle handle) {
  if (handle == nullptr) return kCublasNotInitialized;
  delete handle;
  return kCublasSuccess;
}

WEIR_EXPORT size_t cublasLtGetVersion() { return 130000; }

WEIR_EXPORT const char* cublasLtGetStatusString(CublasStatus status) {
  switch (status) {
    case kCublasSuccess:
      return "success";
    case kCublasNotInitialized:
      return "the library was not initialized";
    case kCublasAllocFailed:
      return "the resource allocation failed";
    case kCublasInvalidValue:
      return "an invalid value was found";
    case kCublasArchMismatch:
      return "an architecture mismatch was found";
    case kCublasExecutionFailed:
      return "the execution failed";
    case kCublasInternalError:
      return "an internal error was found";
    case kCublasNotSupported:
      return "the requested functionality is not supported";
  }
  return "unknown status";
}

WEIR_EXPORT CublasStatus cublasLtMatmulDescCreate(CublasLtMatmulDesc* desc, CublasComputeType compute,
                                                  CudaDataType scale) {
  if (desc == nullptr) return kCublasInvalidValue;
  *desc = new CublasLtMatmulDescOpaque{.compute = compute, .scale = scale};
  return kCublasSuccess;
}

WEIR_EXPORT CublasStatus cublasLtMatmulDescDestroy(CublasLtMatmulDesc desc) {
  delete desc;
  return kCublasSuccess;
}

WEIR_EXPORT CublasStatus cublasLtMatmulDescSetAttribute(CublasLtMatmulDesc desc, CublasLtMatmulDescAttribute attribute,
                                                        const void* value, size_t size) {
  if (desc == nullptr) return kCublasInvalidValue;
  switch (attribute) {
    case kCublasLtMatmulComputeType:
      return Set(&desc->compute, value, size);
    case kCublasLtMatmulScaleType:
      return Set(&desc->scale, value, size);
    case kCublasLtMatmulPointerMode:
      return Set(&desc->pointer_mode, value, size);
    case kCublasLtMatmulTransA:
      return Set(&desc->trans_a, value, size);
    case kCublasLtMatmulTransB:
      return Set(&desc->trans_b, value, size);
    case kCublasLtMatmulEpilogue:
      return Set(&desc->epilogue, value, size);
    case kCublasLtMatmulBiasPointer:
      return Set(&desc->bias, value, size);
    case kCublasLtMatmulBiasBatchStride:
      return Set(&desc->bias_batch_stride, value, size);
    case kCublasLtMatmulEpilogueAuxPointer:
      return Set(&desc->aux, value, size);
    case kCublasLtMatmulEpilogueAuxLd:
      return Set(&desc->aux_ld, value, size);
    case kCublasLtMatmulEpilogueAuxBatchStride:
      return Set(&desc->aux_batch_stride, value, size);
    case kCublasLtMatmulEpilogueAuxDataType:
      return Set(&desc->aux_type, value, size);
    case kCublasLtMatmulBiasDataType:
      return Set(&desc->bias_type, value, size);
  }
  return kCublasInvalidValue;
}

WEIR_EXPORT CublasStatus cublasLtMatrixLayoutCreate(CublasLtLayout* layout, CudaDataType type, uint64_t rows,
                                                    uint64_t cols, int64_t leading_dimension) {
  if (layout == nullptr) return kCublasInvalidValue;
  *layout = new CublasLtLayoutOpaque{
      .type = static_cast<uint32_t>(type), .rows = rows, .cols = cols, .ld = leading_dimension};
  return kCublasSuccess;
}

WEIR_EXPORT CublasStatus cublasLtMatrixLayoutDestroy(CublasLtLayout layout) {
  delete layout;
  return kCublasSuccess;
}

WEIR_EXPORT CublasStatus cublasLtMatrixLayoutSetAttribute(CublasLtLayout layout, CublasLtLayoutAttribute attribute,
                                                          const void* value, size_t size) {
  if (layout == nullptr) return kCublasInvalidValue;
  switch (attribute) {
    case kCublasLtLayoutType:
      return Set(&layout->type, value, size);
    case kCublasLtLayoutOrder:
      return Set(&layout->order, value, size);
    case kCublasLtLayoutRows:
      return Set(&layout->rows, value, size);
    case kCublasLtLayoutCols:
      return Set(&layout->cols, value, size);
    case kCublasLtLayoutLeadingDimension:
      return Set(&layout->ld, value, size);
    case kCublasLtLayoutBatchCount:
      return Set(&layout->batch, value, size);
    case kCublasLtLayoutStridedBatchOffset:
      return Set(&layout->batch_offset, value, size);
  }
  return kCublasInvalidValue;
}

WEIR_EXPORT CublasStatus cublasLtMatmulPreferenceCreate(CublasLtPreference* preference) {
  if (preference == nullptr) return kCublasInvalidValue;
  *preference = new CublasLtPreferenceOpaque;
  return kCublasSuccess;
}

WEIR_EXPORT CublasStatus cublasLtMatmulPreferenceDestroy(CublasLtPreference preference) {
  delete preference;
  return kCublasSuccess;
}

WEIR_EXPORT CublasStatus cublasLtMatmulPreferenceSetAttribute(CublasLtPreference preference,
                                                              CublasLtPreferenceAttribute attribute, const void* value,
                                                              size_t size) {
  if (preference == nullptr || value == nullptr) return kCublasInvalidValue;
  uint32_t ignored;
  switch (attribute) {
    case kCublasLtPreferenceMaxWorkspaceBytes:
      return Set(&preference->max_workspace, value, size);
    case kCublasLtPreferenceReductionSchemeMask:
    case kCublasLtPreferenceMinAlignmentABytes:
    case kCublasLtPreferenceMinAlignmentBBytes:
    case kCublasLtPreferenceMinAlignmentCBytes:
    case kCublasLtPreferenceMinAlignmentDBytes:
      return Set(&ignored, value, size);
  }
  return kCublasInvalidValue;
}

WEIR_EXPORT CublasStatus cublasLtMatmulAlgoGetHeuristic(CublasLtHandle handle, CublasLtMatmulDesc desc,
                                                        CublasLtLayout a, CublasLtLayout b, CublasLtLayout c,
                                                        CublasLtLayout d, CublasLtPreference preference, int requested,
                                                        CublasLtHeuristicResult* results, int* returned) {
  if (handle == nullptr) return kCublasNotInitialized;
  if (desc == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr || preference == nullptr ||
      results == nullptr || returned == nullptr || requested < 1) {
    return kCublasInvalidValue;
  }
  *returned = 0;
  if (const CublasStatus status = CheckProduct(*desc, *a, *b, *c, *d); status != kCublasSuccess) return status;
  // The second algorithm wants scratch memory.
  const size_t sizes[] = {0, 4096};
  for (const size_t size : sizes) {
    if (size > preference->max_workspace || *returned == requested) break;
    CublasLtHeuristicResult& result = results[(*returned)++];
    result = {};
    result.algo.data[0] = kAlgoMark;
    result.algo.data[1] = size;
    result.workspace_size = size;
    result.waves_count = 1;
  }
  return kCublasSuccess;
}

WEIR_EXPORT CublasStatus cublasLtMatmul(CublasLtHandle handle, CublasLtMatmulDesc desc, const void* alpha,
                                        const void* a, CublasLtLayout a_layout, const void* b, CublasLtLayout b_layout,
                                        const void* beta, const void* c, CublasLtLayout c_layout, void* d,
                                        CublasLtLayout d_layout, const CublasLtAlgo* algo, void* workspace,
                                        size_t workspace_size, void* stream) {
  if (handle == nullptr) return kCublasNotInitialized;
  if (desc == nullptr || alpha == nullptr || beta == nullptr || a == nullptr || b == nullptr || d == nullptr ||
      a_layout == nullptr || b_layout == nullptr || c_layout == nullptr || d_layout == nullptr) {
    return kCublasInvalidValue;
  }
  if (const CublasStatus status = CheckProduct(*desc, *a_layout, *b_layout, *c_layout, *d_layout);
      status != kCublasSuccess) {
    return status;
  }
  if (algo != nullptr) {
    if (algo->data[0] != kAlgoMark) return kCublasNotSupported;
    if (algo->data[1] > workspace_size || (algo->data[1] > 0 && workspace == nullptr)) return kCublasInvalidValue;
  }
  if (desc->pointer_mode != 0) return kCublasNotSupported;
  Product p{.desc = *desc,
            .a_layout = *a_layout,
            .b_layout = *b_layout,
            .c_layout = *c_layout,
            .d_layout = *d_layout,
            .a = a,
            .b = b,
            .c = c,
            .d = d};
  Element scale;
  if (!ElementOf(desc->scale, &scale) || !ElementOf(static_cast<int>(a_layout->type), &p.a_type) ||
      !ElementOf(static_cast<int>(b_layout->type), &p.b_type) ||
      !ElementOf(static_cast<int>(c_layout->type), &p.c_type) ||
      !ElementOf(static_cast<int>(d_layout->type), &p.d_type)) {
    return kCublasNotSupported;
  }
  if (!ElementOf(desc->bias_type < 0 ? static_cast<int>(d_layout->type) : desc->bias_type, &p.bias_type) ||
      !ElementOf(desc->aux_type < 0 ? static_cast<int>(d_layout->type) : desc->aux_type, &p.aux_type)) {
    return kCublasNotSupported;
  }
  // NVIDIA's code reads numbers of the host by instructions that want cuDoubleComplex's alignment.
  if (scale == Element::kComplex128 && (reinterpret_cast<uintptr_t>(alpha) | reinterpret_cast<uintptr_t>(beta)) % 16) {
    return kCublasInvalidValue;
  }
  p.alpha = LoadElement<std::complex<double>>(scale, alpha, 0);
  p.beta = LoadElement<std::complex<double>>(scale, beta, 0);
  if (p.beta != 0.0 && c == nullptr) return kCublasInvalidValue;
  const bool is_complex = scale == Element::kComplex64 || scale == Element::kComplex128;
  const bool enqueued = weir::cuda_emulator::Enqueue(stream, [p, is_complex] {
    if (is_complex) {
      Multiply<std::complex<double>>(p);
    } else {
      Multiply<double>(p);
    }
  });
  return enqueued ? kCublasSuccess : kCublasExecutionFailed;
}

WEIR_CUBLASLT_FUNCTIONS(WEIR_CHECK_SIGNATURE)
