// ExampleParser: features of serialized Examples, read straight from their bytes into tensors.
//
// A feature is asked for as dense (every example has the same number of values, or all are padded to the longest), as
// sparse, or as ragged. Parsing goes over the bytes twice: once to find, check and count the values, once to copy them
// to where they belong; no object is made in between.
#ifndef WEIR_IO_EXAMPLE_PARSER_H_
#define WEIR_IO_EXAMPLE_PARSER_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/tensor/tensor.h"

namespace weir {

class ThreadPool;

// Types are kFloat, kInt64 or kString.
struct DenseFeature {
  std::string key;
  DType dtype = DType::kInvalid;
  // Of one example. If the first dimension is unknown, the examples of a batch are padded to the longest.
  PartialShape shape;
  // Of that shape; without elements the feature is required. Of a padded feature: the one padding element.
  Tensor default_value;
};
struct SparseFeature {
  std::string key;
  DType dtype = DType::kInvalid;
};
struct RaggedFeature {
  std::string key;
  DType dtype = DType::kInvalid;
  DType splits_dtype = DType::kInt64;  // or kInt32
};
struct ExampleSpec {
  std::vector<DenseFeature> dense;
  std::vector<SparseFeature> sparse;
  std::vector<RaggedFeature> ragged;
};

// In the order of the spec.
struct ParsedExamples {
  std::vector<Tensor> sparse_indices;  // [values, 2], or [values, 1] of a single example
  std::vector<Tensor> sparse_values;   // [values]
  std::vector<Tensor> sparse_shapes;   // [2] or [1]
  std::vector<Tensor> dense_values;    // [examples, shape...], or [shape...]
  std::vector<Tensor> ragged_values;   // [values]
  std::vector<Tensor> ragged_splits;   // [examples + 1]; of a single example [0]
};

// Checks one dense feature: INVALID_ARGUMENT if its default does not fit its type and shape. `index` is for the
// message.
Status CheckDenseFeature(const DenseFeature& feature, size_t index);

// Any number of threads at once.
class ExampleParser {
 public:
  // INVALID_ARGUMENT if CheckDenseFeature finds a fault, or a type is none that examples hold.
  static StatusOr<std::unique_ptr<ExampleParser>> Create(ExampleSpec spec);
  ~ExampleParser();

  const ExampleSpec& spec() const;
  // `names` of the examples are for messages and may be empty. INVALID_ARGUMENT for bytes that are no Example, a
  // required feature that is missing, and values of another type or number; the error is that of the first such
  // example. Large batches are spread over `pool` if there is one.
  StatusOr<ParsedExamples> ParseBatch(std::span<const std::string> serialized, std::span<const std::string> names = {},
                                      ThreadPool* pool = nullptr) const;
  // One example, without the batch dimension.
  StatusOr<ParsedExamples> ParseSingle(std::string_view serialized) const;

 private:
  class Impl;
  explicit ExampleParser(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir

#endif  // WEIR_IO_EXAMPLE_PARSER_H_
