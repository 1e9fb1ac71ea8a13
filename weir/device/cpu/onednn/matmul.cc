// Matrix products.
#include <algorithm>
#include <string_view>

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

// oneDNN offers first what is best where it may pack the second operand beforehand. Where it has to take that operand
// as it lies, its older code (which packs on the way) is faster for large ones, up to three times, and for products by
// or of vectors; unless the columns of a transposed one would have to be gathered for few rows, or the sum is short and
// its result must be gone over once more for the epilogue. Of many matrices it is faster where one operand is
// transposed.
bool IsBetterOnTheWay(const ProductShape& s, const MatrixOperand& a, const MatrixOperand& b, const Epilogue& epilogue) {
  constexpr int64_t kLarge = 500'000, kLongSum = 256, kFew = 32;
  if (s.batch != 1) return (a.column_stride != 1 || b.column_stride != 1) && std::min({s.m, s.n, s.k}) >= kFew;
  if (s.m == 1 || s.n == 1 || s.k == 1) return true;
  return b.column_stride == 1 && s.k * s.n >= kLarge && (epilogue.empty() || s.k >= kLongSum);
}

// Goes on to the implementation that packs on the way; false if there is none.
bool AdvanceToPackingOnTheWay(dnnl_primitive_desc_t desc) {
  const Library& library = *GetLibrary();
  while (desc != nullptr) {
    const char* name = "";
    library.primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name);
    if (std::string_view(name).starts_with("gemm:jit")) return true;
    if (library.primitive_desc_next_impl(desc) != dnnl_success) return false;
  }
  return false;
}

std::unique_ptr<Operation> Make(const ProductShape& s, const MatrixOperand& a, const MatrixOperand& b,
                                const Epilogue& epilogue, bool is_constant) {
  const Library& library = *GetLibrary();
  MemoryDesc src = Describe(a, s.batch, s.m, s.k), weights = Describe(b, s.batch, s.k, s.n);
  MemoryDesc dst = Describe({nullptr, s.n, 1, s.m * s.n}, s.batch, s.m, s.n);
  const int64_t dims[] = {1, 1, s.n}, strides[] = {s.n, s.n, 1}, weight_dims[] = {1, s.k, s.n};
  const MemoryDesc column = MemoryDesc::Strided(dims, strides);
  PrimitiveAttr attr;
  EpilogueArguments extra(epilogue, column, dst, attr);
  const MemoryDesc best = MemoryDesc::Any(weight_dims);
  auto describe = [&] {
    dnnl_primitive_desc_t desc = nullptr;
    library.matmul_primitive_desc_create(&desc, library.engine, src.get(), is_constant ? best.get() : weights.get(),
                                         extra.has_own_bias() ? column.get() : nullptr, dst.get(), attr.get());
    return desc;
  };
  dnnl_primitive_desc_t desc = describe();
  if (!is_constant && IsBetterOnTheWay(s, a, b, epilogue) && !AdvanceToPackingOnTheWay(desc)) {
    library.primitive_desc_destroy(desc);
    desc = describe();
  }
  std::vector<Operation::Argument> arguments;
  arguments.push_back({DNNL_ARG_SRC, dnnl_query_src_md, std::move(src)});
  arguments.push_back({DNNL_ARG_WEIGHTS, dnnl_query_weights_md, std::move(weights)});
  arguments.push_back({DNNL_ARG_DST, dnnl_query_dst_md, std::move(dst), true});
  extra.AppendTo(arguments, column);
  return Operation::Make(Primitive(desc), std::move(arguments));
}

// For constants and more than a few rows oneDNN's code for dense layers is as fast as that for products or faster, by a
// tenth on some processors. It takes the second operand transposed, and rows without gaps.
bool IsBetterAsDenseLayer(const ProductShape& s, const MatrixOperand& a, bool is_constant) {
  constexpr int64_t kFewRows = 32;
  return is_constant && s.m >= kFewRows && a.column_stride == 1 && a.row_stride == s.k;
}

std::unique_ptr<Operation> MakeDenseLayer(const ProductShape& s, const MatrixOperand& b, const Epilogue& epilogue) {
  const Library& library = *GetLibrary();
  auto matrix = [](int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
    const int64_t dims[] = {rows, columns}, strides[] = {row_stride, column_stride};
    return MemoryDesc::Strided(dims, strides);
  };
  MemoryDesc src = matrix(s.m, s.k, s.k, 1), weights = matrix(s.n, s.k, b.column_stride, b.row_stride);
  MemoryDesc dst = matrix(s.m, s.n, s.n, 1);
  const int64_t weight_dims[] = {s.n, s.k}, bias_dims[] = {s.n}, bias_strides[] = {1};
  const MemoryDesc best = MemoryDesc::Any(weight_dims), bias = MemoryDesc::Strided(bias_dims, bias_strides);
  PrimitiveAttr attr;
  EpilogueArguments extra(epilogue, matrix(1, s.n, s.n, 1), dst, attr);
  dnnl_primitive_desc_t desc = nullptr;
  library.inner_product_forward_primitive_desc_create(&desc, library.engine, dnnl_forward_inference, src.get(),
                                                      best.get(), extra.has_own_bias() ? bias.get() : nullptr,
                                                      dst.get(), attr.get());
  std::vector<Operation::Argument> arguments;
  arguments.push_back({DNNL_ARG_SRC, dnnl_query_src_md, std::move(src)});
  arguments.push_back({DNNL_ARG_WEIGHTS, dnnl_query_weights_md, std::move(weights)});
  arguments.push_back({DNNL_ARG_DST, dnnl_query_dst_md, std::move(dst), true});
  extra.AppendTo(arguments, bias);
  return Operation::Make(Primitive(desc), std::move(arguments));
}

double Operations(const ProductShape& s) {
  return 2.0 * static_cast<double>(s.batch) * static_cast<double>(s.m) * static_cast<double>(s.n) *
         static_cast<double>(s.k);
}

bool Run(const KernelContext& ctx, const ProductShape& s, const MatrixOperand& a, const MatrixOperand& b,
         const Epilogue& epilogue, float* out, const Weights* constant_b) {
  const bool is_constant = constant_b != nullptr && constant_b->packed != nullptr && s.batch == 1;
  // What packs on the way has threads that spin while they wait for each other.
  const bool in_turn = !is_constant && s.batch == 1 && IsBetterOnTheWay(s, a, b, epilogue);
  const ThreadGrant grant(ctx, Operations(s), in_turn ? ThreadGrant::Share::kInTurn : ThreadGrant::Share::kHalf);
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
                            EpilogueArguments::Flags(epilogue),
                            is_constant};
  auto operation = FindOrMake(key, [&] {
    if (IsBetterAsDenseLayer(s, a, is_constant)) {
      if (auto layer = MakeDenseLayer(s, b, epilogue)) return layer;
    }
    return Make(s, a, b, epilogue, is_constant);
  });
  if (operation == nullptr) return false;
  absl::InlinedVector<void*, 8> data = {const_cast<float*>(a.data), const_cast<float*>(b.data), out};
  EpilogueArguments::AppendData(epilogue, data);
  return operation->Run(data, is_constant ? constant_b : nullptr);
}

// The matrices of a batch one by one, a single one by some rows at a time.
bool RunInPieces(const KernelContext& ctx, const ProductShape& s, const MatrixOperand& a, const MatrixOperand& b,
                 const Epilogue& epilogue, float* out, const Weights* constant_b) {
  constexpr int64_t kRows = 64;
  const int64_t strips = (s.m + kRows - 1) / kRows;
  return RunPieces(ctx, s.batch * strips, Operations(s), [&](int64_t i) {
    const int64_t matrix = i / strips, first = i % strips * kRows;
    const ProductShape piece = {1, std::min(kRows, s.m - first), s.n, s.k};
    MatrixOperand x = a, y = b;
    x.data += matrix * a.batch_stride + first * a.row_stride;
    y.data += matrix * b.batch_stride;
    const int64_t at = (matrix * s.m + first) * s.n;
    Epilogue end = epilogue;
    if (end.addend != nullptr) end.addend += at;
    return Run(ctx, piece, x, y, end, out + at, constant_b);
  });
}

MemoryDesc Describe(const StridedProduct& p, const MatrixStrides& strides, int64_t rows, int64_t columns) {
  const int64_t dims[] = {p.outer, p.inner, rows, columns};
  const int64_t steps[] = {strides.outer, strides.inner, strides.row, strides.column};
  return MemoryDesc::Strided(dims, steps);
}

std::unique_ptr<Operation> Make(const StridedProduct& p) {
  const Library& library = *GetLibrary();
  MemoryDesc src = Describe(p, p.a, p.m, p.k), weights = Describe(p, p.b, p.k, p.n), dst = Describe(p, p.out, p.m, p.n);
  PrimitiveAttr attr;
  dnnl_primitive_desc_t desc = nullptr;
  library.matmul_primitive_desc_create(&desc, library.engine, src.get(), weights.get(), nullptr, dst.get(), attr.get());
  if (!AdvanceToPackingOnTheWay(desc)) {  // only that takes matrices as they lie
    library.primitive_desc_destroy(desc);
    return nullptr;
  }
  std::vector<Operation::Argument> arguments;
  arguments.push_back({DNNL_ARG_SRC, dnnl_query_src_md, std::move(src)});
  arguments.push_back({DNNL_ARG_WEIGHTS, dnnl_query_weights_md, std::move(weights)});
  arguments.push_back({DNNL_ARG_DST, dnnl_query_dst_md, std::move(dst), true});
  return Operation::Make(Primitive(desc), std::move(arguments));
}

}  // namespace

bool MultiplyStridedMatrices(const KernelContext& ctx, const StridedProduct& p, const float* a, const float* b,
                             float* out) {
  constexpr int64_t kKind = 100;  // in the keys
  const double operations = Operations({p.outer * p.inner, p.m, p.n, p.k});
  if (ctx.step().deterministic || operations < kMinOperations || GetLibrary() == nullptr) return false;
  const ThreadGrant grant(ctx, operations, ThreadGrant::Share::kHalf);
  OperationKey key = {kKind, grant.threads(), p.outer, p.inner, p.m, p.n, p.k};
  for (const MatrixStrides& s : {p.a, p.b, p.out}) key.insert(key.end(), {s.outer, s.inner, s.row, s.column});
  auto operation = FindOrMake(key, [&] { return Make(p); });
  void* const data[] = {const_cast<float*>(a), const_cast<float*>(b), out};
  return operation != nullptr && operation->Run(data);
}

bool MultiplyMatrices(const KernelContext& ctx, const ProductShape& s, const MatrixOperand& a, const MatrixOperand& b,
                      const Epilogue& epilogue, float* out, const Weights* constant_b) {
  if (Operations(s) < kMinOperations || GetLibrary() == nullptr) return false;
  return (ctx.step().deterministic ? RunInPieces : Run)(ctx, s, a, b, epilogue, out, constant_b);
}

}  // namespace weir
