#include "weir/ops/table/vocabulary_file.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "weir/base/parse_number.h"
#include "weir/io/file.h"

namespace weir {
namespace {

std::vector<std::string_view> Split(std::string_view line, char delimiter) {
  std::vector<std::string_view> pieces;
  while (true) {
    size_t end = line.find(delimiter);
    pieces.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    line.remove_prefix(end + 1);
  }
}

// The keys or the values of a table, as they are read.
class Column {
 public:
  Column(DType dtype, int64_t index, int64_t offset) : dtype_(dtype), index_(index), offset_(offset) {}

  Status Add(std::string_view line, const std::vector<std::string_view>& pieces, int64_t number) {
    if (index_ == VocabularyFormat::kLineNumber) {
      integers_.push_back(offset_ + number);
      return OkStatus();
    }
    std::string_view field = index_ == VocabularyFormat::kWholeLine ? line : pieces[static_cast<size_t>(index_)];
    return AddField(field, number);
  }

  StatusOr<Tensor> ToTensor() const {
    switch (dtype_) {
      case DType::kString:
        return Tensor::Vector<std::string>(std::span<const std::string>(strings_));
      case DType::kInt64:
        return Tensor::Vector<int64_t>(std::span<const int64_t>(integers_));
      case DType::kInt32:
        return Converted<int32_t>(integers_);
      case DType::kFloat:
        return Converted<float>(numbers_);
      case DType::kDouble:
        return Tensor::Vector<double>(std::span<const double>(numbers_));
      default:
        return InvalidArgument("Data type ", Name(dtype_), " not supported.");
    }
  }

 private:
  template <typename T, typename From>
  static StatusOr<Tensor> Converted(const std::vector<From>& values) {
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(kDTypeOf<T>, Shape({static_cast<int64_t>(values.size())})));
    std::transform(values.begin(), values.end(), out.data<T>(), [](From value) { return static_cast<T>(value); });
    return out;
  }

  Status AddField(std::string_view field, int64_t number) {
    bool valid = true;
    switch (dtype_) {
      case DType::kString:
        strings_.emplace_back(field);
        return OkStatus();
      case DType::kInt32: {
        int32_t value = 0;
        valid = ParseNumber(field, &value);
        integers_.push_back(value);
        break;
      }
      case DType::kInt64: {
        int64_t value = 0;
        valid = ParseNumber(field, &value);
        integers_.push_back(value);
        break;
      }
      case DType::kFloat: {
        float value = 0;
        valid = ParseNumber(field, &value);
        numbers_.push_back(value);
        break;
      }
      case DType::kDouble: {
        double value = 0;
        valid = ParseNumber(field, &value);
        numbers_.push_back(value);
        break;
      }
      default:
        return InvalidArgument("Data type ", Name(dtype_), " not supported.");
    }
    if (valid) return OkStatus();
    return InvalidArgument("Field ", field, " in line ", number, " is not a valid ", Name(dtype_), ".");
  }

  const DType dtype_;
  const int64_t index_;
  const int64_t offset_;
  std::vector<std::string> strings_;
  std::vector<int64_t> integers_;
  std::vector<double> numbers_;
};

Status CheckFormat(const VocabularyFormat& format) {
  constexpr int64_t kLineNumber = VocabularyFormat::kLineNumber;
  if (format.key_index == kLineNumber && format.key_dtype != DType::kInt64) {
    return InvalidArgument("Key index for line number requires table key dtype of int64, got ", Name(format.key_dtype));
  }
  if (format.value_index == kLineNumber && format.value_dtype != DType::kInt64) {
    return InvalidArgument("Value index for line number requires table value dtype of int64, got ",
                           Name(format.value_dtype));
  }
  if (format.value_index == VocabularyFormat::kWholeLine && format.value_dtype != DType::kString) {
    return InvalidArgument("Value index for whole line requires table value dtype of string, got ",
                           Name(format.value_dtype));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::pair<Tensor, Tensor>> ReadVocabulary(const std::string& filename, const VocabularyFormat& format) {
  WEIR_RETURN_IF_ERROR(CheckFormat(format));
  WEIR_ASSIGN_OR_RETURN(std::string contents, ReadFile(filename));
  // Whose lines TensorFlow counts before it reads the first one.
  if (contents.empty() && format.vocab_size < 0) return OutOfRange("Read less bytes than requested");
  std::istringstream file(std::move(contents));
  Column keys(format.key_dtype, format.key_index, format.offset);
  Column values(format.value_dtype, format.value_index, format.offset);
  int64_t needed = std::max<int64_t>({format.key_index, format.value_index, -1}) + 1;
  int64_t number = 0;
  int64_t position = 0;
  std::string line;
  std::vector<std::string_view> pieces;
  while ((format.vocab_size < 0 || number < format.vocab_size) && std::getline(file, line)) {
    position += static_cast<int64_t>(line.size()) + (file.eof() ? 0 : 1);
    line.erase(std::remove(line.begin(), line.end(), '\r'), line.end());
    if (line.empty()) {
      return InvalidArgument("Invalid content in ", filename, ": empty line found at position ", position, ".");
    }
    if (needed > 0) pieces = Split(line, format.delimiter);
    if (static_cast<int64_t>(pieces.size()) < needed) {
      return InvalidArgument("Invalid number of columns in ", filename, " line ", number, " (", line,
                             ") : expected at least ", needed, " got ", pieces.size());
    }
    WEIR_RETURN_IF_ERROR(keys.Add(line, pieces, number));
    WEIR_RETURN_IF_ERROR(values.Add(line, pieces, number));
    ++number;
  }
  if (format.vocab_size >= 0 && number < format.vocab_size) {
    return InvalidArgument("Invalid vocab_size in ", filename, ": expected ", format.vocab_size, " but got ", number);
  }
  WEIR_ASSIGN_OR_RETURN(Tensor key_tensor, keys.ToTensor());
  WEIR_ASSIGN_OR_RETURN(Tensor value_tensor, values.ToTensor());
  return std::make_pair(std::move(key_tensor), std::move(value_tensor));
}

}  // namespace weir
