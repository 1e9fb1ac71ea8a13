#include "tests/fixture_tensors.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "absl/strings/escaping.h"
#include "weir/tensor/npy.h"

namespace weir {
namespace {

double NumberFromJson(const nlohmann::json& json) {
  if (!json.is_string()) return json.get<double>();
  const auto text = json.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return text == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

template <typename T>
void Fill(const nlohmann::json& values, Tensor& out) {
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<T, bool>) {
      out.data<bool>()[i] = values[i].get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      out.data<T>()[i] = values[i].get<T>();
    } else {
      out.data<T>()[i] = static_cast<T>(NumberFromJson(values[i]));
    }
  }
}

bool Near(double got, double want, const Tolerance& tolerance) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want)) return got == want;
  return std::abs(got - want) <= tolerance.absolute + tolerance.relative * std::abs(want);
}

template <typename T>
bool Same(const T& got, const T& want, const Tolerance& tolerance) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return Near(got.real(), want.real(), tolerance) && Near(got.imag(), want.imag(), tolerance);
  } else if constexpr (std::is_floating_point_v<T>) {
    return Near(got, want, tolerance);
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return Near(static_cast<float>(got), static_cast<float>(want), tolerance);
  } else if constexpr (std::is_same_v<T, std::string>) {
    // The fixtures' texts went through NumPy, which drops zero bytes at the end.
    return got == want || (got.starts_with(want) && got.find_first_not_of('\0', want.size()) == got.npos);
  } else {
    return got == want;
  }
}

using ComparedTypes = decltype(NumberTypes{} + TypeList<bool, std::string>{});

}  // namespace

std::string ReadFixture(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

StatusOr<Tensor> TensorFromJson(const nlohmann::json& json, const std::string& folder) {
  auto dtype = ParseDType(json.at("dtype").get<std::string>());
  if (!dtype) return InvalidArgument("unknown type ", json.at("dtype").get<std::string>());
  if (json.contains("file")) return ReadNpy(Cat(folder, "/", json["file"].get<std::string>()));
  WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(json.at("shape").get<std::vector<int64_t>>()));
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(*dtype, shape));
  if (*dtype == DType::kString) {
    bool hex = json.contains("hex");
    const auto& values = json.at(hex ? "hex" : "values");
    for (size_t i = 0; i < values.size(); ++i) {
      auto text = values[i].get<std::string>();
      out.data<std::string>()[i] = hex ? absl::HexStringToBytes(text) : text;
    }
    return out;
  }
  bool known = DispatchDType(*dtype, decltype(RealTypes{} + TypeList<bool>{}){},
                             [&](auto tag) { Fill<typename decltype(tag)::type>(json.at("values"), out); });
  if (!known) return InvalidArgument("cannot read values of type ", Name(*dtype));
  return out;
}

std::string Difference(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  if (got.dtype() != want.dtype()) return Cat("type ", Name(got.dtype()), " instead of ", Name(want.dtype()));
  if (!(got.shape() == want.shape()))
    return Cat("shape ", got.shape().ToString(), " instead of ", want.shape().ToString());
  std::string out;
  bool known = DispatchDType(want.dtype(), ComparedTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < want.num_elements() && out.empty(); ++i) {
      if (Same(got.data<T>()[i], want.data<T>()[i], tolerance)) continue;
      out = Cat("element ", i, ": got ", got.ToString(16), ", want ", want.ToString(16));
    }
  });
  return known ? out : Cat("cannot compare ", Name(want.dtype()));
}

}  // namespace weir
