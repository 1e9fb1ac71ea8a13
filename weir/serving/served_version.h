// ServedVersion: a version of a model in memory, ready to serve requests.
#ifndef WEIR_SERVING_SERVED_VERSION_H_
#define WEIR_SERVING_SERVED_VERSION_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/client/saved_model.h"
#include "weir/serving/shared_tensors.h"
#include "weir/serving/step_scheduler.h"

namespace weir {

struct VersionOptions {
  std::string model;
  int64_t version = 0;
  std::string folder;
  std::set<std::string> tags = {"serve"};
  std::shared_ptr<Environment> environment;
  SessionOptions session;
  BatchOptions batching;
  // Let batching parameters in the model's folder override `batching`.
  bool read_batching_parameters = false;
  std::shared_ptr<StepScheduler::Share> share;
  SharedTensors* shared_tensors = nullptr;  // may be null; must outlive Load
  StepScheduler* scheduler = nullptr;       // both must outlive the version
  ServingMetrics* metrics = nullptr;
};

// Thread-safe.
class ServedVersion {
 public:
  // Reads the model and compiles a step for each signature, using the calling thread only.
  static StatusOr<std::unique_ptr<ServedVersion>> Load(VersionOptions options);

  const std::string& model() const { return options_.model; }
  int64_t version() const { return options_.version; }
  const std::string& folder() const { return options_.folder; }
  const std::map<std::string, Signature>& signatures() const { return model_->signatures(); }
  const std::map<std::string, std::string>& signature_defs() const { return model_->signature_defs(); }
  ServingMetrics& metrics() const { return *options_.metrics; }
  // The latency of requests by stage: parsing, waiting for a slot, the model's step, serialization. In microseconds.
  struct Stages {
    explicit Stages(const VersionOptions& options);
    std::shared_ptr<ServingMetrics::Histogram> read, wait, run, write;
  };
  const Stages& stages() const { return stages_; }
  void CountExamples(int64_t count) const;  // of one request
  // The size of constants and variables that were in memory already, because other versions have them.
  int64_t shared_bytes() const { return shared_bytes_; }

  // A set of feeds and fetches, and its queue.
  struct Step {
    std::vector<std::string> feeds;    // tensor names
    std::vector<std::string> fetches;  // without duplicates
    std::shared_ptr<StepScheduler::Queue> queue;
  };
  // The step for all inputs and outputs of a signature.
  struct Plan {
    const Step* step = nullptr;                           // feeds in the order of the signature's inputs
    std::vector<std::pair<std::string, size_t>> outputs;  // names, and positions among the fetches
  };
  // Null if there is no such signature, or if it has a tensor that is not dense.
  const Plan* PlanOf(const std::string& signature) const;
  // The step with these feeds and fetches; created on first use.
  const Step& StepFor(std::vector<std::string> feeds, std::vector<std::string> fetches);
  // job.inputs must be in the order of the step's feeds. `api` is the label for metrics: "Predict".
  void Submit(const Step& step, std::string_view api, StepScheduler::Job job);

 private:
  explicit ServedVersion(VersionOptions options);
  void FindIndependentRows(const Graph& graph);
  Status Prepare();
  void MakePlans();

  VersionOptions options_;
  const Stages stages_;
  ServingMetrics::Counter &runs_, &run_micros_, &examples_;
  ServingMetrics::Histogram& example_counts_;
  std::unique_ptr<LoadedModel> model_;
  int64_t shared_bytes_ = 0;
  // By set of feeds: the fetches whose rows depend only on the same row of these feeds.
  std::map<std::set<std::string>, std::set<std::string>> independent_;
  std::map<std::string, Plan> plans_;  // by signature
  absl::Mutex mu_;
  std::map<std::string, std::unique_ptr<Step>> steps_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_SERVING_SERVED_VERSION_H_
