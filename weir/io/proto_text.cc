#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include "weir/io/proto_depth_internal.h"
#include "weir/io/proto_file.h"

namespace weir {
namespace {

struct FirstError : google::protobuf::io::ErrorCollector {
  void AddError(int line, int, const std::string& message) override {
    if (first.empty()) first = Cat("line ", line + 1, ": ", message);
  }
  std::string first;
};

}  // namespace

Status ParseTextProto(std::string_view text, google::protobuf::MessageLite* message) {
  FirstError errors;
  google::protobuf::TextFormat::Parser parser;
  parser.SetRecursionLimit(kMaxProtoDepth);
  parser.RecordErrorsTo(&errors);
  // Only a build without this file has messages that are no more than lite ones.
  if (parser.ParseFromString(std::string(text), static_cast<google::protobuf::Message*>(message))) return OkStatus();
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
