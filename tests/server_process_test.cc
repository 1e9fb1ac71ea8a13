// The program `weir server` as a process: what it costs to be used hard and left alone, TLS, confined files, signals.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/time/clock.h"
#include "tests/main/run_tests.h"
#include "tests/master_client.h"
#include "tests/process.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class ServerProcess : public Process {
 public:
  explicit ServerProcess(std::vector<std::string> flags = {}) : Process(Command(std::move(flags))), target_(Line()) {}
  const std::string& target() const { return target_; }

  // True once memory and threads are back at what they were, or near; waits a while for what ends by itself.
  bool ComesBackTo(int64_t kilobytes, int64_t threads) {
    constexpr int64_t kSlackThreads = 8;  // gRPC's own pool breathes
    absl::Time end = absl::Now() + absl::Seconds(60);
    while (absl::Now() < end) {
      if (Figure("VmRSS") <= kilobytes + kSlackKilobytes && Figure("Threads") <= threads + kSlackThreads) return true;
      absl::SleepFor(absl::Milliseconds(20));
    }
    ADD_FAILURE() << "memory " << Figure("VmRSS") << " kB after " << kilobytes << ", threads " << Figure("Threads")
                  << " after " << threads;
    return false;
  }

 private:
  static std::vector<std::string> Command(std::vector<std::string> flags) {
    std::vector<std::string> out = {WEIR_PROGRAM, "server", "--port", "0"};
    out.insert(out.end(), flags.begin(), flags.end());
    return out;
  }
  std::string target_;
};

// x is fed, y = x + x; an empty queue to wait for; a file to read.
GraphDef TestGraph() {
  constexpr char kText[] = R"pb(
    node {
      name: "x"
      op: "Placeholder"
      attr {
        key: "dtype"
        value { type: DT_FLOAT }
      }
    }
    node {
      name: "y"
      op: "AddV2"
      input: "x"
      input: "x"
      attr {
        key: "T"
        value { type: DT_FLOAT }
      }
    }
    node {
      name: "q"
      op: "FIFOQueueV2"
      attr {
        key: "component_types"
        value { list { type: DT_FLOAT } }
      }
      attr {
        key: "shared_name"
        value { s: "q" }
      }
    }
    node {
      name: "put"
      op: "QueueEnqueueV2"
      input: "q"
      input: "x"
      attr {
        key: "Tcomponents"
        value { list { type: DT_FLOAT } }
      }
    }
    node {
      name: "take"
      op: "QueueDequeueV2"
      input: "q"
      attr {
        key: "component_types"
        value { list { type: DT_FLOAT } }
      }
    }
    node {
      name: "path"
      op: "Placeholder"
      attr {
        key: "dtype"
        value { type: DT_STRING }
      }
    }
    node { name: "read" op: "ReadFile" input: "path" }
    versions { producer: 2474 }
  )pb";
  GraphDef graph;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kText, &graph));
  // After text the first reader puts maps in order, behind a lock that ThreadSanitizer does not see; after bytes not.
  const std::string bytes = graph.SerializeAsString();
  EXPECT_TRUE(graph.ParseFromString(bytes));
  return graph;
}

void InParallel(int threads, int total, const std::function<void(MasterClient&, int)>& body,
                const std::string& target) {
  std::atomic<int> next{0};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      MasterClient client(target);
      for (int i = next++; i < total; i = next++) body(client, i);
    });
  }
  for (std::thread& thread : all) thread.join();
}

TEST(ServerProcess, TenThousandSessionsLeaveNothingBehind) {
  ServerProcess server({"--idle_session_seconds", "1"});
  const GraphDef graph = TestGraph();
  auto use = [&](MasterClient& client, int i) {
    absl::Time last_used = absl::Now();
    // A client that got no processor for so long has lost its session.
    auto was_idle = [&] { return absl::Now() - last_used >= absl::Seconds(1); };
    StatusOr<std::string> session = client.CreateSession(graph);
    ASSERT_TRUE(session.ok()) << session.status();
    if (i % 10 == 0) {
      StatusOr<Tensor> y = client.Run(*session, {{"x:0", Tensor::Scalar(2.0f)}}, "y:0");
      if (absl::IsAborted(y.status()) && was_idle()) return;
      ASSERT_TRUE(y.ok()) << y.status();
      ASSERT_EQ(y->scalar<float>(), 4);
      last_used = absl::Now();
    }
    if (i % 2 != 0) return;  // just dropped
    Status closed = client.Close(*session);
    if (absl::IsAborted(closed) && was_idle()) return;
    ASSERT_EQ(closed, OkStatus());
  };
  InParallel(4, kManyTimes / 10, use, server.target());
  const int64_t memory = server.Figure("VmRSS"), threads = server.Figure("Threads");
  InParallel(4, kManyTimes, use, server.target());
  EXPECT_TRUE(server.ComesBackTo(memory, threads));
}

// An element put into the queue is there for who asks next: no step of somebody gone waits for it. A step whose end is
// just being told may still take one.
void ExpectNobodyWaits(MasterClient& client, const std::string& session) {
  constexpr int kLate = 8;
  for (int i = 0; i < kLate; ++i) {
    ASSERT_TRUE(client.Run(session, {{"x:0", Tensor::Scalar(7.0f)}}, "", {"put"}).ok());
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    StatusOr<Tensor> taken = client.Run(session, {}, "take:0", {}, &context);
    if (!taken.ok()) continue;
    EXPECT_EQ(taken->scalar<float>(), 7);
    return;
  }
  ADD_FAILURE() << "steps of clients that are gone still wait for the queue";
}

TEST(ServerProcess, TenThousandAbortedStepsLeaveNothingBehind) {
  ServerProcess server;
  MasterClient client(server.target());
  const std::string session = client.CreateSession(TestGraph()).value();
  auto abort_one = [&](MasterClient& own, int i) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(1 + i % 3));
    ASSERT_FALSE(own.Run(session, {}, "take:0", {}, &context).ok());
  };
  InParallel(8, kManyTimes / 10, abort_one, server.target());
  const int64_t memory = server.Figure("VmRSS"), threads = server.Figure("Threads");
  InParallel(8, kManyTimes, abort_one, server.target());
  EXPECT_TRUE(server.ComesBackTo(memory, threads));
  ExpectNobodyWaits(client, session);
}

TEST(ServerProcess, KilledClientsTakeTheirStepsWithThem) {
  ServerProcess server;
  MasterClient client(server.target());
  const std::string session = client.CreateSession(TestGraph()).value();
  ASSERT_TRUE(client.Run(session, {{"x:0", Tensor::Scalar(2.0f)}}, "y:0").ok());
  const int64_t memory = server.Figure("VmRSS"), threads = server.Figure("Threads");
  const int64_t descriptors = server.NumDescriptors();
  constexpr int kVictims = 20;
  for (int i = 0; i < kVictims; ++i) {
    Process victim({"/proc/self/exe", "--victim", server.target(), session});
    ASSERT_EQ(victim.Line(), "waiting");
    victim.Signal(SIGKILL);
    victim.Wait();
  }
  EXPECT_TRUE(server.ComesBackTo(memory, threads));
  // The server sees a peer's end when the kernel tells it; then the connection's steps are cancelled.
  const absl::Time end = absl::Now() + absl::Seconds(60);
  while (server.NumDescriptors() > descriptors && absl::Now() < end) absl::SleepFor(absl::Milliseconds(20));
  EXPECT_LE(server.NumDescriptors(), descriptors);
  ExpectNobodyWaits(client, session);
}

// What the process above runs: steps that wait for the queue until somebody kills it.
int BeVictim(const std::string& target, const std::string& session) {
  std::vector<std::thread> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back([&] { MasterClient(target).Run(session, {}, "take:0").IgnoreError(); });
  }
  MasterClient client(target);
  if (!client.Run(session, {{"x:0", Tensor::Scalar(1.0f)}}, "y:0").ok()) return 1;
  std::puts("waiting");
  std::fflush(stdout);
  for (std::thread& thread : waiting) thread.join();
  return 0;
}

std::string Pem(const std::string& name) {
  std::ifstream file(Cat(WEIR_SOURCE_DIR, "/tests/fixtures/tls/", name));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}
std::string PemPath(const std::string& name) { return Cat(WEIR_SOURCE_DIR, "/tests/fixtures/tls/", name); }

Status TryWith(const std::string& target, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  MasterClient client(target, credentials);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  ListDevicesResponse response;
  ListDevicesRequest request;
  return client.Call("ListDevices", request, &response, &context);
}

TEST(ServerProcess, SpeaksTls) {
  ServerProcess server({"--tls_cert", PemPath("server.pem"), "--tls_key", PemPath("server.key")});
  EXPECT_EQ(TryWith(server.target(), grpc::SslCredentials({.pem_root_certs = Pem("ca.pem")})), OkStatus());
  EXPECT_TRUE(absl::IsUnavailable(TryWith(server.target(), grpc::InsecureChannelCredentials())));
  EXPECT_TRUE(
      absl::IsUnavailable(TryWith(server.target(), grpc::SslCredentials({.pem_root_certs = Pem("stranger.pem")}))));
}

TEST(ServerProcess, SpeaksTlsWithKnownClientsOnly) {
  ServerProcess server(
      {"--tls_cert", PemPath("server.pem"), "--tls_key", PemPath("server.key"), "--tls_client_ca", PemPath("ca.pem")});
  auto as = [](const std::string& who) {
    return grpc::SslCredentials({Pem("ca.pem"), Pem(who + ".key"), Pem(who + ".pem")});
  };
  EXPECT_EQ(TryWith(server.target(), as("client")), OkStatus());
  EXPECT_TRUE(absl::IsUnavailable(TryWith(server.target(), as("stranger"))));
  EXPECT_TRUE(absl::IsUnavailable(TryWith(server.target(), grpc::SslCredentials({.pem_root_certs = Pem("ca.pem")}))));
}

TEST(ServerProcess, BadCertificatesAreAnErrorAtOnce) {
  ServerProcess server({"--tls_cert", PemPath("none.pem"), "--tls_key", PemPath("server.key")});
  EXPECT_EQ(server.target(), "");
  EXPECT_NE(server.Wait(), 0);
}

// As in a bare container: /etc/hosts is empty there.
TEST(ServerProcess, ServesWhereTheNameLocalhostIsNotKnown) {
  const std::string hosts = testing::TempDir() + "/no_hosts";
  std::ofstream(hosts).close();
  // Containers may forbid namespaces, and the root of a chroot is no mount whose changes could be kept private.
  const std::string apart = "unshare --mount --propagation unchanged ", refuse = " || { echo refused; exit; }; ";
  const std::string inside = Cat("mount --make-rprivate / && mount --bind ", hosts, " /etc/hosts", refuse, "exec ",
                                 WEIR_PROGRAM, " server --port 0");
  Process server({"/bin/sh", "-c", Cat(apart, "true", refuse, "exec ", apart, "/bin/sh -c '", inside, "'")});
  const std::string target = server.Line();
  if (target == "refused") GTEST_SKIP() << "needs a mount namespace";
  ASSERT_FALSE(target.empty());
  MasterClient client(target);
  EXPECT_TRUE(client.CreateSession(TestGraph()).ok());
}

TEST(ServerProcess, FilesStayBelowTheRoot) {
  const std::string root = Cat(::testing::TempDir(), "/", getpid(), "_file_root");
  std::filesystem::create_directories(root);
  std::ofstream(root + "/inside") << "hello";
  ServerProcess server({"--file_root", root});
  MasterClient client(server.target());
  const std::string session = client.CreateSession(TestGraph()).value();
  auto read = [&](const std::string& path) {
    return client.Run(session, {{"path:0", Tensor::Scalar(path)}}, "read:0");
  };
  for (const std::string& path : {std::string("inside"), root + "/inside"}) {
    StatusOr<Tensor> text = read(path);
    ASSERT_TRUE(text.ok()) << path << ": " << text.status();
    EXPECT_EQ(text->scalar<std::string>(), "hello");
  }
  for (const char* path : {"/etc/passwd", "../other", "file:///etc/passwd"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(read(path).status())) << path << ": " << read(path).status();
  }
}

TEST(ServerProcess, EndsCleanlyOnSignals) {
  for (int number : {SIGTERM, SIGINT}) {
    ServerProcess server({"--grace_seconds", "5"});
    MasterClient client(server.target());
    const std::string session = client.CreateSession(TestGraph()).value();
    std::thread waiter([&] { EXPECT_FALSE(client.Run(session, {}, "take:0").ok()); });
    MasterClient other(server.target());
    EXPECT_TRUE(other.Run(session, {{"x:0", Tensor::Scalar(1.0f)}}, "y:0").ok());
    server.Signal(number);
    int status = server.Wait();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    waiter.join();
  }
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--victim") return weir::BeVictim(argv[2], argv[3]);
  return weir::RunTests(argc, argv);
}
