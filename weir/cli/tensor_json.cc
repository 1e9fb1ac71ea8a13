#include "weir/cli/tensor_json.h"

#include <charconv>
#include <cmath>
#include <complex>

#include "absl/strings/escaping.h"

namespace weir {
namespace {

using Json = nlohmann::ordered_json;

bool IsUtf8(const std::string& text) {
  // The writer of the library refuses anything else.
  try {
    Json(text).dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

Json Number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

template <typename T>
Json Value(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (IsUtf8(value)) return value;
    return {{"base64", absl::Base64Escape(value)}};
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return Json::array({Number(value.real()), Number(value.imag())});
  } else if constexpr (std::is_integral_v<T>) {
    return value;
  } else if constexpr (std::is_same_v<T, float>) {
    if (!std::isfinite(value)) return Number(value);
    // The double whose shortest text is that of the float: 0.1, not 0.10000000149011612.
    char text[32];
    char* end = std::to_chars(text, text + sizeof(text), value).ptr;
    double wide = value;
    std::from_chars(text, end, wide);
    return wide;
  } else if constexpr (std::is_same_v<T, double>) {
    return Number(value);
  } else {
    return Number(static_cast<double>(static_cast<float>(value)));
  }
}

}  // namespace

Json TypeToJson(DType dtype, const PartialShape& shape) {
  Json out = {{"dtype", std::string(PythonName(dtype))}};
  if (shape.has_rank()) {
    out["shape"] = std::vector<int64_t>(shape.dims().begin(), shape.dims().end());
  } else {
    out["shape"] = nullptr;
  }
  return out;
}

Json TensorToJson(const Tensor& tensor, int64_t max_values) {
  Json out = TypeToJson(tensor.dtype(), tensor.shape());
  DispatchDType(tensor.dtype(), decltype(NumberTypes{} + TypeList<bool, std::string>{}){}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Json values = Json::array();
    for (int64_t i = 0; i < std::min(tensor.num_elements(), max_values); ++i)
      values.push_back(Value(tensor.data<T>()[i]));
    out["values"] = std::move(values);
    if (tensor.num_elements() > max_values) out["truncated"] = true;
  });
  return out;
}

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace weir
