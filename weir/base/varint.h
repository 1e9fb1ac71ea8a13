// Varints as in protobuf and sorted tables: seven bits per byte, lowest first; the top bit is set if more follow.
#ifndef WEIR_BASE_VARINT_H_
#define WEIR_BASE_VARINT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

void AppendVarint(uint64_t value, std::string* out);
size_t VarintSize(uint64_t value);

// Removes a varint from the front of `bytes`. False if there is none or the number does not fit; `bytes` is then
// unspecified.
bool TakeVarint(std::string_view* bytes, uint64_t* value);
bool TakeVarint(std::string_view* bytes, uint32_t* value);

}  // namespace weir

#endif  // WEIR_BASE_VARINT_H_
