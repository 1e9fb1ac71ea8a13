// ShapeContext: the interface of shape functions. Used when graphs are built, where values may be unknown.
#ifndef WEIR_FRAMEWORK_SHAPE_CONTEXT_H_
#define WEIR_FRAMEWORK_SHAPE_CONTEXT_H_

#include <functional>
#include <optional>
#include <vector>

#include "weir/base/export.h"
#include "weir/framework/op_schema.h"
#include "weir/tensor/resource_handle.h"

namespace WEIR_PUBLIC weir {

// What is known about a tensor before the step.
struct InferredTensor {
  PartialShape shape;
  Tensor value;                                            // no value if not constant
  std::optional<PartialShape> value_as_shape;              // a partly known shape vector (from Shape, Pack, ...)
  std::vector<ResourceHandle::DTypeAndShape> handle_data;  // for a resource or variant
};

class ShapeContext {
 public:
  ShapeContext(const OpSchema& schema, const AttrMap& attrs, std::vector<InferredTensor> inputs, int num_outputs)
      : schema_(schema), attrs_(attrs), inputs_(std::move(inputs)), outputs_(num_outputs) {}

  const OpSchema& schema() const { return schema_; }
  const AttrMap& attrs() const { return attrs_; }
  template <typename T>
  StatusOr<T> Attr(std::string_view name) const {
    return GetAttr<T>(attrs_, name);
  }

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  const InferredTensor& input_tensor(int i) const { return inputs_[i]; }
  const PartialShape& input(int i) const { return inputs_[i].shape; }
  // The constant value of an input, or null.
  const Tensor* input_value(int i) const { return inputs_[i].value.has_value() ? &inputs_[i].value : nullptr; }
  // The shape that an input's value describes (1-D integers; a scalar -1 or an unknown vector mean an unknown shape).
  StatusOr<PartialShape> InputAsShape(int i) const;
  // The integer value of a scalar input, if constant.
  std::optional<int64_t> InputAsInt(int i) const;
  const std::vector<ResourceHandle::DTypeAndShape>& input_handle_data(int i) const { return inputs_[i].handle_data; }
  // The tensors of a named input or output argument.
  StatusOr<ArgRange> InputRange(std::string_view name) const;
  StatusOr<ArgRange> OutputRange(std::string_view name) const;

  void set_output(int i, PartialShape shape) { outputs_[i].shape = std::move(shape); }
  void set_output_value_as_shape(int i, PartialShape shape) { outputs_[i].value_as_shape = std::move(shape); }
  void set_output_handle_data(int i, std::vector<ResourceHandle::DTypeAndShape> data) {
    outputs_[i].handle_data = std::move(data);
  }
  std::vector<InferredTensor>& outputs() { return outputs_; }

  // Checks; the errors name the offending input: "Shape must be rank 2 but is rank 1 ...".
  StatusOr<PartialShape> WithRank(int input, int rank) const;
  StatusOr<PartialShape> WithRankAtLeast(int input, int rank) const;
  StatusOr<PartialShape> WithRankAtMost(int input, int rank) const;

 private:
  const OpSchema& schema_;
  const AttrMap& attrs_;
  std::vector<InferredTensor> inputs_;
  std::vector<InferredTensor> outputs_;
};

StatusOr<PartialShape> WithRank(const PartialShape& shape, int rank);
StatusOr<PartialShape> WithRankAtLeast(const PartialShape& shape, int rank);
StatusOr<PartialShape> WithRankAtMost(const PartialShape& shape, int rank);
StatusOr<int64_t> MergeDims(int64_t a, int64_t b);  // -1 = unknown
StatusOr<PartialShape> BroadcastShapes(const PartialShape& a, const PartialShape& b);

// Common shape functions; the names that `.ops` tables use are in comments.
namespace shapes {
Status Unknown(ShapeContext& ctx);    // unknown: every output of unknown shape
Status Unchanged(ShapeContext& ctx);  // unchanged: output 0 like input 0
Status Scalar(ShapeContext& ctx);     // scalar: every output a scalar
Status NoOutputs(ShapeContext& ctx);  // none
Status Broadcast(ShapeContext& ctx);  // broadcast: binary elementwise
Status AttrShape(ShapeContext& ctx);  // attr_shape: attribute `shape`
Status MergeAll(ShapeContext& ctx);   // merge_all: all inputs merged
}  // namespace shapes
void RegisterCommonShapeFunctions(class OpRegistry& registry);

}  // namespace weir

#endif  // WEIR_FRAMEWORK_SHAPE_CONTEXT_H_
