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

StatusOr<std::shared_ptr<VariantValue>> VariantValue::ZerosLike() const {
  return Unimplemented("no zeros_like for a variant of type ", type_name());
}

StatusOr<std::shared_ptr<VariantValue>> VariantValue::Add(const VariantValue& other) const {
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
