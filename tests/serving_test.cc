// The program `weir serve` over real sockets: gRPC, HTTP, versions that come and go, faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <thread>

#include "tests/serving_fixture.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

TEST_F(ServingTest, AnswersByGrpcAndHttp) {
  Add("toy/2", "toy/2");
  ServeProcess server({"--model_name", "toy", "--model_base_path", Path("toy")});
  MasterClient client = server.Predictions();
  StatusOr<float> y = Y(client, Ask("toy", 1));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(*y, 3.5f);
  EXPECT_THAT(server.Post("/v1/models/toy:predict", R"({"instances": [[1.0], [2]]})"), HasSubstr("[[3.5], "));
  EXPECT_THAT(server.Get("/v1/models/toy"), HasSubstr("\"AVAILABLE\""));
  EXPECT_THAT(server.Get("/v1/models/toy/metadata"), HasSubstr("\"serving_default\""));
  EXPECT_THAT(server.Post("/v1/models/nope:predict", R"({"instances": [[1.0]]})"), HasSubstr("404"));
  EXPECT_THAT(server.Get("/elsewhere"), HasSubstr("404 Not Found"));
}

TEST_F(ServingTest, ErrorsHaveTheirCodes) {
  Add("toy/2", "toy/2");
  ServeProcess server({"--model_name", "toy", "--model_base_path", Path("toy")});
  MasterClient client = server.Predictions();
  EXPECT_EQ(Y(client, Ask("nope", 1)).status().code(), absl::StatusCode::kNotFound);
  serving::PredictRequest request = Ask("toy", 1);
  request.mutable_model_spec()->set_signature_name("nope");
  EXPECT_EQ(Y(client, request).status().code(), absl::StatusCode::kFailedPrecondition);
  request = Ask("toy", 1);
  request.mutable_model_spec()->mutable_version()->set_value(9);
  EXPECT_EQ(Y(client, request).status().code(), absl::StatusCode::kNotFound);
  request = Ask("toy", 1);
  (*request.mutable_inputs())["extra"] = request.inputs().at("x");
  EXPECT_THAT(Y(client, request).status().message(), HasSubstr("Sent extra: {extra}"));
  request = Ask("toy", 1);
  request.add_output_filter("nope");
  EXPECT_EQ(Y(client, request).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ServingTest, ClassifiesAndRegressesExamplesInOneStep) {
  Add("toy/2", "toy/2");
  ServeProcess server({"--model_name", "toy", "--model_base_path", Path("toy")});
  serving::MultiInferenceRequest request;
  for (const char* what : {"classify", "regress"}) {
    serving::InferenceTask* task = request.add_tasks();
    task->mutable_model_spec()->set_name("toy");
    task->mutable_model_spec()->set_signature_name(what);
    task->set_method_name(Cat("tensorflow/serving/", what));
  }
  Example* example = request.mutable_input()->mutable_example_list()->add_examples();
  (*example->mutable_features()->mutable_feature())["x"].mutable_float_list()->add_value(1);
  serving::MultiInferenceResponse response;
  MasterClient client = server.Predictions();
  const Status status = client.Call("MultiInference", request, &response);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(response.results_size(), 2);
  EXPECT_EQ(response.results(0).classification_result().classifications_size(), 1);
  EXPECT_EQ(response.results(1).regression_result().regressions_size(), 1);
}

TEST_F(ServingTest, ANewVersionTakesOverWithoutAFailedRequest) {
  Add("toy/1", "toy/1");
  ServeProcess server(
      {"--model_name", "toy", "--model_base_path", Path("toy"), "--file_system_poll_wait_seconds", "0.05"});
  std::atomic<bool> stop{false};
  std::atomic<int> failed{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([&] {
      MasterClient client = server.Predictions();
      while (!stop) {
        if (!Y(client, Ask("toy", 1)).ok()) ++failed;
      }
    });
  }
  MasterClient client = server.Predictions(), models = server.Models();
  EXPECT_EQ(*Y(client, Ask("toy", 1)), 2.5f);
  Add("toy/3", "toy/3");
  EXPECT_TRUE(Until([&] { return *Y(client, Ask("toy", 1)) == 4.5f; }));
  serving::GetModelStatusRequest request;
  request.mutable_model_spec()->set_name("toy");
  EXPECT_TRUE(Until([&] {
    serving::GetModelStatusResponse response;
    return models.Call("GetModelStatus", request, &response).ok() && response.model_version_status_size() == 2 &&
           response.model_version_status(1).state() == serving::ModelVersionStatus::END;
  }));
  stop = true;
  for (std::thread& thread : clients) thread.join();
  EXPECT_EQ(failed, 0);
}

TEST_F(ServingTest, ABrokenVersionIsReportedAndTheOldOneStays) {
  Add("toy/1", "toy/1");
  ServeProcess server(
      {"--model_name", "toy", "--model_base_path", Path("toy"), "--file_system_poll_wait_seconds", "0.05"});
  MasterClient client = server.Predictions(), models = server.Models();
  fs::create_directories(Path("toy/2"));
  std::ofstream(Path("toy/2/saved_model.pb")) << "\xff\xff not a model";
  serving::GetModelStatusRequest request;
  request.mutable_model_spec()->set_name("toy");
  serving::GetModelStatusResponse response;
  EXPECT_TRUE(Until([&] {
    return models.Call("GetModelStatus", request, &response).ok() && response.model_version_status_size() == 2 &&
           response.model_version_status(0).status().error_code() != error::OK;
  }));
  EXPECT_EQ(*Y(client, Ask("toy", 1)), 2.5f);
  // Whole files in its place are noticed at once, not at the next try in a minute.
  fs::remove_all(Path("toy/2"));
  Add("toy/3", "toy/2");
  EXPECT_TRUE(Until([&] { return *Y(client, Ask("toy", 1)) == 4.5f; }));
}

TEST_F(ServingTest, TruncatedVariablesAtTheStartEndTheServer) {
  Add("toy/1", "toy/1");
  Add("toy/2", "toy/2");
  for (const auto& file : fs::directory_iterator(Path("toy/2/variables"))) fs::resize_file(file.path(), 3);
  ServeProcess server({"--model_name", "toy", "--model_base_path", Path("toy"), "--max_num_load_retries", "0"});
  EXPECT_EQ(server.Wait(), 1 << 8) << "a model none of whose wanted versions can be loaded ends the server";
}

TEST_F(ServingTest, TenThousandMalformedRequestsLeaveNothingBehind) {
  Add("toy/2", "toy/2");
  ServeProcess server({"--model_name", "toy", "--model_base_path", Path("toy")});
  MasterClient client = server.Predictions();
  const std::string good = Ask("toy", 1).SerializeAsString();
  std::mt19937 random(7);
  auto attack = [&](int times) {
    for (int i = 0; i < times; ++i) {
      std::string bytes = good, response;
      for (int flips = 0; flips < 3; ++flips) bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
      (void)client.CallBytes("Predict", bytes.substr(0, random() % (bytes.size() + 1)), &response);
    }
    const std::string http =
        "POST /v1/models/toy:predict HTTP/1.1\r\nContent-Length: 22\r\n\r\n{\"instances\": [[1.0]]}";
    for (int i = 0; i < times / 10; ++i) {
      std::string bytes = http;
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
      server.Exchange(bytes.substr(0, random() % (bytes.size() + 1)));
    }
  };
  attack(kManyTimes / 10);
  const int64_t before = server.Figure("VmRSS");
  attack(kManyTimes);
  EXPECT_LE(server.Figure("VmRSS"), before + kSlackKilobytes);
  EXPECT_EQ(*Y(client, Ask("toy", 1)), 3.5f);
}

TEST_F(ServingTest, ASlowClientKeepsNobodyWaiting) {
  Add("toy/2", "toy/2");
  ServeProcess server({"--model_name", "toy", "--model_base_path", Path("toy"), "--rest_api_num_threads", "1"});
  std::vector<int> slow;
  for (int i = 0; i < 50; ++i) {
    const int fd = server.Connect();
    ASSERT_GE(fd, 0);
    ASSERT_GT(send(fd, "POST /v1", 8, MSG_NOSIGNAL), 0);
    slow.push_back(fd);
  }
  EXPECT_THAT(server.Post("/v1/models/toy:predict", R"({"instances": [[1.0]]})"), HasSubstr("3.5"));
  for (int fd : slow) close(fd);
}

TEST_F(ServingTest, MetricsAndWarmUp) {
  Add("text/1", "text/1");
  std::ofstream(Path("monitoring")) << "prometheus_config { enable: true }";
  ServeProcess server(
      {"--model_name", "text", "--model_base_path", Path("text"), "--monitoring_config_file", Path("monitoring")});
  server.Post("/v1/models/text:predict", "{}");
  const std::string page = server.Get("/monitoring/prometheus/metrics");
  EXPECT_THAT(page, HasSubstr(":tensorflow:serving:model_warmup_latency_count{"));
  EXPECT_THAT(page, HasSubstr(":tensorflow:serving:request_count{model_name=\"text\",status=\"INVALID_ARGUMENT\"} 1"));
}

TEST_F(ServingTest, AskedToEndItEnds) {
  Add("toy/2", "toy/2");
  ServeProcess server({"--model_name", "toy", "--model_base_path", Path("toy")});
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0);
}

}  // namespace
}  // namespace weir
