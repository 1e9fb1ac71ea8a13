// Matrix products.
#include <bit>

#include "weir/device/cpu/contraction.h"
#include "weir/device/cpu/onednn/operation_internal.h"

namespace weir {
namespace {

using namespace onednn;

// Below this the loops are done before oneDNN has begun.
constexpr double kMinOperations = 16'000;

MemoryDesc Describe(const MatrixOperand& operand, int64_t batch, int64_t rows, int64_t columns) {
  const int64_t dims[] = {operand.batch_stride == 0 ? 1 : batch, rows, columns};
  const int64_t strides[] = {operand.batch_stride == 0 ? rows * columns : operand.batch_stride, operand.row_stride,
                             operand.column_stride};
  return MemoryDesc::Strided(dims, strides);
}

std::unique_ptr<Operation> Make(const ProductShape& s, const MatrixOperand& a, const MatrixOperand& b,
                                const Epilogue& epilogue) {
  const Library& library = *GetLibrary();
  MemoryDesc src = Describe(a, s.batch, s.m, s.k), weights = Describe(b, s.batch, s.k, s.n);
  MemoryDesc dst = Describe({nullptr, s.n, 1, s.m * s.n}, s.batch, s.m, s.n);
  MemoryDesc bias;
  if (epilogue.bias != nullptr) {
    const int64_t dims[] = {1, 1, s.n}, strides[] = {s.n, s.n, 1};
    bias = MemoryDesc::Strided(dims, strides);
  }
  const PrimitiveAttr attr(epilogue);
  dnnl_primitive_desc_t desc = nullptr;
  library.matmul_primitive_desc_create(&desc, library.engine, src.get(), weights.get(), bias.get(), dst.get(),
                                       attr.get());
  std::vector<Operation::Argument> arguments;
  arguments.push_back({DNNL_ARG_SRC, dnnl_query_src_md, std::move(src)});
  arguments.push_back({DNNL_ARG_WEIGHTS, dnnl_query_weights_md, std::move(weights)});
  arguments.push_back({DNNL_ARG_DST, dnnl_query_dst_md, std::move(dst), true});
  if (bias) {
    MemoryDesc same = MemoryDesc::Copy(bias.get());
    arguments.push_back({DNNL_ARG_BIAS, dnnl_query_undef, std::move(same)});
  }
  return Operation::Make(Primitive(desc), std::move(arguments));
}

}  // namespace

bool MultiplyMatrices(const KernelContext& ctx, const ProductShape& s, const MatrixOperand& a, const MatrixOperand& b,
                      const Epilogue& epilogue, float* out) {
  const double operations = 2.0 * static_cast<double>(s.batch) * static_cast<double>(s.m) * static_cast<double>(s.n) *
                            static_cast<double>(s.k);
  if (operations < kMinOperations || GetLibrary() == nullptr) return false;
  const ThreadGrant grant(ctx, operations);
  const OperationKey key = {0,
                            grant.threads(),
                            s.batch,
                            s.m,
                            s.n,
                            s.k,
                            a.row_stride,
                            a.column_stride,
                            a.batch_stride,
                            b.row_stride,
                            b.column_stride,
                            b.batch_stride,
                            epilogue.bias != nullptr,
                            static_cast<int64_t>(epilogue.activation),
                            std::bit_cast<int32_t>(epilogue.alpha)};
  auto operation = FindOrMake(key, [&] { return Make(s, a, b, epilogue); });
  if (operation == nullptr) return false;
  void* const data[] = {const_cast<float*>(a.data), const_cast<float*>(b.data), out, const_cast<float*>(epilogue.bias)};
  return operation->Run(data);
}

}  // namespace weir
