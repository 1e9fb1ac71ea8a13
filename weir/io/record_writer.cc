#include "weir/io/record_writer.h"

#include <snappy.h>
#include <zlib.h>

#include <algorithm>

#include "weir/io/coding.h"
#include "weir/io/crc32c.h"
#include "weir/io/file_system.h"

namespace weir {
namespace {

// TensorFlow's readers take no larger blocks.
constexpr size_t kSnappyBlockBytes = 256 << 10;

}  // namespace

struct RecordWriter::State {
  std::string path;
  std::unique_ptr<WritableFile> file;  // null once closed
  Compression compression = Compression::kNone;
  bool deflating = false;
  z_stream zlib{};
  std::string block;  // not compressed by snappy yet

  ~State() {
    if (deflating) deflateEnd(&zlib);
  }

  Status Put(std::string_view bytes) { return file->Append(bytes); }

  Status Deflate(std::string_view bytes, int flush) {
    char out[16384];
    zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    zlib.avail_in = static_cast<uInt>(bytes.size());
    do {
      zlib.next_out = reinterpret_cast<Bytef*>(out);
      zlib.avail_out = sizeof out;
      if (deflate(&zlib, flush) == Z_STREAM_ERROR) return Internal("cannot compress ", path);
      WEIR_RETURN_IF_ERROR(Put({out, sizeof out - zlib.avail_out}));
    } while (zlib.avail_out == 0);
    return OkStatus();
  }

  Status PutBlock() {
    if (block.empty()) return OkStatus();
    std::string compressed;
    snappy::Compress(block.data(), block.size(), &compressed);
    block.clear();
    const auto size = static_cast<uint32_t>(compressed.size());
    const char head[4] = {static_cast<char>(size >> 24), static_cast<char>(size >> 16), static_cast<char>(size >> 8),
                          static_cast<char>(size)};
    WEIR_RETURN_IF_ERROR(Put({head, 4}));
    return Put(compressed);
  }

  Status AppendToBlock(std::string_view bytes) {
    while (!bytes.empty()) {
      const size_t part = std::min(bytes.size(), kSnappyBlockBytes - block.size());
      block.append(bytes.substr(0, part));
      bytes.remove_prefix(part);
      if (block.size() == kSnappyBlockBytes) WEIR_RETURN_IF_ERROR(PutBlock());
    }
    return OkStatus();
  }

  // What is held back is handed on; `flush` as for deflate.
  Status Drain(int flush) {
    if (deflating) return Deflate({}, flush);
    return PutBlock();
  }

  Status Append(std::string_view bytes) {
    if (compression == Compression::kNone) return Put(bytes);
    if (compression == Compression::kSnappy) return AppendToBlock(bytes);
    // In pieces, since zlib counts in 32 bits.
    constexpr size_t kPiece = size_t{1} << 30;
    for (size_t begin = 0; begin < bytes.size(); begin += kPiece) {
      WEIR_RETURN_IF_ERROR(Deflate(bytes.substr(begin, kPiece), Z_NO_FLUSH));
    }
    return OkStatus();
  }
};

RecordWriter::RecordWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}

RecordWriter::~RecordWriter() { Close().IgnoreError(); }

StatusOr<std::unique_ptr<RecordWriter>> RecordWriter::Create(const std::string& path, Compression compression) {
  auto state = std::make_unique<State>();
  state->path = path;
  WEIR_ASSIGN_OR_RETURN(state->file, OpenForWriting(path));
  state->compression = compression;
  if (compression == Compression::kGzip || compression == Compression::kZlib) {
    const int window = compression == Compression::kGzip ? MAX_WBITS + 16 : MAX_WBITS;
    if (deflateInit2(&state->zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
      return Internal("cannot compress ", path);
    }
    state->deflating = true;
  }
  return std::unique_ptr<RecordWriter>(new RecordWriter(std::move(state)));
}

Status RecordWriter::Write(std::string_view record) {
  if (state_->file == nullptr) return FailedPrecondition(state_->path, " is closed");
  std::string head, tail;
  AppendFixed64(&head, record.size());
  AppendFixed32(&head, MaskCrc(Crc32c(head)));
  AppendFixed32(&tail, MaskCrc(Crc32c(record)));
  WEIR_RETURN_IF_ERROR(state_->Append(head));
  WEIR_RETURN_IF_ERROR(state_->Append(record));
  return state_->Append(tail);
}

Status RecordWriter::Flush() {
  if (state_->file == nullptr) return OkStatus();
  WEIR_RETURN_IF_ERROR(state_->Drain(Z_SYNC_FLUSH));
  return state_->file->Flush();
}

Status RecordWriter::Close() {
  if (state_->file == nullptr) return OkStatus();
  Status status = state_->Drain(Z_FINISH);
  Status closed = state_->file->Close();
  if (status.ok()) status = closed;
  state_->file = nullptr;
  return status;
}

}  // namespace weir
