#include <cstdio>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "weir/cli/show.h"
#include "weir/cli/tensor_json.h"
#include "weir/io/proto_file.h"
#include "weir/proto/event.pb.h"
#include "weir/proto/example.pb.h"
#include "weir/proto/graph.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kValues = 16;      // of one feature
constexpr size_t kPreview = 60;  // bytes of a text

std::string Quoted(std::string_view bytes) {
  std::string out = Cat("\"", absl::CHexEscape(ToAbsl(bytes.substr(0, kPreview))), "\"");
  return bytes.size() > kPreview ? Cat(out, "... (", bytes.size(), " bytes)") : out;
}

// The first of a repeated field, as text.
template <typename Field, typename ToText>
std::string List(const Field& field, ToText to_text) {
  std::string out = "[";
  for (int i = 0; i < std::min(field.size(), kValues); ++i) out += Cat(i > 0 ? ", " : "", to_text(field[i]));
  if (field.size() > kValues) out += Cat(", ... ", field.size(), " in all");
  return out + "]";
}

std::string FeatureToText(const Feature& feature) {
  switch (feature.kind_case()) {
    case Feature::kBytesList:
      return Cat("bytes ", List(feature.bytes_list().value(), [](const std::string& v) { return Quoted(v); }));
    case Feature::kFloatList:
      return Cat("float ", List(feature.float_list().value(), [](float v) { return Cat(v); }));
    case Feature::kInt64List:
      return Cat("int64 ", List(feature.int64_list().value(), [](int64_t v) { return Cat(v); }));
    default:
      return "nothing";
  }
}

void PrintFeatures(const Features& features, const char* indent) {
  std::map<std::string, const Feature*> sorted;
  for (const auto& [name, feature] : features.feature()) sorted[name] = &feature;
  for (const auto& [name, feature] : sorted) {
    std::printf("%s%s: %s\n", indent, name.c_str(), FeatureToText(*feature).c_str());
  }
}

// True if the record is such a message and nothing else.
template <typename Message>
bool Parse(const std::string& record, Message* message) {
  return ParseBinaryProto(record, message) && message->GetReflection()->GetUnknownFields(*message).empty() &&
         message->ByteSizeLong() == record.size();
}

void PrintRecord(const std::string& record) {
  Example example;
  SequenceExample sequence;
  if (record.empty()) {
    std::printf("  empty\n");
  } else if (Parse(record, &example)) {
    PrintFeatures(example.features(), "  ");
  } else if (Parse(record, &sequence)) {
    PrintFeatures(sequence.context(), "  context ");
    std::map<std::string, const FeatureList*> sorted;
    for (const auto& [name, list] : sequence.feature_lists().feature_list()) sorted[name] = &list;
    for (const auto& [name, list] : sorted) {
      std::printf("  list %s of %d\n", name.c_str(), list->feature_size());
      for (int i = 0; i < std::min(list->feature_size(), kValues); ++i) {
        std::printf("    %s\n", FeatureToText(list->feature(i)).c_str());
      }
    }
  } else {
    std::printf("  %s\n", Quoted(record).c_str());
  }
}

StatusOr<Json> RecordToJson(const std::string& record) {
  Example example;
  SequenceExample sequence;
  if (Parse(record, &example)) {
    WEIR_ASSIGN_OR_RETURN(std::string json, ProtoToJson(example));
    return Json{{"example", Json::parse(json)}};
  }
  if (Parse(record, &sequence)) {
    WEIR_ASSIGN_OR_RETURN(std::string json, ProtoToJson(sequence));
    return Json{{"sequence_example", Json::parse(json)}};
  }
  return Json{{"base64", absl::Base64Escape(record)}};
}

std::string SummaryToText(const Summary::Value& value) {
  switch (value.value_case()) {
    case Summary::Value::kSimpleValue:
      return Cat(value.simple_value());
    case Summary::Value::kHisto: {
      const HistogramProto& histogram = value.histo();
      return Cat("histogram of ", histogram.num(), " values from ", histogram.min(), " to ", histogram.max(), ", mean ",
                 histogram.num() != 0 ? histogram.sum() / histogram.num() : 0);
    }
    case Summary::Value::kImage:
      return Cat("image ", value.image().width(), "x", value.image().height(), ", ",
                 value.image().encoded_image_string().size(), " bytes");
    case Summary::Value::kAudio:
      return Cat("audio of ", value.audio().length_frames(), " frames at ", value.audio().sample_rate(), " Hz, ",
                 value.audio().encoded_audio_string().size(), " bytes");
    case Summary::Value::kTensor: {
      StatusOr<Tensor> tensor = FromProto(value.tensor());
      if (!tensor.ok()) return "a tensor that cannot be read";
      if (tensor->dtype() == DType::kString) {
        return Cat("string ", tensor->shape().ToString(), ": ",
                   List(value.tensor().string_val(), [](const std::string& v) { return Quoted(v); }));
      }
      return tensor->ToString();
    }
    default:
      return "nothing";
  }
}

void PrintEvent(const Event& event) {
  std::string head = Cat(
      "step ", event.step(), "  ",
      absl::FormatTime("%Y-%m-%d %H:%M:%E3S UTC",
                       absl::FromUnixMillis(static_cast<int64_t>(std::clamp(event.wall_time(), -1e11, 1e11) * 1000)),
                       absl::UTCTimeZone()));
  auto line = [&](const std::string& text) { std::printf("%s  %s\n", head.c_str(), text.c_str()); };
  switch (event.what_case()) {
    case Event::kFileVersion:
      return line(Cat("file version ", event.file_version()));
    case Event::kGraphDef: {
      GraphDef graph;
      bool good = ParseBinaryProto(event.graph_def(), &graph);
      return line(good ? Cat("graph of ", graph.node_size(), " nodes") : "a graph that cannot be read");
    }
    case Event::kMetaGraphDef:
      return line(Cat("meta graph, ", event.meta_graph_def().size(), " bytes"));
    case Event::kSummary:
      for (const Summary::Value& value : event.summary().value()) {
        const std::string& plugin = value.metadata().plugin_data().plugin_name();
        line(Cat(value.tag(), plugin.empty() ? "" : Cat(" (", plugin, ")"), " = ", SummaryToText(value)));
      }
      return;
    case Event::kSessionLog:
      return line(Cat("session ", SessionLog::SessionStatus_Name(event.session_log().status()), " ",
                      event.session_log().checkpoint_path(), " ", event.session_log().msg()));
    case Event::kTaggedRunMetadata:
      return line(Cat("run metadata ", event.tagged_run_metadata().tag()));
    default:
      return line("nothing");
  }
}

// Every record up to the limit; an end that is not clean is an error after what could be read.
Status VisitRecords(const KnownFile& file, int64_t limit,
                    const std::function<Status(int64_t number, uint64_t offset, const std::string&)>& visit) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<RecordReader> reader, RecordReader::Open(file.path, file.compression));
  std::string record;
  for (int64_t i = 0; limit <= 0 || i < limit; ++i) {
    uint64_t offset = reader->offset();
    Status status = reader->Read(&record);
    if (absl::IsOutOfRange(status)) return OkStatus();
    if (!status.ok()) {
      std::fflush(stdout);
      return Annotate(status, Cat(file.path, ": "));
    }
    WEIR_RETURN_IF_ERROR(visit(i, offset, record));
  }
  return OkStatus();
}

}  // namespace

Status ShowRecords(const KnownFile& file, const ShowOptions& options) {
  return VisitRecords(file, options.limit, [&](int64_t number, uint64_t offset, const std::string& record) -> Status {
    if (options.json) {
      Json json = {{"offset", offset}, {"size", record.size()}};
      WEIR_ASSIGN_OR_RETURN(Json contents, RecordToJson(record));
      json.update(contents);
      std::printf("%s\n", Dump(json).c_str());
    } else {
      std::printf("record %lld at %llu, %zu bytes\n", static_cast<long long>(number),
                  static_cast<unsigned long long>(offset), record.size());
      PrintRecord(record);
    }
    return OkStatus();
  });
}

Status ShowEvents(const KnownFile& file, const ShowOptions& options) {
  return VisitRecords(file, options.limit, [&](int64_t, uint64_t offset, const std::string& record) -> Status {
    Event event;
    if (!ParseBinaryProto(record, &event)) return DataLoss(file.path, ": the record at ", offset, " is not an event");
    if (!options.json) {
      PrintEvent(event);
      return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(std::string json, ProtoToJson(event));
    std::printf("%s\n", json.c_str());
    return OkStatus();
  });
}

}  // namespace weir
