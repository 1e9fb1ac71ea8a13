// Tensors as JSON for `weir show --json`.
#ifndef WEIR_CLI_TENSOR_JSON_H_
#define WEIR_CLI_TENSOR_JSON_H_

#include <nlohmann/json.hpp>

#include "weir/tensor/tensor.h"

namespace weir {

// {"dtype": "float32", "shape": [2, 3]}
nlohmann::ordered_json TypeToJson(DType dtype, const PartialShape& shape);
// The same with "values", flat and in row-major order: NaN and infinities as strings, complex numbers as pairs, strings
// that are not UTF-8 as {"base64": ...}. If there are more than `max_values`, the rest is omitted and "truncated" is
// true.
nlohmann::ordered_json TensorToJson(const Tensor& tensor, int64_t max_values);
// Formats JSON so that any parser accepts it.
std::string Dump(const nlohmann::ordered_json& json);

}  // namespace weir

#endif  // WEIR_CLI_TENSOR_JSON_H_
