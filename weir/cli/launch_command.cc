// weir launch: a cluster of local processes around a command, or equal processes of one job.
#include <signal.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "weir/cli/child_process.h"
#include "weir/cli/commands.h"
#include "weir/cli/launch_elastic.h"
#include "weir/cli/launch_ranks.h"

namespace weir {
namespace {

constexpr char kLaunchExamples[] = R"(Examples:
  weir launch --ps 2 --workers 4 -- python train.py
      two parameter servers and four workers on this machine; the command runs once for every worker, with
      WEIR_TARGET=grpc://... (its worker) and TF_CONFIG (the cluster, and its place there) in its environment
  weir launch --ps 1 --workers 2 --in_process -- ./trainer
      the command is the worker itself: it starts the server of its task

  weir launch -n 4 -- ./trainer
      four equal processes without servers, for weir::collective::ProcessGroup: WEIR_RANK, WEIR_SIZE, WEIR_LOCAL_RANK,
      WEIR_LOCAL_SIZE and more in their environments, "[rank] " before their output; the first that fails ends all
  weir launch -n 4 --hosts a:2,b:2 -- ./trainer
      two of them on host a and two on host b, started by ssh, in this folder; this host is called localhost
  weir launch --hostfile hosts -x DATA_FOLDER -- ./trainer
      one for each slot of a file with lines such as "a slots=4"; DATA_FOLDER, PATH, LD_LIBRARY_PATH, PYTHONPATH and
      OMP_NUM_THREADS are passed on

  weir launch --elastic --min 2 --max 8 --discovery ./hosts.sh -- ./trainer
      between two and eight workers, on the hosts that ./hosts.sh prints at the moment ("a:4" a line), for
      weir::collective::RunElastic: one that fails is started again, and the others go on from their last commit

The same program also runs under mpirun, srun and torchrun (docs/guide/hpc.md).

A cluster ends with its last command; the exit code is the first that is not 0. A parameter server or worker that dies is started
again.
)";

struct LaunchFlags {
  int ranks = 0;  // 0, and no hosts: a cluster
  std::string hosts;
  std::string host_file;
  std::string agent;
  std::string address;
  std::vector<std::string> variables{"PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "OMP_NUM_THREADS"};
  std::vector<std::string> more_variables;
  collective::TlsOptions tls;
  bool elastic = false;
  ElasticLaunch elastic_launch;
  double elastic_timeout = 600;  // seconds
  int ps = 1;
  int workers = 1;
  bool in_process = false;
  std::vector<std::string> command;
};

class Launcher {
 public:
  explicit Launcher(const LaunchFlags& flags) : flags_(flags) {
    std::vector<std::string> all = FreeAddresses(flags.ps + flags.workers);
    cluster_["ps"] = std::vector<std::string>(all.begin(), all.begin() + flags.ps);
    cluster_["worker"] = std::vector<std::string>(all.begin() + flags.ps, all.end());
    if (flags.ps == 0) cluster_.erase("ps");
  }

  StatusOr<int> Run() {
    for (int i = 0; i < flags_.ps; ++i) WEIR_RETURN_IF_ERROR(StartServer("ps", i));
    for (int i = 0; i < flags_.workers && !flags_.in_process; ++i) WEIR_RETURN_IF_ERROR(StartServer("worker", i));
    for (int i = 0; i < flags_.workers; ++i) {
      ChildProcess::Options options;
      options.pipes = false;
      options.variables = {{"TF_CONFIG", Config("worker", i)},
                           {"WEIR_TARGET", Cat("grpc://", cluster_["worker"][i].get<std::string>())}};
      commands_.push_back(std::make_unique<ChildProcess>(flags_.command, options));
    }
    int code = 0;
    for (int left = flags_.workers; left > 0;) {
      int status = 0;
      const pid_t ended = waitpid(-1, &status, 0);
      if (ended < 0) return Internal("the processes of the cluster are lost");
      const int outcome = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      bool is_command = false;
      for (auto& command : commands_) {
        if (command->pid() != ended) continue;
        command->MarkEnded();
        is_command = true;
      }
      if (is_command) {
        --left;
        if (code == 0) code = outcome;
        continue;
      }
      WEIR_RETURN_IF_ERROR(Restart(ended, outcome));
    }
    return code;
  }

 private:
  struct Server {
    std::string job;
    int index;
    std::unique_ptr<ChildProcess> process;
  };

  std::string Config(const std::string& job, int index) const {
    return nlohmann::json({{"cluster", cluster_}, {"task", {{"type", job}, {"index", index}}}}).dump();
  }

  std::unique_ptr<ChildProcess> MakeServer(const std::string& job, int index) const {
    ChildProcess::Options options;
    options.variables = {{"TF_CONFIG", Config(job, index)}};
    return std::make_unique<ChildProcess>(std::vector<std::string>{"/proc/self/exe", "server"}, options);
  }

  Status StartServer(const std::string& job, int index) {
    servers_.push_back({job, index, MakeServer(job, index)});
    return servers_.back().process->ReadLine().status();  // it listens
  }

  Status Restart(pid_t ended, int outcome) {
    for (Server& server : servers_) {
      if (server.process->pid() != ended) continue;
      std::fprintf(stderr, "weir launch: task %d of job %s ended with %d; started again\n", server.index,
                   server.job.c_str(), outcome);
      server.process->MarkEnded();
      server.process = MakeServer(server.job, server.index);
      return server.process->ReadLine().status();
    }
    return OkStatus();
  }

  const LaunchFlags& flags_;
  nlohmann::json cluster_;
  std::vector<Server> servers_;
  std::vector<std::unique_ptr<ChildProcess>> commands_;
};

StatusOr<int> RunRanks(const LaunchFlags& flags) {
  ElasticLaunch elastic = flags.elastic_launch;
  RankLaunch& launch = elastic.job;
  launch.ranks = flags.ranks;
  launch.address = flags.address;
  launch.variables = flags.variables;
  launch.variables.insert(launch.variables.end(), flags.more_variables.begin(), flags.more_variables.end());
  launch.command = flags.command;
  // What the flags do not say, this process's environment may.
  WEIR_ASSIGN_OR_RETURN(launch.tls, collective::FindTlsOptions([&flags](const char* name) -> std::string {
                          const std::string_view variable = name;
                          if (variable == "WEIR_SECRET") return "made for the job";
                          if (variable == "WEIR_TLS" && flags.tls.is_on) return "1";
                          if (variable == "WEIR_TLS_CERT" && !flags.tls.certificate.empty())
                            return flags.tls.certificate;
                          if (variable == "WEIR_TLS_KEY" && !flags.tls.key.empty()) return flags.tls.key;
                          if (variable == "WEIR_TLS_CA" && !flags.tls.ca.empty()) return flags.tls.ca;
                          return collective::ProcessVariable(name);
                        }));
  if (!flags.agent.empty()) launch.agent = absl::StrSplit(flags.agent, ' ', absl::SkipEmpty());
  if (!flags.hosts.empty()) {
    WEIR_ASSIGN_OR_RETURN(launch.hosts, collective::ParseHosts(flags.hosts));
  } else if (!flags.host_file.empty()) {
    std::ifstream file(flags.host_file);
    if (!file) return NotFound("cannot read the host file ", flags.host_file);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    WEIR_ASSIGN_OR_RETURN(launch.hosts, collective::ParseHostFile(text));
  }
  if (!flags.elastic) return LaunchRanks(launch);
  elastic.timeout = absl::Seconds(flags.elastic_timeout);
  return LaunchElastic(elastic);
}

}  // namespace

void AddLaunchCommand(CLI::App& program) {
  auto flags = std::make_shared<LaunchFlags>();
  CLI::App* command =
      program.add_subcommand("launch", "run a command on a cluster of local processes, or as equal processes on hosts");
  command->footer(kLaunchExamples);
  CLI::Option* ranks = command->add_option("-n,--ranks", flags->ranks, "equal processes instead of a cluster");
  ranks->check(CLI::Range(1, 1024));
  CLI::Option* hosts = command->add_option("--hosts", flags->hosts, "hosts and how many ranks each, as a:4,b:4");
  command->add_option("--hostfile", flags->host_file, "a file with lines such as: a slots=4")->excludes(hosts);
  command->add_option(
      "--agent", flags->agent,
      "starts a rank on another host: called with its name and a line for its shell (ssh -o BatchMode=yes)");
  command->add_option("--address", flags->address, "rank 0's host, or host:port, as all hosts know it");
  command->add_option("-x", flags->more_variables, "a variable to be passed on to other hosts; may be repeated")
      ->allow_extra_args(false);
  CLI::Option* tls = command->add_flag("--tls", flags->tls.is_on,
                                       "encrypt what ranks on different hosts exchange; the job's secret is the key");
  command->add_option("--tls_cert", flags->tls.certificate, "PEM file: the ranks' certificate, instead of the secret")
      ->needs(tls);
  command->add_option("--tls_key", flags->tls.key, "PEM file: its private key")->needs(tls);
  command->add_option("--tls_ca", flags->tls.ca, "PEM file: the CA that has signed it")->needs(tls);
  ElasticLaunch& elastic = flags->elastic_launch;
  CLI::Option* is_elastic =
      command->add_flag("--elastic", flags->elastic, "workers may come and go, and are started again when they fail");
  command->add_option("--min", elastic.min_workers, "workers without which an elastic job cannot go on (1)")
      ->check(CLI::Range(1, 1024))
      ->needs(is_elastic);
  command->add_option("--max", elastic.max_workers, "workers of an elastic job at most (one for each slot)")
      ->check(CLI::Range(1, 1024))
      ->needs(is_elastic);
  command->add_option("--discovery", elastic.discovery, "prints the hosts of the moment, a line such as a:4 for each")
      ->needs(is_elastic)
      ->excludes(hosts);
  command->add_option("--restarts", elastic.restarts, "how often a failed worker is started again (3)")
      ->check(CLI::Range(0, 1000000))
      ->needs(is_elastic);
  command
      ->add_option("--elastic_timeout", flags->elastic_timeout,
                   "seconds for which an elastic job may have too few workers (600)")
      ->needs(is_elastic);
  command->add_option("--ps", flags->ps, "parameter servers")->check(CLI::Range(0, 1024))->excludes(ranks);
  command->add_option("--workers", flags->workers, "workers")->check(CLI::Range(1, 1024))->excludes(ranks);
  command->add_flag("--in_process", flags->in_process, "the command starts the worker's server itself");
  command->add_option("command", flags->command, "what to run for every worker")->required();
  command->callback([flags] {
    StatusOr<int> code = flags->elastic || flags->ranks > 0 || !flags->hosts.empty() || !flags->host_file.empty()
                             ? RunRanks(*flags)
                             : Launcher(*flags).Run();
    ExitOnError(code.status());
    if (*code != 0) std::exit(*code);
  });
}

}  // namespace weir
