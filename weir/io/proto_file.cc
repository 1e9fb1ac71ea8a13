#include "weir/io/proto_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message_lite.h>
#include <google/protobuf/stubs/logging.h>

#include <climits>

#include "weir/io/proto_depth_internal.h"

namespace weir {

bool ParseBinaryProto(std::string_view bytes, google::protobuf::MessageLite* message) {
  if (bytes.size() > size_t{INT_MAX}) return false;
  google::protobuf::LogSilencer silence;  // to be no such message is an answer here, not a fault
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMaxProtoDepth);
  stream.SetTotalBytesLimit(INT_MAX);
  return message->ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

}  // namespace weir
