// Functions and operators for the operations that gradient functions use most. Each emits into the emitter of its first
// argument. Gradient code lives in namespace weir::emit, so that it can be written as `dy * Cos(x)`.
#ifndef WEIR_AUTODIFF_EMIT_H_
#define WEIR_AUTODIFF_EMIT_H_

#include <utility>
#include <vector>

#include "weir/autodiff/gradient_registry.h"
#include "weir/base/export.h"

namespace WEIR_PUBLIC weir {
namespace emit {

// True if gradients flow through tensors of this type: floating, complex, resources, variants.
bool IsTrainable(DType dtype);

// Constants.
Tensor ScalarTensor(DType dtype, double value);  // zero if the type is not numeric
Tensor IntsTensor(std::span<const int64_t> values, DType dtype = DType::kInt32);
Value Ints(Value like, std::vector<int64_t> values, DType dtype = DType::kInt32);  // a vector
Value Int(Value like, int64_t value, DType dtype = DType::kInt32);                 // a scalar
Value Scalar(Value like, double value);                                            // of the type of `like`
Value Scalar(Value like, DType dtype, double value);
// A constant if the shape of `x` is known. If `x` is the handle of a variable, the result has the variable's shape.
Value ZerosLike(Value x);
Value OnesLike(Value x);

// A sparse gradient as a dense tensor.
Value Densify(const GradientValue& gradient);
// The sum of all gradients of one tensor; sparse if all terms are. REQUIRES: there are terms, and none of them
// is_none().
GradientValue AddUp(const std::vector<GradientValue>& terms);

// Arithmetic. Scalars take the type of the other operand.
Value operator+(Value x, Value y);
Value operator-(Value x, Value y);
Value operator*(Value x, Value y);
Value operator/(Value x, Value y);
Value operator-(Value x);
Value operator+(Value x, double y);
Value operator-(Value x, double y);
Value operator-(double x, Value y);
Value operator*(double x, Value y);
Value operator/(Value x, double y);
Value operator/(double x, Value y);
Value Conj(Value x);  // `x` itself unless it is complex
Value Unary(const char* op, Value x);
Value Binary(const char* op, Value x, Value y);
Value AddN(const std::vector<Value>& terms);  // one term is itself
Value Cast(Value x, DType dtype);             // `x` itself if it has the type
Value Select(Value condition, Value x, Value y);
Value MatMul(Value a, Value b, bool transpose_a = false, bool transpose_b = false);
// Multiplies the matrices in the last two dimensions and broadcasts the other dimensions.
Value BatchMatMul(Value a, Value b, bool adjoint_a = false, bool adjoint_b = false);

// Shapes.
Value Shape(Value x, DType dtype = DType::kInt32);  // a constant if it is known
Value Size(Value x, DType dtype = DType::kInt32);
Value Rank(Value x);
Value Reshape(Value x, Value shape);
Value ReshapeLike(Value x, Value like);
Value ExpandDims(Value x, Value axis);
Value ExpandDims(Value x, int64_t axis);
Value Squeeze(Value x, std::vector<int64_t> axes);
Value Sum(Value x, Value axes, bool keep_dims = false);
Value Sum(Value x, std::vector<int64_t> axes, bool keep_dims = false);
Value Mean(Value x, Value axes, bool keep_dims = false);
Value Prod(Value x, Value axes, bool keep_dims = false);
Value Range(Value start, Value limit, int64_t step = 1);
Value Concat(const std::vector<Value>& parts, int64_t axis);
Value Pack(const std::vector<Value>& parts, int64_t axis = 0);
Value Slice(Value x, Value begin, Value size);
Value At(Value vector, int64_t index);                      // one element, negative from the end
Value SubVector(Value vector, int64_t begin, int64_t end);  // 0 as `end` with a negative `begin`: to the end
Value Gather(Value x, Value indices, int64_t axis = 0);
Value Transpose(Value x, Value permutation);
Value Transpose(Value x, std::vector<int64_t> permutation);
Value MatrixTranspose(Value x);  // swaps the last two dimensions without conjugating
Value Adjoint(Value x);          // swaps the last two dimensions and conjugates
Value Fill(Value shape, Value value);
Value BroadcastTo(Value x, Value shape);
Value Tile(Value x, Value multiples);
Value InvertPermutation(Value x);
Value Where(Value condition);

// Sums a gradient over the dimensions in which the operand was broadcast, so that it gets the operand's shape.
Value SumToShapeOf(Value gradient, Value operand, Value other);
// For both operands of a binary op; an empty gradient stays empty.
Gradients SumToOperands(Value x, Value y, Value grad_x, Value grad_y);

}  // namespace emit
}  // namespace weir

#endif  // WEIR_AUTODIFF_EMIT_H_
