// WireBuffer: a message to be sent, as a list of pieces, so that the bytes of large tensors are pointed at, not copied.
#ifndef WEIR_DISTRIBUTED_WIRE_WIRE_BUFFER_H_
#define WEIR_DISTRIBUTED_WIRE_WIRE_BUFFER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/varint.h"
#include "weir/tensor/tensor.h"

namespace weir {

class WireBuffer {
 public:
  // Owned bytes, or memory of a tensor that the piece keeps alive.
  struct Piece {
    std::string text;
    Tensor tensor;
    size_t offset = 0;  // in the tensor's memory
    size_t length = std::string_view::npos;
    std::string_view bytes() const {
      if (!tensor.has_value()) return text;
      return std::string_view(static_cast<const char*>(tensor.raw_data()), tensor.num_bytes()).substr(offset, length);
    }
  };
  // Tensors smaller than this are copied: a piece of its own would cost more.
  static constexpr size_t kCopyBelow = 4096;

  // Bytes of the message so far.
  size_t size() const { return size_; }
  const std::vector<Piece>& pieces() const { return pieces_; }

  void Append(std::string_view bytes);
  // Takes the text over if it is long.
  void Append(std::string&& bytes);
  // The memory of a tensor of a plain type.
  void AppendMemory(const Tensor& tensor);
  // A part of it. REQUIRES: it is one.
  void AppendMemory(const Tensor& tensor, size_t offset, size_t length);
  // Parts of protobuf's encoding.
  void AppendVarint(uint64_t value);
  void AppendTag(int field, int wire_type);
  void AppendBytesField(int field, std::string_view bytes);

  // The whole message in one string.
  std::string Flatten() const;

 private:
  std::string& Tail();
  std::vector<Piece> pieces_;
  size_t size_ = 0;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_WIRE_WIRE_BUFFER_H_
