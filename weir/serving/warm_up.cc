#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "weir/io/file_system.h"
#include "weir/io/record_reader.h"
#include "weir/serving/api_internal.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

constexpr int kMaxRecords = 1000;

const RequestContext kWarmUp{.at_once = true};

// Calls `start` with a completion and waits for that.
template <typename Start>
Status Await(Start start) {
  absl::Notification ended;
  Status out;
  start([&](Status status, const auto&) {
    out = std::move(status);
    ended.Notify();
  });
  ended.WaitForNotification();
  return out;
}

Status ReplayPredict(const std::shared_ptr<ServedVersion>& version, const serving::PredictRequest& request) {
  PredictQuery query;
  query.signature = request.model_spec().signature_name();
  query.output_filter.assign(request.output_filter().begin(), request.output_filter().end());
  for (const auto& [name, proto] : request.inputs()) {
    WEIR_ASSIGN_OR_RETURN(Tensor tensor, FromProto(proto));
    query.inputs.emplace_back(name, std::move(tensor));
  }
  return Await([&](auto done) { Predict(version, std::move(query), kWarmUp, done); });
}

Status Replay(const std::shared_ptr<ServedVersion>& version, const serving::PredictionLog& log) {
  switch (log.log_type_case()) {
    case serving::PredictionLog::kPredictLog:
      return ReplayPredict(version, log.predict_log().request());
    case serving::PredictionLog::kClassifyLog:
      return Await([&](auto done) { Classify(version, log.classify_log().request(), kWarmUp, done); });
    case serving::PredictionLog::kRegressLog:
      return Await([&](auto done) { Regress(version, log.regress_log().request(), kWarmUp, done); });
    case serving::PredictionLog::kMultiInferenceLog: {
      const serving::MultiInferenceRequest& request = log.multi_inference_log().request();
      WEIR_RETURN_IF_ERROR(CheckMultiInference(request));
      return Await([&](auto done) { MultiInference(version, request, kWarmUp, done); });
    }
    default:
      return Unimplemented("Unsupported log_type for warmup");
  }
}

}  // namespace

Status ReplayWarmUpRequests(const std::shared_ptr<ServedVersion>& version, int iterations) {
  const std::string path = version->folder() + "/assets.extra/tf_serving_warmup_requests";
  if (!StatFile(path).ok()) return OkStatus();
  const absl::Time start = absl::Now();
  auto replay = [&]() -> Status {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<RecordReader> reader, RecordReader::Open(path));
    std::string record;
    for (int i = 0;; ++i) {
      Status read = reader->Read(&record);
      if (absl::IsOutOfRange(read)) return OkStatus();
      WEIR_RETURN_IF_ERROR(read);
      if (i == kMaxRecords) return InvalidArgument("a warm-up file may have at most ", kMaxRecords, " records");
      serving::PredictionLog log;
      if (!log.ParseFromString(record)) return InvalidArgument("record ", i, " of ", path, " is not a PredictionLog");
      for (int again = 0; again < iterations; ++again) {
        WEIR_RETURN_IF_ERROR(Annotate(Replay(version, log), Cat("record ", i, ": ")));
      }
    }
  };
  const Status status = replay();
  version->metrics().Observe(":tensorflow:serving:model_warmup_latency",
                             {{"model_path", version->folder()}, {"status", status.ok() ? "OK" : "ERROR"}},
                             absl::ToDoubleMicroseconds(absl::Now() - start));
  return status;
}

}  // namespace weir
