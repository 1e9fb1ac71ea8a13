#include "weir/base/parse_number.h"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <type_traits>

namespace weir {
namespace {

constexpr std::string_view kBlanks = " \t\n\v\f\r";

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace

template <typename T>
bool ParseNumber(std::string_view text, T* value) {
  text = Trim(text);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) return false;
  }
  // A blank behind the sign: strtod would skip it.
  if (text.empty() || kBlanks.find(text[0]) != kBlanks.npos) return false;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error == std::errc() && end == text.data() + text.size()) return true;
  if constexpr (std::is_floating_point_v<T>) {
    // Overflow and hexadecimal numbers: the C library knows them too.
    const std::string copy(text);
    char* stop = nullptr;
    *value = std::is_same_v<T, float> ? static_cast<T>(std::strtof(copy.c_str(), &stop))
                                      : static_cast<T>(std::strtod(copy.c_str(), &stop));
    return stop == copy.c_str() + copy.size();
  }
  return false;
}

template bool ParseNumber(std::string_view, float*);
template bool ParseNumber(std::string_view, double*);
template bool ParseNumber(std::string_view, int32_t*);
template bool ParseNumber(std::string_view, int64_t*);
template bool ParseNumber(std::string_view, uint32_t*);
template bool ParseNumber(std::string_view, uint64_t*);

}  // namespace weir
