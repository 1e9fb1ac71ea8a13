// Tensors to and from JSON, in TensorFlow Serving's row ("instances") and column ("inputs") forms.
#ifndef WEIR_SERVING_JSON_TENSORS_H_
#define WEIR_SERVING_JSON_TENSORS_H_

#include <string>
#include <string_view>

#include "weir/client/saved_model.h"
#include "weir/serving/inference.h"
#include "weir/serving/json_reader.h"

namespace weir {

// The value of "instances", or of "inputs", as tensors of the signature's types. INVALID_ARGUMENT for values of other
// types or of irregular shape; UNIMPLEMENTED for types that JSON has no form for.
StatusOr<NamedTensors> ReadInstances(std::string_view json, const Signature& signature);
StatusOr<NamedTensors> ReadInputs(std::string_view json, const Signature& signature);

// A string, or {"b64": "..."}.
StatusOr<std::string> ReadJsonBytes(JsonReader* reader);

// {"predictions": [...]}: outputs must have a common first dimension. {"outputs": ...}.
Status WritePredictions(const NamedTensors& outputs, std::string* out);
Status WriteOutputs(const NamedTensors& outputs, std::string* out);

void AppendJsonString(std::string_view text, std::string* out);
void AppendJsonFloat(float value, std::string* out);

}  // namespace weir

#endif  // WEIR_SERVING_JSON_TENSORS_H_
