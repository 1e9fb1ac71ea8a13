#include "weir/distributed/wire/recv_buf_messages.h"

#include <google/protobuf/wire_format_lite.h>

#include "weir/distributed/wire/fields_internal.h"

namespace weir {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::ZeroCopyInputStream;
using namespace wire_internal;

constexpr std::string_view kExtraUrl = "type.googleapis.com/tensorflow.RecvBufRespExtra";
// Fields of RecvBufResponse, of Any and of RecvBufRespExtra.
constexpr int kNumBytes = 2, kTransportOptions = 4, kSendStart = 5;
constexpr int kTypeUrl = 1, kValue = 2;
constexpr int kTensorContent = 1;

}  // namespace

void WriteRecvBufResponse(const Tensor& chunk, int64_t send_start_micros, WireBuffer* out) {
  const size_t bytes = chunk.num_bytes();
  const size_t extra = 1 + VarintSize(bytes) + bytes;
  const size_t any = 1 + VarintSize(kExtraUrl.size()) + kExtraUrl.size() + 1 + VarintSize(extra) + extra;
  WriteNumber(kNumBytes, bytes, out);
  WriteNumber(kSendStart, static_cast<uint64_t>(send_start_micros), out);
  out->AppendTag(kTransportOptions, 2);
  out->AppendVarint(any);
  out->AppendBytesField(kTypeUrl, kExtraUrl);
  out->AppendTag(kValue, 2);
  out->AppendVarint(extra);
  out->AppendTag(kTensorContent, 2);
  out->AppendVarint(bytes);
  out->AppendMemory(chunk);
}

Status ReadRecvBufResponse(ZeroCopyInputStream* in, size_t size, char* memory, size_t capacity) {
  CodedInputStream coded(in);
  WEIR_RETURN_IF_ERROR(Limit(size, &coded));
  size_t count = 0;
  bool fits = true;
  auto read_extra = [&] {
    while (uint32_t tag = coded.ReadTag()) {
      uint32_t length = 0;
      if (tag != Tag(kTensorContent, 2)) {
        if (!WireFormatLite::SkipField(&coded, tag)) return false;
        continue;
      }
      if (!coded.ReadVarint32(&length) || length > static_cast<uint32_t>(INT32_MAX)) return false;
      fits = fits && length <= capacity - count;
      if (!fits) {
        if (!coded.Skip(static_cast<int>(length))) return false;
        continue;
      }
      if (!coded.ReadRaw(memory + count, static_cast<int>(length))) return false;
      count += length;
    }
    return coded.ConsumedEntireMessage();
  };
  auto read_any = [&] {
    while (uint32_t tag = coded.ReadTag()) {
      if (!(tag == Tag(kValue, 2) ? ReadNested(&coded, read_extra) : WireFormatLite::SkipField(&coded, tag))) {
        return false;
      }
    }
    return coded.ConsumedEntireMessage();
  };
  while (uint32_t tag = coded.ReadTag()) {
    const bool good =
        tag == Tag(kTransportOptions, 2) ? ReadNested(&coded, read_any) : WireFormatLite::SkipField(&coded, tag);
    if (!good) return InvalidArgument("Malformed RecvBufResponse");
  }
  if (!coded.ConsumedEntireMessage()) return InvalidArgument("Malformed RecvBufResponse");
  if (!fits || count != capacity) {
    return Internal("Tensor Size Mismatch: a chunk of ", capacity, " bytes was expected, but ",
                    fits ? Cat(count, " arrived") : "more arrived");
  }
  return OkStatus();
}

}  // namespace weir
