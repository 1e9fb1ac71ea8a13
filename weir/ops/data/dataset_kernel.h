// Kernels that make datasets: one factory function a dataset, which reads the node's inputs and attributes.
#ifndef WEIR_OPS_DATA_DATASET_KERNEL_H_
#define WEIR_OPS_DATA_DATASET_KERNEL_H_

#include <initializer_list>
#include <string_view>
#include <vector>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/data/captured_function.h"
#include "weir/ops/data/dataset.h"

namespace weir {

// The node of a dataset while it runs.
class DatasetNode {
 public:
  DatasetNode(KernelContext& ctx, const OpSchema& schema, const AttrMap& attrs)
      : ctx_(ctx), schema_(schema), attrs_(attrs) {}

  KernelContext& ctx() { return ctx_; }
  const std::string& op() const { return schema_.name; }
  template <typename T>
  StatusOr<T> Attr(std::string_view name) const {
    return GetAttr<T>(attrs_, name);
  }
  bool HasAttr(std::string_view name) const { return attrs_.Find(name) != nullptr; }
  bool HasInput(std::string_view name) const { return schema_.FindInput(name) >= 0; }

  // Attributes output_types (or `types`) and output_shapes. INVALID_ARGUMENT if their lengths differ.
  StatusOr<ElementSpec> Spec(std::string_view types = "output_types") const;
  StatusOr<Element> Tensors(std::string_view input) const;
  StatusOr<Tensor> OneTensor(std::string_view input) const;
  StatusOr<DatasetPtr> Input(std::string_view input = "input_dataset") const;
  StatusOr<std::vector<DatasetPtr>> Inputs(std::string_view input) const;
  // "<input> must be a scalar". T: bool, int64_t, std::string ...
  template <typename T>
  StatusOr<T> Scalar(std::string_view input) const {
    WEIR_ASSIGN_OR_RETURN(Tensor tensor, OneTensor(input));
    if (!tensor.shape().IsScalar()) return InvalidArgument(input, " must be a scalar");
    return tensor.scalar<T>();
  }
  template <typename T>
  StatusOr<std::vector<T>> Vector(std::string_view input) const {
    WEIR_ASSIGN_OR_RETURN(Tensor tensor, OneTensor(input));
    if (!tensor.shape().IsVector()) return InvalidArgument(input, " must be a vector");
    return std::vector<T>(tensor.data<T>(), tensor.data<T>() + tensor.num_elements());
  }
  // File names: a scalar or a vector.
  StatusOr<std::vector<std::string>> Names(std::string_view input) const;
  // A function and what it captures. `iterator` is for errors.
  StatusOr<CapturedFunctionPtr> Function(std::string_view attr, std::string_view arguments,
                                         std::string_view iterator) const;
  // Whether elements come in order: by the attribute `deterministic` ("true", "false", "default"), or the older
  // attribute or input `sloppy`.
  StatusOr<bool> IsDeterministic() const;

 private:
  KernelContext& ctx_;
  const OpSchema& schema_;
  const AttrMap& attrs_;
};

using DatasetFactory = StatusOr<DatasetPtr> (*)(DatasetNode&);
// A kernel for each op that outputs the dataset of `factory`.
void RegisterDataset(KernelRegistry& registry, std::initializer_list<const char*> ops, DatasetFactory factory);

}  // namespace weir

#endif  // WEIR_OPS_DATA_DATASET_KERNEL_H_
