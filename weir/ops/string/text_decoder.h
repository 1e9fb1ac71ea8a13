// Code points of text in any encoding: those of unicode.h, and what the system's iconv knows, such as "Shift-JIS".
#ifndef WEIR_OPS_STRING_TEXT_DECODER_H_
#define WEIR_OPS_STRING_TEXT_DECODER_H_

#include <optional>
#include <string>
#include <string_view>

#include "weir/ops/string/unicode.h"

namespace weir {

// Immutable.
class TextDecoder {
 public:
  // Nothing for an encoding that nobody knows.
  static std::optional<TextDecoder> Make(std::string_view name);

  // As the function of this name; bytes that may begin a character but end the text are one invalid piece.
  void ForEachCodePoint(std::string_view text, const CodePointVisitor& visit) const;

 private:
  explicit TextDecoder(TextEncoding encoding) : encoding_(encoding) {}
  explicit TextDecoder(std::string system_name) : system_name_(std::move(system_name)) {}

  TextEncoding encoding_ = TextEncoding::kUtf8;
  std::string system_name_;  // of iconv; empty: `encoding_` counts
};

}  // namespace weir

#endif  // WEIR_OPS_STRING_TEXT_DECODER_H_
