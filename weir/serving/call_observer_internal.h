// Observes calls of all transports: metrics, logs of sampled requests, traces of single requests.
#ifndef WEIR_SERVING_CALL_OBSERVER_INTERNAL_H_
#define WEIR_SERVING_CALL_OBSERVER_INTERNAL_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "weir/io/record_writer.h"
#include "weir/proto/serving.pb.h"
#include "weir/serving/inference.h"
#include "weir/serving/model_manager.h"

namespace weir {

// Thread-safe.
class CallObserver {
 public:
  // Traces are written to `trace_folder`; empty: no traces.
  CallObserver(ServingMetrics* metrics, ModelManager* models, std::string trace_folder);
  // Flushes the logs.
  ~CallObserver();

  // Must be called at the end of each call. `entrypoint` is "GRPC" or "REST".
  void Ended(const char* api, const char* entrypoint, const std::string& model, const Status& status, absl::Time start);

  // Whether to log this request, according to the model's sampling rate.
  bool Samples(const ServedVersion& version);
  // Passes a record to the writing thread; dropped (and counted) if that cannot keep up.
  void Log(const ServedVersion& version, serving::PredictionLog log);
  void LogPredict(const ServedVersion& version, const PredictQuery& query, const NamedTensors& outputs);

  // `header`: the call's "weir-trace". Null if the call does not ask for a trace, or if there is no room for more
  // traces.
  std::shared_ptr<StepReport> StartTrace(std::string_view header);
  void EndTrace(const ServedVersion& version, const StepReport& report);

 private:
  struct Record {
    std::string prefix;
    std::string bytes;
  };
  void WriteLogs();

  ServingMetrics* const metrics_;
  ModelManager* const models_;
  const std::string trace_folder_;
  std::atomic<int> num_traces_{0};
  std::atomic<uint64_t> sample_{0};
  absl::Mutex mu_;
  absl::CondVar changed_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Record> records_ ABSL_GUARDED_BY(mu_);
  std::thread writer_;
};

// "low", "normal" or "high", from the header "weir-priority"; anything else means normal.
Priority ParsePriority(std::string_view text);

}  // namespace weir

#endif  // WEIR_SERVING_CALL_OBSERVER_INTERNAL_H_
