// PredictRequest and PredictResponse between tensors and the wire, without message objects for the tensors in between.
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
  Status error;  // of the first input that is no tensor
};

// Reads a PredictRequest of `size` bytes. INVALID_ARGUMENT if the bytes are no such message.
Status ReadPredictRequest(google::protobuf::io::ZeroCopyInputStream* in, size_t size, PredictMessage* message);

enum class OutputEncoding { kContent, kTypedFields };
// Fails if an output cannot leave the process.
Status WritePredictResponse(const std::string& model, int64_t version, const std::string& signature,
                            const NamedTensors& outputs, OutputEncoding encoding, WireBuffer* out);

}  // namespace weir

#endif  // WEIR_SERVING_PREDICT_MESSAGES_H_
