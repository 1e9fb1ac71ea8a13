// Datasets of files: records, lines, records of equal length, and the names of files themselves.
#include <algorithm>
#include <functional>

#include "weir/io/file.h"
#include "weir/io/file_system.h"
#include "weir/io/record_reader.h"
#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/file_dataset.h"
#include "weir/ops/data/register.h"

namespace weir {
namespace {

class FileDataset : public Dataset {
 public:
  FileDataset(ElementSpec spec, std::vector<std::string> names, ElementReaderFactory open)
      : Dataset(std::move(spec)), names_(std::move(names)), open_(std::move(open)) {}
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    return IteratorPtr(std::make_unique<Iterator>(Self<FileDataset>()));
  }

 private:
  class Iterator : public DatasetIterator {
   public:
    explicit Iterator(std::shared_ptr<const FileDataset> dataset) : dataset_(std::move(dataset)) {}
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      while (file_ < dataset_->names_.size()) {
        if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
        Status status;
        // A file that cannot be opened is tried again, unless somebody ignores errors and has to get on.
        bool left = false;
        if (reader_ == nullptr) {
          status = Open(0);
          left = !status.ok() && ctx.errors_ignored;
        }
        if (status.ok()) status = reader_->Next(out, &left);
        if (status.ok() && !left) return OkStatus();
        if (left) {
          reader_ = nullptr;
          ++file_;
        }
        if (!status.ok()) {
          out->clear();
          return status;
        }
      }
      *end = true;
      return OkStatus();
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutInt("file", static_cast<int64_t>(file_));
      if (reader_ != nullptr) state.PutInt("offset", reader_->offset());
      return OkStatus();
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(int64_t file, state.GetCount("file", static_cast<int64_t>(dataset_->names_.size())));
      file_ = static_cast<size_t>(file);
      if (!state.Has("offset") || file_ >= dataset_->names_.size()) return OkStatus();
      WEIR_ASSIGN_OR_RETURN(int64_t offset, state.GetCount("offset", std::numeric_limits<int64_t>::max()));
      return Open(offset);
    }

   private:
    Status Open(int64_t offset) {
      WEIR_ASSIGN_OR_RETURN(reader_, dataset_->open_(dataset_->names_[file_], file_, offset));
      return OkStatus();
    }
    const std::shared_ptr<const FileDataset> dataset_;
    size_t file_ = 0;
    std::unique_ptr<ElementReader> reader_;
  };
  const std::vector<std::string> names_;
  const ElementReaderFactory open_;
};

ElementSpec OneString() { return {{DType::kString}, {PartialShape(Shape())}}; }

StatusOr<Compression> CompressionOf(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(std::string name, node.Scalar<std::string>("compression_type"));
  return ParseCompression(name);
}

Status CheckBufferSize(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(int64_t size, node.Scalar<int64_t>("buffer_size"));
  // -1 leaves it to us.
  return size >= -1 ? OkStatus() : InvalidArgument("`buffer_size` must be >= 0 (0 == no buffering)");
}

class RecordElements : public ElementReader {
 public:
  RecordElements(std::unique_ptr<InputStream> stream, int64_t offset) : reader_(std::move(stream)), start_(offset) {}
  Status Next(Element* out, bool* end) override {
    Tensor record = Tensor::Scalar(std::string());
    Status status = reader_.Read(record.data<std::string>());
    if (status.code() == absl::StatusCode::kOutOfRange) {
      *end = true;
      return OkStatus();
    }
    // Where the next record of a damaged file begins is not known.
    *end = !status.ok();
    out->push_back(std::move(record));
    return status;
  }
  int64_t offset() const override { return start_ + static_cast<int64_t>(reader_.offset()); }

 private:
  RecordReader reader_;
  const int64_t start_;
};

StatusOr<DatasetPtr> MakeTfRecord(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(std::vector<std::string> names, node.Names("filenames"));
  WEIR_ASSIGN_OR_RETURN(std::string compression_name, node.Scalar<std::string>("compression_type"));
  WEIR_ASSIGN_OR_RETURN(Compression compression, ParseRecordCompression(compression_name));
  WEIR_RETURN_IF_ERROR(CheckBufferSize(node));
  std::vector<int64_t> offsets(names.size(), 0);
  if (node.HasInput("byte_offsets")) {
    WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> given, node.Vector<int64_t>("byte_offsets"));
    if (!given.empty() && given.size() != names.size()) {
      return InvalidArgument("`byte_offsets` must have as many elements as there are files, ", names.size(),
                             ", but has ", given.size());
    }
    if (!given.empty()) offsets = std::move(given);
    for (int64_t offset : offsets) {
      if (offset < 0) return InvalidArgument("`byte_offsets` must not be negative");
    }
  }
  return std::make_shared<FileDataset>(
      OneString(), std::move(names),
      [compression, offsets](const std::string& path, size_t file,
                             int64_t offset) -> StatusOr<std::unique_ptr<ElementReader>> {
        const int64_t start = std::max(offset, offsets[file]);
        WEIR_ASSIGN_OR_RETURN(std::unique_ptr<InputStream> stream, OpenStreamAt(path, compression, start));
        return std::unique_ptr<ElementReader>(std::make_unique<RecordElements>(std::move(stream), start));
      });
}

// Lines without their ends. Carriage returns are left out wherever they stand.
class LineElements : public ElementReader {
 public:
  LineElements(std::unique_ptr<InputStream> stream, int64_t offset) : stream_(std::move(stream)), offset_(offset) {}
  Status Next(Element* out, bool* end) override {
    std::string line;
    bool any = false;
    while (true) {
      if (at_ == buffer_.size()) {
        buffer_.clear();
        at_ = 0;
        WEIR_RETURN_IF_ERROR(stream_->Read(kChunk, &buffer_));
        if (buffer_.empty()) break;
      }
      any = true;
      const size_t stop = std::min(buffer_.find('\n', at_), buffer_.size());
      line.append(buffer_, at_, stop - at_);
      offset_ += static_cast<int64_t>(stop - at_);
      at_ = stop;
      if (at_ < buffer_.size()) {
        ++at_;
        ++offset_;
        break;
      }
    }
    *end = !any;
    if (!any) return OkStatus();
    std::erase(line, '\r');
    out->push_back(Tensor::Scalar(std::move(line)));
    return OkStatus();
  }
  int64_t offset() const override { return offset_; }

 private:
  static constexpr size_t kChunk = 256 << 10;
  const std::unique_ptr<InputStream> stream_;
  std::string buffer_;
  size_t at_ = 0;
  int64_t offset_;
};

StatusOr<DatasetPtr> MakeTextLine(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(std::vector<std::string> names, node.Names("filenames"));
  WEIR_ASSIGN_OR_RETURN(Compression compression, CompressionOf(node));
  WEIR_RETURN_IF_ERROR(CheckBufferSize(node));
  return std::make_shared<FileDataset>(
      OneString(), std::move(names),
      [compression](const std::string& path, size_t file, int64_t offset) -> StatusOr<std::unique_ptr<ElementReader>> {
        WEIR_ASSIGN_OR_RETURN(std::unique_ptr<InputStream> stream, OpenStreamAt(path, compression, offset));
        return std::unique_ptr<ElementReader>(std::make_unique<LineElements>(std::move(stream), offset));
      });
}

struct FixedLengths {
  int64_t header = 0;
  int64_t record = 1;
  int64_t footer = 0;
};

// Of a file of unknown length (compressed), the footer is known only at the end: that many bytes are always kept back.
class FixedLengthElements : public ElementReader {
 public:
  FixedLengthElements(std::unique_ptr<InputStream> stream, FixedLengths lengths, int64_t offset, std::string path)
      : stream_(std::move(stream)), lengths_(lengths), offset_(offset), path_(std::move(path)) {}
  Status Next(Element* out, bool* end) override {
    const size_t wanted = static_cast<size_t>(lengths_.record + lengths_.footer);
    // A length that is far too large must not ask for all its memory at once.
    constexpr size_t kChunk = 16 << 20;
    for (size_t before = ahead_.size() + 1; ahead_.size() < wanted && ahead_.size() != before;) {
      before = ahead_.size();
      WEIR_RETURN_IF_ERROR(stream_->Read(std::min(wanted - before, kChunk), &ahead_));
    }
    if (ahead_.size() < wanted) {
      *end = true;
      if (ahead_.size() == static_cast<size_t>(lengths_.footer)) return OkStatus();
      return InvalidArgument("Excluding the header (", lengths_.header, " bytes) and footer (", lengths_.footer,
                             " bytes), input file \"", path_,
                             "\" has a body length that is not an exact multiple of the record length (",
                             lengths_.record, " bytes).");
    }
    out->push_back(Tensor::Scalar(ahead_.substr(0, lengths_.record)));
    ahead_.erase(0, lengths_.record);
    offset_ += lengths_.record;
    return OkStatus();
  }
  int64_t offset() const override { return offset_; }

 private:
  const std::unique_ptr<InputStream> stream_;
  const FixedLengths lengths_;
  std::string ahead_;
  int64_t offset_;
  const std::string path_;
};

Status CheckBody(const std::string& path, const FixedLengths& lengths) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  const int64_t size = static_cast<int64_t>(file->size()), body = size - lengths.header - lengths.footer;
  if (body >= 0 && body % lengths.record == 0) return OkStatus();
  return InvalidArgument("Excluding the header (", lengths.header, " bytes) and footer (", lengths.footer,
                         " bytes), input file \"", path, "\" has body length ", body,
                         " bytes, which is not an exact multiple of the record length (", lengths.record, " bytes).");
}

StatusOr<DatasetPtr> MakeFixedLengthRecord(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(std::vector<std::string> names, node.Names("filenames"));
  FixedLengths lengths;
  WEIR_ASSIGN_OR_RETURN(lengths.header, node.Scalar<int64_t>("header_bytes"));
  if (lengths.header < 0) return InvalidArgument("`header_bytes` must be >= 0");
  WEIR_ASSIGN_OR_RETURN(lengths.record, node.Scalar<int64_t>("record_bytes"));
  if (lengths.record <= 0) return InvalidArgument("`record_bytes` must be > 0");
  WEIR_ASSIGN_OR_RETURN(lengths.footer, node.Scalar<int64_t>("footer_bytes"));
  if (lengths.footer < 0) return InvalidArgument("`footer_bytes` must be >= 0");
  constexpr int64_t kMaxLength = int64_t{1} << 40;
  if (lengths.header > kMaxLength || lengths.record > kMaxLength || lengths.footer > kMaxLength) {
    return InvalidArgument("Records of ", lengths.record, " bytes are too long");
  }
  WEIR_RETURN_IF_ERROR(CheckBufferSize(node));
  Compression compression = Compression::kNone;
  if (node.HasInput("compression_type")) {
    WEIR_ASSIGN_OR_RETURN(compression, CompressionOf(node));
  }
  return std::make_shared<FileDataset>(
      OneString(), std::move(names),
      [compression, lengths](const std::string& path, size_t file,
                             int64_t offset) -> StatusOr<std::unique_ptr<ElementReader>> {
        if (compression == Compression::kNone) WEIR_RETURN_IF_ERROR(CheckBody(path, lengths));
        const int64_t start = std::max(offset, lengths.header);
        WEIR_ASSIGN_OR_RETURN(std::unique_ptr<InputStream> stream, OpenStreamAt(path, compression, start));
        return std::unique_ptr<ElementReader>(
            std::make_unique<FixedLengthElements>(std::move(stream), lengths, start, path));
      });
}

StatusOr<std::vector<std::string>> MatchingNames(const std::vector<std::string>& patterns) {
  std::vector<std::string> names;
  for (const std::string& pattern : patterns) {
    WEIR_ASSIGN_OR_RETURN(std::vector<std::string> found, MatchFiles(pattern));
    names.insert(names.end(), found.begin(), found.end());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The names are looked up when a walk begins.
class MatchingFilesDataset : public Dataset {
 public:
  explicit MatchingFilesDataset(std::vector<std::string> patterns)
      : Dataset(OneString()), patterns_(std::move(patterns)) {}
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    return IteratorPtr(std::make_unique<Iterator>(Self<MatchingFilesDataset>()));
  }

 private:
  class Iterator : public DatasetIterator {
   public:
    explicit Iterator(std::shared_ptr<const MatchingFilesDataset> dataset) : dataset_(std::move(dataset)) {}
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      if (!looked_) {
        WEIR_ASSIGN_OR_RETURN(names_, MatchingNames(dataset_->patterns_));
        looked_ = true;
        if (names_.empty()) {
          std::string text;
          for (const std::string& pattern : dataset_->patterns_) text += Cat(text.empty() ? "" : ", ", pattern);
          return NotFound("No files matched pattern: ", text);
        }
      }
      *end = next_ >= names_.size();
      if (!*end) out->push_back(Tensor::Scalar(names_[next_++]));
      return OkStatus();
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutInt("looked", looked_);
      state.PutInt("next", static_cast<int64_t>(next_));
      state.Put("names", Tensor::Vector<std::string>(std::span<const std::string>(names_)));
      return OkStatus();
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(int64_t looked, state.GetInt("looked"));
      looked_ = looked != 0;
      WEIR_ASSIGN_OR_RETURN(Tensor names, state.Get("names"));
      if (names.dtype() != DType::kString) return DataLoss("Saved file names are no strings");
      auto span = names.span<std::string>();
      names_.assign(span.begin(), span.end());
      WEIR_ASSIGN_OR_RETURN(int64_t next, state.GetCount("next", static_cast<int64_t>(names_.size())));
      next_ = static_cast<size_t>(next);
      return OkStatus();
    }

   private:
    const std::shared_ptr<const MatchingFilesDataset> dataset_;
    bool looked_ = false;
    std::vector<std::string> names_;
    size_t next_ = 0;
  };
  const std::vector<std::string> patterns_;
};

StatusOr<DatasetPtr> MakeMatchingFiles(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(std::vector<std::string> patterns, node.Names("patterns"));
  return std::make_shared<MatchingFilesDataset>(std::move(patterns));
}

}  // namespace

DatasetPtr MakeFileDataset(ElementSpec spec, std::vector<std::string> names, ElementReaderFactory open) {
  return std::make_shared<FileDataset>(std::move(spec), std::move(names), std::move(open));
}

StatusOr<std::unique_ptr<InputStream>> OpenStreamAt(const std::string& path, Compression compression, int64_t offset) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<InputStream> stream,
                        OpenStream(path, compression, compression == Compression::kNone ? offset : 0));
  if (compression == Compression::kNone) return stream;
  constexpr int64_t kChunk = 256 << 10;
  while (offset > 0) {
    std::string unwanted;
    WEIR_RETURN_IF_ERROR(stream->Read(static_cast<size_t>(std::min(offset, kChunk)), &unwanted));
    if (unwanted.empty()) break;  // reading on finds the end
    offset -= static_cast<int64_t>(unwanted.size());
  }
  return stream;
}

void RegisterFileDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, {"TFRecordDataset", "TFRecordDatasetV2"}, MakeTfRecord);
  RegisterDataset(registry, {"TextLineDataset"}, MakeTextLine);
  RegisterDataset(registry, {"FixedLengthRecordDataset", "FixedLengthRecordDatasetV2"}, MakeFixedLengthRecord);
  RegisterDataset(registry, {"MatchingFilesDataset", "ExperimentalMatchingFilesDataset"}, MakeMatchingFiles);
}

}  // namespace weir
