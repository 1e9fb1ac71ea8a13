// A process `weir serve`, and a folder of models for it.
#ifndef WEIR_TESTS_SERVING_FIXTURE_H_
#define WEIR_TESTS_SERVING_FIXTURE_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "tests/master_client.h"
#include "tests/process.h"
#include "weir/proto/serving.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {

namespace fs = std::filesystem;

inline const std::string kModels = std::string(WEIR_SOURCE_DIR) + "/tests/fixtures/serving";

class ServeProcess : public Process {
 public:
  // `launcher`: words before the program's own, as of a shell that sets limits.
  explicit ServeProcess(std::vector<std::string> flags, std::vector<std::string> launcher = {})
      : Process(Command(std::move(flags), std::move(launcher))), line_(Line()) {
    std::sscanf(line_.c_str(), "grpc %d rest %d", &grpc_, &rest_);
  }
  int rest_port() const { return rest_; }
  std::string target() const { return Cat("grpc://localhost:", grpc_); }
  MasterClient Predictions() {
    return MasterClient(target(), grpc::InsecureChannelCredentials(), "serving.PredictionService");
  }
  MasterClient Models() { return MasterClient(target(), grpc::InsecureChannelCredentials(), "serving.ModelService"); }

  // A connection to the HTTP port; -1 if there is none to be had. To be closed by the caller.
  int Connect() const {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(rest_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return fd;
    close(fd);
    return -1;
  }
  // Sends bytes, half-closes, and gives what comes back.
  std::string Exchange(const std::string& bytes) {
    const int fd = Connect();
    std::string out;
    if (fd >= 0) {
      (void)!send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      shutdown(fd, SHUT_WR);
      char part[4096];
      for (ssize_t count = 0; (count = recv(fd, part, sizeof(part), 0)) > 0;)
        out.append(part, static_cast<size_t>(count));
    }
    close(fd);
    return out;
  }
  std::string Post(const std::string& path, const std::string& body) {
    return Exchange(
        Cat("POST ", path, " HTTP/1.1\r\nConnection: close\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
  }
  std::string Get(const std::string& path) {
    return Exchange(Cat("GET ", path, " HTTP/1.1\r\nConnection: close\r\n\r\n"));
  }

 private:
  static std::vector<std::string> Command(std::vector<std::string> flags, std::vector<std::string> launcher) {
    for (const char* word : {WEIR_PROGRAM, "serve", "--host", "127.0.0.1", "--port", "0", "--rest_api_port", "0"}) {
      launcher.emplace_back(word);
    }
    launcher.insert(launcher.end(), flags.begin(), flags.end());
    return launcher;
  }
  std::string line_;
  int grpc_ = 0, rest_ = 0;
};

// A folder of models of a test's own.
class ServingTest : public ::testing::Test {
 protected:
  ServingTest() : folder_(fs::path(::testing::TempDir()) / Cat("serving_", getpid(), "_", counter_++)) {
    fs::create_directories(folder_);
  }
  ~ServingTest() override { fs::remove_all(folder_); }

  void Add(const std::string& fixture, const std::string& as) {
    fs::create_directories((folder_ / as).parent_path());
    fs::copy(fs::path(kModels) / fixture, folder_ / ".copy", fs::copy_options::recursive);
    fs::rename(folder_ / ".copy", folder_ / as);
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  static serving::PredictRequest Ask(const std::string& model, float x) {
    serving::PredictRequest request;
    request.mutable_model_spec()->set_name(model);
    Tensor tensor = *Tensor::Vector<float>({x}).Reshaped(Shape({1, 1}));
    EXPECT_TRUE(ToProto(tensor, &(*request.mutable_inputs())["x"]).ok());
    return request;
  }
  static StatusOr<float> Y(MasterClient& client, const serving::PredictRequest& request) {
    serving::PredictResponse response;
    WEIR_RETURN_IF_ERROR(client.Call("Predict", request, &response));
    WEIR_ASSIGN_OR_RETURN(Tensor y, FromProto(response.outputs().at("y")));
    return y.data<float>()[0];
  }
  template <typename Condition>
  static bool Until(Condition condition) {
    const absl::Time end = absl::Now() + absl::Seconds(60);
    while (absl::Now() < end) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(10));
    }
    return false;
  }

 private:
  const fs::path folder_;
  static inline std::atomic<int> counter_{0};
};

}  // namespace weir

#endif  // WEIR_TESTS_SERVING_FIXTURE_H_
