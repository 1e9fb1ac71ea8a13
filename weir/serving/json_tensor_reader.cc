#include <charconv>
#include <map>
#include <memory>

#include "absl/strings/escaping.h"
#include "weir/serving/json_tensors.h"

namespace weir {
namespace {

template <typename T>
StatusOr<T> ParseInteger(std::string_view number) {
  T value = 0;
  auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (!IsJsonInteger(number) || error != std::errc() || end != number.data() + number.size()) {
    return InvalidArgument("JSON Value: ", number, " is not an integer of the input's type");
  }
  return value;
}

// Collects values of one input, item by item, all of the same shape.
class TensorBuilder {
 public:
  TensorBuilder(std::string name, DType dtype) : name_(std::move(name)), dtype_(dtype) {}

  Status AddItem(JsonReader* reader) {
    WEIR_RETURN_IF_ERROR(AddNested(reader, 0));
    rank_known_ = true;
    ++items_;
    return OkStatus();
  }

  // With `batched` the number of items is the first dimension; else there is one item.
  StatusOr<Tensor> Build(bool batched) {
    Shape shape;
    if (batched) WEIR_RETURN_IF_ERROR(shape.AddDim(items_));
    for (int64_t dim : dims_) WEIR_RETURN_IF_ERROR(shape.AddDim(dim));
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(dtype_, shape));
    if (dtype_ == DType::kString) {
      if (out.num_elements() != static_cast<int64_t>(strings_.size())) return Irregular();
      std::move(strings_.begin(), strings_.end(), out.data<std::string>());
    } else {
      if (out.num_bytes() != bytes_.size()) return Irregular();
      if (!bytes_.empty()) std::memcpy(out.raw_data(), bytes_.data(), bytes_.size());
    }
    return out;
  }

 private:
  Status Irregular() const {
    return InvalidArgument("JSON Value for tensor name: ", name_, " has irregular shape: lists of different lengths");
  }

  Status AddNested(JsonReader* reader, size_t level) {
    if (reader->Peek() != JsonReader::Kind::kArray) {
      if (!leaf_known_) {
        leaf_level_ = level;
        leaf_known_ = true;
      }
      if (level != leaf_level_) return Irregular();
      return AddValue(reader);
    }
    int64_t length = 0;
    WEIR_RETURN_IF_ERROR(reader->ReadArray([&] {
      ++length;
      return AddNested(reader, level + 1);
    }));
    if (level >= dims_.size()) dims_.resize(level + 1, -1);
    if (dims_[level] < 0) dims_[level] = length;
    return dims_[level] == length ? OkStatus() : Irregular();
  }

  template <typename T>
  void Append(T value) {
    const char* raw = reinterpret_cast<const char*>(&value);
    bytes_.insert(bytes_.end(), raw, raw + sizeof(T));
  }
  template <typename T, typename Wide>
  Status AppendInteger(std::string_view number) {
    WEIR_ASSIGN_OR_RETURN(Wide value, ParseInteger<Wide>(number));
    Append(static_cast<T>(value));
    return OkStatus();
  }

  Status AddValue(JsonReader* reader) {
    if (dtype_ == DType::kString) {
      WEIR_ASSIGN_OR_RETURN(std::string value, ReadJsonBytes(reader));
      strings_.push_back(std::move(value));
      return OkStatus();
    }
    if (dtype_ == DType::kBool) {
      WEIR_ASSIGN_OR_RETURN(bool value, reader->ReadBool());
      Append(value);
      return OkStatus();
    }
    if (reader->Peek() != JsonReader::Kind::kNumber) {
      return InvalidArgument("JSON Value of tensor ", name_, " is not of expected type: ", Name(dtype_));
    }
    WEIR_ASSIGN_OR_RETURN(std::string_view number, reader->ReadNumber());
    switch (dtype_) {
      case DType::kFloat: {
        WEIR_ASSIGN_OR_RETURN(float value, JsonToFloat(number));
        Append(value);
        return OkStatus();
      }
      case DType::kDouble: {
        WEIR_ASSIGN_OR_RETURN(double value, JsonToDouble(number));
        Append(value);
        return OkStatus();
      }
      case DType::kInt8:
        return AppendInteger<int8_t, int32_t>(number);
      case DType::kInt16:
        return AppendInteger<int16_t, int32_t>(number);
      case DType::kInt32:
        return AppendInteger<int32_t, int32_t>(number);
      case DType::kInt64:
        return AppendInteger<int64_t, int64_t>(number);
      case DType::kUInt8:
        return AppendInteger<uint8_t, int32_t>(number);
      case DType::kUInt16:
        return AppendInteger<uint16_t, int32_t>(number);
      case DType::kUInt32:
        return AppendInteger<uint32_t, uint32_t>(number);
      case DType::kUInt64:
        return AppendInteger<uint64_t, uint64_t>(number);
      default:
        return Unimplemented("Conversion of JSON Value to type: ", Name(dtype_), " is not supported (tensor ", name_,
                             ")");
    }
  }

  const std::string name_;
  const DType dtype_;
  int64_t items_ = 0;
  bool rank_known_ = false;
  bool leaf_known_ = false;
  size_t leaf_level_ = 0;
  std::vector<int64_t> dims_;  // of an item
  std::vector<char> bytes_;
  std::vector<std::string> strings_;
};

// Whether an object is a value of bytes: its only key is "b64".
bool IsBytesObject(JsonReader reader) {
  bool only = true;
  const Status read = reader.ReadObject([&](const std::string& key) {
    only = only && key == "b64";
    return reader.SkipValue().status();
  });
  return read.ok() && only;
}

bool IsNamedObject(const JsonReader& reader, const Signature& signature) {
  JsonReader copy = reader;
  if (copy.Peek() != JsonReader::Kind::kObject) return false;
  const bool one_string = signature.inputs.size() == 1 && signature.inputs.begin()->second.dtype == DType::kString;
  return !(one_string && !signature.inputs.contains("b64") && IsBytesObject(copy));
}

using Builders = std::map<std::string, TensorBuilder>;

Builders MakeBuilders(const Signature& signature) {
  Builders out;
  for (const auto& [name, input] : signature.inputs) out.try_emplace(name, name, input.dtype);
  return out;
}

// An object with a value for each input.
Status AddNamed(JsonReader* reader, const Signature& signature, Builders* builders) {
  std::set<std::string> given;
  WEIR_RETURN_IF_ERROR(reader->ReadObject([&](std::string key) -> Status {
    auto builder = builders->find(key);
    if (builder == builders->end()) return InvalidArgument("the signature has no input '", key, "'");
    if (!given.insert(key).second) return InvalidArgument("input '", key, "' is given twice");
    return builder->second.AddItem(reader);
  }));
  for (const auto& [name, input] : signature.inputs) {
    if (!given.contains(name) && !signature.defaults.contains(name)) {
      return InvalidArgument("Missing named input: ", name, " in an object of inputs");
    }
  }
  return OkStatus();
}

StatusOr<NamedTensors> BuildAll(Builders builders, const std::set<std::string>& given, bool batched) {
  NamedTensors out;
  for (auto& [name, builder] : builders) {
    if (!given.contains(name)) continue;
    WEIR_ASSIGN_OR_RETURN(Tensor tensor, builder.Build(batched));
    out.emplace_back(name, std::move(tensor));
  }
  return out;
}

std::set<std::string> KeysOf(JsonReader reader) {
  std::set<std::string> keys;
  (void)reader.ReadObject([&](std::string key) {
    keys.insert(std::move(key));
    return reader.SkipValue().status();
  });
  return keys;
}

}  // namespace

StatusOr<std::string> ReadJsonBytes(JsonReader* reader) {
  if (reader->Peek() == JsonReader::Kind::kString) return reader->ReadString();
  if (reader->Peek() != JsonReader::Kind::kObject) return reader->Error("a string is expected");
  std::string out;
  int keys = 0;
  WEIR_RETURN_IF_ERROR(reader->ReadObject([&](const std::string& key) -> Status {
    if (key != "b64" || ++keys > 1) return reader->Error("an object of bytes has one key, 'b64'");
    WEIR_ASSIGN_OR_RETURN(std::string text, reader->ReadString());
    if (!absl::Base64Unescape(text, &out)) return InvalidArgument("Unable to base64 decode");
    return OkStatus();
  }));
  if (keys == 0) return reader->Error("an object of bytes has one key, 'b64'");
  return out;
}

StatusOr<NamedTensors> ReadInstances(std::string_view json, const Signature& signature) {
  JsonReader reader(json);
  if (reader.Peek() != JsonReader::Kind::kArray) {
    return InvalidArgument("Expecting 'instances' value to be an list/array");
  }
  Builders builders = MakeBuilders(signature);
  int64_t count = 0;
  bool named = false;
  std::set<std::string> given;
  WEIR_RETURN_IF_ERROR(reader.ReadArray([&]() -> Status {
    const bool is_named = IsNamedObject(reader, signature);
    if (count++ == 0) {
      named = is_named;
      given = named ? KeysOf(reader) : std::set<std::string>{};
    }
    if (named != is_named) return InvalidArgument("instances must be all objects or all plain values");
    if (named) {
      if (count > 1 && KeysOf(reader) != given) return InvalidArgument("all instances must have the same keys");
      return AddNamed(&reader, signature, &builders);
    }
    if (builders.size() != 1) {
      return InvalidArgument(
          "instances is a plain list, but expecting list of objects as multiple input tensors required "
          "as per tensorinfo_map");
    }
    return builders.begin()->second.AddItem(&reader);
  }));
  if (count == 0) return InvalidArgument("'instances' is empty");
  if (!named) given.insert(builders.begin()->first);
  return BuildAll(std::move(builders), given, /*batched=*/true);
}

StatusOr<NamedTensors> ReadInputs(std::string_view json, const Signature& signature) {
  JsonReader reader(json);
  Builders builders = MakeBuilders(signature);
  std::set<std::string> given;
  if (IsNamedObject(reader, signature)) {
    given = KeysOf(reader);
    WEIR_RETURN_IF_ERROR(AddNamed(&reader, signature, &builders));
  } else if (builders.size() == 1) {
    given.insert(builders.begin()->first);
    WEIR_RETURN_IF_ERROR(builders.begin()->second.AddItem(&reader));
  } else {
    return InvalidArgument(
        "inputs is a plain value/list, but expecting an object as multiple input tensors required as "
        "per tensorinfo_map");
  }
  return BuildAll(std::move(builders), given, /*batched=*/false);
}

}  // namespace weir
