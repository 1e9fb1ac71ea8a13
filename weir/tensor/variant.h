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

// What is done to the tensors in variants, which may be in the memory of a device (device/cpu/kernel_arithmetic.h).
class TensorArithmetic {
 public:
  virtual ~TensorArithmetic() = default;
  virtual StatusOr<Tensor> Zeros(DType dtype, const Shape& shape) = 0;
  // Zeros of the same type and shape; variants by their own ZerosLike.
  StatusOr<Tensor> ZerosOf(const Tensor& tensor);
  // a + b, in the memory of `a` if the caller gives it away; variants by their own Add. INVALID_ARGUMENT if the type
  // has no sum or the shapes differ.
  StatusOr<Tensor> Sum(Tensor a, const Tensor& b);

 protected:
  // REQUIRES: same shape, and a type of numbers.
  virtual StatusOr<Tensor> Add(Tensor a, const Tensor& b) = 0;
};

// Immutable once shared; a kernel may change it in place if it holds the only reference (Variant::unique()).
class VariantValue {
 public:
  virtual ~VariantValue() = default;
  virtual std::string_view type_name() const = 0;  // TensorFlow's: "tensorflow::TensorList"
  // UNIMPLEMENTED unless the value can leave the process.
  virtual StatusOr<VariantData> Encode() const;
  // What ZerosLike and AddN give for it; UNIMPLEMENTED unless it has them.
  virtual StatusOr<std::shared_ptr<VariantValue>> ZerosLike(TensorArithmetic& arithmetic) const;
  virtual StatusOr<std::shared_ptr<VariantValue>> Add(const VariantValue& other, TensorArithmetic& arithmetic) const;
  // The tensors that are where the variant is, in the memory of a device or of the host, and the same value with copies
  // of them in another place. Values without such tensors are the same everywhere.
  virtual std::vector<Tensor> LocalTensors() const { return {}; }
  virtual std::shared_ptr<VariantValue> WithLocalTensors(std::vector<Tensor> copies) const { return nullptr; }
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
