// Optional: the value of an optional variant, some tensors or nothing.
#ifndef WEIR_OPS_DATA_OPTIONAL_H_
#define WEIR_OPS_DATA_OPTIONAL_H_

#include <optional>
#include <vector>

#include "weir/tensor/variant.h"

namespace weir {

class Optional : public VariantValue {
 public:
  static constexpr std::string_view kTypeName = "tensorflow::data::Optional";
  std::optional<std::vector<Tensor>> components;

  std::string_view type_name() const override { return kTypeName; }
  StatusOr<VariantData> Encode() const override;
  static StatusOr<std::shared_ptr<VariantValue>> Decode(VariantData data);
  // Componentwise; nothing stays nothing. Only numbers can be added.
  StatusOr<std::shared_ptr<VariantValue>> ZerosLike(TensorArithmetic& arithmetic) const override;
  StatusOr<std::shared_ptr<VariantValue>> Add(const VariantValue& other, TensorArithmetic& arithmetic) const override;
  std::vector<Tensor> LocalTensors() const override { return components.value_or(std::vector<Tensor>()); }
  std::shared_ptr<VariantValue> WithLocalTensors(std::vector<Tensor> copies) const override;
  std::string DebugString() const override;
};

}  // namespace weir

#endif  // WEIR_OPS_DATA_OPTIONAL_H_
