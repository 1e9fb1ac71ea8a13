// Unicode's character data as sorted tables.
#ifndef WEIR_OPS_STRING_UNICODE_TABLES_H_
#define WEIR_OPS_STRING_UNICODE_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace weir::unicode_tables {

// Code points first, first + stride, ..., last map to themselves plus `delta`.
struct CaseRange {
  char32_t first, last;
  uint8_t stride;
  int32_t delta;
};
struct SeveralCase {
  char32_t from;
  char32_t to[3];  // zeros at the end
};
// From `first` to the next entry. Scripts have ICU's numbers.
struct ScriptRange {
  char32_t first;
  int16_t script;
};

// Beyond ASCII.
extern const CaseRange kLower[];
extern const size_t kLowerSize;
extern const CaseRange kUpper[];
extern const size_t kUpperSize;
extern const SeveralCase kUpperToSeveral[];
extern const size_t kUpperToSeveralSize;
extern const ScriptRange kScripts[];
extern const size_t kScriptsSize;

}  // namespace weir::unicode_tables

#endif  // WEIR_OPS_STRING_UNICODE_TABLES_H_
