// Published sets of examples: IDX, CIFAR-10, CSV.
#include "weir/client/examples.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "weir/base/parse_number.h"
#include "weir/io/file.h"
#include "weir/io/record_reader.h"

namespace weir {
namespace {

// A file's bytes, unpacked if it is gzipped.
StatusOr<std::string> ReadWhole(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(std::string head, ReadFile(path));
  if (head.size() < 2 || head[0] != '\x1f' || head[1] != '\x8b') return head;
  WEIR_ASSIGN_OR_RETURN(auto stream, OpenStream(path, Compression::kGzip));
  std::string bytes;
  for (size_t before = 0;; before = bytes.size()) {
    WEIR_RETURN_IF_ERROR(stream->Read(size_t{1} << 20, &bytes));
    if (bytes.size() == before) return bytes;
  }
}

std::optional<DType> IdxType(unsigned char code) {
  switch (code) {
    case 0x08:
      return DType::kUInt8;
    case 0x09:
      return DType::kInt8;
    case 0x0B:
      return DType::kInt16;
    case 0x0C:
      return DType::kInt32;
    case 0x0D:
      return DType::kFloat;
    case 0x0E:
      return DType::kDouble;
  }
  return std::nullopt;
}

// The file itself, or with ".gz".
std::string Either(const std::string& path) { return IsFile(path) ? path : path + ".gz"; }

// Bytes 0 to 255 as floats 0 to 1.
StatusOr<Tensor> Scaled(const uint8_t* bytes, const Shape& shape) {
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kFloat, shape));
  for (int64_t i = 0; i < shape.num_elements(); ++i) out.data<float>()[i] = static_cast<float>(bytes[i]) / 255.0f;
  return out;
}

StatusOr<ExampleSet> LoadIdxPair(const std::string& images_path, const std::string& labels_path) {
  WEIR_ASSIGN_OR_RETURN(Tensor images, ReadIdx(Either(images_path)));
  WEIR_ASSIGN_OR_RETURN(Tensor labels, ReadIdx(Either(labels_path)));
  if (images.dtype() != DType::kUInt8 || images.rank() != 3) return DataLoss(images_path, " holds no images");
  if (labels.dtype() != DType::kUInt8 || labels.rank() != 1 || labels.dim(0) != images.dim(0)) {
    return DataLoss(labels_path, " does not hold the labels of ", images_path);
  }
  ExampleSet set;
  Shape shape = images.shape();
  WEIR_RETURN_IF_ERROR(shape.AddDim(1));
  WEIR_ASSIGN_OR_RETURN(set.inputs, Scaled(images.data<uint8_t>(), shape));
  WEIR_ASSIGN_OR_RETURN(set.labels, Tensor::Allocate(DType::kInt64, labels.shape()));
  std::copy_n(labels.data<uint8_t>(), labels.num_elements(), set.labels.data<int64_t>());
  return set;
}

constexpr int64_t kCifarSide = 32, kCifarPlane = kCifarSide * kCifarSide, kCifarRecord = 1 + 3 * kCifarPlane;

// Records of a label and three planes of colours, made into pixels.
StatusOr<ExampleSet> CifarRecords(const std::vector<std::string>& paths) {
  std::string all;
  for (const std::string& path : paths) {
    WEIR_ASSIGN_OR_RETURN(std::string bytes, ReadWhole(path));
    if (bytes.empty() || bytes.size() % kCifarRecord != 0) {
      return DataLoss(path, " has ", bytes.size(), " bytes, which is not a whole number of records");
    }
    all += bytes;
  }
  const int64_t count = static_cast<int64_t>(all.size()) / kCifarRecord;
  ExampleSet set;
  WEIR_ASSIGN_OR_RETURN(set.inputs, Tensor::Allocate(DType::kFloat, Shape({count, kCifarSide, kCifarSide, 3})));
  WEIR_ASSIGN_OR_RETURN(set.labels, Tensor::Allocate(DType::kInt64, Shape({count})));
  const uint8_t* from = reinterpret_cast<const uint8_t*>(all.data());
  float* to = set.inputs.data<float>();
  for (int64_t i = 0; i < count; ++i, from += kCifarRecord) {
    set.labels.data<int64_t>()[i] = from[0];
    for (int64_t p = 0; p < kCifarPlane; ++p) {
      for (int64_t c = 0; c < 3; ++c) *to++ = static_cast<float>(from[1 + c * kCifarPlane + p]) / 255.0f;
    }
  }
  return set;
}

// One line's fields; quotes may stand around a field.
std::vector<std::string> Fields(std::string_view line, char delimiter) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == delimiter && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

StatusOr<float> Number(const std::string& field) {
  if (field.find_first_not_of(" \t") == std::string::npos) return std::numeric_limits<float>::quiet_NaN();
  float value = 0;
  if (!ParseNumber(field, &value)) return InvalidArgument("'", field, "' is not a number");
  return value;
}

}  // namespace

StatusOr<Tensor> ReadIdx(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(std::string bytes, ReadWhole(path));
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  auto dtype = bytes.size() >= 4 && data[0] == 0 && data[1] == 0 ? IdxType(data[2]) : std::nullopt;
  if (!dtype) return DataLoss(path, " is not an IDX file");
  const size_t rank = data[3], head = 4 + 4 * rank;
  if (bytes.size() < head) return DataLoss(path, " is truncated");
  std::vector<int64_t> dims;
  for (size_t i = 0; i < rank; ++i) {
    const unsigned char* d = data + 4 + 4 * i;
    dims.push_back(int64_t{d[0]} << 24 | d[1] << 16 | d[2] << 8 | d[3]);
  }
  WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
  const size_t width = SizeOf(*dtype), body = bytes.size() - head;
  if (static_cast<uint64_t>(shape.num_elements()) != body / width || body % width != 0) {
    return DataLoss(path, " should hold ", shape.ToString(), " elements of ", Name(*dtype), ", but has ", body,
                    " bytes");
  }
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(*dtype, shape));
  char* to = static_cast<char*>(out.raw_data());
  // Numbers are stored with the high byte first.
  for (size_t i = 0; i < body; ++i) to[i] = bytes[head + i - i % width + (width - 1 - i % width)];
  return out;
}

StatusOr<TrainAndTest> LoadMnist(const std::string& folder) {
  TrainAndTest out;
  WEIR_ASSIGN_OR_RETURN(out.train,
                        LoadIdxPair(folder + "/train-images-idx3-ubyte", folder + "/train-labels-idx1-ubyte"));
  WEIR_ASSIGN_OR_RETURN(out.test, LoadIdxPair(folder + "/t10k-images-idx3-ubyte", folder + "/t10k-labels-idx1-ubyte"));
  return out;
}

StatusOr<TrainAndTest> LoadCifar10(const std::string& folder) {
  std::vector<std::string> paths;
  for (int i = 1; i <= 5; ++i) paths.push_back(Cat(folder, "/data_batch_", i, ".bin"));
  TrainAndTest out;
  WEIR_ASSIGN_OR_RETURN(out.train, CifarRecords(paths));
  WEIR_ASSIGN_OR_RETURN(out.test, CifarRecords({folder + "/test_batch.bin"}));
  return out;
}

StatusOr<CsvTable> ReadCsv(const std::string& path, const CsvOptions& options) {
  WEIR_ASSIGN_OR_RETURN(std::string text, ReadWhole(path));
  CsvTable table;
  std::vector<float> values;
  int64_t line_number = 0, rows = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    ++line_number;
    if (line.empty() || line == "\r") continue;
    std::vector<std::string> fields = Fields(line, options.delimiter);
    if (table.columns.empty()) {
      for (size_t i = 0; i < fields.size(); ++i) table.columns.push_back(options.header ? fields[i] : Cat(i));
      if (options.header) continue;
    }
    if (fields.size() != table.columns.size()) {
      return InvalidArgument(path, ", line ", line_number, ": ", fields.size(), " fields, not ", table.columns.size());
    }
    for (const std::string& field : fields) {
      StatusOr<float> value = Number(field);
      if (!value.ok()) return Annotate(value.status(), Cat(path, ", line ", line_number, ": "));
      values.push_back(*value);
    }
    ++rows;
  }
  table.values = Tensor::FromSpan<float>(values, Shape({rows, static_cast<int64_t>(table.columns.size())}));
  return table;
}

}  // namespace weir
