#include "weir/io/record_reader.h"

#include <algorithm>

#include "weir/io/coding.h"
#include "weir/io/crc32c.h"

namespace weir {
namespace {

constexpr size_t kHeadBytes = 12;
constexpr size_t kFootBytes = 4;
// What is asked for at once of a length that may be wrong.
constexpr uint64_t kChunkBytes = 16 << 20;

}  // namespace

StatusOr<std::unique_ptr<RecordReader>> RecordReader::Open(const std::string& path, Compression compression) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<InputStream> stream, OpenStream(path, compression));
  return std::make_unique<RecordReader>(std::move(stream));
}

Status RecordReader::Read(std::string* record) {
  std::string head;
  WEIR_RETURN_IF_ERROR(stream_->Read(kHeadBytes, &head));
  if (head.size() < kHeadBytes) return OutOfRange("eof");
  uint64_t length = DecodeFixed64(head.data());
  if (UnmaskCrc(DecodeFixed32(head.data() + 8)) != Crc32c({head.data(), 8})) {
    return DataLoss("corrupted record at ", offset_);
  }
  record->clear();
  while (record->size() < length) {
    size_t want = std::min<uint64_t>(length - record->size(), kChunkBytes);
    size_t before = record->size();
    WEIR_RETURN_IF_ERROR(stream_->Read(want, record));
    if (record->size() - before < want) return DataLoss("truncated record at ", offset_);
  }
  std::string foot;
  WEIR_RETURN_IF_ERROR(stream_->Read(kFootBytes, &foot));
  if (foot.size() < kFootBytes) return DataLoss("truncated record at ", offset_);
  if (UnmaskCrc(DecodeFixed32(foot.data())) != Crc32c(*record)) return DataLoss("corrupted record at ", offset_);
  offset_ += kHeadBytes + length + kFootBytes;
  return OkStatus();
}

}  // namespace weir
