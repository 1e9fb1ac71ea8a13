// Reads PredictRequest and writes PredictResponse directly, without message objects for the tensors.
#ifndef WEIR_SERVING_PREDICT_MESSAGES_H_
#define WEIR_SERVING_PREDICT_MESSAGES_H_

#include <string>

#include "weir/distributed/wire/wire_buffer.h"
#include "weir/serving/inference.h"
#include "weir/serving/model_manager.h"

namespace google::protobuf::io {
class ZeroCopyInputStream;
}

namespace weir {

struct PredictMessage {
  VersionChoice choice;
  PredictQuery query;
  Status error;  // of the first invalid input
};

// Reads a PredictRequest of `size` bytes. INVALID_ARGUMENT if the bytes are malformed.
Status ReadPredictRequest(google::protobuf::io::ZeroCopyInputStream* in, size_t size, PredictMessage* message);

enum class OutputEncoding { kContent, kTypedFields };
// Fails if an output cannot be serialized.
Status WritePredictResponse(const std::string& model, int64_t version, const std::string& signature,
                            const NamedTensors& outputs, OutputEncoding encoding, WireBuffer* out);

}  // namespace weir

#endif  // WEIR_SERVING_PREDICT_MESSAGES_H_
