#include "weir/ops/io/reader_sources.h"

#include <algorithm>

#include "weir/io/file.h"

namespace weir {
namespace {

constexpr size_t kChunkBytes = 64 << 10;

// One record a file.
class OneRecordSource : public RecordSource {
 public:
  explicit OneRecordSource(bool contents) : contents_(contents) {}
  Status Open(const std::string& file) override {
    file_ = file;
    done_ = false;
    return OkStatus();
  }
  StatusOr<bool> Next(ReadRecord* record) override {
    if (done_) return false;
    record->key = record->value = file_;
    if (contents_) {
      WEIR_ASSIGN_OR_RETURN(record->value, ReadFile(file_));
    }
    done_ = true;
    return true;
  }
  bool at_end() const override { return done_; }
  bool can_restore() const override { return true; }

 private:
  const bool contents_;
  std::string file_;
  bool done_ = true;
};

// Bytes ahead of a stream.
class StreamBuffer {
 public:
  explicit StreamBuffer(std::unique_ptr<InputStream> stream) : stream_(std::move(stream)) {}

  // Makes at least `count` bytes visible if the stream has them.
  StatusOr<std::string_view> Peek(size_t count) {
    if (begin_ > kChunkBytes) {
      bytes_.erase(0, begin_);
      begin_ = 0;
    }
    while (!ended_ && bytes_.size() - begin_ < count) {
      const size_t before = bytes_.size();
      WEIR_RETURN_IF_ERROR(stream_->Read(kChunkBytes, &bytes_));
      ended_ = bytes_.size() - before < kChunkBytes;
    }
    return std::string_view(bytes_).substr(begin_);
  }
  // REQUIRES: so many are visible.
  void Skip(size_t count) { begin_ += count; }

 private:
  std::unique_ptr<InputStream> stream_;
  std::string bytes_;
  size_t begin_ = 0;
  bool ended_ = false;
};

class TextLineSource : public RecordSource {
 public:
  explicit TextLineSource(int64_t skip) : skip_(skip) {}
  Status Open(const std::string& file) override {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<InputStream> stream, OpenStream(file, Compression::kNone));
    buffer_ = std::make_unique<StreamBuffer>(std::move(stream));
    file_ = file;
    line_ = 0;
    for (std::string ignored; line_ < skip_;) {
      WEIR_ASSIGN_OR_RETURN(bool more, Line(&ignored));
      if (!more) break;
    }
    return OkStatus();
  }
  StatusOr<bool> Next(ReadRecord* record) override {
    if (buffer_ == nullptr) return false;
    WEIR_ASSIGN_OR_RETURN(bool more, Line(&record->value));
    if (more) record->key = Cat(file_, ":", line_);
    return more;
  }
  void Close() override { buffer_.reset(); }

 private:
  StatusOr<bool> Line(std::string* line) {
    line->clear();
    WEIR_ASSIGN_OR_RETURN(std::string_view bytes, buffer_->Peek(1));
    if (bytes.empty()) return false;
    size_t end = bytes.find('\n');
    while (end == bytes.npos) {
      const size_t seen = bytes.size();
      WEIR_ASSIGN_OR_RETURN(bytes, buffer_->Peek(seen + 1));
      if (bytes.size() == seen) break;
      end = bytes.find('\n', seen);
    }
    *line = bytes.substr(0, end);
    std::erase(*line, '\r');
    buffer_->Skip(end == bytes.npos ? bytes.size() : end + 1);
    ++line_;
    return true;
  }

  const int64_t skip_;
  std::unique_ptr<StreamBuffer> buffer_;
  std::string file_;
  int64_t line_ = 0;
};

class FixedLengthSource : public RecordSource {
 public:
  FixedLengthSource(const FixedLengthLayout& layout, Compression compression)
      : layout_(layout), compression_(compression) {}
  Status Open(const std::string& file) override {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<InputStream> stream, OpenStream(file, compression_));
    buffer_ = std::make_unique<StreamBuffer>(std::move(stream));
    file_ = file;
    record_ = 0;
    return SkipBytes(layout_.header_bytes);
  }
  StatusOr<bool> Next(ReadRecord* record) override {
    if (buffer_ == nullptr) return false;
    // A record must be whole, and the footer behind it too.
    const auto wanted = static_cast<size_t>(layout_.record_bytes + layout_.footer_bytes);
    WEIR_ASSIGN_OR_RETURN(std::string_view bytes, buffer_->Peek(wanted));
    if (bytes.size() < wanted) return false;
    record->value = bytes.substr(0, static_cast<size_t>(layout_.record_bytes));
    record->key = Cat(file_, ":", record_++);
    WEIR_RETURN_IF_ERROR(SkipBytes(layout_.hop_bytes > 0 ? layout_.hop_bytes : layout_.record_bytes));
    return true;
  }
  void Close() override { buffer_.reset(); }

 private:
  // Up to the end of the file at most.
  Status SkipBytes(int64_t count) {
    while (count > 0) {
      WEIR_ASSIGN_OR_RETURN(std::string_view bytes, buffer_->Peek(1));
      if (bytes.empty()) return OkStatus();
      const int64_t part = std::min(count, static_cast<int64_t>(bytes.size()));
      buffer_->Skip(static_cast<size_t>(part));
      count -= part;
    }
    return OkStatus();
  }

  const FixedLengthLayout layout_;
  const Compression compression_;
  std::unique_ptr<StreamBuffer> buffer_;
  std::string file_;
  int64_t record_ = 0;
};

class RecordFileSource : public RecordSource {
 public:
  explicit RecordFileSource(Compression compression) : compression_(compression) {}
  Status Open(const std::string& file) override {
    WEIR_ASSIGN_OR_RETURN(reader_, RecordReader::Open(file, compression_));
    file_ = file;
    return OkStatus();
  }
  StatusOr<bool> Next(ReadRecord* record) override {
    if (reader_ == nullptr) return false;
    record->key = Cat(file_, ":", reader_->offset());
    Status status = reader_->Read(&record->value);
    if (status.ok()) return true;
    if (status.code() == absl::StatusCode::kOutOfRange) return false;
    return status;
  }
  void Close() override { reader_.reset(); }

 private:
  const Compression compression_;
  std::unique_ptr<RecordReader> reader_;
  std::string file_;
};

}  // namespace

std::unique_ptr<RecordSource> MakeIdentitySource() { return std::make_unique<OneRecordSource>(false); }
std::unique_ptr<RecordSource> MakeWholeFileSource() { return std::make_unique<OneRecordSource>(true); }
std::unique_ptr<RecordSource> MakeTextLineSource(int64_t skip_header_lines) {
  return std::make_unique<TextLineSource>(skip_header_lines);
}
std::unique_ptr<RecordSource> MakeFixedLengthSource(const FixedLengthLayout& layout, Compression compression) {
  return std::make_unique<FixedLengthSource>(layout, compression);
}
std::unique_ptr<RecordSource> MakeRecordFileSource(Compression compression) {
  return std::make_unique<RecordFileSource>(compression);
}

}  // namespace weir
