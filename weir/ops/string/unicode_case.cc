#include <algorithm>
#include <span>

#include "weir/ops/string/unicode.h"
#include "weir/ops/string/unicode_tables.h"

namespace weir {
namespace {

using unicode_tables::CaseRange;

char32_t Map(char32_t c, std::span<const CaseRange> ranges) {
  auto next =
      std::upper_bound(ranges.begin(), ranges.end(), c, [](char32_t x, const CaseRange& r) { return x < r.first; });
  // Ranges of every second character may lie inside each other.
  for (int looked = 0; next != ranges.begin() && looked < 4; ++looked) {
    const CaseRange& range = *--next;
    if (c <= range.last && (c - range.first) % range.stride == 0) return c + range.delta;
  }
  return c;
}

char32_t Lower(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  return Map(c, {unicode_tables::kLower, unicode_tables::kLowerSize});
}

char32_t Upper(char32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z' ? c - 32 : c;
  return Map(c, {unicode_tables::kUpper, unicode_tables::kUpperSize});
}

bool IsCased(char32_t c) { return Lower(c) != c || Upper(c) != c; }

std::u32string Decode(std::string_view text) {
  std::u32string out;
  ForEachCodePoint(text, TextEncoding::kUtf8, [&out](char32_t c, size_t, bool) { out += c; });
  return out;
}

}  // namespace

std::string Utf8ToLower(std::string_view text) {
  constexpr char32_t kSigma = 0x3A3, kFinalSigma = 0x3C2, kDottedI = 0x130;
  const std::u32string from = Decode(text);
  std::string out;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == kDottedI) {
      out += "i\xCC\x87";
    } else if (from[i] == kSigma && i > 0 && IsCased(from[i - 1]) && !(i + 1 < from.size() && IsCased(from[i + 1]))) {
      AppendCodePoint(kFinalSigma, TextEncoding::kUtf8, out);
    } else {
      AppendCodePoint(Lower(from[i]), TextEncoding::kUtf8, out);
    }
  }
  return out;
}

std::string Utf8ToUpper(std::string_view text) {
  const std::span several(unicode_tables::kUpperToSeveral, unicode_tables::kUpperToSeveralSize);
  std::string out;
  ForEachCodePoint(text, TextEncoding::kUtf8, [&](char32_t c, size_t, bool) {
    auto found = std::lower_bound(several.begin(), several.end(), c,
                                  [](const auto& entry, char32_t x) { return entry.from < x; });
    if (c < 0x80 || found == several.end() || found->from != c) {
      return AppendCodePoint(Upper(c), TextEncoding::kUtf8, out);
    }
    for (char32_t to : found->to) {
      if (to != 0) AppendCodePoint(to, TextEncoding::kUtf8, out);
    }
  });
  return out;
}

int32_t UnicodeScriptOf(int64_t c) {
  if (c < 0 || c > 0x10FFFF) return -1;
  const std::span scripts(unicode_tables::kScripts, unicode_tables::kScriptsSize);
  auto next = std::upper_bound(scripts.begin(), scripts.end(), static_cast<char32_t>(c),
                               [](char32_t x, const auto& entry) { return x < entry.first; });
  return std::prev(next)->script;
}

}  // namespace weir
