// Text files that fill tables: one entry a line.
#ifndef WEIR_OPS_TABLE_VOCABULARY_FILE_H_
#define WEIR_OPS_TABLE_VOCABULARY_FILE_H_

#include <string>
#include <utility>

#include "weir/tensor/tensor.h"

namespace weir {

struct VocabularyFormat {
  static constexpr int64_t kWholeLine = -2;
  static constexpr int64_t kLineNumber = -1;  // from `offset` on
  int64_t key_index = kWholeLine;             // or a column
  int64_t value_index = kLineNumber;
  int64_t vocab_size = -1;  // lines that count; -1: all
  char delimiter = '\t';
  int64_t offset = 0;
  DType key_dtype = DType::kString;
  DType value_dtype = DType::kInt64;
};

// Keys and values, in the order of the lines.
StatusOr<std::pair<Tensor, Tensor>> ReadVocabulary(const std::string& filename, const VocabularyFormat& format);

}  // namespace weir

#endif  // WEIR_OPS_TABLE_VOCABULARY_FILE_H_
