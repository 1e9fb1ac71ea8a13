// Requests to a version of a model, whatever protocol they came by: Predict over named tensors, Classify and Regress
// over serialized tf.train.Examples.
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

// What comes with a request beside its data.
struct RequestContext {
  Priority priority = Priority::kNormal;
  absl::Time deadline = absl::InfiniteFuture();
  CancellationManager* cancellation = nullptr;  // may be null; must live until the request is answered
  StepReport* report = nullptr;                 // not null: the step is traced
  bool at_once = false;                         // in the calling thread, past all queues
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

struct PredictQuery {
  std::string signature;  // empty: serving_default
  NamedTensors inputs;
  std::vector<std::string> output_filter;  // empty: all
};
// `done` may be called before this returns; the version is kept until then. Outputs are in the order of their names.
void Predict(std::shared_ptr<ServedVersion> version, PredictQuery query, const RequestContext& context,
             std::function<void(Status, NamedTensors)> done);

// The signature's inputs by name. `code` is that of the error if there is none of that name.
StatusOr<const Signature*> FindSignature(const ServedVersion& version, const std::string& name, absl::StatusCode code);

// One task over Examples: `method` is kClassifyMethod or kRegressMethod.
struct ExampleTask {
  std::string signature;
  std::string method;
};
struct Classified {
  std::vector<std::vector<std::pair<std::string, float>>> rows;  // labels and scores
};
struct ExampleResult {
  Classified classes;              // of a classification
  std::vector<float> regressions;  // of a regression
};
// All tasks in one step. `examples`: serialized.
void RunExamples(std::shared_ptr<ServedVersion> version, std::vector<ExampleTask> tasks,
                 std::vector<std::string> examples, const RequestContext& context,
                 std::function<void(Status, std::vector<ExampleResult>)> done);

}  // namespace weir

#endif  // WEIR_SERVING_INFERENCE_H_
