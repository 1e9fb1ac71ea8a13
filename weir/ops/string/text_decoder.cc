#include "weir/ops/string/text_decoder.h"

#include <iconv.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/ascii.h"

namespace weir {
namespace {

constexpr char32_t kInvalidPiece = 0xFFFD;
constexpr size_t kLongest = 8;  // bytes of a character

class Conversion {
 public:
  explicit Conversion(const std::string& name) : handle_(iconv_open("UTF-32LE", name.c_str())) {}
  Conversion(const Conversion&) = delete;
  Conversion& operator=(const Conversion&) = delete;
  ~Conversion() {
    if (ok()) iconv_close(handle_);
  }
  bool ok() const { return handle_ != reinterpret_cast<iconv_t>(-1); }

  struct Result {
    size_t taken = 0;         // bytes
    size_t produced = 0;      // code points
    bool incomplete = false;  // more bytes are needed
    bool invalid = false;
  };
  Result Convert(std::string_view bytes, char32_t (&out)[4]) {
    char* from = const_cast<char*>(bytes.data());  // iconv does not write there
    char* to = reinterpret_cast<char*>(out);
    size_t from_left = bytes.size(), to_left = sizeof(out);
    const bool failed = iconv(handle_, &from, &from_left, &to, &to_left) == static_cast<size_t>(-1);
    Result result{bytes.size() - from_left, (sizeof(out) - to_left) / sizeof(char32_t)};
    result.incomplete = failed && errno == EINVAL;
    result.invalid = failed && errno == EILSEQ;
    return result;
  }

 private:
  const iconv_t handle_;
};

// The pages of Windows leave some bytes open, which stand for the control characters of these numbers.
bool IsWindowsPage(std::string_view name) { return name.starts_with("WINDOWS-125") || name.starts_with("CP125"); }

}  // namespace

std::optional<TextDecoder> TextDecoder::Make(std::string_view name) {
  if (std::optional<TextEncoding> encoding = ParseTextEncoding(name)) return TextDecoder(*encoding);
  if (name.empty() || name.find('/') != name.npos) return std::nullopt;
  std::string upper(name);
  absl::AsciiStrToUpper(&upper);
  if (!Conversion(upper).ok()) return std::nullopt;
  return TextDecoder(std::move(upper));
}

void TextDecoder::ForEachCodePoint(std::string_view text, const CodePointVisitor& visit) const {
  if (system_name_.empty()) return weir::ForEachCodePoint(text, encoding_, visit);
  Conversion conversion(system_name_);
  size_t shifts = 0;  // bytes that changed the state, part of the next character
  for (size_t at = 0; at < text.size();) {
    char32_t out[4];
    Conversion::Result result;
    size_t length = 0;
    do {
      result = conversion.Convert(text.substr(at, ++length), out);
    } while (result.incomplete && result.taken == 0 && length < std::min(kLongest, text.size() - at));
    if (result.invalid || result.incomplete) {
      const uint8_t first = static_cast<uint8_t>(text[at]), last = static_cast<uint8_t>(text[at + length - 1]);
      const bool is_control = first >= 0x80 && first < 0xA0 && IsWindowsPage(system_name_);
      // A byte that cannot be the second of two begins a character of its own.
      result.taken = result.incomplete ? text.size() - at : length > 1 && last < 0x40 ? 1 : length;
      visit(is_control ? first : kInvalidPiece, shifts + result.taken, is_control);
      shifts = 0;
    } else if (result.produced == 0) {
      shifts += result.taken;
    }
    for (size_t i = 0; i < result.produced; ++i) {
      visit(out[i], i == 0 ? shifts + result.taken : 0, true);
      shifts = 0;
    }
    at += std::max<size_t>(1, result.taken);
  }
}

}  // namespace weir
