// In place of ../proto_text.cc in a build for given models, whose protobuf knows no text format.
#include "weir/io/proto_file.h"

namespace weir {

Status ParseTextProto(std::string_view, google::protobuf::MessageLite*) {
  return Unimplemented("this build of weir reads binary messages only");
}

}  // namespace weir
