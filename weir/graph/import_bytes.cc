#include <climits>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "weir/graph/import.h"
#include "weir/proto/graph.pb.h"

namespace weir {
namespace {

class SilentCollector : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (first.empty()) first = Cat(line + 1, ":", column + 1, ": ", message);
  }
  std::string first;
};

}  // namespace

Status ImportGraphDefBytes(std::string_view bytes, Graph* graph, const ImportLimits& limits) {
  if (bytes.size() > size_t{INT_MAX}) return InvalidArgument("A GraphDef of ", bytes.size(), " bytes is too large");
  google::protobuf::Arena arena;
  auto* def = google::protobuf::Arena::CreateMessage<GraphDef>(&arena);
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(limits.max_depth);
  stream.SetTotalBytesLimit(INT_MAX);
  if (def->ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage()) return ImportGraphDef(*def, graph, limits);
  SilentCollector errors;
  google::protobuf::TextFormat::Parser parser;
  parser.SetRecursionLimit(limits.max_depth);
  parser.RecordErrorsTo(&errors);
  if (parser.ParseFromString(std::string(bytes), def)) return ImportGraphDef(*def, graph, limits);
  return InvalidArgument("Not a GraphDef, neither binary nor text (", errors.first, ")");
}

}  // namespace weir
