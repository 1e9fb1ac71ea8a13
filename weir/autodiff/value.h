// Value: a handle to a tensor in gradient code. GradientValue: a dense, sparse or missing gradient.
#ifndef WEIR_AUTODIFF_VALUE_H_
#define WEIR_AUTODIFF_VALUE_H_

#include <cstdint>
#include <vector>

#include "weir/base/export.h"
#include "weir/tensor/dtype.h"
#include "weir/tensor/shape.h"
#include "weir/tensor/tensor.h"

namespace WEIR_PUBLIC weir {

class Emitter;

// A handle to a tensor of an emitter: an output of a node, or an existing tensor. An empty value means "none": no
// gradient. REQUIRES: the emitter outlives the value.
class Value {
 public:
  Value() = default;
  Value(Emitter* emitter, int32_t node, int32_t index) : emitter_(emitter), node_(node), index_(index) {}

  explicit operator bool() const { return emitter_ != nullptr; }
  Emitter& emitter() const { return *emitter_; }
  int32_t node() const { return node_; }
  int32_t index() const { return index_; }
  bool operator==(const Value&) const = default;

  DType dtype() const;         // never a reference type; kInvalid for an empty value
  PartialShape shape() const;  // as far as it is known statically
  int rank() const { return shape().rank(); }
  // The value if it is known statically, else an empty tensor.
  Tensor constant() const;

 private:
  Emitter* emitter_ = nullptr;
  int32_t node_ = -1;
  int32_t index_ = 0;
};

// A gradient: none, dense, or sparse. In a sparse gradient values[i] belongs to row indices[i] of a tensor of shape
// `dense_shape`; repeated rows are summed, and rows that do not occur are zero.
struct GradientValue {
  Value dense;
  Value values;
  Value indices;
  Value dense_shape;

  GradientValue() = default;
  GradientValue(Value value) : dense(value) {}
  static GradientValue Sparse(Value values, Value indices, Value dense_shape);

  bool is_none() const { return !dense && !values; }
  bool is_sparse() const { return static_cast<bool>(values); }
};

}  // namespace weir

#endif  // WEIR_AUTODIFF_VALUE_H_
