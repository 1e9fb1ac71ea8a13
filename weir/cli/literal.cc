#include "weir/cli/literal.h"

#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace weir {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Status Parse() {
    WEIR_RETURN_IF_ERROR(ParseValue(0));
    if (Peek() != '\0') return Error("there is more after its end");
    return OkStatus();
  }
  const std::vector<std::string>& values() const { return values_; }
  const std::vector<int64_t>& dims() const { return dims_; }

 private:
  template <typename... Args>
  Status Error(const Args&... args) {
    return InvalidArgument("bad value '", whole_, "': ", args...);
  }
  char Peek() {
    while (!text_.empty() && absl::ascii_isspace(static_cast<unsigned char>(text_.front()))) text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_.front();
  }

  Status ParseValue(size_t depth) {
    if (Peek() != '[') {
      // The first value tells how deep all of them lie.
      if (!depth_known_) {
        depth_known_ = true;
        value_depth_ = depth;
      }
      if (depth != value_depth_) return Error("its lists are not equally deep");
      return ParseScalar();
    }
    if (depth >= static_cast<size_t>(Shape::kMaxRank)) return Error("its lists are too deep");
    text_.remove_prefix(1);
    int64_t count = 0;
    while (Peek() != ']') {
      WEIR_RETURN_IF_ERROR(ParseValue(depth + 1));
      ++count;
      if (Peek() == ',') {
        text_.remove_prefix(1);
      } else if (Peek() != ']') {
        return Error("a list needs ',' or ']'");
      }
    }
    text_.remove_prefix(1);
    if (dims_.size() <= depth) dims_.resize(depth + 1, -1);
    if (dims_[depth] >= 0 && dims_[depth] != count) return Error("its lists have different lengths");
    if (depth_known_ ? depth >= value_depth_ : count > 0 && dims_.size() <= depth + 1) {
      return Error("its lists are not equally deep");
    }
    dims_[depth] = count;
    return OkStatus();
  }

  Status ParseScalar() {
    char quote = Peek();
    std::string value;
    if (quote == '"' || quote == '\'') {
      text_.remove_prefix(1);
      while (!text_.empty() && text_.front() != quote) {
        if (text_.front() == '\\' && text_.size() > 1) text_.remove_prefix(1);
        value.push_back(text_.front());
        text_.remove_prefix(1);
      }
      if (text_.empty()) return Error("a quote is not closed");
      text_.remove_prefix(1);
    } else {
      size_t end = text_.find_first_of(",]");
      value = std::string(absl::StripAsciiWhitespace(ToAbsl(text_.substr(0, end))));
      text_.remove_prefix(std::min(end, text_.size()));
      if (value.empty()) return Error("a value is missing");
    }
    values_.push_back(std::move(value));
    return OkStatus();
  }

  std::string_view text_;
  std::string_view whole_ = text_;
  std::vector<std::string> values_;
  std::vector<int64_t> dims_;
  bool depth_known_ = false;
  size_t value_depth_ = 0;
};

template <typename T>
bool Convert(const std::string& text, T* out) {
  if constexpr (std::is_same_v<T, std::string>) {
    *out = text;
    return true;
  } else if constexpr (std::is_same_v<T, bool>) {
    return absl::SimpleAtob(text, out);
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_unsigned_v<T>) {
      uint64_t wide;
      if (!absl::SimpleAtoi(text, &wide) || wide > std::numeric_limits<T>::max()) return false;
      *out = static_cast<T>(wide);
    } else {
      int64_t wide;
      if (!absl::SimpleAtoi(text, &wide) || wide < std::numeric_limits<T>::min() ||
          wide > std::numeric_limits<T>::max()) {
        return false;
      }
      *out = static_cast<T>(wide);
    }
    return true;
  } else {
    double wide;
    if (!absl::SimpleAtod(text, &wide)) return false;
    if constexpr (std::is_same_v<T, double>) {
      *out = wide;
    } else {
      *out = T(static_cast<float>(wide));
    }
    return true;
  }
}

}  // namespace

StatusOr<Tensor> ParseLiteral(std::string_view text, DType dtype) {
  // A bare word is a string as it stands, commas and all.
  if (dtype == DType::kString && !text.starts_with('[') && !text.starts_with('"') && !text.starts_with('\'')) {
    return Tensor::Scalar(std::string(text));
  }
  Parser parser(text);
  WEIR_RETURN_IF_ERROR(parser.Parse());
  WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(parser.dims()));
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(dtype, shape));
  if (out.num_elements() != static_cast<int64_t>(parser.values().size())) {
    return InvalidArgument("bad value '", text, "': its lists have different lengths");
  }
  Status status;
  bool known = DispatchDType(dtype, decltype(RealTypes{} + TypeList<bool, std::string>{}){}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* next = out.data<T>();
    for (const std::string& value : parser.values()) {
      if (!Convert(value, next++)) {
        status = InvalidArgument("'", value, "' is not a value of type ", Name(dtype));
        return;
      }
    }
  });
  if (!known) return InvalidArgument("values of type ", Name(dtype), " cannot be written here; give a .npy file");
  WEIR_RETURN_IF_ERROR(status);
  return out;
}

}  // namespace weir
