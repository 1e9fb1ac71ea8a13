// Converts tensors to and from JSON, in TensorFlow Serving's row ("instances") and column ("inputs") formats.
#ifndef WEIR_SERVING_JSON_TENSORS_H_
#define WEIR_SERVING_JSON_TENSORS_H_

#include <string>
#include <string_view>

#include "weir/client/saved_model.h"
#include "weir/serving/inference.h"
#include "weir/serving/json_reader.h"

namespace weir {

// Converts the value of "instances" or "inputs" to tensors with the signature's types. INVALID_ARGUMENT for values of
// other types or ragged shapes; UNIMPLEMENTED for types without a JSON form.
StatusOr<NamedTensors> ReadInstances(std::string_view json, const Signature& signature);
StatusOr<NamedTensors> ReadInputs(std::string_view json, const Signature& signature);

// A string, or {"b64": "..."}.
StatusOr<std::string> ReadJsonBytes(JsonReader* reader);

// {"predictions": [...]}: outputs must have the same first dimension. {"outputs": ...}.
Status WritePredictions(const NamedTensors& outputs, std::string* out);
Status WriteOutputs(const NamedTensors& outputs, std::string* out);

void AppendJsonString(std::string_view text, std::string* out);
void AppendJsonFloat(float value, std::string* out);

}  // namespace weir

#endif  // WEIR_SERVING_JSON_TENSORS_H_
