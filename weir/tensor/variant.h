// Variant: an element that holds any value behind an interface (tensor lists, datasets, optionals).
#ifndef WEIR_TENSOR_VARIANT_H_
#define WEIR_TENSOR_VARIANT_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/tensor/tensor.h"

namespace weir {

// What goes over the wire: VariantTensorDataProto.
struct VariantData {
  std::string type_name;
  std::string metadata;
  std::vector<Tensor> tensors;
};

// Immutable once shared; a kernel may change it in place if it holds the only reference (Variant::unique()).
class VariantValue {
 public:
  virtual ~VariantValue() = default;
  virtual std::string_view type_name() const = 0;  // TensorFlow's: "tensorflow::TensorList"
  // UNIMPLEMENTED unless the value can leave the process.
  virtual StatusOr<VariantData> Encode() const;
  // What ZerosLike and AddN give for it; UNIMPLEMENTED unless it has them.
  virtual StatusOr<std::shared_ptr<VariantValue>> ZerosLike() const;
  virtual StatusOr<std::shared_ptr<VariantValue>> Add(const VariantValue& other) const;
  virtual std::string DebugString() const { return std::string(type_name()); }
};

class Variant {
 public:
  Variant() = default;
  Variant(std::shared_ptr<VariantValue> value) : value_(std::move(value)) {}
  bool has_value() const { return value_ != nullptr; }
  VariantValue* get() const { return value_.get(); }
  const std::shared_ptr<VariantValue>& value() const { return value_; }
  bool unique() const { return value_.use_count() == 1; }
  // The value as a T, or null.
  template <typename T>
  T* get_if() const {
    return dynamic_cast<T*>(value_.get());
  }

 private:
  std::shared_ptr<VariantValue> value_;
};

// A value that came over the wire with a type name nobody registered: kept as it is.
class OpaqueVariant : public VariantValue {
 public:
  explicit OpaqueVariant(VariantData data) : data_(std::move(data)) {}
  std::string_view type_name() const override { return data_.type_name; }
  StatusOr<VariantData> Encode() const override { return data_; }

 private:
  VariantData data_;
};

// Decoders by type name. Register at start-up, from a family's Register function; registering a name again replaces it.
using VariantDecoder = std::function<StatusOr<std::shared_ptr<VariantValue>>(VariantData)>;
void RegisterVariantDecoder(std::string_view type_name, VariantDecoder decoder);
StatusOr<Variant> DecodeVariant(VariantData data);

}  // namespace weir

#endif  // WEIR_TENSOR_VARIANT_H_
