// `weir serve` among strangers and on a bad day: TLS, limits, health, kill -9, a full disk.
#include <gmock/gmock.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <sstream>

#include "tests/serving_fixture.h"
#include "weir/io/record_reader.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class ServingFaultsTest : public ServingTest {
 protected:
  void SetUp() override { Add("toy/2", "toy/2"); }
  std::vector<std::string> Toy(std::vector<std::string> more = {}) const {
    std::vector<std::string> out = {"--model_name", "toy", "--model_base_path", Path("toy")};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
};

std::string Pem(const std::string& name) {
  std::ifstream file(Cat(WEIR_SOURCE_DIR, "/tests/fixtures/tls/", name));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// As a string of the text format.
std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) out += c == '\n' ? "\\n" : std::string(1, c);
  return out + "\"";
}

Status PredictWith(ServeProcess& server, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                   const serving::PredictRequest& request) {
  MasterClient client(server.target(), credentials, "serving.PredictionService");
  serving::PredictResponse response;
  return client.Call("Predict", request, &response);
}

TEST_F(ServingFaultsTest, SpeaksTls) {
  std::ofstream(Path("ssl")) << "server_key: " << Quoted(Pem("server.key"))
                             << " server_cert: " << Quoted(Pem("server.pem"));
  ServeProcess server(Toy({"--ssl_config_file", Path("ssl")}));
  EXPECT_EQ(PredictWith(server, grpc::SslCredentials({.pem_root_certs = Pem("ca.pem")}), Ask("toy", 1)), OkStatus());
  EXPECT_TRUE(absl::IsUnavailable(PredictWith(server, grpc::InsecureChannelCredentials(), Ask("toy", 1))));
  EXPECT_TRUE(absl::IsUnavailable(
      PredictWith(server, grpc::SslCredentials({.pem_root_certs = Pem("stranger.pem")}), Ask("toy", 1))));
}

TEST_F(ServingFaultsTest, SpeaksTlsWithKnownClientsOnly) {
  std::ofstream(Path("ssl")) << "server_key: " << Quoted(Pem("server.key"))
                             << " server_cert: " << Quoted(Pem("server.pem")) << " custom_ca: " << Quoted(Pem("ca.pem"))
                             << " client_verify: true";
  ServeProcess server(Toy({"--ssl_config_file", Path("ssl")}));
  auto as = [](const std::string& who) {
    return grpc::SslCredentials({Pem("ca.pem"), Pem(who + ".key"), Pem(who + ".pem")});
  };
  EXPECT_EQ(PredictWith(server, as("client"), Ask("toy", 1)), OkStatus());
  EXPECT_TRUE(absl::IsUnavailable(PredictWith(server, as("stranger"), Ask("toy", 1))));
  EXPECT_TRUE(
      absl::IsUnavailable(PredictWith(server, grpc::SslCredentials({.pem_root_certs = Pem("ca.pem")}), Ask("toy", 1))));
}

TEST_F(ServingFaultsTest, LargeMessagesAreRefused) {
  ServeProcess server(Toy({"--max_message_bytes", "1000"}));
  serving::PredictRequest request = Ask("toy", 1);
  Tensor large = Tensor::Zeros(DType::kFloat, Shape({1000, 1})).value();
  ASSERT_TRUE(ToProto(large, &(*request.mutable_inputs())["x"]).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(PredictWith(server, grpc::InsecureChannelCredentials(), request)));
  EXPECT_THAT(server.Post("/v1/models/toy:predict", std::string(2000, ' ')), HasSubstr("413"));
  EXPECT_EQ(PredictWith(server, grpc::InsecureChannelCredentials(), Ask("toy", 1)), OkStatus());
}

TEST_F(ServingFaultsTest, HealthAndReflectionAnswer) {
  ServeProcess server(Toy());
  // MasterClient calls below "tensorflow."; these two services are elsewhere.
  auto channel = grpc::CreateChannel(server.target().substr(7), grpc::InsecureChannelCredentials());
  auto call = [&](const std::string& path, const std::string& request, std::string* answer) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    grpc::GenericStub stub(channel);
    grpc::Slice slice(request);
    grpc::ByteBuffer in(&slice, 1), out;
    grpc::Status status;
    absl::Notification answered;
    stub.UnaryCall(&context, path, grpc::StubOptions(), &in, &out, [&](const grpc::Status& outcome) {
      status = outcome;
      answered.Notify();
    });
    answered.WaitForNotification();
    grpc::Slice whole;
    if (status.ok() && out.DumpToSingleSlice(&whole).ok()) {
      answer->assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
    }
    return status.error_code();
  };
  std::string answer;
  EXPECT_EQ(call("/grpc.health.v1.Health/Check", "", &answer), grpc::StatusCode::OK);
  EXPECT_EQ(answer, "\x08\x01");  // SERVING
  const std::string known = "tensorflow.serving.PredictionService";
  EXPECT_EQ(
      call("/grpc.health.v1.Health/Check", "\x0a" + std::string(1, static_cast<char>(known.size())) + known, &answer),
      grpc::StatusCode::OK);
  EXPECT_EQ(call("/grpc.health.v1.Health/Check", "\x0a\x04nope", &answer), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(call("/grpc.health.v1.Health/Check", "\x0a\x7fnope", &answer), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(call("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", std::string("\x3a\x00", 2), &answer),
            grpc::StatusCode::OK);
  EXPECT_THAT(answer, HasSubstr("tensorflow.serving.PredictionService"));
}

TEST_F(ServingFaultsTest, WatchersOfItsHealthLearnThatItStops) {
  ServeProcess server(Toy());
  auto channel = grpc::CreateChannel(server.target().substr(7), grpc::InsecureChannelCredentials());
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  auto done = [&] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  auto watch = [&](grpc::ClientContext* context) {
    context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    auto call = stub.PrepareCall(context, "/grpc.health.v1.Health/Watch", &queue);
    call->StartCall(nullptr);
    EXPECT_TRUE(done());
    call->WriteLast(grpc::ByteBuffer(std::array<grpc::Slice, 1>{grpc::Slice(std::string())}.data(), 1),
                    grpc::WriteOptions(), nullptr);
    EXPECT_TRUE(done());
    return call;
  };
  auto read = [&](grpc::GenericClientAsyncReaderWriter& call) -> std::string {
    grpc::ByteBuffer buffer;
    grpc::Slice whole;
    call.Read(&buffer, nullptr);
    if (!done() || !buffer.DumpToSingleSlice(&whole).ok()) return "";
    return std::string(reinterpret_cast<const char*>(whole.begin()), whole.size());
  };
  {
    grpc::ClientContext dropped;
    auto call = watch(&dropped);
    EXPECT_EQ(read(*call), "\x08\x01");
    dropped.TryCancel();
    grpc::Status status;
    call->Finish(&status, nullptr);
    done();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  }
  grpc::ClientContext context;
  auto call = watch(&context);
  EXPECT_EQ(read(*call), "\x08\x01");  // SERVING
  server.Signal(SIGTERM);
  EXPECT_EQ(read(*call), "\x08\x02");  // NOT_SERVING
  EXPECT_EQ(read(*call), "");
  grpc::Status status;
  call->Finish(&status, nullptr);
  EXPECT_TRUE(done());
  EXPECT_TRUE(status.ok()) << status.error_message();
  server.Wait();
}

TEST_F(ServingFaultsTest, KilledItComesBack) {
  for (int i = 0; i < 3; ++i) {
    ServeProcess server(Toy());
    MasterClient client = server.Predictions();
    StatusOr<float> y = Y(client, Ask("toy", 1));
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_EQ(*y, 3.5f);
    server.Signal(SIGKILL);
    server.Wait();
    EXPECT_FALSE(Y(client, Ask("toy", 1)).ok());
  }
}

TEST_F(ServingFaultsTest, SampledRequestsAreLogged) {
  std::ofstream(Path("models")) << "model_config_list { config { name: 'toy' base_path: '" << Path("toy")
                                << "' logging_config { log_collector_config { filename_prefix: '" << Path("log")
                                << "' } sampling_config { sampling_rate: 1 } } } }";
  ServeProcess server({"--model_config_file", Path("models")});
  MasterClient client = server.Predictions();
  ASSERT_TRUE(Y(client, Ask("toy", 1)).ok());
  std::string path;
  EXPECT_TRUE(Until([&] {
    for (const auto& file : fs::directory_iterator(Path("."))) {
      if (file.path().filename().string().starts_with("log_") && fs::file_size(file.path()) > 0) path = file.path();
    }
    return !path.empty();
  }));
  serving::PredictionLog log;
  EXPECT_TRUE(Until([&] {
    auto reader = RecordReader::Open(path);
    std::string record;
    return reader.ok() && (*reader)->Read(&record).ok() && log.ParseFromString(record);
  }));
  EXPECT_EQ(log.predict_log().request().model_spec().name(), "toy");
  EXPECT_EQ(log.predict_log().response().model_spec().version().value(), 2);
}

// A limit on the size of files gives the error of a full disk.
TEST_F(ServingFaultsTest, AFullDiskForLogsKeepsNobodyFromAnswers) {
  std::ofstream(Path("models")) << "model_config_list { config { name: 'toy' base_path: '" << Path("toy")
                                << "' logging_config { log_collector_config { filename_prefix: '" << Path("log")
                                << "' } sampling_config { sampling_rate: 1 } } } }";
  ServeProcess server({"--model_config_file", Path("models")}, {"/bin/bash", "-c", "ulimit -f 1; exec \"$@\"", "bash"});
  MasterClient client = server.Predictions();
  for (int i = 0; i < 200; ++i) {
    StatusOr<float> y = Y(client, Ask("toy", 1));
    ASSERT_TRUE(y.ok()) << y.status();
  }
}

}  // namespace
}  // namespace weir
