// Numbers in the bytes of records and tables: little-endian words, and the codes that sort as their values do.
#ifndef WEIR_IO_CODING_H_
#define WEIR_IO_CODING_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

// REQUIRES: enough bytes at `bytes`.
uint32_t DecodeFixed32(const char* bytes);
uint64_t DecodeFixed64(const char* bytes);
void AppendFixed32(std::string* out, uint32_t value);
void AppendFixed64(std::string* out, uint64_t value);

// Codes whose byte order is the order of the values.
void AppendOrderedNumber(std::string* out, uint64_t value);
void AppendOrderedString(std::string* out, std::string_view value);
void AppendOrderedSigned(std::string* out, int64_t value);

}  // namespace weir

#endif  // WEIR_IO_CODING_H_
