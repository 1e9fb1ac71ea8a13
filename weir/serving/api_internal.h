// TensorFlow Serving's calls in terms of their messages, for every transport: gRPC, REST, warm-up files.
#ifndef WEIR_SERVING_API_INTERNAL_H_
#define WEIR_SERVING_API_INTERNAL_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/proto/serving.pb.h"
#include "weir/serving/inference.h"
#include "weir/serving/model_manager.h"

namespace weir {

// The serialized examples, each preceded by the features of the context. INVALID_ARGUMENT if there are none.
StatusOr<std::vector<std::string>> ExamplesOf(const serving::Input& input);

void Classify(std::shared_ptr<ServedVersion> version, const serving::ClassificationRequest& request,
              const RequestContext& context, std::function<void(Status, serving::ClassificationResponse)> done);
void Regress(std::shared_ptr<ServedVersion> version, const serving::RegressionRequest& request,
             const RequestContext& context, std::function<void(Status, serving::RegressionResponse)> done);
// Checks that all tasks name the same model; the version is that of the first task.
Status CheckMultiInference(const serving::MultiInferenceRequest& request);
// REQUIRES: CheckMultiInference(request) is OK.
void MultiInference(std::shared_ptr<ServedVersion> version, const serving::MultiInferenceRequest& request,
                    const RequestContext& context, std::function<void(Status, serving::MultiInferenceResponse)> done);

StatusOr<serving::GetModelMetadataResponse> GetModelMetadata(const ModelManager& models,
                                                             const serving::GetModelMetadataRequest& request);
void FillSignatures(const ServedVersion& version, serving::SignatureDefMap* map);
StatusOr<serving::GetModelStatusResponse> GetModelStatus(const ModelManager& models, const serving::ModelSpec& spec);
Status ReloadConfig(ModelManager& models, const serving::ReloadConfigRequest& request);

// Replays the requests of assets.extra/tf_serving_warmup_requests, `iterations` times each. OK if there is no such
// file.
Status ReplayWarmUpRequests(const std::shared_ptr<ServedVersion>& version, int iterations);

}  // namespace weir

#endif  // WEIR_SERVING_API_INTERNAL_H_
