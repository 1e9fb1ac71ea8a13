#include "weir/io/event_writer.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "weir/io/file_system.h"
#include "weir/io/record_writer.h"
#include "weir/proto/event.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

constexpr char kVersion[] = "brain.Event:2";
constexpr int kBuckets = 30;

Event NewEvent(int64_t step) {
  Event event;
  event.set_wall_time(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  event.set_step(step);
  return event;
}

DataClass DataClassOf(std::string_view plugin) {
  if (plugin == "scalars") return DATA_CLASS_SCALAR;
  if (plugin == "images" || plugin == "audio") return DATA_CLASS_BLOB_SEQUENCE;
  return DATA_CLASS_TENSOR;
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

// Rows of (left end, right end, count).
Tensor Buckets(std::span<const double> values) {
  std::vector<double> finite;
  for (double value : values) {
    if (std::isfinite(value)) finite.push_back(value);
  }
  if (finite.empty()) return Tensor::FromSpan<double>(std::span<const double>(), Shape({0, 3}));
  const auto [low, high] = std::minmax_element(finite.begin(), finite.end());
  if (*low == *high) {
    const double row[] = {*low - 0.5, *low + 0.5, static_cast<double>(finite.size())};
    return Tensor::FromSpan<double>(row, Shape({1, 3}));
  }
  std::vector<double> rows(kBuckets * 3);
  const double width = (*high - *low) / kBuckets;
  for (int i = 0; i < kBuckets; ++i) {
    rows[3 * i] = *low + i * width;
    rows[3 * i + 1] = i + 1 == kBuckets ? *high : *low + (i + 1) * width;
  }
  for (double value : finite) {
    rows[3 * std::clamp(static_cast<int>((value - *low) / width), 0, kBuckets - 1) + 2] += 1;
  }
  return Tensor::FromSpan<double>(rows, Shape({kBuckets, 3}));
}

}  // namespace

struct EventWriter::State {
  std::string path;
  absl::Mutex mu;
  std::unique_ptr<RecordWriter> records ABSL_GUARDED_BY(mu);
};

EventWriter::EventWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
EventWriter::~EventWriter() = default;
const std::string& EventWriter::path() const { return state_->path; }

StatusOr<std::unique_ptr<EventWriter>> EventWriter::Create(const std::string& folder, std::string_view suffix) {
  static std::atomic<int> number{0};
  WEIR_RETURN_IF_ERROR(MakeFolders(folder));
  auto state = std::make_unique<State>();
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%010lld", static_cast<long long>(absl::ToUnixSeconds(absl::Now())));
  state->path =
      Cat(folder, "/events.out.tfevents.", seconds, ".", HostName(), ".", getpid(), ".", number.fetch_add(1), suffix);
  {
    absl::MutexLock lock(&state->mu);
    WEIR_ASSIGN_OR_RETURN(state->records, RecordWriter::Create(state->path));
  }
  std::unique_ptr<EventWriter> writer(new EventWriter(std::move(state)));
  Event version = NewEvent(0);
  // Whole seconds, those of the file's name; and the writer that readers expect to be named.
  version.set_wall_time(std::floor(version.wall_time()));
  version.set_file_version(kVersion);
  version.mutable_source_metadata()->set_writer("tensorflow.core.util.events_writer");
  WEIR_RETURN_IF_ERROR(writer->Write(version));
  WEIR_RETURN_IF_ERROR(writer->Flush());
  return writer;
}

Status EventWriter::WriteBytes(std::string_view event) {
  absl::MutexLock lock(&state_->mu);
  return state_->records->Write(event);
}

Status EventWriter::Write(const Event& event) { return WriteBytes(event.SerializeAsString()); }

Status EventWriter::TensorSummary(int64_t step, std::string_view tag, const Tensor& tensor, std::string_view plugin,
                                  std::string_view plugin_content) {
  Event event = NewEvent(step);
  Summary::Value* value = event.mutable_summary()->add_value();
  value->set_tag(std::string(tag));
  SummaryMetadata* metadata = value->mutable_metadata();
  metadata->mutable_plugin_data()->set_plugin_name(std::string(plugin));
  metadata->mutable_plugin_data()->set_content(std::string(plugin_content));
  metadata->set_data_class(DataClassOf(plugin));
  WEIR_RETURN_IF_ERROR(ToProto(tensor, value->mutable_tensor()));
  return Write(event);
}

Status EventWriter::Scalar(int64_t step, std::string_view tag, double value) {
  return TensorSummary(step, tag, Tensor::Scalar(static_cast<float>(value)), "scalars");
}

Status EventWriter::Histogram(int64_t step, std::string_view tag, std::span<const double> values) {
  return TensorSummary(step, tag, Buckets(values), "histograms");
}

Status EventWriter::Text(int64_t step, std::string_view tag, std::string_view text) {
  return TensorSummary(step, tag, Tensor::Scalar(std::string(text)), "text");
}

Status EventWriter::Image(int64_t step, std::string_view tag, std::string_view png, int width, int height) {
  return TensorSummary(step, tag, Tensor::Vector<std::string>({Cat(width), Cat(height), std::string(png)}), "images");
}

Status EventWriter::GraphBytes(std::string_view graph_def, int64_t step) {
  Event event = NewEvent(step);
  event.set_graph_def(std::string(graph_def));
  return Write(event);
}

Status EventWriter::Flush() {
  absl::MutexLock lock(&state_->mu);
  return state_->records->Flush();
}

Status EventWriter::Close() {
  absl::MutexLock lock(&state_->mu);
  return state_->records->Close();
}

}  // namespace weir
