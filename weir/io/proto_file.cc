#include "weir/io/proto_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <climits>

namespace weir {
namespace {

// Structured values of a SavedModel nest deeper than protobuf's own limit.
constexpr int kMaxDepth = 200;

struct FirstError : google::protobuf::io::ErrorCollector {
  void AddError(int line, int, const std::string& message) override {
    if (first.empty()) first = Cat("line ", line + 1, ": ", message);
  }
  std::string first;
};

}  // namespace

bool ParseBinaryProto(std::string_view bytes, google::protobuf::Message* message) {
  if (bytes.size() > size_t{INT_MAX}) return false;
  google::protobuf::LogSilencer silence;  // to be no such message is an answer here, not a fault
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMaxDepth);
  stream.SetTotalBytesLimit(INT_MAX);
  return message->ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

Status ParseTextProto(std::string_view text, google::protobuf::Message* message) {
  FirstError errors;
  google::protobuf::TextFormat::Parser parser;
  parser.SetRecursionLimit(kMaxDepth);
  parser.RecordErrorsTo(&errors);
  if (parser.ParseFromString(std::string(text), message)) return OkStatus();
  return InvalidArgument(errors.first.empty() ? "not a text message" : errors.first);
}

StatusOr<std::string> ProtoToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string out;
  auto status = google::protobuf::util::MessageToJsonString(message, &out, options);
  if (!status.ok()) return InvalidArgument("cannot be written as JSON: ", status.ToString());
  return out;
}

}  // namespace weir
