#include "weir/tensor/variant.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "weir/base/strings.h"

namespace weir {
namespace {

struct Decoders {
  absl::Mutex mutex;
  StringMap<VariantDecoder> by_name ABSL_GUARDED_BY(mutex);
};
Decoders& AllDecoders() {
  static auto* decoders = new Decoders;
  return *decoders;
}

}  // namespace

StatusOr<VariantData> VariantValue::Encode() const {
  return Unimplemented("a variant of type ", type_name(), " cannot be serialised");
}

StatusOr<Tensor> TensorArithmetic::ZerosOf(const Tensor& tensor) {
  if (tensor.dtype() != DType::kVariant) return Zeros(tensor.dtype(), tensor.shape());
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kVariant, tensor.shape()));
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const Variant& value = tensor.data<Variant>()[i];
    if (!value.has_value()) continue;
    WEIR_ASSIGN_OR_RETURN(auto zeros, value.get()->ZerosLike(*this));
    out.data<Variant>()[i] = Variant(std::move(zeros));
  }
  return out;
}

StatusOr<Tensor> TensorArithmetic::Sum(Tensor a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) {
    return InvalidArgument("Cannot add ", Name(a.dtype()), " ", a.shape().ToString(), " and ", Name(b.dtype()), " ",
                           b.shape().ToString());
  }
  if (a.dtype() != DType::kVariant) {
    if (DispatchDType(a.dtype(), NumberTypes{}, [](auto) {})) return Add(std::move(a), b);
    return InvalidArgument("Trying to add unsupported dtype ", static_cast<int>(a.dtype()));
  }
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kVariant, a.shape()));
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    const Variant &x = a.data<Variant>()[i], &y = b.data<Variant>()[i];
    if (!x.has_value() || !y.has_value()) return InvalidArgument("Cannot add a variant without a value");
    WEIR_ASSIGN_OR_RETURN(auto sum, x.get()->Add(*y.get(), *this));
    out.data<Variant>()[i] = Variant(std::move(sum));
  }
  return out;
}

StatusOr<std::shared_ptr<VariantValue>> VariantValue::ZerosLike(TensorArithmetic&) const {
  return Unimplemented("no zeros_like for a variant of type ", type_name());
}

StatusOr<std::shared_ptr<VariantValue>> VariantValue::Add(const VariantValue& other, TensorArithmetic&) const {
  return Unimplemented("no addition of variants of types ", type_name(), " and ", other.type_name());
}

void RegisterVariantDecoder(std::string_view type_name, VariantDecoder decoder) {
  Decoders& decoders = AllDecoders();
  absl::MutexLock lock(&decoders.mutex);
  decoders.by_name.insert_or_assign(std::string(type_name), std::move(decoder));
}

StatusOr<Variant> DecodeVariant(VariantData data) {
  if (data.type_name.empty() && data.metadata.empty() && data.tensors.empty()) return Variant();
  VariantDecoder decoder;
  Decoders& decoders = AllDecoders();
  {
    absl::MutexLock lock(&decoders.mutex);
    auto it = decoders.by_name.find(data.type_name);
    if (it != decoders.by_name.end()) decoder = it->second;
  }
  if (!decoder) return Variant(std::make_shared<OpaqueVariant>(std::move(data)));
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<VariantValue> value, decoder(std::move(data)));
  return Variant(std::move(value));
}

}  // namespace weir
