#include "weir/serving/json_reader.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace weir {
namespace {

constexpr int kMaxDepth = 200;

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    *out += static_cast<char>(code);
  } else if (code < 0x800) {
    *out += static_cast<char>(0xc0 | code >> 6);
    *out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    *out += static_cast<char>(0xe0 | code >> 12);
    *out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    *out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    *out += static_cast<char>(0xf0 | code >> 18);
    *out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    *out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    *out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

template <typename T>
StatusOr<T> ToFloating(std::string_view number) {
  if (number == "NaN") return std::numeric_limits<T>::quiet_NaN();
  if (number == "Infinity") return std::numeric_limits<T>::infinity();
  if (number == "-Infinity") return -std::numeric_limits<T>::infinity();
  T value = 0;
  auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error == std::errc::result_out_of_range) {
    // Too small is zero; too large does not fit.
    double wide = 0;
    auto again = std::from_chars(number.data(), number.data() + number.size(), wide);
    if (again.ec == std::errc() && std::fabs(wide) < 1) return static_cast<T>(wide);
    if (again.ec != std::errc() && number.find("e-") != number.npos) return T{0};
    return InvalidArgument("JSON Value: ", number, " is too large");
  }
  if (error != std::errc() || end != number.data() + number.size()) {
    return InvalidArgument("JSON Value: ", number, " is not a number");
  }
  return value;
}

}  // namespace

bool IsJsonInteger(std::string_view number) {
  return number.find_first_not_of("-0123456789") == number.npos && !number.empty();
}
StatusOr<double> JsonToDouble(std::string_view number) { return ToFloating<double>(number); }
StatusOr<float> JsonToFloat(std::string_view number) { return ToFloating<float>(number); }

Status JsonReader::Error(std::string_view what) const {
  return InvalidArgument("JSON Parse error: ", what, " at offset: ", at_);
}

void JsonReader::SkipSpace() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
    ++at_;
}

bool JsonReader::Take(char c) {
  SkipSpace();
  if (at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

JsonReader::Kind JsonReader::Peek() {
  SkipSpace();
  if (at_ >= text_.size()) return Kind::kEnd;
  switch (text_[at_]) {
    case '{':
      return Kind::kObject;
    case '[':
      return Kind::kArray;
    case '"':
      return Kind::kString;
    case 't':
    case 'f':
      return Kind::kBool;
    case 'n':
      return Kind::kNull;
    case 'N':
    case 'I':
    case '-':
      return Kind::kNumber;
    default:
      return IsDigit(text_[at_]) ? Kind::kNumber : Kind::kInvalid;
  }
}

Status JsonReader::ReadArray(absl::FunctionRef<Status()> element) {
  if (!Take('[')) return Error("an array is expected");
  if (++depth_ > kMaxDepth) return Error("too deep");
  if (!Take(']')) {
    do {
      WEIR_RETURN_IF_ERROR(element());
    } while (Take(','));
    if (!Take(']')) return Error("',' or ']' is expected");
  }
  --depth_;
  return OkStatus();
}

Status JsonReader::ReadObject(absl::FunctionRef<Status(std::string key)> member) {
  if (!Take('{')) return Error("an object is expected");
  if (++depth_ > kMaxDepth) return Error("too deep");
  if (!Take('}')) {
    do {
      if (Peek() != Kind::kString) return Error("a key is expected");
      WEIR_ASSIGN_OR_RETURN(std::string key, ReadString());
      if (!Take(':')) return Error("':' is expected");
      WEIR_RETURN_IF_ERROR(member(std::move(key)));
    } while (Take(','));
    if (!Take('}')) return Error("',' or '}' is expected");
  }
  --depth_;
  return OkStatus();
}

StatusOr<std::string> JsonReader::ReadString() {
  if (!Take('"')) return Error("a string is expected");
  std::string out;
  auto hex = [&](uint32_t* code) {
    if (text_.size() - at_ < 4) return false;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, *code, 16);
    if (error != std::errc() || end != text_.data() + at_ + 4) return false;
    at_ += 4;
    return true;
  };
  while (true) {
    const size_t stop = text_.find_first_of("\"\\", at_);
    if (stop == text_.npos) return Error("a string does not end");
    out.append(text_.substr(at_, stop - at_));
    at_ = stop + 1;
    if (text_[stop] == '"') return out;
    if (at_ >= text_.size()) return Error("a string does not end");
    const char c = text_[at_++];
    constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
    if (size_t which = kFrom.find(c); which != kFrom.npos) {
      out += kTo[which];
      continue;
    }
    uint32_t code = 0, low = 0;
    if (c != 'u' || !hex(&code)) return Error("an unknown escape");
    if (code >= 0xd800 && code < 0xdc00) {
      if (!text_.substr(at_).starts_with("\\u")) return Error("half of a surrogate pair");
      at_ += 2;
      if (!hex(&low) || low < 0xdc00 || low > 0xdfff) return Error("half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    AppendUtf8(code, &out);
  }
}

StatusOr<bool> JsonReader::ReadBool() {
  SkipSpace();
  for (std::string_view word : {"true", "false"}) {
    if (!text_.substr(at_).starts_with(word)) continue;
    at_ += word.size();
    return word == "true";
  }
  return Error("true or false is expected");
}

StatusOr<std::string_view> JsonReader::ReadNumber() {
  SkipSpace();
  for (std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
    if (!text_.substr(at_).starts_with(word)) continue;
    at_ += word.size();
    return word;
  }
  const size_t begin = at_;
  auto digits = [&] {
    const size_t first = at_;
    while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
    return at_ > first;
  };
  if (at_ < text_.size() && text_[at_] == '-') ++at_;
  const size_t first = at_;
  if (!digits()) return Error("a number is expected");
  if (text_[first] == '0' && at_ > first + 1) return Error("a number begins with a zero");
  if (at_ < text_.size() && text_[at_] == '.') {
    ++at_;
    if (!digits()) return Error("a digit is expected");
  }
  if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    ++at_;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
    if (!digits()) return Error("a digit is expected");
  }
  return text_.substr(begin, at_ - begin);
}

Status JsonReader::Skip(int depth) {
  switch (Peek()) {
    case Kind::kObject:
      return ReadObject([&](std::string) { return Skip(depth + 1); });
    case Kind::kArray:
      return ReadArray([&] { return Skip(depth + 1); });
    case Kind::kString:
      return ReadString().status();
    case Kind::kNumber:
      return ReadNumber().status();
    case Kind::kBool:
      return ReadBool().status();
    case Kind::kNull:
      if (!text_.substr(at_).starts_with("null")) return Error("a value is expected");
      at_ += 4;
      return OkStatus();
    default:
      return Error("a value is expected");
  }
}

StatusOr<std::string_view> JsonReader::SkipValue() {
  SkipSpace();
  const size_t begin = at_;
  WEIR_RETURN_IF_ERROR(Skip(0));
  return text_.substr(begin, at_ - begin);
}

Status JsonReader::ExpectEnd() { return Peek() == Kind::kEnd ? OkStatus() : Error("more than one value"); }

}  // namespace weir
