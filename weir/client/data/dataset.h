// Dataset: a sequence of elements (of one or several tensors each) that are produced during iteration.
//
//   data::Dataset dataset = data::FromTensors({images, labels})
//                               .Shuffle(10'000, {.seed = 1})
//                               .Map([](const std::vector<EagerTensor>& e) {
//                                 return std::vector<EagerTensor>{eager::Cast(e[0], DType::kFloat) / 255.0f, e[1]};
//                               })
//                               .Batch(64)
//                               .Prefetch(2);
//   data::Elements elements(dataset);
//   for (const std::vector<Tensor>& element : elements) { ... }
//   WEIR_RETURN_IF_ERROR(elements.status());
//
// The functions of Map and similar transformations are written with eager functions and traced into graph functions
// (eager/compile.h); MapTensors takes any C++ function instead. Datasets are values: a transformation returns a new
// dataset. Errors are sticky: the first one is reported by status() or during iteration.
#ifndef WEIR_CLIENT_DATA_DATASET_H_
#define WEIR_CLIENT_DATA_DATASET_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/eager_tensor.h"
#include "weir/client/input.h"

namespace WEIR_PUBLIC weir {
namespace data {

// Types and shapes of the tensors in an element.
struct ElementSpec {
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
};

using EagerTensors = std::vector<EagerTensor>;
using Tensors = std::vector<Tensor>;
using MapFunction = std::function<EagerTensors(const EagerTensors& element)>;

// As many in parallel as there are cores.
inline constexpr int64_t kAllCores = -1;

struct ShuffleOptions {
  int64_t seed = 0;  // 0: a different order in every run
  bool reshuffle_each_epoch = true;
};
struct MapOptions {
  int64_t parallel = 1;  // number of elements processed in parallel; may be kAllCores
  bool deterministic = true;
};
struct InterleaveOptions {
  int64_t cycle = 4;  // number of datasets that take turns
  int64_t block = 1;  // consecutive elements from each dataset
  int64_t parallel = 1;
};
struct PaddedBatchOptions {
  std::vector<PartialShape> shapes;  // the shapes to pad to; empty: the largest in each batch
  bool drop_remainder = false;
};

class Dataset {
 public:
  Dataset() = default;
  Dataset(EagerTensor handle, ElementSpec spec) : handle_(std::move(handle)), spec_(std::move(spec)) {}

  Status status() const;
  const ElementSpec& spec() const { return spec_; }
  // The dataset as operations see it: a variant.
  const EagerTensor& handle() const { return handle_; }
  // The number of elements; -1 if infinite, -2 if unknown.
  StatusOr<int64_t> Cardinality() const;

  Dataset Map(const MapFunction& function, const MapOptions& options = {}) const;
  // Applies any C++ function of tensors; `spec` describes its results. It is called by the iterating thread. When an
  // iteration is restored, it is not called again for earlier elements.
  Dataset MapTensors(const ElementSpec& spec, std::function<StatusOr<Tensors>(const Tensors& element)> function) const;
  // Keeps the elements for which the function returns true, as a scalar.
  Dataset Filter(const std::function<EagerTensor(const EagerTensors& element)>& predicate) const;
  Dataset Shuffle(int64_t buffer_size, const ShuffleOptions& options = {}) const;
  Dataset Batch(int64_t size, bool drop_remainder = false) const;
  // Pads the tensors of a batch with zeros (empty strings) to a common shape.
  Dataset PaddedBatch(int64_t size, const PaddedBatchOptions& options = {}) const;
  Dataset Unbatch() const;
  Dataset Repeat(int64_t count = -1) const;  // -1: indefinitely
  // Caches the elements in memory, or in files, during the first complete iteration.
  Dataset Cache(const std::string& path = "") const;
  Dataset Prefetch(int64_t count) const;
  Dataset Take(int64_t count) const;
  Dataset Skip(int64_t count) const;
  // Every count-th element, starting with `index`.
  Dataset Shard(int64_t count, int64_t index) const;
  Dataset Concatenate(const Dataset& other) const;
  // Iterates over the datasets that the function makes from the elements, taking turns. All must have the spec of the
  // first.
  Dataset Interleave(const std::function<Dataset(const EagerTensors& element)>& function,
                     const InterleaveOptions& options = {}) const;
  Dataset FlatMap(const std::function<Dataset(const EagerTensors& element)>& function) const;

 private:
  Dataset Failed(Status error) const;
  EagerTensor handle_;
  ElementSpec spec_;
};

// The rows of tensors with the same number of rows.
Dataset FromTensors(const Tensors& tensors);
// A single element.
Dataset FromElement(const Tensors& element);
Dataset Range(int64_t start, int64_t stop, int64_t step = 1);
// Tuples with one element of each dataset; ends with the shortest.
Dataset Zip(const std::vector<Dataset>& datasets);

// `make` is called at the beginning of an iteration and returns a function that produces one element per call; false
// ends the iteration. A restored iteration produces the earlier elements again and drops them.
using NextElement = std::function<StatusOr<bool>(Tensors* element)>;
Dataset FromGenerator(const ElementSpec& spec, std::function<NextElement()> make);

// Reads files; inside Interleave, their names may be a traced tensor. `compression`: "", "ZLIB", "GZIP".
struct FileOptions {
  std::string compression;
  int64_t buffer_size = 256 << 10;
};
Dataset TextLines(const Input& paths, const FileOptions& options = {});
Dataset Records(const Input& paths, const FileOptions& options = {});
Dataset FixedLengthRecords(const Input& paths, int64_t bytes, int64_t header_bytes = 0, int64_t footer_bytes = 0,
                           const FileOptions& options = {});
struct CsvFileOptions : FileOptions {
  bool header = false;
  std::string delimiter = ",";
  std::vector<int64_t> columns;  // empty: all
};
// One tensor per column, with the given types; fields must not be empty.
Dataset CsvLines(const Input& paths, const std::vector<DType>& types, const CsvFileOptions& options = {});
// The names of files that match the patterns, sorted.
Dataset MatchingFiles(const Input& patterns);

}  // namespace data
}  // namespace weir

#endif  // WEIR_CLIENT_DATA_DATASET_H_
