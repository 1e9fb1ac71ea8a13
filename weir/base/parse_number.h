// Parses numbers as TensorFlow does everywhere: in strings, CSV files and vocabularies.
#ifndef WEIR_BASE_PARSE_NUMBER_H_
#define WEIR_BASE_PARSE_NUMBER_H_

#include <string_view>

namespace weir {

// Parses all of `text`, except for surrounding blanks; false if it is not a number. Integers are decimal and must fit
// T. Floats may also be hexadecimal, "inf", "infinity" or "nan" in any case; numbers that are too large become
// infinity, and those that are too small become zero. T: float, double, int32_t, int64_t, uint32_t, uint64_t.
template <typename T>
bool ParseNumber(std::string_view text, T* value);

}  // namespace weir

#endif  // WEIR_BASE_PARSE_NUMBER_H_
