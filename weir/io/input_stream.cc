#include <snappy.h>
#include <zlib.h>

#include <algorithm>
#include <vector>

#include "weir/io/file.h"
#include "weir/io/record_reader.h"

namespace weir {
namespace {

constexpr size_t kBufferBytes = 256 << 10;

class FileStream : public InputStream {
 public:
  FileStream(std::unique_ptr<RandomAccessFile> file, uint64_t offset)
      : file_(std::move(file)), buffer_(kBufferBytes), offset_(offset) {}

  Status Read(size_t count, std::string* out) override {
    while (count > 0) {
      if (begin_ == end_) {
        WEIR_ASSIGN_OR_RETURN(end_, file_->ReadUpTo(offset_, buffer_.size(), buffer_.data()));
        begin_ = 0;
        offset_ += end_;
        if (end_ == 0) return OkStatus();
      }
      size_t part = std::min(count, end_ - begin_);
      out->append(buffer_.data() + begin_, part);
      begin_ += part;
      count -= part;
    }
    return OkStatus();
  }

 private:
  std::unique_ptr<RandomAccessFile> file_;
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t offset_;
};

class InflateStream : public InputStream {
 public:
  // REQUIRES: `window_bits` as for inflateInit2.
  static StatusOr<std::unique_ptr<InputStream>> Make(std::unique_ptr<InputStream> source, int window_bits) {
    auto stream = std::unique_ptr<InflateStream>(new InflateStream(std::move(source)));
    if (inflateInit2(&stream->zlib_, window_bits) != Z_OK) return ResourceExhausted("no memory to decompress");
    stream->started_ = true;
    stream->several_ = window_bits > MAX_WBITS;
    return std::unique_ptr<InputStream>(std::move(stream));
  }
  ~InflateStream() override {
    if (started_) inflateEnd(&zlib_);
  }

  Status Read(size_t count, std::string* out) override {
    size_t begin = out->size();
    out->resize(begin + count);
    size_t done = 0;
    Status status;
    while (done < count && !ended_) {
      if (zlib_.avail_in == 0) {
        input_.clear();
        status = source_->Read(kBufferBytes, &input_);
        if (!status.ok() || input_.empty()) break;
        zlib_.next_in = reinterpret_cast<Bytef*>(input_.data());
        zlib_.avail_in = static_cast<uInt>(input_.size());
      }
      zlib_.next_out = reinterpret_cast<Bytef*>(out->data() + begin + done);
      zlib_.avail_out = static_cast<uInt>(std::min<size_t>(count - done, 1 << 30));
      uInt before = zlib_.avail_out;
      int result = inflate(&zlib_, Z_NO_FLUSH);
      done += before - zlib_.avail_out;
      if (result == Z_STREAM_END) {
        if (!several_) {
          ended_ = true;
          break;
        }
        inflateReset(&zlib_);  // files that were appended to hold several streams
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        status = DataLoss("inflate() failed with error ", result, zlib_.msg != nullptr ? ": " : "",
                          zlib_.msg != nullptr ? zlib_.msg : "");
        break;
      }
    }
    out->resize(begin + done);
    return status;
  }

 private:
  explicit InflateStream(std::unique_ptr<InputStream> source) : source_(std::move(source)) {}

  std::unique_ptr<InputStream> source_;
  std::string input_;
  z_stream zlib_{};
  bool started_ = false;
  bool several_ = false;  // streams of gzip may follow each other; after one of zlib the rest is not looked at
  bool ended_ = false;
};

// Blocks, each after its length in four bytes, the highest first.
class SnappyStream : public InputStream {
 public:
  explicit SnappyStream(std::unique_ptr<InputStream> source) : source_(std::move(source)) {}
  Status Read(size_t count, std::string* out) override {
    while (count > 0) {
      if (begin_ == block_.size()) {
        bool end = false;
        WEIR_RETURN_IF_ERROR(NextBlock(&end));
        if (end) return OkStatus();
      }
      const size_t part = std::min(count, block_.size() - begin_);
      out->append(block_, begin_, part);
      begin_ += part;
      count -= part;
    }
    return OkStatus();
  }

 private:
  // Snappy makes at most 64 bytes of three; a length that claims more is damage, not a reason to take memory.
  static constexpr size_t kMaxGrowth = 32;

  Status NextBlock(bool* end) {
    input_.clear();
    WEIR_RETURN_IF_ERROR(source_->Read(4, &input_));
    *end = input_.size() < 4;
    if (*end) return OkStatus();
    size_t length = 0;
    for (char byte : input_) length = length << 8 | static_cast<unsigned char>(byte);
    input_.clear();
    WEIR_RETURN_IF_ERROR(source_->Read(length, &input_));
    *end = input_.size() < length;
    if (*end) return OkStatus();
    size_t size = 0;
    begin_ = 0;
    block_.clear();
    if (!snappy::GetUncompressedLength(input_.data(), length, &size) || size > length * kMaxGrowth ||
        !snappy::Uncompress(input_.data(), length, &block_)) {
      block_.clear();
      return DataLoss("A block of snappy is damaged");
    }
    return OkStatus();
  }

  std::unique_ptr<InputStream> source_;
  std::string input_, block_;
  size_t begin_ = 0;  // of what is not read yet
};

}  // namespace

StatusOr<std::unique_ptr<InputStream>> OpenStream(const std::string& path, Compression compression, uint64_t offset) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  std::unique_ptr<InputStream> stream = std::make_unique<FileStream>(std::move(file), offset);
  if (compression == Compression::kNone) return stream;
  if (compression == Compression::kSnappy) {
    return std::unique_ptr<InputStream>(std::make_unique<SnappyStream>(std::move(stream)));
  }
  return InflateStream::Make(std::move(stream), compression == Compression::kGzip ? MAX_WBITS + 16 : MAX_WBITS);
}

StatusOr<Compression> ParseCompression(std::string_view name) {
  if (name.empty()) return Compression::kNone;
  if (name == "GZIP") return Compression::kGzip;
  if (name == "ZLIB") return Compression::kZlib;
  return InvalidArgument("Unsupported compression_type: ", name);
}

StatusOr<Compression> ParseRecordCompression(std::string_view name) {
  if (name == "SNAPPY") return Compression::kSnappy;
  return ParseCompression(name);
}

StatusOr<Compression> GuessCompression(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  unsigned char head[2] = {};
  WEIR_ASSIGN_OR_RETURN(size_t got, file->ReadUpTo(0, 2, reinterpret_cast<char*>(head)));
  if (got < 2) return Compression::kNone;
  if (head[0] == 0x1f && head[1] == 0x8b) return Compression::kGzip;
  // Deflate with the usual window; the two bytes are a multiple of 31.
  if (head[0] == 0x78 && (head[0] * 256 + head[1]) % 31 == 0) return Compression::kZlib;
  return Compression::kNone;
}

}  // namespace weir
