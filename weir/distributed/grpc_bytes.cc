#include <grpcpp/support/slice.h>

#include <vector>

#include "weir/distributed/grpc_bytes_internal.h"

namespace weir {
namespace {

constexpr size_t kMaxStatusBytes = 3072;

grpc::Slice ToSlice(const WireBuffer::Piece& piece) {
  std::string_view bytes = piece.bytes();
  if (bytes.size() < WireBuffer::kCopyBelow) return grpc::Slice(bytes.data(), bytes.size());
  if (piece.tensor.has_value()) {
    auto* kept = new Tensor(piece.tensor);
    return grpc::Slice(
        const_cast<char*>(bytes.data()), bytes.size(), [](void* tensor) { delete static_cast<Tensor*>(tensor); }, kept);
  }
  auto* kept = new std::string(piece.text);
  return grpc::Slice(
      kept->data(), kept->size(), [](void* text) { delete static_cast<std::string*>(text); }, kept);
}

}  // namespace

grpc::ByteBuffer ToByteBuffer(WireBuffer message) {
  std::vector<grpc::Slice> slices;
  slices.reserve(message.pieces().size());
  for (const WireBuffer::Piece& piece : message.pieces()) slices.push_back(ToSlice(piece));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

grpc::Status ToGrpcStatus(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  // Bytes outside printable ASCII take three bytes in a header.
  std::string text;
  size_t encoded = 0;
  for (char c : status.message()) {
    encoded += c >= 0x20 && c < 0x7f && c != '%' ? 1 : 3;
    if (encoded > kMaxStatusBytes) {
      text += "... [truncated]";
      break;
    }
    text.push_back(c);
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), text);
}

Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return OkStatus();
  return Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace weir
