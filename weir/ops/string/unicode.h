// Code points of encoded text, and case.
#ifndef WEIR_OPS_STRING_UNICODE_H_
#define WEIR_OPS_STRING_UNICODE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

enum class TextEncoding { kUtf8, kUtf16, kUtf16Be, kUtf16Le, kUtf32, kUtf32Be, kUtf32Le, kAscii, kLatin1 };

// "UTF-8", "utf16-be", "US-ASCII", ... in any case, with or without hyphens; nothing for encodings that are not known.
std::optional<TextEncoding> ParseTextEncoding(std::string_view name);

// Calls visit(code point, bytes it took, whether the bytes were valid) for each character. Invalid bytes come as
// U+FFFD, one for each longest piece that could have begun a character.
using CodePointVisitor = std::function<void(char32_t code_point, size_t bytes, bool valid)>;
void ForEachCodePoint(std::string_view text, TextEncoding encoding, const CodePointVisitor& visit);

inline bool IsValidCodePoint(int64_t c) { return c >= 0 && c <= 0x10FFFF && !(c >= 0xD800 && c <= 0xDFFF); }

// REQUIRES: a valid code point; one of UTF-8, UTF-16-BE, UTF-32-BE (the others encode as UTF-8).
void AppendCodePoint(char32_t code_point, TextEncoding encoding, std::string& out);

// UTF-8 text in the other case, by Unicode's full mappings without a language.
std::string Utf8ToLower(std::string_view text);
std::string Utf8ToUpper(std::string_view text);

// The number that ICU gives to the script of a code point; -1 if it is none.
int32_t UnicodeScriptOf(int64_t code_point);

}  // namespace weir

#endif  // WEIR_OPS_STRING_UNICODE_H_
