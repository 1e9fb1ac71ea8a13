// What is noted about calls, whatever transport they come by: metrics, logs of sampled requests, traces of single ones.
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
  // Traces are written to `trace_folder`; empty: none are made.
  CallObserver(ServingMetrics* metrics, ModelManager* models, std::string trace_folder);
  // Writes what is left of the logs.
  ~CallObserver();

  // A call has ended. `entrypoint` is "GRPC" or "REST".
  void Ended(const char* api, const char* entrypoint, const std::string& model, const Status& status, absl::Time start);

  // Whether this request is to be logged, by the model's sampling rate.
  bool Samples(const ServedVersion& version);
  // Hands a record over to the thread that writes; dropped, and counted, if that cannot keep up.
  void Log(const ServedVersion& version, serving::PredictionLog log);
  void LogPredict(const ServedVersion& version, const PredictQuery& query, const NamedTensors& outputs);

  // `header`: the call's "weir-trace". Null if the call asks for no trace, or no more are made.
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

// "low", "normal" or "high", of the header "weir-priority"; anything else is normal.
Priority ParsePriority(std::string_view text);

}  // namespace weir

#endif  // WEIR_SERVING_CALL_OBSERVER_INTERNAL_H_
