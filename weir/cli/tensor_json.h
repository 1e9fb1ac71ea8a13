// Tensors as JSON for `weir show --json`.
#ifndef WEIR_CLI_TENSOR_JSON_H_
#define WEIR_CLI_TENSOR_JSON_H_

#include <nlohmann/json.hpp>

#include "weir/tensor/tensor.h"

namespace weir {

// {"dtype": "float32", "shape": [2, 3]}
nlohmann::ordered_json TypeToJson(DType dtype, const PartialShape& shape);
// The same with "values", flat and in row-major order: NaN and infinities as strings, complex numbers as pairs, strings
// that are no UTF-8 as {"base64": ...}. At most `max_values`; then "truncated" is true.
nlohmann::ordered_json TensorToJson(const Tensor& tensor, int64_t max_values);
// Text that any JSON reader takes.
std::string Dump(const nlohmann::ordered_json& json);

}  // namespace weir

#endif  // WEIR_CLI_TENSOR_JSON_H_
