#include "weir/ops/string/unicode.h"

#include <algorithm>
#include <cctype>

namespace weir {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

uint32_t Byte(std::string_view text, size_t i) { return static_cast<uint8_t>(text[i]); }

struct Decoded {
  char32_t code_point;
  size_t bytes;
  bool valid = true;
};

Decoded Utf8At(std::string_view text, size_t at) {
  const uint32_t lead = Byte(text, at);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xC2 || lead > 0xF4) return {kReplacement, 1, false};
  const size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms, surrogates and what is beyond Unicode.
  uint32_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  uint32_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t value = lead & (0xFF >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if (at + i >= text.size() || Byte(text, at + i) < low || Byte(text, at + i) > high) return {kReplacement, i, false};
    value = value << 6 | (Byte(text, at + i) & 0x3F);
    low = 0x80;
    high = 0xBF;
  }
  return {value, size};
}

Decoded Utf16At(std::string_view text, size_t at, bool big) {
  auto unit = [&](size_t i) { return Byte(text, i + (big ? 0 : 1)) << 8 | Byte(text, i + (big ? 1 : 0)); };
  if (at + 2 > text.size()) return {kReplacement, text.size() - at, false};
  const char32_t first = unit(at);
  if (first < 0xD800 || first > 0xDFFF) return {first, 2};
  if (first > 0xDBFF || at + 4 > text.size()) {
    return {kReplacement, first > 0xDBFF ? 2 : text.size() - at, false};
  }
  const char32_t second = unit(at + 2);
  if (second < 0xDC00 || second > 0xDFFF) return {kReplacement, 2, false};
  return {0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00), 4};
}

Decoded Utf32At(std::string_view text, size_t at, bool big) {
  if (at + 4 > text.size()) return {kReplacement, text.size() - at, false};
  char32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | Byte(text, at + (big ? i : 3 - i));
  if (!IsValidCodePoint(value)) return {kReplacement, 4, false};
  return {value, 4};
}

Decoded CodePointAt(std::string_view text, size_t at, TextEncoding encoding) {
  switch (encoding) {
    case TextEncoding::kUtf8:
      return Utf8At(text, at);
    case TextEncoding::kUtf16:
    case TextEncoding::kUtf16Be:
      return Utf16At(text, at, true);
    case TextEncoding::kUtf16Le:
      return Utf16At(text, at, false);
    case TextEncoding::kUtf32:
    case TextEncoding::kUtf32Be:
      return Utf32At(text, at, true);
    case TextEncoding::kUtf32Le:
      return Utf32At(text, at, false);
    case TextEncoding::kAscii:
      return Byte(text, at) < 0x80 ? Decoded{Byte(text, at), 1} : Decoded{kReplacement, 1, false};
    case TextEncoding::kLatin1:
      return {Byte(text, at), 1};
  }
  return {kReplacement, 1, false};
}

}  // namespace

std::optional<TextEncoding> ParseTextEncoding(std::string_view name) {
  std::string key;
  for (char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  static constexpr std::pair<std::string_view, TextEncoding> kNames[] = {
      {"utf8", TextEncoding::kUtf8},       {"utf16", TextEncoding::kUtf16},   {"utf16be", TextEncoding::kUtf16Be},
      {"utf16le", TextEncoding::kUtf16Le}, {"utf32", TextEncoding::kUtf32},   {"utf32be", TextEncoding::kUtf32Be},
      {"utf32le", TextEncoding::kUtf32Le}, {"usascii", TextEncoding::kAscii}, {"ascii", TextEncoding::kAscii},
      {"iso88591", TextEncoding::kLatin1}, {"latin1", TextEncoding::kLatin1},
  };
  for (const auto& [known, encoding] : kNames) {
    if (key == known) return encoding;
  }
  return std::nullopt;
}

void ForEachCodePoint(std::string_view text, TextEncoding encoding, const CodePointVisitor& visit) {
  // A byte-order mark decides for the encodings that leave the order open, and counts as part of the first character.
  const size_t size = text.size();
  if (encoding == TextEncoding::kUtf16 && text.size() >= 2) {
    if (text.substr(0, 2) == "\xFF\xFE") encoding = TextEncoding::kUtf16Le;
    if (encoding == TextEncoding::kUtf16Le || text.substr(0, 2) == "\xFE\xFF") text.remove_prefix(2);
  } else if (encoding == TextEncoding::kUtf32 && text.size() >= 4) {
    using std::string_view_literals::operator""sv;
    if (text.substr(0, 4) == "\xFF\xFE\0\0"sv) encoding = TextEncoding::kUtf32Le;
    if (encoding == TextEncoding::kUtf32Le || text.substr(0, 4) == "\0\0\xFE\xFF"sv) text.remove_prefix(4);
  }
  size_t mark = size - text.size();
  for (size_t at = 0; at < text.size();) {
    const Decoded decoded = CodePointAt(text, at, encoding);
    visit(decoded.code_point, mark + decoded.bytes, decoded.valid);
    at += decoded.bytes;
    mark = 0;
  }
}

void AppendCodePoint(char32_t c, TextEncoding encoding, std::string& out) {
  auto byte = [&out](uint32_t b) { out += static_cast<char>(b & 0xFF); };
  auto unit = [&](uint32_t u) {
    byte(u >> 8);
    byte(u);
  };
  if (encoding == TextEncoding::kUtf32Be) {
    unit(c >> 16);
    unit(c);
  } else if (encoding == TextEncoding::kUtf16Be) {
    if (c < 0x10000) return unit(c);
    unit(0xD800 + ((c - 0x10000) >> 10));
    unit(0xDC00 + ((c - 0x10000) & 0x3FF));
  } else if (c < 0x80) {
    byte(c);
  } else {
    const int size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    byte((0xF00 >> size) | c >> (6 * (size - 1)));
    for (int i = size - 2; i >= 0; --i) byte(0x80 | (c >> (6 * i) & 0x3F));
  }
}

}  // namespace weir
