#include "weir/cli/launch_elastic.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "absl/time/clock.h"
#include "weir/base/strings.h"
#include "weir/cli/elastic_host.h"
#include "weir/collective/rendezvous.h"

namespace weir {
namespace {

constexpr absl::Duration kPauseAfterFailure = absl::Seconds(1);
constexpr absl::Duration kDiscoverEvery = absl::Seconds(1);

// Asks the discovery program for the hosts, again and again, without waiting for it.
class Discovery {
 public:
  explicit Discovery(std::string program) : program_(std::move(program)) {}
  ~Discovery() {
    if (pid_ > 0) Finish(SIGKILL);
  }

  // True if there is a new answer, in *hosts. A program that fails or prints nonsense changes nothing.
  bool Poll(std::vector<collective::HostSlots>* hosts) {
    if (pid_ < 0 && (absl::Now() < next_ || !Start())) return false;
    char bytes[4096];
    ssize_t count = 0;
    while ((count = read(answer_, bytes, sizeof(bytes))) > 0) text_.append(bytes, static_cast<size_t>(count));
    if (count < 0) return false;  // there is more to come
    const int code = Finish(0);
    next_ = absl::Now() + kDiscoverEvery;
    StatusOr<std::vector<collective::HostSlots>> found = collective::ParseHostFile(text_);
    if (code != 0 || !found.ok()) {
      const std::string why = code != 0 ? Cat("ended with ", code) : std::string(Message(found.status()));
      if (why != complaint_) std::fprintf(stderr, "weir launch: %s: %s\n", program_.c_str(), why.c_str());
      complaint_ = why;
      return false;
    }
    complaint_.clear();
    *hosts = *std::move(found);
    return true;
  }

 private:
  bool Start() {
    text_.clear();
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    std::string shell = "sh", flag = "-c";
    char* const words[] = {shell.data(), flag.data(), program_.data(), nullptr};
    const int error = posix_spawn(&pid_, "/bin/sh", &files, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    answer_ = ends[0];
    if (error == 0) return true;
    close(answer_);
    pid_ = -1;
    return false;
  }
  // Its exit code, or 128 and the signal.
  int Finish(int signal) {
    close(answer_);
    if (signal != 0) kill(pid_, signal);
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string program_;
  pid_t pid_ = -1;  // -1: none runs
  int answer_ = -1;
  std::string text_;
  std::string complaint_;  // what was printed last
  absl::Time next_ = absl::InfinitePast();
};

class ElasticJob {
 public:
  ElasticJob(const ElasticLaunch& launch, std::unique_ptr<ElasticHost> host, const std::string& secret)
      : launch_(launch),
        secret_(secret),
        job_(MakeJobName()),
        host_(std::move(host)),
        processes_(launch.job.agent, launch.job.command),
        discovery_(launch.discovery) {
    SetHosts(launch.job.hosts);
  }

  StatusOr<int> Run() {
    absl::Time enough_at = absl::Now();  // when there were enough workers last
    while (true) {
      if (!launch_.discovery.empty() && !ends()) {
        std::vector<collective::HostSlots> hosts;
        if (discovery_.Poll(&hosts)) SetHosts(hosts);
      }
      WEIR_RETURN_IF_ERROR(StartWorkers());
      host_->Step();
      std::vector<pollfd> files = host_->files();
      for (const JobProcesses::Ended& ended : processes_.Wait(&files)) TakeEnd(ended);
      if (processes_.signal() != 0) End(128 + processes_.signal());
      for (const int worker : host_->Overdue()) {
        std::fprintf(stderr, "weir launch: worker %d does not come to the next round and is killed\n", worker);
        processes_.Send(worker, SIGKILL);
      }
      if (ends()) {
        if (absl::Now() > kill_at_) processes_.SendAll(SIGKILL);
        if (processes_.num_running() == 0) return DrainAndFinish();
        continue;
      }
      if (processes_.num_running() >= launch_.min_workers) enough_at = absl::Now();
      if (processes_.num_running() == 0 && host_->is_done()) return DrainAndFinish();
      const bool hopeless = launch_.discovery.empty() && NumUsable() < launch_.min_workers;
      if (!host_->is_done() && (hopeless || absl::Now() - enough_at > launch_.timeout)) {
        std::fprintf(stderr, "weir launch: fewer than %d workers are left; the others are told to end\n",
                     launch_.min_workers);
        processes_.SendAll(SIGTERM);
        End(last_failure_ != 0 ? last_failure_ : 1);
      }
    }
  }

 private:
  // A place for a worker.
  struct Slot {
    std::string host;
    int worker = -1;  // that runs there; -1: none
    int failures = 0;
    bool is_gone = false;  // with its host
    absl::Time not_before = absl::InfinitePast();
  };

  bool ends() const { return kill_at_ != absl::InfiniteFuture(); }
  void End(int code) {
    if (ends()) return;
    code_ = code;
    kill_at_ = absl::Now() + kTimeToEnd;
    processes_.CloseInputs();
  }
  // What a worker's own children still hold open is not waited for.
  int DrainAndFinish() {
    if (processes_.HasOpenStreams()) processes_.Wait();
    return code_;
  }

  // Slots that are in use or can be.
  int NumUsable() const {
    return static_cast<int>(std::count_if(slots_.begin(), slots_.end(), [&](const Slot& slot) {
      return slot.worker >= 0 || (!slot.is_gone && slot.failures <= launch_.restarts);
    }));
  }

  void SetHosts(const std::vector<collective::HostSlots>& given) {
    std::map<std::string, int> wanted;
    std::vector<std::string> order;
    for (const collective::HostSlots& host : MergeHosts(given)) {
      wanted[host.host] = host.slots;
      order.push_back(host.host);
    }
    for (Slot& slot : slots_) {
      int& left = wanted[slot.host];
      const bool stays = left > 0;
      if (stays) --left;
      if (slot.is_gone && stays) slot.failures = 0;  // it comes back
      if (!slot.is_gone && !stays && slot.worker >= 0) {
        std::fprintf(stderr, "weir launch: worker %d is to leave host %s\n", slot.worker, slot.host.c_str());
        host_->RetireWorker(slot.worker);
      }
      slot.is_gone = !stays;
    }
    std::erase_if(slots_, [](const Slot& slot) { return slot.is_gone && slot.worker < 0; });
    for (const std::string& host : order) {
      for (int i = 0; i < wanted[host]; ++i) slots_.push_back({.host = host});
    }
  }

  Status StartWorkers() {
    if (ends() || host_->is_done() || finished_without_words_) return OkStatus();
    const int limit = launch_.max_workers > 0 ? launch_.max_workers : static_cast<int>(slots_.size());
    for (Slot& slot : slots_) {
      if (processes_.num_running() >= limit) break;
      if (slot.worker >= 0 || slot.is_gone || slot.failures > launch_.restarts || absl::Now() < slot.not_before) {
        continue;
      }
      ProcessStart start = StartOn(launch_.job, slot.host, secret_);
      start.number = slot.worker = next_worker_++;
      const std::string address = Cat(AddressFor(start.host), ":", host_->port());
      start.variables.insert(start.variables.end(), {{collective::kRendezvousVariable, address},
                                                     {collective::kWorkerVariable, Cat(slot.worker)},
                                                     {"WEIR_HOST", slot.host},
                                                     {"WEIR_JOB", job_}});
      host_->AddWorker(slot.worker, slot.host);
      WEIR_RETURN_IF_ERROR(processes_.Start(start));
    }
    return OkStatus();
  }

  // This host, as a worker on that one knows it.
  std::string AddressFor(const std::string& host) const {
    if (host.empty()) return "127.0.0.1";
    std::string address = launch_.job.address.empty() ? HostName() : launch_.job.address;
    if (address.find(':') != address.npos && !address.starts_with('[')) address = Cat("[", address, "]");
    return address;
  }

  void TakeEnd(const JobProcesses::Ended& ended) {
    // What it said last may decide what its end means.
    host_->Step();
    const bool was_told = host_->IsRetired(ended.number);
    host_->RemoveWorker(ended.number);
    for (Slot& slot : slots_) {
      if (slot.worker != ended.number) continue;
      slot.worker = -1;
      if (ended.outcome == 0 || was_told || ends()) continue;
      last_failure_ = ended.outcome;
      if (host_->is_done()) {
        End(ended.outcome);
        continue;
      }
      ++slot.failures;
      slot.not_before = absl::Now() + kPauseAfterFailure;
      const char* next = slot.failures > launch_.restarts ? "its place is given up" : "it is started again";
      std::fprintf(stderr, "weir launch: worker %d ended with %d; %s\n", ended.number, ended.outcome, next);
    }
    std::erase_if(slots_, [](const Slot& slot) { return slot.is_gone && slot.worker < 0; });
    // A program that ends without training, and without an error.
    if (ended.outcome == 0 && !was_told && !ends()) finished_without_words_ |= !host_->is_done();
    if (finished_without_words_ && processes_.num_running() == 0) End(0);
  }

  const ElasticLaunch& launch_;
  const std::string secret_;
  const std::string job_;
  const std::unique_ptr<ElasticHost> host_;
  JobProcesses processes_;
  Discovery discovery_;
  std::vector<Slot> slots_;
  int next_worker_ = 0;
  bool finished_without_words_ = false;
  int code_ = 0;
  int last_failure_ = 0;
  absl::Time kill_at_ = absl::InfiniteFuture();
};

}  // namespace

StatusOr<int> LaunchElastic(const ElasticLaunch& given) {
  ElasticLaunch launch = given;
  if (launch.job.hosts.empty() && launch.discovery.empty()) {
    launch.job.hosts.push_back({"localhost", std::max({launch.job.ranks, launch.min_workers, launch.max_workers})});
  }
  if (launch.max_workers > 0 && launch.max_workers < launch.min_workers) {
    return InvalidArgument("--max ", launch.max_workers, " is less than --min ", launch.min_workers);
  }
  ElasticHostOptions options;
  options.credentials = {MakeJobSecret(), launch.job.tls};
  options.min_workers = launch.min_workers;
  options.address = launch.job.address;
  options.patience = std::min(options.patience, launch.timeout);
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ElasticHost> host, ElasticHost::Make(options));
  return ElasticJob(launch, std::move(host), options.credentials.secret).Run();
}

}  // namespace weir
