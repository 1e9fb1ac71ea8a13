// The wire format of Examples, read in place: what a parser needs of protobuf, without its objects.
//
// Every function is safe on any bytes and keeps no copy: what it gives are views into the serialized text.
#ifndef WEIR_IO_EXAMPLE_WIRE_INTERNAL_H_
#define WEIR_IO_EXAMPLE_WIRE_INTERNAL_H_

#include <cstdint>
#include <string_view>

#include "weir/tensor/tensor.h"

namespace weir {

// Reads fields off the front of some bytes; each function gives false if they are not there.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool done() const { return at_ == end_; }
  bool Varint(uint64_t* value) {
    if (at_ < end_ && static_cast<unsigned char>(*at_) < 0x80) {
      *value = static_cast<unsigned char>(*at_++);
      return true;
    }
    return LongVarint(value);
  }
  bool Tag(uint32_t* tag) {
    uint64_t value = 0;
    if (!Varint(&value) || value > UINT32_MAX) return false;
    *tag = static_cast<uint32_t>(value);
    return true;
  }
  // A length and so many bytes.
  bool Delimited(std::string_view* bytes) {
    uint64_t length = 0;
    if (!Varint(&length) || length > static_cast<uint64_t>(end_ - at_)) return false;
    *bytes = {at_, static_cast<size_t>(length)};
    at_ += length;
    return true;
  }
  bool Fixed32(std::string_view* bytes) {
    if (end_ - at_ < 4) return false;
    *bytes = {at_, 4};
    at_ += 4;
    return true;
  }
  // The rest of a field of no interest. As TensorFlow does, a delimited one may be longer than what is there.
  bool Skip(uint32_t tag);

 private:
  bool LongVarint(uint64_t* value);
  const char* at_;
  const char* end_;
};

constexpr uint32_t DelimitedTag(int field) { return static_cast<uint32_t>(field) << 3 | 2; }

// The values of one Feature: its kind (kString, kFloat, kInt64, or kInvalid if it holds no list), the bytes of the list
// and the number of its elements.
struct FeatureValues {
  DType dtype = DType::kInvalid;
  bool malformed = false;
  int64_t count = 0;
  std::string_view list;
};

// The feature's list, its elements counted and checked: CopyValues cannot fail on it. `malformed` is set otherwise.
FeatureValues ReadFeature(std::string_view feature);
// Writes the elements to `out` from element `offset` on. REQUIRES: out.dtype() == values.dtype, not malformed, and room
// for values.count.
void CopyValues(const FeatureValues& values, Tensor& out, int64_t offset);

// Takes apart an entry of a map (string to message).
bool ReadMapEntry(std::string_view entry, std::string_view* key, std::string_view* value);

}  // namespace weir

#endif  // WEIR_IO_EXAMPLE_WIRE_INTERNAL_H_
