// Numbers written as text, as TensorFlow reads them everywhere: in strings, CSV files and vocabularies.
#ifndef WEIR_BASE_PARSE_NUMBER_H_
#define WEIR_BASE_PARSE_NUMBER_H_

#include <string_view>

namespace weir {

// The number that is the whole of `text` but for blanks around it; false if there is none. Integers are decimal and
// must fit T. Floats may also be hexadecimal, "inf", "infinity" or "nan" in any case; too large a number is infinity,
// too small a one zero. T: float, double, int32_t, int64_t, uint32_t, uint64_t.
template <typename T>
bool ParseNumber(std::string_view text, T* value);

}  // namespace weir

#endif  // WEIR_BASE_PARSE_NUMBER_H_
