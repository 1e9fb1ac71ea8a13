// Tensors as text, in the formats of TensorFlow's Print, Assert and StringFormat.
#include <cstdio>
#include <cstdlib>

#include "absl/strings/escaping.h"
#include "weir/tensor/resource_handle.h"
#include "weir/tensor/tensor.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

// The fewest digits of two attempts that read back as the same number.
void AppendFloat(double value, int digits, int more_digits, bool single, std::string* out) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.*g", digits, value);
  bool same = single ? std::strtof(text, nullptr) == static_cast<float>(value) : std::strtod(text, nullptr) == value;
  if (value != value) std::snprintf(text, sizeof(text), "nan");
  if (value == value && !same) std::snprintf(text, sizeof(text), "%.*g", more_digits, value);
  *out += text;
}

// Formats the elements of one tensor.
class Printer {
 public:
  Printer(const Tensor& tensor, bool quoted) : tensor_(tensor), quoted_(quoted) {}

  void AppendElement(int64_t i, std::string* out) const {
    DType dtype = tensor_.dtype();
    bool done = DispatchDType(dtype, PlainTypes{} + TypeList<std::string, Variant>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T& value = tensor_.data<T>()[i];
      if constexpr (std::is_same_v<T, std::string>) {
        std::string escaped = absl::Utf8SafeCEscape(value);
        *out += quoted_ ? Cat("\"", escaped, "\"") : escaped;
      } else if constexpr (std::is_same_v<T, Variant>) {
        *out += value.has_value() ? value.get()->DebugString() : "<empty>";
      } else if constexpr (std::is_same_v<T, double>) {
        AppendFloat(value, 15, 17, false, out);
      } else if constexpr (std::is_integral_v<T>) {
        absl::StrAppend(out, +value);
      } else if constexpr (std::is_constructible_v<float, T>) {
        AppendFloat(static_cast<float>(value), 6, 9, true, out);
      } else if constexpr (requires { +value.value; }) {
        absl::StrAppend(out, +value.value);
      } else {
        *out += '?';
      }
    });
    if (!done) *out += '?';
  }

  // Elements in order until `limit` of them are shown; brackets around every dimension but the first.
  void AppendFirst(int dim, int64_t limit, int64_t* next, std::string* out) const {
    if (*next >= limit) return;
    const Shape& shape = tensor_.shape();
    bool innermost = dim == shape.rank() - 1;
    for (int64_t i = 0; i < shape.dim(dim); ++i) {
      if (*next >= limit) {
        if (innermost && dim != 0) *out += "...";
        return;
      }
      if (innermost) {
        if (i > 0) *out += ' ';
        AppendElement((*next)++, out);
      } else {
        *out += '[';
        AppendFirst(dim + 1, limit, next, out);
        *out += ']';
      }
    }
  }

  // `ends` elements at each end of each dimension, one row a line.
  void AppendEnds(int dim, int64_t offset, int64_t ends, std::string* out) const {
    const Shape& shape = tensor_.shape();
    if (dim == shape.rank()) return AppendElement(offset, out);
    int64_t size = shape.dim(dim);
    int64_t stride = shape.Slice(dim + 1, shape.rank()).num_elements();
    auto separate = [&] {
      int lines = shape.rank() - dim - 1;
      if (lines == 0) {
        *out += ' ';
      } else {
        out->append(lines, '\n');
        out->append(dim + 1, ' ');
      }
    };
    *out += '[';
    int64_t first = std::min(ends, size);
    for (int64_t i = 0; i < first; ++i) {
      if (i > 0) separate();
      AppendEnds(dim + 1, offset + i * stride, ends, out);
    }
    int64_t last = std::min(ends, size - first);
    if (size - first > last) {
      separate();
      *out += "...";
    }
    for (int64_t i = size - last; i < size; ++i) {
      separate();
      AppendEnds(dim + 1, offset + i * stride, ends, out);
    }
    *out += ']';
  }

 private:
  const Tensor& tensor_;
  bool quoted_;
};

// Types that TensorFlow shows without their shape.
bool IsFlat(DType dtype) { return IsComplex(dtype) || dtype == DType::kVariant || dtype == DType::kResource; }

}  // namespace

std::string Tensor::SummarizeValues(int64_t max_entries, bool print_v2) const {
  if (!has_value()) return "<no value>";
  int64_t count = num_elements();
  int64_t limit = max_entries < 0 ? count : std::min(max_entries, count);
  Printer printer(*this, print_v2);
  std::string out;
  if (print_v2 && rank() > 0 && !IsFlat(dtype())) {
    printer.AppendEnds(0, 0, limit, &out);
    return out;
  }
  if (print_v2 && rank() > 0) out += '[';
  if (rank() == 0 || IsFlat(dtype())) {
    for (int64_t i = 0; i < limit; ++i) {
      if (i > 0) out += ' ';
      printer.AppendElement(i, &out);
    }
  } else {
    int64_t next = 0;
    printer.AppendFirst(0, limit, &next, &out);
  }
  if (limit < count) out += "...";
  if (print_v2 && rank() > 0) out += ']';
  return out;
}

std::string Tensor::ToString(int max_elements) const {
  if (!has_value()) return "<no value>";
  std::string out = Cat(Name(dtype()), " ", shape().ToString(), ":");
  Printer printer(*this, true);
  int64_t shown = std::min<int64_t>(std::max(max_elements, 0), num_elements());
  for (int64_t i = 0; i < shown; ++i) {
    out += ' ';
    printer.AppendElement(i, &out);
  }
  if (shown < num_elements()) out += " ...";
  return out;
}

}  // namespace weir
