#include "weir/autodiff/emit.h"

#include <algorithm>
#include <complex>

namespace weir::emit {
namespace {

bool SameKnownShape(const PartialShape& a, const PartialShape& b) {
  return a.IsFullyDefined() && b.IsFullyDefined() && a == b;
}

}  // namespace

bool IsTrainable(DType dtype) {
  dtype = BaseType(dtype);
  return IsFloating(dtype) || IsComplex(dtype) || dtype == DType::kResource || dtype == DType::kVariant;
}

Tensor ScalarTensor(DType dtype, double value) {
  Tensor out = Tensor::Zeros(dtype, weir::Shape()).value();
  DispatchDType(dtype, NumberTypes{} + Float8Types{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
      *out.data<T>() = static_cast<T>(value);
    } else if constexpr (std::is_same_v<T, std::complex<double>>) {
      *out.data<T>() = value;
    } else {
      *out.data<T>() = T(static_cast<float>(value));
    }
  });
  if (dtype == DType::kBool) *out.data<bool>() = value != 0;
  return out;
}

Tensor IntsTensor(std::span<const int64_t> values, DType dtype) {
  if (dtype == DType::kInt64) return Tensor::Vector<int64_t>(values);
  std::vector<int32_t> narrow(values.begin(), values.end());
  return Tensor::Vector<int32_t>(std::span<const int32_t>(narrow));
}

Value Ints(Value like, std::vector<int64_t> values, DType dtype) {
  if (!like) return {};
  return like.emitter().Constant(IntsTensor(values, dtype));
}
Value Int(Value like, int64_t value, DType dtype) {
  if (!like) return {};
  return like.emitter().Constant(dtype == DType::kInt64 ? Tensor::Scalar(value)
                                                        : Tensor::Scalar(static_cast<int32_t>(value)));
}
Value Scalar(Value like, double value) { return Scalar(like, like.dtype(), value); }
Value Scalar(Value like, DType dtype, double value) {
  if (!like) return {};
  return like.emitter().Constant(ScalarTensor(dtype, value));
}

Value ZerosLike(Value x) {
  if (!x) return {};
  Emitter& e = x.emitter();
  if (x.dtype() == DType::kResource) {
    // The gradient of a handle has the type and shape of its variable.
    std::vector<ResourceHandle::DTypeAndShape> data = e.handle_data(x);
    DType dtype = data.empty() ? DType::kFloat : data[0].dtype;
    Value shape = !data.empty() && data[0].shape.IsFullyDefined()
                      ? e.Constant(IntsTensor(data[0].shape.dims()))
                      : e.Op("VariableShape", {x}, {{"out_type", DType::kInt32}});
    return Fill(shape, Scalar(x, dtype, 0));
  }
  if (x.dtype() == DType::kVariant) return e.Op("ZerosLike", {x});
  if (x.shape().IsFullyDefined()) {
    if (x.shape().rank() == 0) return Scalar(x, 0);
    return Fill(Shape(x), Scalar(x, 0));
  }
  if (e.is_borrowed(x)) return Fill(Shape(x), Scalar(x, 0));  // the shape is enough: do not import the value
  return e.Op("ZerosLike", {x});
}

Value OnesLike(Value x) {
  if (!x) return {};
  if (x.shape().IsFullyDefined()) return x.rank() == 0 ? Scalar(x, 1) : Fill(Shape(x), Scalar(x, 1));
  return x.emitter().Op("OnesLike", {x});
}

Value Densify(const GradientValue& gradient) {
  if (!gradient.is_sparse()) return gradient.dense;
  Emitter& e = gradient.values.emitter();
  return e.Op("UnsortedSegmentSum", {gradient.values, gradient.indices, At(gradient.dense_shape, 0)});
}

GradientValue AddUp(const std::vector<GradientValue>& terms) {
  if (terms.size() == 1) return terms[0];
  if (std::ranges::all_of(terms, [](const GradientValue& term) { return term.is_sparse(); })) {
    std::vector<Value> values, indices;
    bool wide = false;
    for (const GradientValue& term : terms) wide |= term.indices.dtype() == DType::kInt64;
    for (const GradientValue& term : terms) {
      values.push_back(term.values);
      indices.push_back(wide ? Cast(term.indices, DType::kInt64) : term.indices);
    }
    return GradientValue::Sparse(Concat(values, 0), Concat(indices, 0), terms[0].dense_shape);
  }
  std::vector<Value> dense;
  for (const GradientValue& term : terms) dense.push_back(Densify(term));
  return AddN(dense);
}

Value Unary(const char* op, Value x) { return x ? x.emitter().Op(op, {x}) : Value(); }
Value Binary(const char* op, Value x, Value y) { return x && y ? x.emitter().Op(op, {x, y}) : Value(); }

Value operator+(Value x, Value y) { return Binary("AddV2", x, y); }
Value operator-(Value x, Value y) { return Binary("Sub", x, y); }
Value operator*(Value x, Value y) { return Binary("Mul", x, y); }
Value operator/(Value x, Value y) { return Binary("RealDiv", x, y); }
Value operator-(Value x) { return Unary("Neg", x); }
Value operator+(Value x, double y) { return x + Scalar(x, y); }
Value operator-(Value x, double y) { return x - Scalar(x, y); }
Value operator-(double x, Value y) { return Scalar(y, x) - y; }
Value operator*(double x, Value y) { return Scalar(y, x) * y; }
Value operator/(Value x, double y) { return x / Scalar(x, y); }
Value operator/(double x, Value y) { return Scalar(y, x) / y; }
Value Conj(Value x) { return IsComplex(x.dtype()) ? Unary("Conj", x) : x; }

Value AddN(const std::vector<Value>& terms) {
  if (terms.empty() || !terms[0]) return {};
  return terms.size() == 1 ? terms[0] : terms[0].emitter().Op("AddN", {terms});
}

Value Cast(Value x, DType dtype) {
  if (!x || x.dtype() == dtype) return x;
  return x.emitter().Op("Cast", {x}, {{"DstT", dtype}});
}

Value Select(Value condition, Value x, Value y) {
  return condition ? condition.emitter().Op("SelectV2", {condition, x, y}) : Value();
}

Value MatMul(Value a, Value b, bool transpose_a, bool transpose_b) {
  if (!a) return {};
  return a.emitter().Op("MatMul", {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}

Value BatchMatMul(Value a, Value b, bool adjoint_a, bool adjoint_b) {
  if (!a) return {};
  return a.emitter().Op("BatchMatMulV2", {a, b}, {{"adj_x", adjoint_a}, {"adj_y", adjoint_b}});
}

namespace {
// False if a dimension does not fit into the type. The Shape op then reports the error.
bool Fits(std::span<const int64_t> sizes, DType dtype) {
  return dtype == DType::kInt64 || std::ranges::all_of(sizes, [](int64_t size) { return size <= INT32_MAX; });
}
}  // namespace

Value Shape(Value x, DType dtype) {
  if (!x) return {};
  if (x.shape().IsFullyDefined() && Fits(x.shape().dims(), dtype))
    return x.emitter().Constant(IntsTensor(x.shape().dims(), dtype));
  return x.emitter().Op("Shape", {x}, {{"out_type", dtype}});
}

Value Size(Value x, DType dtype) {
  if (!x) return {};
  if (int64_t size = x.shape().num_elements(); size >= 0 && Fits({&size, 1}, dtype)) return Int(x, size, dtype);
  return x.emitter().Op("Size", {x}, {{"out_type", dtype}});
}

Value Rank(Value x) {
  if (!x) return {};
  return x.shape().has_rank() ? Int(x, x.rank()) : x.emitter().Op("Rank", {x});
}

Value Reshape(Value x, Value shape) { return Binary("Reshape", x, shape); }
Value ReshapeLike(Value x, Value like) {
  if (x && SameKnownShape(x.shape(), like.shape())) return x;
  return Reshape(x, Shape(like));
}
Value ExpandDims(Value x, Value axis) { return Binary("ExpandDims", x, axis); }
Value ExpandDims(Value x, int64_t axis) { return ExpandDims(x, Int(x, axis)); }
Value Squeeze(Value x, std::vector<int64_t> axes) {
  if (!x) return {};
  AttrList list;
  list.i = std::move(axes);
  return x.emitter().Op("Squeeze", {x}, {{"squeeze_dims", Attribute(std::move(list))}});
}

namespace {
Value Reduce(const char* op, Value x, Value axes, bool keep_dims) {
  return x && axes ? x.emitter().Op(op, {x, axes}, {{"keep_dims", keep_dims}}) : Value();
}
}  // namespace
Value Sum(Value x, Value axes, bool keep_dims) { return Reduce("Sum", x, axes, keep_dims); }
Value Sum(Value x, std::vector<int64_t> axes, bool keep_dims) {
  return Reduce("Sum", x, Ints(x, std::move(axes)), keep_dims);
}
Value Mean(Value x, Value axes, bool keep_dims) { return Reduce("Mean", x, axes, keep_dims); }
Value Prod(Value x, Value axes, bool keep_dims) { return Reduce("Prod", x, axes, keep_dims); }

Value Range(Value start, Value limit, int64_t step) {
  return start ? start.emitter().Op("Range", {start, limit, Int(start, step, start.dtype())}) : Value();
}

Value Concat(const std::vector<Value>& parts, int64_t axis) {
  if (parts.empty() || !parts[0]) return {};
  return parts.size() == 1 ? parts[0] : parts[0].emitter().Op("ConcatV2", {parts, Int(parts[0], axis)});
}
Value Pack(const std::vector<Value>& parts, int64_t axis) {
  return parts.empty() || !parts[0] ? Value() : parts[0].emitter().Op("Pack", {parts}, {{"axis", axis}});
}
Value Slice(Value x, Value begin, Value size) {
  return x && begin && size ? x.emitter().Op("Slice", {x, begin, size}) : Value();
}
Value At(Value vector, int64_t index) {
  if (!vector) return {};
  const bool last = index == -1;  // no index comes after the last element, so it needs the end mask
  return vector.emitter().Op("StridedSlice",
                             {vector, Ints(vector, {index}), Ints(vector, {last ? 0 : index + 1}), Ints(vector, {1})},
                             {{"shrink_axis_mask", 1}, {"end_mask", last ? 1 : 0}});
}
Value SubVector(Value vector, int64_t begin, int64_t end) {
  if (!vector) return {};
  const bool open = end == 0 && begin < 0;
  return vector.emitter().Op("StridedSlice", {vector, Ints(vector, {begin}), Ints(vector, {end}), Ints(vector, {1})},
                             {{"end_mask", open ? 1 : 0}});
}
Value Gather(Value x, Value indices, int64_t axis) {
  return x && indices ? x.emitter().Op("GatherV2", {x, indices, Int(x, axis)}) : Value();
}
Value Transpose(Value x, Value permutation) { return Binary("Transpose", x, permutation); }
Value Transpose(Value x, std::vector<int64_t> permutation) { return Transpose(x, Ints(x, std::move(permutation))); }

Value MatrixTranspose(Value x) {
  if (!x) return {};
  if (x.shape().has_rank()) {
    const int rank = x.rank();
    if (rank < 2) {
      x.emitter().Fail(InvalidArgument("A matrix is needed, but the tensor has shape ", x.shape().ToString()));
      return {};
    }
    std::vector<int64_t> permutation(rank);
    for (int i = 0; i < rank; ++i) permutation[i] = i;
    std::swap(permutation[rank - 2], permutation[rank - 1]);
    return Transpose(x, std::move(permutation));
  }
  Value rank = Rank(x);
  Value outer = Range(Int(x, 0), rank - Int(x, 2));
  Value permutation =
      Concat({outer, Reshape(rank - Int(x, 1), Ints(x, {1})), Reshape(rank - Int(x, 2), Ints(x, {1}))}, 0);
  return Transpose(x, permutation);
}
Value Adjoint(Value x) { return Conj(MatrixTranspose(x)); }

Value Fill(Value shape, Value value) { return shape && value ? shape.emitter().Op("Fill", {shape, value}) : Value(); }
Value BroadcastTo(Value x, Value shape) { return Binary("BroadcastTo", x, shape); }
Value Tile(Value x, Value multiples) { return Binary("Tile", x, multiples); }
Value InvertPermutation(Value x) { return Unary("InvertPermutation", x); }
Value Where(Value condition) { return Unary("Where", condition); }

namespace {

// The dimensions of the result over which an operand was repeated; nothing if they are not known before the step.
std::optional<std::vector<int64_t>> RepeatedDims(const PartialShape& operand, const PartialShape& other) {
  if (!operand.has_rank() || !other.has_rank()) return std::nullopt;
  const int rank = std::max(operand.rank(), other.rank());
  std::vector<int64_t> dims;
  for (int i = 0; i < rank; ++i) {
    const int mine = i - (rank - operand.rank()), theirs = i - (rank - other.rank());
    if (mine < 0) {
      dims.push_back(i);
      continue;
    }
    const int64_t size = operand.dim(mine), against = theirs < 0 ? 1 : other.dim(theirs);
    if (size == 1 && against != 1) {
      dims.push_back(i);  // summing over a dimension of size 1 does no harm if `against` is unknown
    } else if (size < 0 && against != 1) {
      return std::nullopt;
    }
  }
  return dims;
}

}  // namespace

Value SumToShapeOf(Value gradient, Value operand, Value other) {
  if (!gradient) return {};
  const PartialShape mine = operand.shape(), theirs = other.shape();
  if (SameKnownShape(mine, theirs)) return gradient;
  if (auto dims = RepeatedDims(mine, theirs)) {
    if (dims->empty()) return gradient;
    const bool keep = mine.rank() >= theirs.rank();
    Value sum = Sum(gradient, *dims, keep);
    return keep ? sum : ReshapeLike(sum, operand);
  }
  Values axes = gradient.emitter().Outputs("BroadcastGradientArgs", {Shape(operand), Shape(other)});
  return Reshape(Sum(gradient, axes[0]), Shape(operand));
}

Gradients SumToOperands(Value x, Value y, Value grad_x, Value grad_y) {
  return {SumToShapeOf(grad_x, x, y), SumToShapeOf(grad_y, y, x)};
}

}  // namespace weir::emit
