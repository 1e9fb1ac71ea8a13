// NumPy's array files (.npy, formats 1.0 to 3.0).
#ifndef WEIR_TENSOR_NPY_H_
#define WEIR_TENSOR_NPY_H_

#include <string>
#include <string_view>

#include "weir/base/export.h"
#include "weir/base/status.h"
#include "weir/tensor/tensor.h"

namespace WEIR_PUBLIC weir {

// Both byte orders and both array orders are read. Text ('U') becomes UTF-8 strings, bytes ('S') strings without the
// padding; two-byte void is taken for bfloat16, since NumPy has no name for it. INVALID_ARGUMENT for what is no array
// file or has elements we lack (objects, records, dates); DATA_LOSS if it is cut short.
StatusOr<Tensor> ParseNpy(std::string_view bytes);
// Strings are written as bytes ('S'), padded with zeros: INVALID_ARGUMENT for one that ends in a zero, and for types
// that NumPy lacks.
StatusOr<std::string> FormatNpy(const Tensor& tensor);

StatusOr<Tensor> ReadNpy(const std::string& path);
Status WriteNpy(const std::string& path, const Tensor& tensor);

}  // namespace weir

#endif  // WEIR_TENSOR_NPY_H_
