// Columns of the lines of files, as RFC 4180 writes them; a quoted field may hold line ends.
#include <algorithm>

#include "weir/base/parse_number.h"
#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/file_dataset.h"
#include "weir/ops/data/register.h"

namespace weir {
namespace {

struct CsvOptions {
  Compression compression = Compression::kNone;
  bool header = false;
  char delimiter = ',';
  bool quotes = true;
  std::string missing;            // stands for an absent value
  std::vector<int64_t> selected;  // ascending; empty: all
  std::vector<int64_t> excluded;  // ascending; only where none is selected
  Element defaults;               // without elements: the column is required
};

// Characters of a stream with one to look at.
class CharStream {
 public:
  explicit CharStream(std::unique_ptr<InputStream> stream, int64_t offset)
      : stream_(std::move(stream)), offset_(offset) {}
  // The next character, or -1 at the end.
  int Peek() {
    if (at_ < buffer_.size()) return static_cast<unsigned char>(buffer_[at_]);
    if (!status_.ok()) return -1;
    buffer_.clear();
    at_ = 0;
    status_ = stream_->Read(kChunk, &buffer_);
    return at_ < buffer_.size() ? static_cast<unsigned char>(buffer_[at_]) : -1;
  }
  void Advance() {
    ++at_;
    ++offset_;
  }
  const Status& status() const { return status_; }
  int64_t offset() const { return offset_; }

 private:
  static constexpr size_t kChunk = 256 << 10;
  const std::unique_ptr<InputStream> stream_;
  std::string buffer_;
  size_t at_ = 0;
  int64_t offset_;
  Status status_;
};

class CsvElements : public ElementReader {
 public:
  CsvElements(std::unique_ptr<InputStream> stream, std::shared_ptr<const CsvOptions> options, int64_t offset)
      : chars_(std::move(stream), offset), options_(std::move(options)) {
    if (options_->header && offset == 0) {
      std::vector<std::string> names;
      ReadLine(&names).IgnoreError();
    }
  }
  Status Next(Element* out, bool* end) override {
    SkipEmptyLines();
    if (chars_.Peek() < 0) {
      *end = true;
      return chars_.status();
    }
    std::vector<std::string> fields;
    WEIR_RETURN_IF_ERROR(ReadLine(&fields));
    return Convert(fields, out);
  }
  int64_t offset() const override { return chars_.offset(); }

 private:
  static bool IsLineEnd(int c) { return c == '\n' || c == '\r'; }
  void SkipEmptyLines() {
    while (IsLineEnd(chars_.Peek())) chars_.Advance();
  }
  void SkipLineEnd() {
    if (chars_.Peek() == '\r') chars_.Advance();
    if (chars_.Peek() == '\n') chars_.Advance();
  }
  // The fields of one record, and past its end.
  Status ReadLine(std::vector<std::string>* fields) {
    while (true) {
      std::string field;
      Status status = options_->quotes && chars_.Peek() == '"' ? Quoted(&field) : Plain(&field);
      if (!status.ok()) {
        while (chars_.Peek() >= 0 && !IsLineEnd(chars_.Peek())) chars_.Advance();
        SkipLineEnd();
        return status;
      }
      fields->push_back(std::move(field));
      if (chars_.Peek() != options_->delimiter) break;
      chars_.Advance();
    }
    SkipLineEnd();
    return chars_.status();
  }
  Status Plain(std::string* field) {
    for (int c = chars_.Peek(); c >= 0 && c != options_->delimiter && !IsLineEnd(c); c = chars_.Peek()) {
      if (options_->quotes && c == '"') {
        return InvalidArgument("Unquoted fields cannot have quotes inside");
      }
      field->push_back(static_cast<char>(c));
      chars_.Advance();
    }
    return OkStatus();
  }
  Status Quoted(std::string* field) {
    chars_.Advance();
    while (true) {
      const int c = chars_.Peek();
      if (c < 0) return InvalidArgument("Reached end of file without closing quoted field in record");
      chars_.Advance();
      if (c != '"') {
        field->push_back(static_cast<char>(c));
        continue;
      }
      const int next = chars_.Peek();
      if (next < 0 || next == options_->delimiter || IsLineEnd(next)) return OkStatus();
      if (next != '"') return InvalidArgument("Quote inside a string has to be escaped by another quote");
      field->push_back('"');
      chars_.Advance();
    }
  }

  bool Wanted(int64_t column) const {
    if (!options_->selected.empty()) {
      return std::binary_search(options_->selected.begin(), options_->selected.end(), column);
    }
    return !std::binary_search(options_->excluded.begin(), options_->excluded.end(), column);
  }
  Status Convert(std::vector<std::string>& fields, Element* out) {
    for (size_t column = 0; column < fields.size(); ++column) {
      if (!Wanted(static_cast<int64_t>(column))) continue;
      if (out->size() == options_->defaults.size()) {
        return InvalidArgument("Expect ", options_->defaults.size(), " fields but have more in record");
      }
      WEIR_RETURN_IF_ERROR(Add(fields[column], out));
    }
    if (out->size() == options_->defaults.size()) return OkStatus();
    return InvalidArgument("Expect ", options_->defaults.size(), " fields but have ", out->size(), " in record");
  }
  Status Add(std::string& text, Element* out) {
    const size_t index = out->size();
    const Tensor& fallback = options_->defaults[index];
    const DType dtype = fallback.dtype();
    if (text.empty() || text == options_->missing) {
      if (fallback.num_elements() != 1) return InvalidArgument("Field ", index, " is required but missing in record!");
      WEIR_ASSIGN_OR_RETURN(Tensor value, fallback.Reshaped(Shape()));
      out->push_back(std::move(value));
      return OkStatus();
    }
    if (dtype == DType::kString) {
      out->push_back(Tensor::Scalar(std::move(text)));
      return OkStatus();
    }
    bool valid = false;
    DispatchDType(dtype, TypeList<float, double, int32_t, int64_t>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T value{};
      valid = ParseNumber(text, &value);
      out->push_back(Tensor::Scalar(value));
    });
    if (valid) return OkStatus();
    out->clear();
    return InvalidArgument("Field ", index, " in record is not a valid ", Name(dtype), ": ", text);
  }

  CharStream chars_;
  const std::shared_ptr<const CsvOptions> options_;
};

Status CheckColumns(const std::vector<int64_t>& columns, std::string_view name) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] < 0) return InvalidArgument(name, " should be non-negative indices");
    if (i > 0 && columns[i] <= columns[i - 1]) return InvalidArgument(name, " should be strictly increasing indices");
  }
  return OkStatus();
}

StatusOr<DatasetPtr> MakeCsv(DatasetNode& node) {
  auto options = std::make_shared<CsvOptions>();
  WEIR_ASSIGN_OR_RETURN(std::vector<std::string> names, node.Names("filenames"));
  WEIR_ASSIGN_OR_RETURN(std::string compression, node.Scalar<std::string>("compression_type"));
  WEIR_ASSIGN_OR_RETURN(options->compression, ParseCompression(compression));
  WEIR_ASSIGN_OR_RETURN(int64_t buffer_size, node.Scalar<int64_t>("buffer_size"));
  if (buffer_size <= 0) return InvalidArgument("buffer_size should be positive");
  WEIR_ASSIGN_OR_RETURN(options->header, node.Scalar<bool>("header"));
  WEIR_ASSIGN_OR_RETURN(std::string delimiter, node.Scalar<std::string>("field_delim"));
  if (delimiter.size() != 1) return InvalidArgument("field_delim should be only 1 char");
  options->delimiter = delimiter[0];
  WEIR_ASSIGN_OR_RETURN(options->quotes, node.Scalar<bool>("use_quote_delim"));
  WEIR_ASSIGN_OR_RETURN(options->missing, node.Scalar<std::string>("na_value"));
  WEIR_ASSIGN_OR_RETURN(options->selected, node.Vector<int64_t>("select_cols"));
  WEIR_RETURN_IF_ERROR(CheckColumns(options->selected, "select_cols"));
  if (node.HasInput("exclude_cols")) {
    WEIR_ASSIGN_OR_RETURN(options->excluded, node.Vector<int64_t>("exclude_cols"));
    WEIR_RETURN_IF_ERROR(CheckColumns(options->excluded, "exclude_cols"));
    if (!options->selected.empty() && !options->excluded.empty()) {
      return InvalidArgument("Either select_cols or exclude_cols should be empty");
    }
  }
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  WEIR_ASSIGN_OR_RETURN(options->defaults, node.Tensors("record_defaults"));
  for (size_t i = 0; i < options->defaults.size(); ++i) {
    const Tensor& value = options->defaults[i];
    if (value.rank() > 1) return InvalidArgument("Each record default should be at most rank 1");
    if (value.num_elements() > 1) {
      return InvalidArgument("There should only be 1 default per field but field ", i, " has ", value.num_elements());
    }
  }
  if (!options->selected.empty() && options->selected.size() != spec.types.size()) {
    return InvalidArgument("select_cols should match output size");
  }
  return MakeFileDataset(
      std::move(spec), std::move(names),
      [options](const std::string& path, size_t file, int64_t offset) -> StatusOr<std::unique_ptr<ElementReader>> {
        WEIR_ASSIGN_OR_RETURN(std::unique_ptr<InputStream> stream, OpenStreamAt(path, options->compression, offset));
        return std::unique_ptr<ElementReader>(std::make_unique<CsvElements>(std::move(stream), options, offset));
      });
}

}  // namespace

void RegisterCsvDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, {"CSVDataset", "CSVDatasetV2", "ExperimentalCSVDataset"}, MakeCsv);
}

}  // namespace weir
