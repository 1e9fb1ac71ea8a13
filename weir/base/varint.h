// Varints, as protobuf and sorted tables write numbers: seven bits per byte, lowest first, a set top bit where more
// follow.
#ifndef WEIR_BASE_VARINT_H_
#define WEIR_BASE_VARINT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

void AppendVarint(uint64_t value, std::string* out);
size_t VarintSize(uint64_t value);

// Takes a varint off the front of `bytes`. False, with nothing promised of `bytes`, if there is none or the number does
// not fit.
bool TakeVarint(std::string_view* bytes, uint64_t* value);
bool TakeVarint(std::string_view* bytes, uint32_t* value);

}  // namespace weir

#endif  // WEIR_BASE_VARINT_H_
