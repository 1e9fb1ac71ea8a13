// Labelled datasets in memory, read from commonly published file formats.
#ifndef WEIR_CLIENT_EXAMPLES_H_
#define WEIR_CLIENT_EXAMPLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/tensor/tensor.h"

namespace WEIR_PUBLIC weir {

struct ExampleSet {
  Tensor inputs;  // float, the examples along the first dimension
  Tensor labels;  // int64
};
struct TrainAndTest {
  ExampleSet train;
  ExampleSet test;
};

// Reads an IDX file (the format of MNIST), gzipped or not, with its type and shape. DATA_LOSS if it is truncated or not
// an IDX file.
StatusOr<Tensor> ReadIdx(const std::string& path);
// Reads the four files of MNIST (or of a dataset in its format) from a folder, gzipped or not. Images are [count, 28,
// 28, 1] in [0, 1].
StatusOr<TrainAndTest> LoadMnist(const std::string& folder);
// Reads the binary version of CIFAR-10: data_batch_1.bin to _5.bin and test_batch.bin. [count, 32, 32, 3] in [0, 1].
StatusOr<TrainAndTest> LoadCifar10(const std::string& folder);

struct CsvOptions {
  char delimiter = ',';
  bool header = true;
};
struct CsvTable {
  std::vector<std::string> columns;  // names; "0", "1", ... without a header
  Tensor values;                     // float [rows, columns]; an empty field is NaN
};
// Reads a table of numbers. INVALID_ARGUMENT has the line and the field that is not a number.
StatusOr<CsvTable> ReadCsv(const std::string& path, const CsvOptions& options = {});

}  // namespace weir

#endif  // WEIR_CLIENT_EXAMPLES_H_
