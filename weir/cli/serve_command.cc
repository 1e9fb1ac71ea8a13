#include <google/protobuf/stubs/logging.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "weir/base/logging.h"
#include "weir/cli/commands.h"
#include "weir/cli/gpu_flags.h"
#include "weir/client/environment.h"
#include "weir/io/file.h"
#include "weir/serving/model_server.h"

namespace weir {
namespace {

struct ServeFlags {
  ModelServerOptions server;
  EnvironmentOptions environment;
  std::string model_name = "default", model_base_path, model_config_file, tags = "serve";
  double model_config_poll_seconds = 0, poll_seconds = 1;
  bool enable_batching = false, per_model_batching = false, pad = false;
  std::string batching = "auto", batching_file, monitoring_file, ssl_file;
  double target_latency_ms = 0;
  int64_t load_retry_micros = 60'000'000, rest_timeout_ms = 30'000, memory_budget_mb = 0;
  int session_parallelism = 0, intra_op = 0, inter_op = 0;
  double grace_seconds = 5;
  // Taken so that command lines of tensorflow_model_server work; they have no meaning here.
  bool flag_ignored = false;
  std::string text_ignored;
};

constexpr char kServeExamples[] = R"(Examples:
  weir serve --model_name m --model_base_path /models/m --port 8500 --rest_api_port 8501
                                        serves the newest of /models/m/1, /models/m/2, ... over gRPC and HTTP
  weir serve --model_config_file models.config --rest_api_port 8501
                                        several models, version policies and labels
  weir serve --model_base_path /models/m --target_latency_ms 20
                                        batches and queues no larger than that allows
  curl -d '{"instances": [[1.0]]}' localhost:8501/v1/models/m:predict

The first line on stdout says the ports, when all models are ready. Flags and files are tensorflow_model_server's.
)";

StatusOr<std::string> ReadIfNamed(const std::string& path) {
  if (path.empty()) return std::string();
  return ReadFile(path);
}

Status ReadBatching(const ServeFlags& flags, ModelServerOptions* options) {
  BatchOptions& rules = options->manager.version.batching;
  if (flags.batching != "auto" && flags.batching != "off") {
    return InvalidArgument("--batching must be auto or off, not '", flags.batching, "'");
  }
  rules.merge = flags.batching == "auto";
  rules.pad = flags.pad;
  if (flags.target_latency_ms > 0) rules.target_latency = absl::Milliseconds(flags.target_latency_ms);
  options->manager.version.read_batching_parameters = flags.per_model_batching;
  if (flags.batching_file.empty()) return OkStatus();
  if (!flags.enable_batching) return InvalidArgument("--batching_parameters_file needs --enable_batching");
  WEIR_ASSIGN_OR_RETURN(std::string text, ReadFile(flags.batching_file));
  WEIR_ASSIGN_OR_RETURN(BatchingFile file, ParseBatchingParameters(text));
  rules = file.rules;
  if (file.num_threads > 0) options->num_slots = file.num_threads;
  return OkStatus();
}

StatusOr<std::vector<ModelSettings>> ReadModels(const ServeFlags& flags) {
  if (!flags.model_config_file.empty()) {
    WEIR_ASSIGN_OR_RETURN(std::string text, ReadFile(flags.model_config_file));
    return ParseModelConfig(text);
  }
  if (flags.model_base_path.empty()) {
    return InvalidArgument("no model is given: use --model_base_path or --model_config_file");
  }
  return std::vector<ModelSettings>{{.name = flags.model_name, .base_path = flags.model_base_path}};
}

StatusOr<ModelServerOptions> ReadOptions(const ServeFlags& flags) {
  ModelServerOptions options = flags.server;
  WEIR_ASSIGN_OR_RETURN(options.models, ReadModels(flags));
  WEIR_RETURN_IF_ERROR(ReadBatching(flags, &options));
  WEIR_ASSIGN_OR_RETURN(std::string monitoring, ReadIfNamed(flags.monitoring_file));
  WEIR_ASSIGN_OR_RETURN(options.monitoring, ParseMonitoringConfig(monitoring));
  if (!flags.ssl_file.empty()) {
    WEIR_ASSIGN_OR_RETURN(std::string ssl, ReadFile(flags.ssl_file));
    WEIR_ASSIGN_OR_RETURN(options.tls, ParseSslConfig(ssl));
  }
  ManagerOptions& manager = options.manager;
  manager.poll = flags.poll_seconds > 0 ? absl::Seconds(flags.poll_seconds) : absl::ZeroDuration();
  manager.load_retry_interval = absl::Microseconds(flags.load_retry_micros);
  manager.memory_budget = flags.memory_budget_mb << 20;
  manager.version.tags.clear();
  for (absl::string_view tag : absl::StrSplit(flags.tags, ',')) manager.version.tags.emplace(tag);
  SessionOptions& session = manager.version.session;
  session.intra_op_threads = flags.intra_op > 0 ? flags.intra_op : flags.session_parallelism;
  session.inter_op_threads = flags.inter_op > 0 ? flags.inter_op : flags.session_parallelism;
  options.rest_timeout = absl::Milliseconds(flags.rest_timeout_ms);
  return options;
}

// What a client sent is not an event of the server: it would let anybody fill the log.
void QuietProtobuf(google::protobuf::LogLevel, const char*, int, const std::string& message) {
  WEIR_LOG(DEBUG) << "protobuf: " << message;
}

// Reads the config file again and again, and applies it when it has changed.
class ConfigPoller {
 public:
  ConfigPoller(ModelManager* models, std::string path, double seconds)
      : thread_([this, models, path = std::move(path), seconds] {
          std::string last = ReadFile(path).value_or("");
          while (!ended_.WaitForNotificationWithTimeout(absl::Seconds(seconds))) {
            StatusOr<std::string> text = ReadFile(path);
            if (!text.ok() || *text == last) continue;
            last = *text;
            StatusOr<std::vector<ModelSettings>> settings = ParseModelConfig(last);
            Status status = settings.ok() ? models->Configure(*std::move(settings)) : settings.status();
            if (!status.ok()) {
              WEIR_LOG(ERROR) << path << " is not applied: " << Message(status);
            }
          }
        }) {}
  ~ConfigPoller() {
    ended_.Notify();
    thread_.join();
  }

 private:
  absl::Notification ended_;
  std::thread thread_;
};

Status ServeModels(const ServeFlags& flags) {
  google::protobuf::SetLogHandler(QuietProtobuf);
  WEIR_ASSIGN_OR_RETURN(ModelServerOptions options, ReadOptions(flags));
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Environment> environment, MakeEnvironment(flags.environment));
  // Blocked here, so that every thread made from now on leaves these signals to the one that waits for them. While
  // models are loading, they end the program.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a log that must not grow any more is an error of the log alone
  std::atomic<bool> ready{false};
  std::atomic<int> caught{0};
  absl::Notification asked;
  std::thread waiter([&] {
    int number = 0;
    sigwait(&signals, &number);
    if (!ready) std::_Exit(128 + number);
    caught = number;
    asked.Notify();
    // A second signal ends the program at once.
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  });
  waiter.detach();
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ModelServer> server, ModelServer::Start(options, environment));
  ready = true;
  std::printf("grpc %d rest %d\n", server->port(), server->rest_port());
  std::fflush(stdout);
  WEIR_LOG(INFO) << "serving gRPC on port " << server->port();
  if (server->rest_port() >= 0) {
    WEIR_LOG(INFO) << "serving HTTP on port " << server->rest_port();
  }
  std::unique_ptr<ConfigPoller> poller;
  if (flags.model_config_poll_seconds > 0 && !flags.model_config_file.empty()) {
    poller =
        std::make_unique<ConfigPoller>(&server->models(), flags.model_config_file, flags.model_config_poll_seconds);
  }
  asked.WaitForNotification();
  WEIR_LOG(INFO) << "shutting down on " << strsignal(caught);
  server->models().Stop();
  poller.reset();
  server->Shutdown(absl::Seconds(flags.grace_seconds));
  return OkStatus();
}

void AddIgnored(CLI::App* command, ServeFlags* flags) {
  for (const char* name : {"--flush_filesystem_caches", "--allow_version_labels_for_unavailable_models",
                           "--enable_grpc_healthcheck_service", "--prefer_tflite_model", "--enable_profiler",
                           "--enable_signature_method_name_check", "--enable_whole_model_lookup"}) {
    command->add_flag(name, flags->flag_ignored, "accepted, without a meaning here")->group("");
  }
  for (const char* name : {"--grpc_channel_arguments", "--grpc_max_threads", "--num_unload_threads",
                           "--platform_config_file", "--thread_pool_factory_config_file"}) {
    command->add_option(name, flags->text_ignored, "accepted, without a meaning here")->group("");
  }
}

}  // namespace

void AddServeCommand(CLI::App& program) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* command = program.add_subcommand("serve", "serve models by TensorFlow Serving's protocols, gRPC and REST");
  command->footer(kServeExamples);
  ModelServerOptions& server = flags->server;
  ManagerOptions& manager = server.manager;
  command->add_option("--port", server.port, "port of gRPC; 0: a free one")->check(CLI::Range(0, 65535));
  command->add_option("--rest_api_port", server.rest_port, "port of HTTP; 0: a free one, -1: none")
      ->check(CLI::Range(-1, 65535));
  command->add_option("--host", server.host, "address to listen on");
  command->add_option("--grpc_socket_path", server.grpc_socket, "a UNIX socket for gRPC, too");
  command->add_option("--model_name", flags->model_name, "name of the model of --model_base_path");
  command->add_option("--model_base_path", flags->model_base_path, "folder with a numeric folder per version");
  command->add_option("--model_config_file", flags->model_config_file, "file with a ModelServerConfig");
  command->add_option("--model_config_file_poll_wait_seconds", flags->model_config_poll_seconds,
                      "read it again and again; 0: once");
  command->add_option("--file_system_poll_wait_seconds", flags->poll_seconds,
                      "between looks for new versions; 0: none");
  command->add_option("--saved_model_tags", flags->tags, "of the graphs to serve, separated by commas");
  command->add_option("--num_load_threads", manager.num_load_threads, "versions that are loaded at once");
  command->add_option("--max_num_load_retries", manager.max_load_retries, "after a version could not be loaded");
  command->add_option("--load_retry_interval_micros", flags->load_retry_micros, "between these");
  command->add_option("--memory_budget_mb", flags->memory_budget_mb,
                      "what all loaded versions may take, by the size of their files; 0: any");
  command->add_option("--enable_model_warmup", server.warm_up,
                      "replay the warm-up requests of a model before it is served");
  command->add_option("--num_request_iterations_for_warmup", server.warm_up_iterations, "how often");
  command->add_flag("--enable_batching", flags->enable_batching, "batch by the rules of --batching_parameters_file");
  command->add_option("--batching_parameters_file", flags->batching_file, "file with BatchingParameters");
  command->add_flag("--enable_per_model_batching_parameters", flags->per_model_batching,
                    "a model's batching_params.pbtxt goes before that file");
  command->add_option("--batching", flags->batching, "without such a file: auto, batches that grow with load; off");
  command->add_flag("--pad_variable_length_inputs", flags->pad,
                    "... and pad with zeros what differs in other dimensions than the first");
  command->add_option("--target_latency_ms", flags->target_latency_ms,
                      "batches and queues stay below it; 0: no target");
  command->add_option("--num_steps", server.num_slots, "steps that run at once; 0: half of the cores");
  command->add_option("--monitoring_config_file", flags->monitoring_file, "file with a MonitoringConfig");
  command->add_option("--ssl_config_file", flags->ssl_file, "file with an SSLConfig: TLS for gRPC");
  command->add_option("--max_message_bytes", server.max_message_bytes, "largest request");
  command->add_option("--enable_serialization_as_tensor_content", server.outputs_as_content,
                      "gRPC answers carry numbers as bytes; 0: in typed fields");
  command->add_option("--rest_api_num_threads", server.rest_threads, "HTTP requests at once; 0: four per core");
  command->add_option("--rest_api_timeout_in_ms", flags->rest_timeout_ms, "of an HTTP request");
  command->add_flag("--rest_api_enable_cors_support", server.rest_cors, "CORS headers for browsers");
  command->add_option("--tensorflow_session_parallelism", flags->session_parallelism,
                      "threads of a step; 0: one per core");
  command->add_option("--tensorflow_intra_op_parallelism", flags->intra_op, "threads inside an operation");
  command->add_option("--tensorflow_inter_op_parallelism", flags->inter_op, "threads between operations");
  command->add_option("--library", flags->environment.libraries, "load operations, kernels or devices from this file");
  command->add_option("--memory_limit", flags->environment.memory_limit, "bytes that all tensors may take; 0: any");
  command->add_option("--trace_folder", server.trace_folder, "traces of calls with the header weir-trace go there");
  command->add_option("--grace_seconds", flags->grace_seconds, "time that calls get to end at a shutdown");
  AddGpuFlags(command, &flags->environment.gpu);
  command
      ->add_option("--per_process_gpu_memory_fraction", flags->environment.gpu.memory_fraction,
                   "as --gpu_memory_fraction")
      ->check(CLI::Range(0.0, 1.0))
      ->group("");
  AddIgnored(command, flags.get());
  command->callback([flags] { ExitOnError(ServeModels(*flags)); });
}

}  // namespace weir
