#include "weir/cli/bench_cluster.h"

#include <cstdio>
#include <iostream>
#include <sstream>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "weir/cli/bench_workloads.h"
#include "weir/cli/child_process.h"
#include "weir/client/client_session.h"
#include "weir/client/environment.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/random_ops.h"
#include "weir/client/ops/state_ops.h"
#include "weir/client/variable.h"
#include "weir/distributed/server.h"

namespace weir {
namespace {

constexpr int64_t kDenseFloats = 25'000'000;  // 100 MB
constexpr int64_t kTableRows = 1 << 19;       // of 512 bytes
constexpr int64_t kTableColumns = 128;
constexpr int64_t kSparseRows = 32;

struct Workload {
  std::string kind;  // "scalar", "dense", "sparse", "fetch", "client"
  int workers = 1;
  int servers = 1;
};

StatusOr<Workload> Parse(const std::string& name) {
  if (name == "fetch_ps_worker") return Workload{"fetch", 1, 1};
  if (name == "fetch_worker_client") return Workload{"client", 1, 0};
  Workload out;
  std::vector<std::string> parts = absl::StrSplit(name, '_');
  if (parts.size() != 4 || parts[0] != "null" || parts[1] != "step" ||
      std::sscanf(parts[3].c_str(), "%dx%d", &out.workers, &out.servers) != 2 || out.workers < 1 || out.servers < 1 ||
      out.workers > 64 || out.servers > 64) {
    return NotFound("no workload named '", name, "'");
  }
  out.kind = parts[2];
  return out;
}

// This program again, with other arguments.
std::unique_ptr<ChildProcess> StartSelf(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "/proc/self/exe");
  return std::make_unique<ChildProcess>(arguments, ChildProcess::Options());
}

StatusOr<std::string> ReadAnswer(ChildProcess& child) {
  WEIR_ASSIGN_OR_RETURN(std::string line, child.ReadLine());
  if (line.starts_with("error ")) return Internal(line.substr(6));
  return line;
}

Shape ShardShape(const Workload& workload) {
  if (workload.kind == "scalar") return Shape();
  if (workload.kind == "sparse") return Shape({kTableRows / workload.servers, kTableColumns});
  return Shape({kDenseFloats / workload.servers});
}

// One worker's step: what it gets from every server, and gives back.
std::vector<Operation> BuildStep(const Scope& root, const Workload& workload, int worker,
                                 std::vector<Operation>* initializers) {
  std::vector<Operation> updates;
  const Scope here = root.WithDevice(Cat("/job:worker/task:", worker));
  for (int i = 0; i < workload.servers; ++i) {
    const Scope there = root.WithDevice(Cat("/job:ps/task:", i));
    const Shape shape = ShardShape(workload);
    Variable shard(there, Cat("shard_", i), shape, init::Zeros());
    initializers->push_back(shard.initializer());
    if (workload.kind == "sparse") {
      const std::vector<int32_t> count = {static_cast<int32_t>(kSparseRows / workload.servers)};
      Output ids = ops::RandomUniformInt(here, count, 0, static_cast<int32_t>(shape.dim(0)));
      Output rows = ops::ResourceGather(there, shard.handle(), ids, DType::kFloat);
      updates.push_back(ops::ResourceScatterAdd(there, shard.handle(), ids, ops::Identity(here, rows)));
      continue;
    }
    Output update = ops::Identity(here, shard.Read(there));
    updates.push_back(workload.kind == "fetch" ? update.op() : shard.AssignAdd(there, update));
  }
  return updates;
}

// A worker: its server is in this process.
class Worker {
 public:
  static StatusOr<std::unique_ptr<Worker>> Start(const Workload& workload, int index, const std::string& servers,
                                                 const std::string& workers) {
    auto out = std::make_unique<Worker>();
    ServerOptions options;
    WEIR_RETURN_IF_ERROR(options.cluster.AddJob("ps", servers));
    WEIR_RETURN_IF_ERROR(options.cluster.AddJob("worker", workers));
    options.job = "worker";
    options.task = index;
    WEIR_ASSIGN_OR_RETURN(auto environment, MakeEnvironment({.task_name = TaskName("worker", index)}));
    WEIR_ASSIGN_OR_RETURN(out->server_, Server::Start(options, environment));
    SessionOptions session_options;
    session_options.device_filters = {"/job:ps"};
    WEIR_ASSIGN_OR_RETURN(auto session, out->server_->CreateSession(session_options, absl::Minutes(1)));
    Scope root = Scope::NewRoot(environment);
    std::vector<Operation> initializers;
    std::vector<Operation> updates = BuildStep(root, workload, index, &initializers);
    WEIR_ASSIGN_OR_RETURN(out->session_, ClientSession::Over(root, std::move(session)));
    WEIR_RETURN_IF_ERROR(out->session_->RunTargets(initializers));
    WEIR_ASSIGN_OR_RETURN(out->step_, out->session_->Prepare({}, {}, updates));
    WEIR_RETURN_IF_ERROR(out->Run());
    return out;
  }
  Status Run() { return session_->RunPrepared(step_, {}, nullptr); }

 private:
  std::unique_ptr<Server> server_;
  std::unique_ptr<ClientSession> session_;
  Session::Callable step_ = 0;
};

// A client of a worker in another process, which fetches a variable of it.
class ClientRunner : public ClusterRunner {
 public:
  Status Start() {
    worker_ = StartSelf({"server", "--port", "0"});
    WEIR_ASSIGN_OR_RETURN(std::string target, worker_->ReadLine());
    Scope root = Scope::NewRoot();
    Variable value(root, "value", Shape({kDenseFloats}), init::RandomUniform());
    WEIR_ASSIGN_OR_RETURN(session_, ClientSession::Create(root, target));
    WEIR_RETURN_IF_ERROR(session_->RunTargets({value.initializer()}));
    WEIR_ASSIGN_OR_RETURN(step_, session_->Prepare({}, {value.Read(root)}));
    return Run();
  }
  Status Run() override {
    std::vector<Tensor> outputs;
    return session_->RunPrepared(step_, {}, &outputs);
  }
  StatusOr<std::vector<double>> Measure(double seconds) override {
    return MeasureSteps([this] { return Run(); }, seconds);
  }

 private:
  std::unique_ptr<ChildProcess> worker_;
  std::unique_ptr<ClientSession> session_;
  Session::Callable step_ = 0;
};

class Runner : public ClusterRunner {
 public:
  Status Start(const std::string& name) {
    WEIR_ASSIGN_OR_RETURN(Workload workload, Parse(name));
    std::vector<std::string> all = FreeAddresses(workload.servers + workload.workers);
    const std::string servers = absl::StrJoin(all.begin(), all.begin() + workload.servers, ",");
    const std::string workers = absl::StrJoin(all.begin() + workload.servers, all.end(), ",");
    for (int i = 0; i < workload.servers; ++i) {
      servers_.push_back(StartSelf({"server", "--job", "ps", "--task", Cat(i), "--ps", servers, "--worker", workers}));
      WEIR_RETURN_IF_ERROR(servers_.back()->ReadLine().status());
    }
    for (int i = 1; i < workload.workers; ++i) {
      others_.push_back(StartSelf({"bench", "--cluster_worker", Cat(i, ";", servers, ";", workers), "--filter", name}));
    }
    WEIR_ASSIGN_OR_RETURN(worker_, Worker::Start(workload, 0, servers, workers));
    for (auto& other : others_) WEIR_RETURN_IF_ERROR(ReadAnswer(*other).status());  // ready
    return OkStatus();
  }

  Status Run() override {
    for (auto& other : others_) other->WriteLine("run");
    WEIR_RETURN_IF_ERROR(worker_->Run());
    for (auto& other : others_) WEIR_RETURN_IF_ERROR(ReadAnswer(*other).status());
    return OkStatus();
  }

  StatusOr<std::vector<double>> Measure(double seconds) override {
    for (auto& other : others_) other->WriteLine(Cat("measure ", seconds));
    WEIR_ASSIGN_OR_RETURN(std::vector<double> ms, MeasureSteps([this] { return worker_->Run(); }, seconds));
    for (auto& other : others_) {
      WEIR_ASSIGN_OR_RETURN(std::string line, ReadAnswer(*other));
      std::istringstream numbers(line);
      for (double value; numbers >> value;) ms.push_back(value);
    }
    return ms;
  }

 private:
  std::vector<std::unique_ptr<ChildProcess>> servers_;
  std::vector<std::unique_ptr<ChildProcess>> others_;
  std::unique_ptr<Worker> worker_;  // ends first: its session speaks to the servers
};

}  // namespace

bool IsClusterWorkload(const std::string& name) { return Parse(name).ok(); }

StatusOr<std::unique_ptr<ClusterRunner>> MakeClusterRunner(const std::string& name) {
  if (name == "fetch_worker_client") {
    auto client = std::make_unique<ClientRunner>();
    WEIR_RETURN_IF_ERROR(client->Start());
    return client;
  }
  auto runner = std::make_unique<Runner>();
  WEIR_RETURN_IF_ERROR(runner->Start(name));
  return runner;
}

Status ServeClusterWorker(const std::string& name, const std::string& place) {
  WEIR_ASSIGN_OR_RETURN(Workload workload, Parse(name));
  std::vector<std::string> parts = absl::StrSplit(place, ';');
  if (parts.size() != 3) return InvalidArgument("bad place '", place, "'");
  StatusOr<std::unique_ptr<Worker>> worker = Worker::Start(workload, std::atoi(parts[0].c_str()), parts[1], parts[2]);
  if (!worker.ok()) {
    std::cout << "error " << worker.status().message() << std::endl;
    return worker.status();
  }
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string request;
    double seconds = 0;
    words >> request >> seconds;
    StatusOr<std::vector<double>> ms = std::vector<double>();
    if (request == "run") {
      if (Status ran = (*worker)->Run(); !ran.ok()) ms = ran;
    } else {
      ms = MeasureSteps([&] { return (*worker)->Run(); }, seconds);
    }
    std::cout << (ms.ok() ? absl::StrJoin(*ms, " ") : Cat("error ", Message(ms.status()))) << std::endl;
  }
  return OkStatus();
}

}  // namespace weir
