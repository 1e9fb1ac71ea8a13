// Conversions between the message ModelSpec and VersionChoice.
#ifndef WEIR_SERVING_MODEL_SPEC_INTERNAL_H_
#define WEIR_SERVING_MODEL_SPEC_INTERNAL_H_

#include "weir/proto/serving.pb.h"
#include "weir/serving/model_manager.h"

namespace weir {

VersionChoice ToChoice(const serving::ModelSpec& spec);
void FillSpec(const std::string& model, int64_t version, const std::string& signature, serving::ModelSpec* spec);

}  // namespace weir

#endif  // WEIR_SERVING_MODEL_SPEC_INTERNAL_H_
