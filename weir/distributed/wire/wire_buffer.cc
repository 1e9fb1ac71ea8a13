#include "weir/distributed/wire/wire_buffer.h"

namespace weir {

std::string& WireBuffer::Tail() {
  if (pieces_.empty() || pieces_.back().tensor.has_value()) pieces_.emplace_back();
  return pieces_.back().text;
}

void WireBuffer::Append(std::string_view bytes) {
  Tail().append(bytes);
  size_ += bytes.size();
}

void WireBuffer::Append(std::string&& bytes) {
  if (bytes.size() < kCopyBelow) return Append(std::string_view(bytes));
  size_ += bytes.size();
  pieces_.push_back({.text = std::move(bytes)});
}

void WireBuffer::AppendMemory(const Tensor& tensor) { AppendMemory(tensor, 0, std::string_view::npos); }

void WireBuffer::AppendMemory(const Tensor& tensor, size_t offset, size_t length) {
  Piece piece{.tensor = tensor, .offset = offset, .length = length};
  if (piece.bytes().size() < kCopyBelow) return Append(piece.bytes());
  size_ += piece.bytes().size();
  pieces_.push_back(std::move(piece));
}

void WireBuffer::AppendVarint(uint64_t value) {
  std::string& tail = Tail();
  size_t before = tail.size();
  weir::AppendVarint(value, &tail);
  size_ += tail.size() - before;
}

void WireBuffer::AppendTag(int field, int wire_type) { AppendVarint(static_cast<uint64_t>(field) << 3 | wire_type); }

void WireBuffer::AppendBytesField(int field, std::string_view bytes) {
  AppendTag(field, 2);
  AppendVarint(bytes.size());
  Append(bytes);
}

std::string WireBuffer::Flatten() const {
  std::string out;
  out.reserve(size_);
  for (const Piece& piece : pieces_) out.append(piece.bytes());
  return out;
}

}  // namespace weir
