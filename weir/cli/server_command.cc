#include <google/protobuf/stubs/logging.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "absl/strings/numbers.h"
#include "weir/base/logging.h"
#include "weir/cli/commands.h"
#include "weir/cli/cost_file.h"
#include "weir/cli/gpu_flags.h"
#include "weir/client/environment.h"
#include "weir/distributed/server.h"

namespace weir {
namespace {

struct ServerFlags {
  ServerOptions server;
  EnvironmentOptions environment;
  std::string certificate_file, key_file, client_ca_file;
  std::string job, cluster_file, ps, worker;
  int task = -1;
  int slurm_ps = -1, slurm_port = 8888;
  std::string placer = "default", costs_file;
  double idle_session_seconds = 24 * 3600;
  double collective_timeout_seconds = 600;
  double stay_awake_us = absl::ToDoubleMicroseconds(ServerOptions().stay_awake);
  double grace_seconds = 5;
};

constexpr char kServerExamples[] = R"(Examples:
  weir server                           a server on a free port of this machine
  weir server --port 2222               ... on port 2222
  weir server --host 0.0.0.0 --port 2222 --tls_cert server.pem --tls_key server.key --tls_client_ca ca.pem
                                        for other machines whose clients have a certificate of that CA
  weir server --job worker --task 0 --ps ps0:2222 --worker w0:2222,w1:2222
                                        a task of a cluster; --cluster FILE reads {"ps": [...], "worker": [...]},
                                        and without either the variable TF_CONFIG says both
  srun weir server --slurm_ps 2         a cluster of all tasks that Slurm starts, two of them parameter servers

The first line on stdout is the target, when the server is ready. In Python:
  with tf.compat.v1.Session("grpc://localhost:2222") as session: ...
)";

StatusOr<std::string> ReadWhole(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) return NotFound("cannot read ", path);
  return text.str();
}

// From the flags, from Slurm or from TF_CONFIG; no cluster if none of them names one.
StatusOr<ClusterPlace> FindPlace(const ServerFlags& flags) {
  auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  ClusterPlace place;
  if (flags.slurm_ps >= 0) {
    int tasks = 0;
    if (!absl::SimpleAtoi(variable("SLURM_NTASKS"), &tasks)) tasks = flags.slurm_ps + 1;
    return FromSlurm({{"ps", flags.slurm_ps}, {"worker", tasks - flags.slurm_ps}}, flags.slurm_port, variable);
  }
  if (!flags.cluster_file.empty()) {
    WEIR_ASSIGN_OR_RETURN(std::string text, ReadWhole(flags.cluster_file));
    WEIR_ASSIGN_OR_RETURN(place.cluster, ClusterSpec::FromJson(text));
  }
  WEIR_RETURN_IF_ERROR(place.cluster.AddJob("ps", flags.ps));
  WEIR_RETURN_IF_ERROR(place.cluster.AddJob("worker", flags.worker));
  if (place.cluster.empty()) {
    const std::string config = variable("TF_CONFIG");
    if (config.empty()) {
      if (!flags.job.empty())
        return InvalidArgument("--job needs a cluster: --cluster, --ps and --worker, or TF_CONFIG");
      return place;
    }
    WEIR_ASSIGN_OR_RETURN(place, FromTfConfig(config));
  }
  if (!flags.job.empty()) place.job = flags.job;
  if (flags.task >= 0) place.task = flags.task;
  if (place.job.empty()) return InvalidArgument("the task of this server is not given: use --job and --task");
  return place;
}

// What a client sent is not an event of the server: it would let anybody fill the log.
void LogProtobuf(google::protobuf::LogLevel, const char*, int, const std::string& message) {
  WEIR_LOG(DEBUG) << "protobuf: " << message;
}

Status Serve(const ServerFlags& flags) {
  google::protobuf::SetLogHandler(LogProtobuf);
  // Blocked here, so that every thread made from now on leaves these signals to sigwait below.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  ServerOptions options = flags.server;
  WEIR_ASSIGN_OR_RETURN(options.tls_certificate, ReadWhole(flags.certificate_file));
  WEIR_ASSIGN_OR_RETURN(options.tls_key, ReadWhole(flags.key_file));
  WEIR_ASSIGN_OR_RETURN(options.tls_client_ca, ReadWhole(flags.client_ca_file));
  options.idle_session = absl::Seconds(flags.idle_session_seconds);
  options.collective_timeout = absl::Seconds(flags.collective_timeout_seconds);
  options.stay_awake = absl::Microseconds(flags.stay_awake_us);
  WEIR_ASSIGN_OR_RETURN(options.placer, ParsePlacerKind(flags.placer));
  WEIR_ASSIGN_OR_RETURN(options.costs, ReadCosts(flags.costs_file));
  WEIR_ASSIGN_OR_RETURN(ClusterPlace place, FindPlace(flags));
  EnvironmentOptions environment_options = flags.environment;
  if (!place.cluster.empty()) {
    options.cluster = place.cluster;
    options.job = place.job;
    options.task = place.task;
    environment_options.task_name = TaskName(place.job, place.task);
  }
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Environment> environment, MakeEnvironment(environment_options));
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Server> server, Server::Start(options, environment));
  std::printf("%s\n", server->target().c_str());
  std::fflush(stdout);
  WEIR_LOG(INFO) << "serving on " << server->target();
  if (server->metrics_port() >= 0) {
    WEIR_LOG(INFO) << "metrics on port " << server->metrics_port();
  }

  int signal_number = 0;
  sigwait(&signals, &signal_number);
  WEIR_LOG(INFO) << "shutting down on " << strsignal(signal_number);
  // A second signal ends the program at once.
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  server->Shutdown(absl::Seconds(flags.grace_seconds));
  return OkStatus();
}

}  // namespace

void AddServerCommand(CLI::App& program) {
  auto flags = std::make_shared<ServerFlags>();
  CLI::App* command = program.add_subcommand("server", "serve sessions to TensorFlow's clients over gRPC");
  command->footer(kServerExamples);
  command->add_option("--port", flags->server.port, "port to listen on; 0: a free one")->check(CLI::Range(0, 65535));
  command->add_option("--host", flags->server.host, "address to listen on; 0.0.0.0 for all of this machine");
  command->add_option("--job", flags->job, "the job that this task belongs to: worker, ps");
  command->add_option("--task", flags->task, "its number there")->check(CLI::NonNegativeNumber);
  command->add_option("--cluster", flags->cluster_file, "JSON file of the cluster's jobs and addresses");
  command->add_option("--ps", flags->ps, "host:port,... of the parameter servers");
  command->add_option("--worker", flags->worker, "host:port,... of the workers");
  command->add_flag("--only_peers", flags->server.only_peers,
                    "refuse parts of steps from hosts that are not of the cluster");
  command->add_option("--share_memory", flags->server.share_memory,
                      "copy large tensors between tasks of this machine and user through shared memory; 0: never");
  command->add_flag("--spread", flags->server.spread_nodes,
                    "nodes that ask for no device go to all tasks in turn, variables to the last: for tests");
  command->add_option("--placer", flags->placer,
                      "who chooses devices where a session's config does not say: default, greedy, heft");
  command->add_option("--costs", flags->costs_file, "measured costs for it, as `weir run --costs` writes them");
  command->add_option("--slurm_ps", flags->slurm_ps,
                      "take the cluster from Slurm; so many tasks are parameter servers");
  command->add_option("--slurm_port", flags->slurm_port, "port of the first task on a node of Slurm's");
  command->add_option("--cpu_devices", flags->environment.num_cpu_devices, "how many CPU devices the host is shown as")
      ->check(CLI::Range(1, 1024));
  AddGpuFlags(command, &flags->environment.gpu);
  command->add_option("--library", flags->environment.libraries, "load operations, kernels or devices from this file");
  command->add_option("--file_root", flags->environment.file_root,
                      "graphs read and write files below this folder only; relative paths begin there");
  command->add_option("--tls_cert", flags->certificate_file, "PEM file: the server's certificate; turns TLS on");
  command->add_option("--tls_key", flags->key_file, "PEM file: its private key");
  command->add_option("--tls_client_ca", flags->client_ca_file, "PEM file: the CA that clients' certificates need");
  command->add_option("--metrics_port", flags->server.metrics_port,
                      "port where Prometheus reads counts; 0: a free one");
  command->add_option("--max_message_bytes", flags->server.max_message_bytes, "largest request");
  command->add_option("--max_sessions", flags->server.max_sessions, "sessions at once; 0: any number");
  command->add_option("--max_graph_nodes", flags->server.max_graph_nodes, "nodes in the graph of one session");
  command->add_flag("--deterministic", flags->environment.deterministic,
                    "results never depend on the number of threads; slower");
  command->add_option("--memory_limit", flags->environment.memory_limit, "bytes that all tensors may take; 0: any");
  command->add_option(
      "--collective_leader", flags->server.collective_leader,
      "task that forms the groups of collectives, as /job:worker/replica:0/task:0; default: the chief or "
      "the first worker");
  command
      ->add_option("--collective_timeout", flags->collective_timeout_seconds,
                   "seconds after which a collective that gives no time-out of its own ends with an error")
      ->check(CLI::PositiveNumber);
  command->add_option("--idle_session_seconds", flags->idle_session_seconds,
                      "a session unused for so long is closed; 0: never");
  command->add_option("--stay_awake_us", flags->stay_awake_us,
                      "a quick client's next call is waited for without sleep for so many microseconds; 0: never");
  command->add_option("--grace_seconds", flags->grace_seconds, "time that calls get to end at a shutdown");
  command->callback([flags] { ExitOnError(Serve(*flags)); });
}

}  // namespace weir
