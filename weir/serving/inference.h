// Requests to a version of a model, independent of the protocol: Predict on named tensors, Classify and Regress on
// serialized tf.train.Examples.
#ifndef WEIR_SERVING_INFERENCE_H_
#define WEIR_SERVING_INFERENCE_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weir/serving/served_version.h"

namespace weir {

inline constexpr char kDefaultSignature[] = "serving_default";
inline constexpr char kClassifyMethod[] = "tensorflow/serving/classify";
inline constexpr char kRegressMethod[] = "tensorflow/serving/regress";

// The parameters of a request besides its data.
struct RequestContext {
  Priority priority = Priority::kNormal;
  absl::Time deadline = absl::InfiniteFuture();
  CancellationManager* cancellation = nullptr;  // may be null; must live until the request is answered
  StepReport* report = nullptr;                 // if not null, the step is traced
  bool at_once = false;                         // run on the calling thread, bypassing all queues
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

struct PredictQuery {
  std::string signature;  // empty: serving_default
  NamedTensors inputs;
  std::vector<std::string> output_filter;  // empty: all outputs
};
// `done` may be called before Predict returns; the version is kept alive until then. Outputs are sorted by name.
void Predict(std::shared_ptr<ServedVersion> version, PredictQuery query, const RequestContext& context,
             std::function<void(Status, NamedTensors)> done);

// The signature and its inputs by name. `code` is the error code if there is no such signature.
StatusOr<const Signature*> FindSignature(const ServedVersion& version, const std::string& name, absl::StatusCode code);

// A task on Examples: `method` is kClassifyMethod or kRegressMethod.
struct ExampleTask {
  std::string signature;
  std::string method;
};
struct Classified {
  std::vector<std::vector<std::pair<std::string, float>>> rows;  // labels and scores
};
struct ExampleResult {
  Classified classes;              // for a classification
  std::vector<float> regressions;  // for a regression
};
// Runs all tasks in one step. `examples` are serialized.
void RunExamples(std::shared_ptr<ServedVersion> version, std::vector<ExampleTask> tasks,
                 std::vector<std::string> examples, const RequestContext& context,
                 std::function<void(Status, std::vector<ExampleResult>)> done);

}  // namespace weir

#endif  // WEIR_SERVING_INFERENCE_H_
