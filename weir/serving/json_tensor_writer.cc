#include <charconv>
#include <cmath>

#include "absl/strings/escaping.h"
#include "weir/serving/json_tensors.h"

namespace weir {
namespace {

constexpr char kIndent[] = "    ";

template <typename T>
void AppendFloating(T value, std::string* out) {
  if (std::isnan(value)) {
    *out += "NaN";
  } else if (std::isinf(value)) {
    *out += value < 0 ? "-Infinity" : "Infinity";
  } else {
    char text[40];
    char* end = std::to_chars(text, text + sizeof(text), value).ptr;
    const std::string_view written(text, static_cast<size_t>(end - text));
    out->append(written);
    if (written.find_first_of(".e") == written.npos) *out += ".0";
  }
}

template <typename T>
void AppendInteger(T value, std::string* out) {
  char text[24];
  out->append(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

// Writes element `i` of a tensor.
using Writer = void (*)(const Tensor&, int64_t i, bool as_bytes, std::string*);

template <typename T>
Writer IntegerWriter() {
  return [](const Tensor& tensor, int64_t i, bool, std::string* out) { AppendInteger(tensor.data<T>()[i], out); };
}

StatusOr<Writer> WriterOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return
          [](const Tensor& tensor, int64_t i, bool, std::string* out) { AppendFloating(tensor.data<float>()[i], out); };
    case DType::kDouble:
      return [](const Tensor& tensor, int64_t i, bool, std::string* out) {
        AppendFloating(tensor.data<double>()[i], out);
      };
    case DType::kBool:
      return [](const Tensor& tensor, int64_t i, bool, std::string* out) {
        *out += tensor.data<bool>()[i] ? "true" : "false";
      };
    case DType::kString:
      return [](const Tensor& tensor, int64_t i, bool as_bytes, std::string* out) {
        const std::string& value = tensor.data<std::string>()[i];
        if (!as_bytes) return AppendJsonString(value, out);
        *out += Cat("{\"b64\": \"", absl::Base64Escape(value), "\"}");
      };
    case DType::kInt8:
      return [](const Tensor& tensor, int64_t i, bool, std::string* out) {
        AppendInteger(static_cast<int>(tensor.data<int8_t>()[i]), out);
      };
    case DType::kUInt8:
      return [](const Tensor& tensor, int64_t i, bool, std::string* out) {
        AppendInteger(static_cast<int>(tensor.data<uint8_t>()[i]), out);
      };
    case DType::kInt16:
      return IntegerWriter<int16_t>();
    case DType::kUInt16:
      return IntegerWriter<uint16_t>();
    case DType::kInt32:
      return IntegerWriter<int32_t>();
    case DType::kUInt32:
      return IntegerWriter<uint32_t>();
    case DType::kInt64:
      return IntegerWriter<int64_t>();
    case DType::kUInt64:
      return IntegerWriter<uint64_t>();
    default:
      return Unimplemented("Writing of type ", Name(dtype), " as JSON is not supported");
  }
}

struct Output {
  const std::string& name;
  const Tensor& tensor;
  Writer write;
  bool as_bytes;

  // The elements below dimension `level`, from element `at` on.
  void Append(int level, int64_t* at, std::string* out) const {
    if (level == tensor.rank()) return write(tensor, (*at)++, as_bytes, out);
    *out += '[';
    for (int64_t i = 0; i < tensor.dim(level); ++i) {
      if (i > 0) *out += ", ";
      Append(level + 1, at, out);
    }
    *out += ']';
  }
};

StatusOr<std::vector<Output>> Prepare(const NamedTensors& outputs) {
  std::vector<Output> out;
  for (const auto& [name, tensor] : outputs) {
    WEIR_ASSIGN_OR_RETURN(Writer write, WriterOf(tensor.dtype()));
    out.push_back({name, tensor, write, name.ends_with("_bytes")});
  }
  return out;
}

}  // namespace

void AppendJsonFloat(float value, std::string* out) { AppendFloating(value, out); }

void AppendJsonString(std::string_view text, std::string* out) {
  *out += '"';
  for (char c : text) {
    switch (c) {
      case '"':
        *out += "\\\"";
        break;
      case '\\':
        *out += "\\\\";
        break;
      case '\n':
        *out += "\\n";
        break;
      case '\r':
        *out += "\\r";
        break;
      case '\t':
        *out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          constexpr char kHex[] = "0123456789abcdef";
          *out += "\\u00";
          *out += kHex[c >> 4];
          *out += kHex[c & 15];
        } else {
          *out += c;
        }
    }
  }
  *out += '"';
}

Status WritePredictions(const NamedTensors& outputs, std::string* out) {
  WEIR_ASSIGN_OR_RETURN(std::vector<Output> prepared, Prepare(outputs));
  if (prepared.empty()) return InvalidArgument("the signature has no outputs");
  int64_t rows = -1;
  for (const Output& output : prepared) {
    if (output.tensor.rank() == 0) {
      return InvalidArgument("Tensor name: ", output.name,
                             " has no shape information, so it has no rows; use 'inputs' in the request");
    }
    if (rows >= 0 && output.tensor.dim(0) != rows) {
      return InvalidArgument("Tensor name: ", output.name, " has inconsistent batch size: ", output.tensor.dim(0),
                             " expecting: ", rows);
    }
    rows = output.tensor.dim(0);
  }
  *out += Cat("{\n", kIndent, "\"predictions\": [");
  std::vector<int64_t> at(prepared.size(), 0);
  for (int64_t row = 0; row < rows; ++row) {
    if (row > 0) *out += prepared.size() == 1 ? ", " : ",";
    if (prepared.size() == 1) {
      prepared[0].Append(1, &at[0], out);
      continue;
    }
    *out += Cat("\n", kIndent, kIndent, "{");
    for (size_t i = 0; i < prepared.size(); ++i) {
      *out += Cat(i > 0 ? "," : "", "\n", kIndent, kIndent, kIndent);
      AppendJsonString(prepared[i].name, out);
      *out += ": ";
      prepared[i].Append(1, &at[i], out);
    }
    *out += Cat("\n", kIndent, kIndent, "}");
  }
  *out += prepared.size() == 1 ? "]\n}" : Cat("\n", kIndent, "]\n}");
  return OkStatus();
}

Status WriteOutputs(const NamedTensors& outputs, std::string* out) {
  WEIR_ASSIGN_OR_RETURN(std::vector<Output> prepared, Prepare(outputs));
  if (prepared.empty()) return InvalidArgument("the signature has no outputs");
  *out += Cat("{\n", kIndent, "\"outputs\": ");
  if (prepared.size() == 1) {
    int64_t at = 0;
    prepared[0].Append(0, &at, out);
  } else {
    *out += '{';
    for (size_t i = 0; i < prepared.size(); ++i) {
      int64_t at = 0;
      *out += Cat(i > 0 ? "," : "", "\n", kIndent, kIndent);
      AppendJsonString(prepared[i].name, out);
      *out += ": ";
      prepared[i].Append(0, &at, out);
    }
    *out += Cat("\n", kIndent, "}");
  }
  *out += "\n}";
  return OkStatus();
}

}  // namespace weir
