#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <set>

#include "weir/proto/serving.pb.h"
#include "weir/serving/reflection_internal.h"

namespace weir {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;

// Our packages are TensorFlow's under another name: "weir.serving.ModelSpec" is "tensorflow.serving.ModelSpec".
std::string ToWireName(std::string_view name) {
  const bool dotted = name.starts_with('.');
  const std::string_view bare = dotted ? name.substr(1) : name;
  if (bare != "weir" && !bare.starts_with("weir.")) return std::string(name);
  return Cat(dotted ? "." : "", "tensorflow", bare.substr(4));
}
std::string FromWireName(std::string_view name) {
  constexpr std::string_view kPackage = "tensorflow";
  return name.starts_with("tensorflow.") ? Cat("weir", name.substr(kPackage.size())) : std::string(name);
}

void RenameTypes(DescriptorProto* message) {
  for (auto& field : *message->mutable_field()) {
    if (field.has_type_name()) field.set_type_name(ToWireName(field.type_name()));
  }
  for (auto& nested : *message->mutable_nested_type()) RenameTypes(&nested);
}

// The file and all that it imports, each before those that import it.
void AppendFile(const FileDescriptor* file, std::set<const FileDescriptor*>* seen, WireBuffer* out) {
  if (!seen->insert(file).second) return;
  for (int i = 0; i < file->dependency_count(); ++i) AppendFile(file->dependency(i), seen, out);
  FileDescriptorProto proto;
  file->CopyTo(&proto);
  proto.set_package(ToWireName(proto.package()));
  for (auto& message : *proto.mutable_message_type()) RenameTypes(&message);
  for (auto& service : *proto.mutable_service()) {
    for (auto& method : *service.mutable_method()) {
      method.set_input_type(ToWireName(method.input_type()));
      method.set_output_type(ToWireName(method.output_type()));
    }
  }
  out->AppendBytesField(1, proto.SerializeAsString());
}

// ListServiceResponse{service = 1: ServiceResponse{name = 1}}.
std::string ListServices() {
  WireBuffer out;
  for (const char* name :
       {"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection",
        "tensorflow.serving.ModelService", "tensorflow.serving.PredictionService"}) {
    WireBuffer service;
    service.AppendBytesField(1, name);
    out.AppendBytesField(1, service.Flatten());
  }
  return out.Flatten();
}

}  // namespace

void ServeReflection(IncomingCall* call) {
  // ServerReflectionRequest: host = 1, file_by_filename = 3, file_containing_symbol = 4, list_services = 7.
  google::protobuf::io::CodedInputStream in(call->request());
  std::string original, text;
  int asked = 0;
  while (uint32_t tag = in.ReadTag()) {
    uint32_t length = 0;
    if ((tag & 7) != 2 || !in.ReadVarint32(&length) || length > call->request_bytes() ||
        !in.ReadString(&text, static_cast<int>(length))) {
      return call->Finish(InvalidArgument("Malformed ServerReflectionRequest"), {});
    }
    if (tag >> 3 > 1) {
      asked = static_cast<int>(tag >> 3);
      original = text;
    }
  }
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  const FileDescriptor* file = nullptr;
  (void)serving::ModelSpec::descriptor();  // its file is in the pool from now on
  if (asked == 3) file = pool->FindFileByName(original);
  if (asked == 4) file = pool->FindFileContainingSymbol(FromWireName(original));
  // ServerReflectionResponse: file_descriptor_response = 4, list_services_response = 6, error_response = 7.
  WireBuffer out;
  if (asked == 7) {
    out.AppendBytesField(6, ListServices());
  } else if (file != nullptr) {
    WireBuffer files;
    std::set<const FileDescriptor*> seen;
    AppendFile(file, &seen, &files);
    out.AppendBytesField(4, files.Flatten());
  } else {
    WireBuffer error;  // ErrorResponse{error_code = 1, error_message = 2}
    error.AppendTag(1, 0);
    error.AppendVarint(static_cast<uint64_t>(absl::StatusCode::kNotFound));
    error.AppendBytesField(2, Cat("not known here: ", original));
    out.AppendBytesField(7, error.Flatten());
  }
  call->Finish(OkStatus(), std::move(out));
}

}  // namespace weir
