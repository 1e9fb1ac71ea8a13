// Value: a tensor that gradient code works with, and GradientValue: what flows backwards.
#ifndef WEIR_AUTODIFF_VALUE_H_
#define WEIR_AUTODIFF_VALUE_H_

#include <cstdint>
#include <vector>

#include "weir/tensor/dtype.h"
#include "weir/tensor/shape.h"
#include "weir/tensor/tensor.h"

namespace weir {

class Emitter;

// A handle to a tensor of an emitter: an output of a node, or a tensor that exists already. An empty one means "none":
// nothing flows here. REQUIRES: the emitter outlives it.
class Value {
 public:
  Value() = default;
  Value(Emitter* emitter, int32_t node, int32_t index) : emitter_(emitter), node_(node), index_(index) {}

  explicit operator bool() const { return emitter_ != nullptr; }
  Emitter& emitter() const { return *emitter_; }
  int32_t node() const { return node_; }
  int32_t index() const { return index_; }
  bool operator==(const Value&) const = default;

  DType dtype() const;         // never a ref type; kInvalid of an empty value
  PartialShape shape() const;  // as far as it is known
  int rank() const { return shape().rank(); }
  // Its value if it is known, else a tensor without one.
  Tensor constant() const;

 private:
  Emitter* emitter_ = nullptr;
  int32_t node_ = -1;
  int32_t index_ = 0;
};

// A gradient: none, dense, or sparse. A sparse one says: row indices[i] of a tensor of shape `dense_shape` gets
// values[i]; rows that are named twice add up, rows not named are zero.
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
