#include "tests/op_fuzz/values.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "weir/tensor/resource_handle.h"
#include "weir/tensor/variant.h"

namespace weir::op_fuzz {
namespace {

constexpr int64_t kExtremes[] = {
    -1,        -2,        -7,        100,       255,       256,           65536,     1 << 20,   INT32_MAX,
    INT32_MIN, 1LL << 31, 1LL << 32, 1LL << 40, 1LL << 62, INT64_MAX - 1, INT64_MAX, INT64_MIN, INT64_MIN + 1};
constexpr float kOddFloats[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e30f, -1e30f, 1e-40f, 1e9f, 4e18f, -1e10f};
constexpr int64_t kMaxElements = 2048;

const std::vector<std::string>& Strings() {
  static const auto* strings = new std::vector<std::string>{
      "",
      "a",
      "b",
      "ab",
      "1",
      "-1",
      "2.5",
      "1,2,3",
      "a b c",
      "hello world",
      std::string("\0\1", 2),
      "\xff\xfe\xfd",
      "\xe6\x97\xa5\xe6\x9c\xac",
      "\xf0\x9f\x98\x80 x",
      "\xe6\x97",
      "(((",
      "[a-z]+",
      "(a)(b)?",
      "\\9\\1",
      "%d %s {} %n",
      "file",
      "dir/file",
      "/no/such/file",
      "*",
      "../x",
      "NHWC",
      "NCHW",
      "SAME",
      "VALID",
      "ij,jk->ik",
      "...ij,...jk->...ik",
      "ii->i",
      "i,i->",
      "->",
      "UTF-8",
      "UTF-16-BE",
      "nan",
      "1e400",
      "99999999999999999999",
      "true",
      "{\"features\":{}}",
      "\n\n",
      ",\"\",",
      "YWJj",
      "\x89PNG\r\n\x1a\n",
      "\xff\xd8\xff\xe0",
      "GIF89a\x02",
      "BM6",
      "RIFF....WEBPVP8 ",
      "RIFF$...WAVEfmt ",
      "\x1f\x8b\x08",
      "\x0a\x05\x0a\x03\x0a\x01\x61",
      std::string(300, 'x'),
      std::string(5000, '('),
  };
  return *strings;
}

enum class Fill { kSmall, kIota, kSame, kPermuted, kSorted, kSigned, kExtreme, kMixed };

Fill AnyFill(Chance& chance) {
  const int64_t roll = chance.Below(100);
  if (roll < 45) return Fill::kSmall;
  if (roll < 55) return Fill::kIota;
  if (roll < 65) return Fill::kSame;
  if (roll < 72) return Fill::kPermuted;
  if (roll < 80) return Fill::kSorted;
  if (roll < 88) return Fill::kSigned;
  if (roll < 93) return Fill::kExtreme;
  return Fill::kMixed;
}

std::vector<int64_t> Integers(int64_t count, Chance& chance) {
  std::vector<int64_t> out(static_cast<size_t>(count));
  const Fill fill = AnyFill(chance);
  const int64_t span = 1 + chance.Below(6);
  const int64_t same = SmallNumber(chance);
  std::iota(out.begin(), out.end(), 0);
  for (int64_t& value : out) {
    switch (fill) {
      case Fill::kSmall:
      case Fill::kSorted:
        value = chance.Below(span);
        break;
      case Fill::kSame:
        value = same;
        break;
      case Fill::kSigned:
        value = chance.Below(7) - 3;
        break;
      case Fill::kExtreme:
        value = chance.OneOf(kExtremes);
        break;
      case Fill::kMixed:
        value = AnyNumber(chance);
        break;
      case Fill::kIota:
      case Fill::kPermuted:
        break;
    }
  }
  if (fill == Fill::kSorted) std::sort(out.begin(), out.end());
  if (fill == Fill::kPermuted) {
    for (int64_t i = count - 1; i > 0; --i)
      std::swap(out[static_cast<size_t>(i)], out[static_cast<size_t>(chance.Below(i + 1))]);
  }
  return out;
}

ResourceHandle AnyHandle(Chance& chance) {
  ResourceHandle handle;
  if (chance.Percent(50)) return handle;
  handle.name = AnyString(chance);
  handle.container = chance.Percent(50) ? "localhost" : AnyString(chance);
  handle.device = "/job:localhost/replica:0/task:0/device:CPU:0";
  handle.type_name = "Variable";
  return handle;
}

Variant AnyVariant(Chance& chance) {
  if (chance.Percent(60)) return Variant();
  VariantData data;
  data.type_name = "tensorflow::TensorList";
  data.metadata = AnyString(chance);
  auto decoded = DecodeVariant(std::move(data));
  return decoded.ok() ? *std::move(decoded) : Variant();
}

}  // namespace

int64_t SmallNumber(Chance& chance) { return chance.Below(5); }

int64_t AnyNumber(Chance& chance) {
  if (chance.Percent(75)) return SmallNumber(chance);
  if (chance.Percent(40)) return -1;
  return chance.OneOf(kExtremes);
}

float AnyFloat(Chance& chance) {
  if (chance.Percent(15)) return chance.OneOf(kOddFloats);
  return static_cast<float>(chance.Below(2001) - 1000) / 500.0f;
}

std::string AnyString(Chance& chance) { return chance.OneOf(Strings()); }

DType AnyType(Chance& chance) {
  static constexpr DType kCommon[] = {DType::kFloat, DType::kFloat,  DType::kInt32, DType::kInt64,
                                      DType::kFloat, DType::kString, DType::kBool,  DType::kDouble};
  if (chance.Percent(80)) return chance.OneOf(kCommon);
  return static_cast<DType>(1 + chance.Below(kMaxDType));
}

std::vector<int64_t> AnyTheme(Chance& chance) {
  static constexpr int kRanks[] = {0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4, 5, 6};
  std::vector<int64_t> dims(static_cast<size_t>(chance.OneOf(kRanks)));
  const int64_t most = chance.Percent(85) ? 4 : 9;
  for (int64_t& dim : dims) dim = chance.Percent(4) ? 0 : 1 + chance.Below(most);
  if (dims.size() >= 2 && chance.Percent(5)) {  // empty, but not small
    dims[static_cast<size_t>(chance.Below(static_cast<int64_t>(dims.size())))] = int64_t{1} << (24 + chance.Below(20));
    dims[static_cast<size_t>(chance.Below(static_cast<int64_t>(dims.size())))] = 0;
  }
  if (dims.size() >= 2 && chance.Percent(40)) dims[dims.size() - 1] = dims[dims.size() - 2];  // square matrices
  return dims;
}

namespace {

Shape ShapeOr(const std::vector<int64_t>& dims) {
  auto shape = Shape::Make(dims);
  if (!shape.ok() || shape->num_elements() > kMaxElements) return Shape({2});
  return *std::move(shape);
}

}  // namespace

namespace {

// No element, and sizes whose product with others does not fit.
Shape HugeAndEmpty(Chance& chance) {
  std::vector<int64_t> dims(static_cast<size_t>(2 + chance.Below(3)));
  for (int64_t& dim : dims) dim = chance.Percent(50) ? int64_t{1} << (20 + chance.Below(30)) : 1 + chance.Below(3);
  dims[static_cast<size_t>(chance.Below(static_cast<int64_t>(dims.size())))] = 0;
  return ShapeOr(dims);
}

}  // namespace

Shape AnyShape(const std::vector<int64_t>& theme, Chance& chance) {
  const int64_t rank = static_cast<int64_t>(theme.size());
  const int64_t roll = chance.Below(100);
  auto some_dim = [&]() -> int64_t {
    return rank > 0 && chance.Percent(70) ? theme[static_cast<size_t>(chance.Below(rank))] : chance.Below(5);
  };
  if (roll < 40) return ShapeOr(theme);
  if (roll < 55) return Shape();
  if (roll < 63) return ShapeOr({some_dim()});
  if (roll < 69) return ShapeOr({rank});
  if (roll < 73) return ShapeOr({some_dim(), rank});
  if (roll < 76) return ShapeOr({rank, 2});
  if (roll < 82) return ShapeOr({theme.begin(), theme.begin() + (rank > 0 ? chance.Below(rank) : 0)});
  if (roll < 88) return ShapeOr({theme.end() - (rank > 0 ? chance.Below(rank) : 0), theme.end()});
  if (roll < 94) return NearShape(ShapeOr(theme), chance);
  if (roll < 95) return HugeAndEmpty(chance);
  std::vector<int64_t> dims(static_cast<size_t>(chance.Below(6)));
  for (int64_t& dim : dims) dim = some_dim();
  return ShapeOr(dims);
}

Shape NearShape(const Shape& shape, Chance& chance) {
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  const int64_t rank = shape.rank();
  switch (chance.Below(6)) {
    case 0:
      dims.insert(dims.begin() + chance.Below(rank + 1), 1 + chance.Below(3));
      break;
    case 1:
      if (rank > 0) dims.erase(dims.begin() + chance.Below(rank));
      break;
    case 2:
      if (rank > 0) dims[static_cast<size_t>(chance.Below(rank))] = 1;
      break;
    case 3:
      if (rank > 0) dims[static_cast<size_t>(chance.Below(rank))] = 0;
      break;
    case 4:
      if (rank > 1)
        std::swap(dims[static_cast<size_t>(chance.Below(rank))], dims[static_cast<size_t>(chance.Below(rank))]);
      break;
    default:
      if (rank > 0) dims[static_cast<size_t>(chance.Below(rank))] += 1 + chance.Below(2);
      break;
  }
  return ShapeOr(dims);
}

PartialShape AnyPartialShape(const std::vector<int64_t>& theme, Chance& chance) {
  if (chance.Percent(10)) return PartialShape::Unknown();
  if (chance.Percent(5)) {
    std::vector<int64_t> dims = {AnyNumber(chance), AnyNumber(chance)};
    if (auto made = PartialShape::Make(dims); made.ok()) return *std::move(made);
  }
  return Blurred(AnyShape(theme, chance), chance);
}

PartialShape Blurred(const Shape& shape, Chance& chance) {
  if (chance.Percent(15)) return PartialShape::Unknown();
  PartialShape out(shape);
  const int percent = static_cast<int>(chance.Below(3)) * 50;
  for (int i = 0; i < out.rank(); ++i) {
    if (chance.Percent(percent)) out.set_dim(i, PartialShape::kUnknown);
  }
  return out;
}

Tensor AnyTensor(DType dtype, const Shape& shape, Chance& chance) {
  auto made = Tensor::Zeros(dtype, shape);
  if (!made.ok()) return Tensor();
  Tensor out = *std::move(made);
  const int64_t count = out.num_elements();
  const bool odd = chance.Percent(15);
  const bool whole = chance.Percent(30);
  DispatchDType(dtype, AllTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* data = out.data<T>();
    std::vector<int64_t> integers;
    if (std::is_integral_v<T> || whole) integers = Integers(count, chance);
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, std::string>) {
        data[i] = AnyString(chance);
      } else if constexpr (std::is_same_v<T, ResourceHandle>) {
        data[i] = AnyHandle(chance);
      } else if constexpr (std::is_same_v<T, Variant>) {
        data[i] = AnyVariant(chance);
      } else if constexpr (std::is_same_v<T, bool>) {
        data[i] = chance.Percent(50);
      } else if constexpr (std::is_integral_v<T>) {
        data[i] = static_cast<T>(integers[static_cast<size_t>(i)]);
      } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
        using R = typename T::value_type;
        data[i] = T(static_cast<R>(AnyFloat(chance)), static_cast<R>(odd ? AnyFloat(chance) : 0.5f));
      } else if constexpr (requires { T{}.value; }) {  // quantised
        data[i].value = static_cast<decltype(T{}.value)>(chance.Bits());
      } else if constexpr (std::is_constructible_v<T, float>) {
        const float value = odd ? AnyFloat(chance) : static_cast<float>(chance.Below(2001) - 1000) / 500.0f;
        data[i] = static_cast<T>(whole ? static_cast<float>(integers[static_cast<size_t>(i)]) : value);
      }
    }
  });
  return out;
}

}  // namespace weir::op_fuzz
