// Matrix products.
#include <algorithm>
#include <limits>
#include <string_view>

#include "weir/device/cpu/contraction.h"
#include "weir/device/cpu/onednn/pieces_internal.h"
#include "weir/framework/kernel.h"

namespace weir {
namespace {

using namespace onednn;

// Below this the loops are done before oneDNN has begun.
constexpr double kMinOperations = 16'000;

MemoryDesc Describe(const MatrixOperand& operand, int64_t batch, int64_t rows, int64_t columns) {
  const int64_t matrices = operand.batch_stride == 0 ? 1 : batch;
  // A single matrix is taken to be without gaps if it is.
  const int64_t whole = std::max(rows * operand.row_stride, columns * operand.column_stride);
  const int64_t dims[] = {matrices, rows, columns};
  const int64_t strides[] = {matrices == 1 ? whole : operand.batch_stride, operand.row_stride, operand.column_stride};
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

// A product, or a piece of one: `out` is where its result lies.
struct Product {
  ProductShape shape;
  MatrixOperand a, b, out;
  Epilogue epilogue;
  bool is_constant;  // b
  bool on_the_way;   // IsBetterOnTheWay for all of it
};

std::unique_ptr<Operation> Make(const Product& p) {
  const Library& library = *GetLibrary();
  const ProductShape& s = p.shape;
  MemoryDesc src = Describe(p.a, s.batch, s.m, s.k), weights = Describe(p.b, s.batch, s.k, s.n);
  MemoryDesc dst = Describe(p.out, s.batch, s.m, s.n);
  const int64_t dims[] = {1, 1, s.n}, strides[] = {s.n, s.n, 1}, weight_dims[] = {1, s.k, s.n};
  const MemoryDesc column = MemoryDesc::Strided(dims, strides);
  PrimitiveAttr attr;
  EpilogueArguments extra(p.epilogue, column, dst, attr);
  const MemoryDesc best = MemoryDesc::Any(weight_dims);
  auto describe = [&] {
    dnnl_primitive_desc_t desc = nullptr;
    library.matmul_primitive_desc_create(&desc, library.engine, src.get(), p.is_constant ? best.get() : weights.get(),
                                         extra.has_own_bias() ? column.get() : nullptr, dst.get(), attr.get());
    return desc;
  };
  dnnl_primitive_desc_t desc = describe();
  if (p.on_the_way && !AdvanceToPackingOnTheWay(desc)) {
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
constexpr int64_t kFewRows = 32, kFewRowsToStore = 64;
bool IsBetterAsDenseLayer(const Product& p) {
  const ProductShape& s = p.shape;
  return p.is_constant && s.m >= kFewRows && p.a.column_stride == 1 && p.a.row_stride == s.k && p.out.row_stride == s.n;
}

std::unique_ptr<Operation> MakeDenseLayer(const Product& p) {
  const Library& library = *GetLibrary();
  const ProductShape& s = p.shape;
  auto matrix = [](int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
    const int64_t dims[] = {rows, columns}, strides[] = {row_stride, column_stride};
    return MemoryDesc::Strided(dims, strides);
  };
  MemoryDesc src = matrix(s.m, s.k, s.k, 1), weights = matrix(s.n, s.k, p.b.column_stride, p.b.row_stride);
  MemoryDesc dst = matrix(s.m, s.n, s.n, 1);
  const int64_t weight_dims[] = {s.n, s.k}, bias_dims[] = {s.n}, bias_strides[] = {1};
  const MemoryDesc best = MemoryDesc::Any(weight_dims), bias = MemoryDesc::Strided(bias_dims, bias_strides);
  PrimitiveAttr attr;
  EpilogueArguments extra(p.epilogue, matrix(1, s.n, s.n, 1), dst, attr);
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

std::shared_ptr<const Operation> Find(const Product& p) {
  const OperationKey key = {0,
                            p.shape.batch,
                            p.shape.m,
                            p.shape.n,
                            p.shape.k,
                            p.a.row_stride,
                            p.a.column_stride,
                            p.a.batch_stride,
                            p.b.row_stride,
                            p.b.column_stride,
                            p.b.batch_stride,
                            p.out.row_stride,
                            p.out.batch_stride,
                            EpilogueArguments::Flags(p.epilogue),
                            p.is_constant,
                            p.on_the_way};
  return FindOrMake(key, [&] {
    if (IsBetterAsDenseLayer(p)) {
      if (auto layer = MakeDenseLayer(p)) return layer;
    }
    return Make(p);
  });
}

// Into how many parts each dimension is cut.
struct ProductCut {
  int64_t batch = 1, m = 1, n = 1;
  int64_t pieces() const { return batch * m * n; }
};

// Of a product by a constant with few rows: by columns, so that each part of the constant is read by one thread alone.
// Parts are so narrow that their results stay in a core's cache until they are stored.
ProductCut CutPacked(const ProductShape& s, int64_t pieces) {
  constexpr int64_t kCached = 128 << 10, kMinColumns = 64;
  const int64_t width = std::max(kMinColumns, kCached / s.m), most = std::max<int64_t>(1, s.n / kMinColumns);
  const int64_t parts = std::max(pieces, (s.n + width - 1) / width);
  return {1, 1, std::min((parts + pieces - 1) / pieces * pieces, most)};
}

// Of one matrix by another. Cutting rows has every piece read all of b, cutting columns all of a.
ProductCut CutMatrix(const ProductShape& s, int64_t pieces) {
  constexpr int64_t kMinRows = 16, kMinColumns = 32;
  for (; pieces > 1; --pieces) {
    ProductCut best;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (int64_t m = 1; m <= pieces; ++m) {
      const int64_t n = pieces / m, read = n * s.m + m * s.n;
      if (m * n != pieces || read >= least) continue;
      if ((m > 1 && s.m < kMinRows * m) || (n > 1 && s.n < kMinColumns * n)) continue;
      best = {1, m, n};
      least = read;
    }
    if (best.pieces() > 1) return best;
  }
  return {};
}

ProductCut Cut(const KernelContext& ctx, const Product& p) {
  constexpr int64_t kRows = 64, kMinRows = 16;
  const ProductShape& s = p.shape;
  if (ctx.step().deterministic) return {s.batch, (s.m + kRows - 1) / kRows, 1};
  const int64_t pieces = NumPieces(ctx, Operations(s));
  if (pieces == 1) return {};
  if (s.batch == 1) return p.is_constant ? CutPacked(s, pieces) : CutMatrix(s, pieces);
  const Groups groups = GroupItems(s.batch, pieces);
  return {groups.groups, std::clamp<int64_t>(s.m / kMinRows, 1, groups.cuts), 1};
}

// Has the piece leave its result without gaps, and the end of the epilogue to the one that stores it.
void StoreByColumns(Product& piece, float* out, Piece& next) {
  const ProductShape& s = piece.shape;
  if (s.m > 1) {
    next.columns = {s.m, s.n, piece.out.row_stride, out, 2, true, piece.epilogue.addend, piece.epilogue.relu};
    if (piece.epilogue.addend != nullptr) piece.epilogue.relu = piece.epilogue.in_place = false;
    piece.epilogue.addend = nullptr;
  }
  piece.out.row_stride = s.n;
  piece.out.batch_stride = s.m * s.n;
}

// Empty if some piece has no fast code.
Pieces MakePieces(const Product& p, const ProductCut& cut, const Weights* constant) {
  constexpr int64_t kRowUnit = 8, kColumnUnit = 64;
  Pieces pieces;
  for (int64_t i = 0; i < cut.pieces(); ++i) {
    const Range batch = PartOf(p.shape.batch, cut.batch, i / (cut.m * cut.n));
    const Range rows = PartOf(p.shape.m, cut.m, i / cut.n % cut.m, kRowUnit);
    const Range columns = PartOf(p.shape.n, cut.n, i % cut.n, kColumnUnit);
    Product piece = p;
    piece.shape = {batch.size(), rows.size(), columns.size(), p.shape.k};
    piece.a.data += batch.begin * p.a.batch_stride + rows.begin * p.a.row_stride;
    const int64_t at_b = batch.begin * p.b.batch_stride + columns.begin * p.b.column_stride;
    const int64_t at = batch.begin * p.out.batch_stride + rows.begin * p.out.row_stride + columns.begin;
    float* out = const_cast<float*>(p.out.data) + at;
    if (piece.epilogue.scale != nullptr) piece.epilogue.scale += columns.begin;
    if (piece.epilogue.bias != nullptr) piece.epilogue.bias += columns.begin;
    if (piece.epilogue.addend != nullptr) piece.epilogue.addend += at;
    Piece next;
    if (p.is_constant && cut.n > 1) StoreByColumns(piece, out, next);
    next.operation = Find(piece);
    if (next.operation == nullptr) return {};
    next.data = {const_cast<float*>(piece.a.data), p.is_constant ? nullptr : const_cast<float*>(p.b.data) + at_b, out};
    EpilogueArguments::AppendData(piece.epilogue, next.data);
    if (p.is_constant) next.constant = {constant, at_b, static_cast<int>(i % cut.n), static_cast<int>(cut.n)};
    pieces.push_back(std::move(next));
  }
  return pieces;
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
  const Groups groups = GroupItems(p.outer, NumPieces(ctx, operations));
  const int64_t inner_cut = std::min(groups.cuts, p.inner);
  Pieces pieces;
  for (int64_t i = 0; i < groups.groups * inner_cut; ++i) {
    const Range outer = PartOf(p.outer, groups.groups, i / inner_cut),
                inner = PartOf(p.inner, inner_cut, i % inner_cut);
    StridedProduct piece = p;
    piece.outer = outer.size();
    piece.inner = inner.size();
    OperationKey key = {kKind, piece.outer, piece.inner, p.m, p.n, p.k};
    for (const MatrixStrides& s : {p.a, p.b, p.out}) key.insert(key.end(), {s.outer, s.inner, s.row, s.column});
    auto at = [&](const MatrixStrides& s) { return outer.begin * s.outer + inner.begin * s.inner; };
    Piece next;
    next.operation = FindOrMake(key, [&] { return Make(piece); });
    if (next.operation == nullptr) return false;
    next.data = {const_cast<float*>(a) + at(p.a), const_cast<float*>(b) + at(p.b), out + at(p.out)};
    pieces.push_back(std::move(next));
  }
  return RunPieces(ctx, pieces, operations, 0);
}

bool MultiplyMatrices(const KernelContext& ctx, const ProductShape& s, const MatrixOperand& a, const MatrixOperand& b,
                      const Epilogue& epilogue, float* out, const Weights* constant_b) {
  if (Operations(s) < kMinOperations || GetLibrary() == nullptr) return false;
  Product product = {s, a, b, {out, s.n, 1, s.m * s.n}, epilogue, false, IsBetterOnTheWay(s, a, b, epilogue)};
  if (constant_b != nullptr && constant_b->packed != nullptr && s.batch == 1) {
    // The code for packed operands writes whole rows only. For more than a few, storing them once more takes longer
    // than packing on the way.
    product.is_constant = s.m < kFewRowsToStore || ctx.step().deterministic || NumPieces(ctx, Operations(s)) == 1;
    product.on_the_way = !product.is_constant;
    if (!product.is_constant) product.b.data = PlainElements(*constant_b);
    if (!product.is_constant && product.b.data == nullptr) return false;
  }
  const ProductCut cut = Cut(ctx, product);
  Pieces pieces = MakePieces(product, cut, constant_b);
  if (pieces.empty() && cut.pieces() > 1) pieces = MakePieces(product, ProductCut(), constant_b);
  return !pieces.empty() &&
         RunPieces(ctx, pieces, Operations(s), static_cast<double>(s.batch * s.k) * static_cast<double>(s.n));
}

}  // namespace weir
