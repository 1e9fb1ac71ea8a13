// Dataset: a sequence of elements (each one or several tensors) that is made while it is walked over.
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
// The functions of Map and its like are written with eager functions and traced into graph functions (eager/compile.h);
// MapTensors takes any C++ function instead. Datasets are values: a transformation gives a new one. The first error
// sticks to what is made from it and comes out of status() or of the walk.
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

// Types and shapes of an element's tensors.
struct ElementSpec {
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
};

using EagerTensors = std::vector<EagerTensor>;
using Tensors = std::vector<Tensor>;
using MapFunction = std::function<EagerTensors(const EagerTensors& element)>;

// As many at once as there are cores.
inline constexpr int64_t kAllCores = -1;

struct ShuffleOptions {
  int64_t seed = 0;  // 0: another order in every run
  bool reshuffle_each_epoch = true;
};
struct MapOptions {
  int64_t parallel = 1;  // elements worked on at once; kAllCores
  bool deterministic = true;
};
struct InterleaveOptions {
  int64_t cycle = 4;  // datasets walked over by turns
  int64_t block = 1;  // elements of one before the next
  int64_t parallel = 1;
};
struct PaddedBatchOptions {
  std::vector<PartialShape> shapes;  // to pad to; none: the longest of the batch
  bool drop_remainder = false;
};

class Dataset {
 public:
  Dataset() = default;
  Dataset(EagerTensor handle, ElementSpec spec) : handle_(std::move(handle)), spec_(std::move(spec)) {}

  Status status() const;
  const ElementSpec& spec() const { return spec_; }
  // The dataset as operations know it, a variant.
  const EagerTensor& handle() const { return handle_; }
  // How many elements: a number, -1 for one without an end, -2 if it is not known.
  StatusOr<int64_t> Cardinality() const;

  Dataset Map(const MapFunction& function, const MapOptions& options = {}) const;
  // Any C++ function of tensors, `spec` of what it gives. It is called by the walk's thread. A walk that is restored
  // does not call it again for what has been.
  Dataset MapTensors(const ElementSpec& spec, std::function<StatusOr<Tensors>(const Tensors& element)> function) const;
  // Keeps elements for which the function gives a true scalar.
  Dataset Filter(const std::function<EagerTensor(const EagerTensors& element)>& predicate) const;
  Dataset Shuffle(int64_t buffer_size, const ShuffleOptions& options = {}) const;
  Dataset Batch(int64_t size, bool drop_remainder = false) const;
  // Tensors of a batch are padded with zeros (empty strings) to one shape.
  Dataset PaddedBatch(int64_t size, const PaddedBatchOptions& options = {}) const;
  Dataset Unbatch() const;
  Dataset Repeat(int64_t count = -1) const;  // -1: for ever
  // Kept in memory after the first whole walk, or in files.
  Dataset Cache(const std::string& path = "") const;
  Dataset Prefetch(int64_t count) const;
  Dataset Take(int64_t count) const;
  Dataset Skip(int64_t count) const;
  // Every count-th element, beginning with `index`.
  Dataset Shard(int64_t count, int64_t index) const;
  Dataset Concatenate(const Dataset& other) const;
  // Walks over the datasets that the function makes of the elements, by turns. All must have the spec of the first.
  Dataset Interleave(const std::function<Dataset(const EagerTensors& element)>& function,
                     const InterleaveOptions& options = {}) const;
  Dataset FlatMap(const std::function<Dataset(const EagerTensors& element)>& function) const;

 private:
  Dataset Failed(Status error) const;
  EagerTensor handle_;
  ElementSpec spec_;
};

// Rows of tensors, as many in each.
Dataset FromTensors(const Tensors& tensors);
// One element.
Dataset FromElement(const Tensors& element);
Dataset Range(int64_t start, int64_t stop, int64_t step = 1);
// Tuples of an element of each; as long as the shortest.
Dataset Zip(const std::vector<Dataset>& datasets);

// `make` is called at the beginning of a walk and gives a function that is asked for one element after the other; false
// ends the walk. A walk that is restored asks for what has been once more, and drops it.
using NextElement = std::function<StatusOr<bool>(Tensors* element)>;
Dataset FromGenerator(const ElementSpec& spec, std::function<NextElement()> make);

// Files; their names may be given as a traced tensor, inside Interleave. `compression`: "", "ZLIB", "GZIP".
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
  std::vector<int64_t> columns;  // none: all
};
// A tensor a column, of the types given; a field must not be empty.
Dataset CsvLines(const Input& paths, const std::vector<DType>& types, const CsvFileOptions& options = {});
// Names of files that match patterns, in order.
Dataset MatchingFiles(const Input& patterns);

}  // namespace data
}  // namespace weir

#endif  // WEIR_CLIENT_DATA_DATASET_H_
