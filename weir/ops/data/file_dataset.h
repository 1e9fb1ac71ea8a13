// Datasets that read files one after the other.
#ifndef WEIR_OPS_DATA_FILE_DATASET_H_
#define WEIR_OPS_DATA_FILE_DATASET_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/io/record_reader.h"
#include "weir/ops/data/dataset.h"

namespace weir {

// The elements of one file.
class ElementReader {
 public:
  virtual ~ElementReader() = default;
  // `end`: nothing more comes from this file. An error without it is of one element.
  virtual Status Next(Element* out, bool* end) = 0;
  // Where the next element begins, in the decompressed bytes.
  virtual int64_t offset() const = 0;
};
// Opens the `file`-th file at an offset that a reader gave, or 0.
using ElementReaderFactory =
    std::function<StatusOr<std::unique_ptr<ElementReader>>(const std::string& path, size_t file, int64_t offset)>;

DatasetPtr MakeFileDataset(ElementSpec spec, std::vector<std::string> names, ElementReaderFactory open);

// The decompressed bytes of a file from `offset` on.
StatusOr<std::unique_ptr<InputStream>> OpenStreamAt(const std::string& path, Compression compression, int64_t offset);

}  // namespace weir

#endif  // WEIR_OPS_DATA_FILE_DATASET_H_
