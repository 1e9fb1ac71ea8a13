// Replays what TensorFlow's client said to TensorFlow's server (fixtures/rpc) and compares every answer.
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/master_client.h"
#include "weir/client/environment.h"
#include "weir/distributed/server.h"

namespace weir {
namespace {

std::string ReadFile(const std::string& name) {
  std::ifstream file(WEIR_SOURCE_DIR "/tests/fixtures/rpc/" + name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(file.good()) << name;
  return text.str();
}

std::unique_ptr<google::protobuf::Message> NewMessage(const std::string& name) {
  using google::protobuf::DescriptorPool;
  using google::protobuf::MessageFactory;
  static const auto* const kAnchor = &RunStepRequest::default_instance();  // links the messages in
  (void)kAnchor;
  const auto* type = DescriptorPool::generated_pool()->FindMessageTypeByName("weir." + name);
  return std::unique_ptr<google::protobuf::Message>(MessageFactory::generated_factory()->GetPrototype(type)->New());
}

// The session handle of a message, or null if it has none.
std::string* Handle(google::protobuf::Message& message) {
  const auto* field = message.GetDescriptor()->FindFieldByName("session_handle");
  if (field == nullptr) return nullptr;
  static thread_local std::string text;
  text = message.GetReflection()->GetString(message, field);
  return &text;
}

void SetHandle(google::protobuf::Message& message, const std::string& handle) {
  const auto* field = message.GetDescriptor()->FindFieldByName("session_handle");
  if (field != nullptr) message.GetReflection()->SetString(&message, field, handle);
}

TEST(ServerTranscript, AnswersAsTensorFlowDid) {
  auto server = Server::Start({}, *MakeEnvironment());
  ASSERT_TRUE(server.ok()) << server.status();
  MasterClient client((*server)->target());
  const auto transcript = nlohmann::json::parse(ReadFile("calls.json"));
  const std::string recorded = transcript["session_handle"];
  std::string chosen;
  for (const auto& call : transcript["calls"]) {
    const std::string path = call["method"];
    const std::string method = path.substr(path.rfind('/') + 1);
    SCOPED_TRACE(call["request"].get<std::string>());
    auto request = NewMessage(method + "Request");
    ASSERT_TRUE(request->ParseFromString(ReadFile(call["request"])));
    if (!chosen.empty()) SetHandle(*request, chosen);
    auto response = NewMessage(method + "Response");
    Status status = client.Call(method, *request, response.get());
    ASSERT_TRUE(status.ok()) << status;
    if (std::string* handle = Handle(*response)) {
      chosen = *handle;
      SetHandle(*response, recorded);
    }
    if (auto* devices = dynamic_cast<ListDevicesResponse*>(response.get())) {
      for (auto& device : *devices->mutable_local_device()) device.set_incarnation(1);
    }
    auto expected = NewMessage(method + "Response");
    ASSERT_TRUE(expected->ParseFromString(ReadFile(call["response"])));
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*response, *expected))
        << "got\n"
        << response->DebugString() << "expected\n"
        << expected->DebugString();
  }
}

}  // namespace
}  // namespace weir
