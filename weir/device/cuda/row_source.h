// Device code for programs that also work along rows, the last dimension: a block for each row, whose elements it keeps
// in registers from the first operation to the last.
#ifndef WEIR_DEVICE_CUDA_ROW_SOURCE_H_
#define WEIR_DEVICE_CUDA_ROW_SOURCE_H_

#include <string>
#include <vector>

#include "weir/device/cuda/elementwise_source.h"

namespace weir::cuda {

// Where an input's elements for a row are.
struct RowInput {
  std::string first;       // the place of the first, an expression of `row`
  bool is_single = false;  // one stands for the whole row
};

struct RowLayout {
  std::vector<RowInput> inputs;
  // By output: whether it is, for each block, the sum of a float value over the block's rows. None if empty.
  std::vector<bool> column_sums;
  int64_t row = 0;  // elements
  int block = 0;    // threads
};

inline constexpr int64_t kLongestRow = 4096;

// The operations along rows; what they are called in device code. Empty if it is none.
std::string_view RowOperation(std::string_view op);
// Whether the operation leaves one number of each row.
bool ReducesRows(std::string_view op);

// Threads for rows of this size.
int RowBlock(int64_t row);

// The text of a source with a kernel `Rows` whose only parameter is what PackArguments makes of the addresses and the
// number of rows. Steps whose operation is a RowOperation work along rows; a value is as large as a row unless all that
// it is made of is one number. Which values are: `is_single`, by value. Outputs are in full rows or one for each row.
std::string RowSource(const ElementwiseProgram& program, const RowLayout& layout, const std::vector<bool>& is_single);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_ROW_SOURCE_H_
