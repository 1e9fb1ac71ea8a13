// SequenceExampleParser: the context and the feature lists of serialized SequenceExamples as tensors.
#ifndef WEIR_IO_SEQUENCE_EXAMPLE_PARSER_H_
#define WEIR_IO_SEQUENCE_EXAMPLE_PARSER_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weir/io/example_parser.h"

namespace weir {

struct DenseList {
  std::string key;
  DType dtype = DType::kInvalid;
  PartialShape shape;  // of one step; must be known
  bool may_be_missing = false;
};
struct SequenceSpec {
  ExampleSpec context;  // dense shapes must be known
  std::vector<DenseList> dense;
  std::vector<SparseFeature> sparse;
  std::vector<RaggedFeature> ragged;
};

struct ParsedSequences {
  ParsedExamples context;
  // A feature list adds a dimension for its steps: sparse indices are [values, 3], or [values, 2] of a single example.
  std::vector<Tensor> sparse_indices;
  std::vector<Tensor> sparse_values;
  std::vector<Tensor> sparse_shapes;
  std::vector<Tensor> dense_values;   // [examples, longest, shape...] with zeros behind shorter ones
  std::vector<Tensor> dense_lengths;  // [examples], or a scalar
  std::vector<Tensor> ragged_values;
  std::vector<Tensor> ragged_outer_splits;  // [examples + 1], or a scalar
  std::vector<Tensor> ragged_inner_splits;  // [steps + 1]
};

// Any number of threads at once.
class SequenceExampleParser {
 public:
  static StatusOr<std::unique_ptr<SequenceExampleParser>> Create(SequenceSpec spec);
  ~SequenceExampleParser();

  // As ExampleParser's.
  StatusOr<ParsedSequences> ParseBatch(std::span<const std::string> serialized, std::span<const std::string> names = {},
                                       ThreadPool* pool = nullptr) const;
  // One example, without the batch dimension. If `strict`, fields that nobody knows must be whole too.
  StatusOr<ParsedSequences> ParseSingle(const std::string& serialized, const std::string& name, bool strict) const;

 private:
  class Impl;
  explicit SequenceExampleParser(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir

#endif  // WEIR_IO_SEQUENCE_EXAMPLE_PARSER_H_
