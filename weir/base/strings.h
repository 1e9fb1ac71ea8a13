// Strings over std::string_view. Debian's Abseil has its own string_view class; these few functions keep it out of
// our interfaces.
#ifndef WEIR_BASE_STRINGS_H_
#define WEIR_BASE_STRINGS_H_

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "weir/base/export.h"

namespace WEIR_PUBLIC weir {

inline absl::string_view ToAbsl(std::string_view s) { return absl::string_view(s.data(), s.size()); }
inline std::string_view FromAbsl(absl::string_view s) { return std::string_view(s.data(), s.size()); }

namespace strings_internal {
template <typename T>
decltype(auto) Piece(const T& value) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    return ToAbsl(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return absl::string_view(value ? "true" : "false");
  } else {
    return (value);
  }
}
}  // namespace strings_internal

// Concatenates text and numbers: Cat("node ", id, ": ", name).
template <typename... Args>
std::string Cat(const Args&... args) {
  return absl::StrCat(strings_internal::Piece(args)...);
}

// Hash tables keyed by std::string that can be searched with a std::string_view.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return absl::Hash<std::string_view>{}(s); }
};
struct StringEqual {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return a == b; }
};
template <typename Value>
using StringMap = absl::flat_hash_map<std::string, Value, StringHash, StringEqual>;
using StringSet = absl::flat_hash_set<std::string, StringHash, StringEqual>;

}  // namespace weir

#endif  // WEIR_BASE_STRINGS_H_
