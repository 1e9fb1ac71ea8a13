// TensorMap: the value of a map variant, from tensors to tensors.
#include "absl/container/flat_hash_map.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/queue/arithmetic.h"
#include "weir/ops/queue/register.h"
#include "weir/resources/tuple.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

// A key's type, shape and contents as one string. UNIMPLEMENTED for keys without plain contents.
StatusOr<std::string> KeyText(const Tensor& key) {
  std::string text = Cat(Name(key.dtype()), key.shape().ToString(), ":");
  if (IsPlain(key.dtype())) {
    text.append(static_cast<const char*>(key.raw_data()), key.num_bytes());
  } else if (key.dtype() == DType::kString) {
    for (const std::string& s : key.span<std::string>()) text += Cat(s.size(), ":", s);
  } else {
    return Unimplemented("A map key cannot be of type ", Name(key.dtype()));
  }
  return text;
}

class TensorMap : public VariantValue {
 public:
  static constexpr std::string_view kTypeName = "tensorflow::TensorMap";
  struct Entry {
    Tensor key;
    Tensor value;
  };
  // In the order of first insertion.
  std::vector<Entry> entries;
  StringMap<size_t> index;

  std::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override { return "TensorMap"; }

  StatusOr<VariantData> Encode() const override {
    VariantData data;
    data.type_name = kTypeName;
    for (const Entry& entry : entries) {
      data.tensors.push_back(entry.key);
      data.tensors.push_back(entry.value);
    }
    return data;
  }
  static StatusOr<std::shared_ptr<VariantValue>> Decode(VariantData data) {
    if (data.tensors.size() % 2 != 0) return DataLoss("A tensor map on the wire has a key without a value");
    auto map = std::make_shared<TensorMap>();
    for (size_t i = 0; i < data.tensors.size(); i += 2) {
      WEIR_RETURN_IF_ERROR(map->Insert(data.tensors[i], data.tensors[i + 1]));
    }
    return std::shared_ptr<VariantValue>(std::move(map));
  }
  StatusOr<std::shared_ptr<VariantValue>> ZerosLike(TensorArithmetic&) const override {
    return std::shared_ptr<VariantValue>(std::make_shared<TensorMap>());
  }
  StatusOr<std::shared_ptr<VariantValue>> Add(const VariantValue& other, TensorArithmetic& arithmetic) const override {
    const auto* b = dynamic_cast<const TensorMap*>(&other);
    if (b == nullptr) return InvalidArgument("Trying to add a map of tensors and a ", other.type_name());
    auto out = std::make_shared<TensorMap>(*this);
    for (const Entry& entry : b->entries) {
      WEIR_ASSIGN_OR_RETURN(Entry * mine, out->Find(entry.key));
      if (mine == nullptr) {
        WEIR_RETURN_IF_ERROR(out->Insert(entry.key, entry.value));
      } else {
        WEIR_ASSIGN_OR_RETURN(mine->value, arithmetic.Sum(mine->value, entry.value));
      }
    }
    return std::shared_ptr<VariantValue>(std::move(out));
  }

  // Keys stay with the host.
  std::vector<Tensor> LocalTensors() const override {
    std::vector<Tensor> out;
    for (const Entry& entry : entries) out.push_back(entry.value);
    return out;
  }
  std::shared_ptr<VariantValue> WithLocalTensors(std::vector<Tensor> copies) const override {
    auto out = std::make_shared<TensorMap>(*this);
    for (size_t i = 0; i < copies.size(); ++i) out->entries[i].value = std::move(copies[i]);
    return out;
  }

  // Null if the key is not there.
  StatusOr<Entry*> Find(const Tensor& key) {
    WEIR_ASSIGN_OR_RETURN(std::string text, KeyText(key));
    auto found = index.find(text);
    return found == index.end() ? nullptr : &entries[found->second];
  }
  Status Insert(const Tensor& key, const Tensor& value) {
    WEIR_ASSIGN_OR_RETURN(std::string text, KeyText(key));
    auto [place, is_new] = index.emplace(std::move(text), entries.size());
    if (is_new) {
      entries.push_back({key, value});
    } else {
      entries[place->second].value = value;
    }
    return OkStatus();
  }
  StatusOr<bool> Erase(const Tensor& key) {
    WEIR_ASSIGN_OR_RETURN(std::string text, KeyText(key));
    auto found = index.find(text);
    if (found == index.end()) return false;
    size_t place = found->second;
    index.erase(found);
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(place));
    for (auto& [other, position] : index) position -= position > place;
    return true;
  }
};

StatusOr<TensorMap*> MapInput(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  if (input.dtype() != DType::kVariant || input.rank() != 0) {
    return InvalidArgument("Input map must be a scalar. Saw: ", input.shape().ToString());
  }
  const Variant& variant = input.scalar<Variant>();
  if (auto* map = variant.get_if<TensorMap>()) return map;
  std::string text = "Variant<no value>";
  if (variant.has_value()) {
    text = Cat("Variant<type: ", variant.get()->type_name(), " value: ", variant.get()->DebugString(), ">");
  }
  return InvalidArgument("Input handle is not a map. Saw: '", text, "'");
}

// As MutableListOutput of lists.
StatusOr<TensorMap*> MutableMapOutput(KernelContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(TensorMap * map, MapInput(ctx));
  Tensor& input = ctx.input_slot(0).tensor;
  if (input.unique() && input.data<Variant>()->unique()) {
    ctx.set_output(0, ctx.TakeInput(0));
    return map;
  }
  auto copy = std::make_shared<TensorMap>(*map);
  TensorMap* mine = copy.get();
  ctx.set_output(0, Tensor::Scalar(Variant(std::move(copy))));
  return mine;
}

std::string KeySummary(const Tensor& key) { return key.SummarizeValues(1); }

class EmptyMapKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar(Variant(std::make_shared<TensorMap>())));
    return OkStatus();
  }
};

class MapInsertKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(TensorMap * map, MutableMapOutput(ctx));
    return map->Insert(ctx.input(1), ctx.input(2));
  }
};

class MapLookupKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(TensorMap * map, MapInput(ctx));
    WEIR_ASSIGN_OR_RETURN(TensorMap::Entry * entry, map->Find(ctx.input(1)));
    if (entry == nullptr) {
      return InvalidArgument("Trying to lookup non-existent key. Could not find key \"", KeySummary(ctx.input(1)),
                             "\".");
    }
    if (entry->value.dtype() != ctx.output_type(0)) {
      return InvalidArgument("The value is of type ", Name(entry->value.dtype()), ", not ", Name(ctx.output_type(0)));
    }
    ctx.set_output(0, entry->value);
    return OkStatus();
  }
};

class MapEraseKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(TensorMap * map, MapInput(ctx));
    WEIR_ASSIGN_OR_RETURN(TensorMap::Entry * entry, map->Find(ctx.input(1)));
    if (entry == nullptr) {
      return InvalidArgument("Trying to erase non-existent item. Could not find key \"", KeySummary(ctx.input(1)),
                             "\".");
    }
    WEIR_ASSIGN_OR_RETURN(TensorMap * out, MutableMapOutput(ctx));
    return out->Erase(ctx.input(1)).status();
  }
};

class MapHasKeyKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(TensorMap * map, MapInput(ctx));
    WEIR_ASSIGN_OR_RETURN(TensorMap::Entry * entry, map->Find(ctx.input(1)));
    ctx.set_output(0, Tensor::Scalar(entry != nullptr));
    return OkStatus();
  }
};

class TensorMapSizeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(TensorMap * map, MapInput(ctx));
    ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(map->entries.size())));
    return OkStatus();
  }
};

class MapStackKeysKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(TensorMap * map, MapInput(ctx));
    if (map->entries.empty()) return InvalidArgument("TensorMapStackKeys cannot be called on empty map.");
    std::vector<const Tensor*> keys;
    for (const TensorMap::Entry& entry : map->entries) {
      if (entry.key.dtype() != ctx.output_type(0)) return InvalidArgument("Key does not match requested dtype.");
      if (entry.key.shape() != map->entries[0].key.shape()) {
        return InvalidArgument("Keys must all have the same shape.");
      }
      keys.push_back(&entry.key);
    }
    WEIR_ASSIGN_OR_RETURN(Tensor stacked, StackTensors(keys));
    ctx.set_output(0, std::move(stacked));
    return OkStatus();
  }
};

}  // namespace

void RegisterTensorMapKernels(KernelRegistry& registry) {
  RegisterVariantDecoder(TensorMap::kTypeName, TensorMap::Decode);
  registry.Add(KernelBuilder("EmptyTensorMap"), MakeKernel<EmptyMapKernel>);
  registry.Add(KernelBuilder("TensorMapInsert"), MakeKernel<MapInsertKernel>);
  registry.Add(KernelBuilder("TensorMapLookup"), MakeKernel<MapLookupKernel>);
  registry.Add(KernelBuilder("TensorMapErase"), MakeKernel<MapEraseKernel>);
  registry.Add(KernelBuilder("TensorMapHasKey"), MakeKernel<MapHasKeyKernel>);
  registry.Add(KernelBuilder("TensorMapSize"), MakeKernel<TensorMapSizeKernel>);
  registry.Add(KernelBuilder("TensorMapStackKeys"), MakeKernel<MapStackKeysKernel>);
}

}  // namespace weir
