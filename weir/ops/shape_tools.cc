#include "weir/ops/shape_tools.h"

#include "weir/framework/op_registry.h"

namespace weir {
namespace {
constexpr int64_t kMostElements = 256;  // of tensors whose values are followed
}

std::optional<PartialInts> KnownInts(const ShapeContext& ctx, int i) {
  const InferredTensor& in = ctx.input_tensor(i);
  PartialInts out;
  if (in.value.has_value()) {
    if (in.value.rank() > 1 || in.value.num_elements() > kMostElements) return std::nullopt;
    bool is_int = DispatchDType(in.value.dtype(), IndexTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (T v : in.value.span<T>()) out.push_back(v);
    });
    if (!is_int) return std::nullopt;
    return out;
  }
  if (in.value_as_shape && in.value_as_shape->has_rank()) {
    for (int64_t dim : in.value_as_shape->dims()) {
      out.push_back(dim < 0 ? std::nullopt : std::optional<int64_t>(dim));
    }
    return out;
  }
  // A scalar or a vector of known length of which no element is known.
  if (in.shape.rank() == 0) return PartialInts(1);
  if (in.shape.rank() == 1 && in.shape.dim(0) >= 0 && in.shape.dim(0) <= kMostElements) {
    return PartialInts(in.shape.dim(0));
  }
  return std::nullopt;
}

std::optional<std::vector<int64_t>> ConstantInts(const ShapeContext& ctx, int i) {
  const InferredTensor& in = ctx.input_tensor(i);
  if (!in.value.has_value() || in.value.num_elements() > 65536) return std::nullopt;
  std::vector<int64_t> out;
  bool is_int = DispatchDType(in.value.dtype(), IndexTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto span = in.value.span<T>();
    out.assign(span.begin(), span.end());
  });
  if (!is_int) return std::nullopt;
  return out;
}

void SetKnownInts(ShapeContext& ctx, int output, DType dtype, bool is_scalar, const PartialInts& elements) {
  if (is_scalar && elements.size() != 1) return;
  if (elements.size() > static_cast<size_t>(kMostElements)) return;
  bool all = true, shape_like = true, narrow = true;
  for (const auto& e : elements) {
    all &= e.has_value();
    shape_like &= !e || *e >= 0;
    narrow &= !e || (*e >= INT32_MIN && *e <= INT32_MAX);
  }
  InferredTensor& out = ctx.outputs()[output];
  if (all && (dtype == DType::kInt64 || (dtype == DType::kInt32 && narrow))) {
    Shape shape;
    if (!is_scalar) shape = Shape({static_cast<int64_t>(elements.size())});
    StatusOr<Tensor> value = Tensor::Allocate(dtype, shape);
    if (!value.ok()) return;
    for (size_t i = 0; i < elements.size(); ++i) {
      if (dtype == DType::kInt64) {
        value->data<int64_t>()[i] = *elements[i];
      } else {
        value->data<int32_t>()[i] = static_cast<int32_t>(*elements[i]);
      }
    }
    out.value = *std::move(value);
  }
  if (is_scalar || !shape_like || (dtype != DType::kInt32 && dtype != DType::kInt64)) return;
  PartialShape as_shape = PartialShape::UnknownOfRank(0);
  for (const auto& e : elements) as_shape.add_dim(e.value_or(PartialShape::kUnknown));
  out.value_as_shape = std::move(as_shape);
}

StatusOr<int> NormalizeAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return InvalidArgument("Dimension ", axis, " is out of range [", -rank, ", ", rank, ")");
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

StatusOr<int64_t> AddDims(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return PartialShape::kUnknown;
  std::optional<int64_t> sum = CheckedAdd(a, b);
  if (!sum) return InvalidArgument("Dimension size overflow from adding ", a, " and ", b);
  return *sum;
}

StatusOr<int64_t> MultiplyDims(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (a < 0 || b < 0) return PartialShape::kUnknown;
  std::optional<int64_t> product = CheckedMultiply(a, b);
  if (!product) return InvalidArgument("Negative dimension size caused by overflow when multiplying ", a, " and ", b);
  return *product;
}

StatusOr<int64_t> ProductOfDims(const PartialShape& shape, int begin, int end) {
  int64_t product = 1;
  for (int i = begin; i < end; ++i) {
    WEIR_ASSIGN_OR_RETURN(product, MultiplyDims(product, shape.dim(i)));
  }
  return product;
}

StatusOr<PartialShape> UnifyShapes(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank()) return b;
  if (!b.has_rank()) return a;
  if (a.rank() != b.rank()) return InvalidArgument("Shapes must be equal rank, but are ", a.rank(), " and ", b.rank());
  PartialShape out = a;
  for (int i = 0; i < a.rank(); ++i) {
    if (a.dim(i) >= 0 && b.dim(i) >= 0 && a.dim(i) != b.dim(i)) {
      return InvalidArgument("Dimension ", i, " in both shapes must be equal, but are ", a.dim(i), " and ", b.dim(i),
                             ". Shapes are ", a.ToString(), " and ", b.ToString(), ".");
    }
    if (a.dim(i) < 0) out.set_dim(i, b.dim(i));
  }
  return out;
}

PartialShape SubShape(const PartialShape& shape, int begin, int end) {
  if (!shape.has_rank()) return PartialShape();
  PartialShape out = PartialShape::UnknownOfRank(0);
  for (int i = begin; i < end; ++i) out.add_dim(shape.dim(i));
  return out;
}

PartialShape ConcatShapes(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() + b.rank() > Shape::kMaxRank) return PartialShape();
  PartialShape out = a;
  for (int64_t dim : b.dims()) out.add_dim(dim);
  return out;
}

}  // namespace weir
