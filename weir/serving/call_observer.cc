#include <pthread.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "weir/base/logging.h"
#include "weir/io/file_system.h"
#include "weir/serving/call_observer_internal.h"
#include "weir/serving/model_spec_internal.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

constexpr size_t kMaxWaitingRecords = 1000;
constexpr int kMaxTraces = 1000;
constexpr absl::Duration kLogPause = absl::Seconds(10);  // after a record could not be written

struct LogFile {
  std::unique_ptr<RecordWriter> writer;
  absl::Time paused_until = absl::InfinitePast();

  Status Append(const std::string& prefix, const std::string& bytes) {
    if (writer == nullptr) {
      const std::string time = absl::FormatTime("%Y%m%d-%H%M%S", absl::Now(), absl::UTCTimeZone());
      WEIR_ASSIGN_OR_RETURN(writer, RecordWriter::Create(Cat(prefix, "_", time, "_", getpid(), ".log")));
    }
    WEIR_RETURN_IF_ERROR(writer->Write(bytes));
    return writer->Flush();
  }
};

}  // namespace

Priority ParsePriority(std::string_view text) {
  if (text == "high") return Priority::kHigh;
  return text == "low" ? Priority::kLow : Priority::kNormal;
}

CallObserver::CallObserver(ServingMetrics* metrics, ModelManager* models, std::string trace_folder)
    : metrics_(metrics), models_(models), trace_folder_(std::move(trace_folder)), writer_([this] { WriteLogs(); }) {}

CallObserver::~CallObserver() {
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
    changed_.SignalAll();
  }
  writer_.join();
}

void CallObserver::Ended(const char* api, const char* entrypoint, const std::string& model, const Status& status,
                         absl::Time start) {
  // Names that clients made up would fill the page.
  const std::string name = models_->SettingsOf(model) != nullptr ? model : "";
  metrics_->Count(":tensorflow:serving:request_count",
                  {{"model_name", name}, {"status", status.ok() ? "OK" : absl::StatusCodeToString(status.code())}});
  metrics_->Observe(":tensorflow:serving:request_latency",
                    {{"model_name", name}, {"API", api}, {"entrypoint", entrypoint}},
                    absl::ToDoubleMicroseconds(absl::Now() - start));
}

bool CallObserver::Samples(const ServedVersion& version) {
  std::shared_ptr<const ModelSettings> settings = models_->SettingsOf(version.model());
  if (settings == nullptr || settings->log_prefix.empty() || settings->log_rate <= 0) return false;
  // Weyl's sequence: evenly spread, without a generator's state.
  const uint64_t at = sample_.fetch_add(0x9e3779b97f4a7c15ull, std::memory_order_relaxed);
  return static_cast<double>(at) * 0x1p-64 < settings->log_rate;
}

void CallObserver::Log(const ServedVersion& version, serving::PredictionLog log) {
  std::shared_ptr<const ModelSettings> settings = models_->SettingsOf(version.model());
  if (settings == nullptr) return;
  serving::LogMetadata* metadata = log.mutable_log_metadata();
  FillSpec(version.model(), version.version(), "", metadata->mutable_model_spec());
  metadata->mutable_sampling_config()->set_sampling_rate(settings->log_rate);
  metadata->add_saved_model_tags("serve");
  metadata->set_timestamp_secs(absl::ToUnixSeconds(absl::Now()));
  bool dropped = true;
  {
    absl::MutexLock lock(&mu_);
    if (records_.size() < kMaxWaitingRecords) {
      records_.push_back({settings->log_prefix, log.SerializeAsString()});
      dropped = false;
      changed_.SignalAll();
    }
  }
  metrics_->Count(":tensorflow:serving:request_log_count",
                  {{"model_name", version.model()}, {"status", dropped ? "RESOURCE_EXHAUSTED" : "OK"}});
}

void CallObserver::LogPredict(const ServedVersion& version, const PredictQuery& query, const NamedTensors& outputs) {
  serving::PredictionLog log;
  serving::PredictRequest* request = log.mutable_predict_log()->mutable_request();
  request->mutable_model_spec()->set_name(version.model());
  request->mutable_model_spec()->set_signature_name(query.signature);
  for (const auto& [name, tensor] : query.inputs) {
    if (!ToProto(tensor, &(*request->mutable_inputs())[name]).ok()) return;
  }
  serving::PredictResponse* response = log.mutable_predict_log()->mutable_response();
  FillSpec(version.model(), version.version(), query.signature, response->mutable_model_spec());
  for (const auto& [name, tensor] : outputs) {
    if (!ToProto(tensor, &(*response->mutable_outputs())[name]).ok()) return;
  }
  Log(version, std::move(log));
}

void CallObserver::WriteLogs() {
  pthread_setname_np(pthread_self(), "weir_log");
  std::map<std::string, LogFile> files;  // by their prefix
  while (true) {
    std::vector<Record> records;
    {
      absl::MutexLock lock(&mu_);
      while (records_.empty() && !ending_) changed_.Wait(&mu_);
      if (records_.empty()) return;
      records.swap(records_);
    }
    for (const Record& record : records) {
      LogFile& file = files[record.prefix];
      if (absl::Now() < file.paused_until) continue;
      const Status written = file.Append(record.prefix, record.bytes);
      if (written.ok()) continue;
      WEIR_LOG(WARNING) << "requests are not logged for " << absl::FormatDuration(kLogPause) << ": "
                        << Message(written);
      file.writer = nullptr;  // the next record begins a new file
      file.paused_until = absl::Now() + kLogPause;
    }
  }
}

std::shared_ptr<StepReport> CallObserver::StartTrace(std::string_view header) {
  if (trace_folder_.empty() || header.empty() || header == "0") return nullptr;
  if (num_traces_.fetch_add(1) >= kMaxTraces) return nullptr;
  return std::make_shared<StepReport>();
}

void CallObserver::EndTrace(const ServedVersion& version, const StepReport& report) {
  const std::string path =
      Cat(trace_folder_, "/", version.model(), "_", version.version(), "_", absl::ToUnixMicros(absl::Now()), ".json");
  const Status written = WriteWholeFile(path, report.ToChromeTrace());
  if (!written.ok()) {
    WEIR_LOG(WARNING) << "a trace is not written: " << Message(written);
  }
}

}  // namespace weir
