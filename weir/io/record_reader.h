// TFRecord files: records with checksums, the whole file plain or compressed (docs/formats/records.md).
#ifndef WEIR_IO_RECORD_READER_H_
#define WEIR_IO_RECORD_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weir/base/export.h"
#include "weir/base/status.h"

namespace WEIR_PUBLIC weir {

enum class Compression { kNone, kGzip, kZlib, kSnappy };
// "", "GZIP", "ZLIB"; INVALID_ARGUMENT for another name.
StatusOr<Compression> ParseCompression(std::string_view name);
// Record files may also be "SNAPPY".
StatusOr<Compression> ParseRecordCompression(std::string_view name);
// By the first bytes of a file.
StatusOr<Compression> GuessCompression(const std::string& path);

// Bytes in their order.
class InputStream {
 public:
  virtual ~InputStream() = default;
  // Appends up to `count` bytes; fewer only at the end.
  virtual Status Read(size_t count, std::string* out) = 0;
};
// The contents of a file, decompressed. Bytes that are no such compression give DATA_LOSS; a stream that is cut just
// ends.
// `offset` bytes of the file itself are left out.
StatusOr<std::unique_ptr<InputStream>> OpenStream(const std::string& path, Compression compression,
                                                  uint64_t offset = 0);

// One thread at a time.
class RecordReader {
 public:
  static StatusOr<std::unique_ptr<RecordReader>> Open(const std::string& path,
                                                      Compression compression = Compression::kNone);
  explicit RecordReader(std::unique_ptr<InputStream> stream) : stream_(std::move(stream)) {}

  // The next record. OUT_OF_RANGE at the end, and also where fewer bytes than a record's head are left; DATA_LOSS for
  // a wrong checksum and for a record cut short: reading cannot go on then.
  Status Read(std::string* record);
  // Where the next record begins, in the decompressed bytes.
  uint64_t offset() const { return offset_; }

 private:
  std::unique_ptr<InputStream> stream_;
  uint64_t offset_ = 0;
};

}  // namespace weir

#endif  // WEIR_IO_RECORD_READER_H_
