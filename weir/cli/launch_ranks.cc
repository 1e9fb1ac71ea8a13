#include "weir/cli/launch_ranks.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "weir/base/free_ports.h"
#include "weir/base/strings.h"
#include "weir/collective/secret.h"

namespace weir {
namespace {

constexpr absl::Duration kTimeToEnd = absl::Seconds(5);

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

bool IsThisHost(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == "::1" || host == HostName();
}

// A stream of a rank, printed line by line.
struct Stream {
  int rank = 0;
  int file = -1;
  FILE* to = nullptr;
  std::string rest;  // of a line that has not ended yet

  void Print(std::string_view bytes) {
    rest += bytes;
    size_t begin = 0;
    for (size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n', begin)) {
      std::fprintf(to, "[%d] %.*s\n", rank, static_cast<int>(end - begin), rest.data() + begin);
      begin = end + 1;
    }
    rest.erase(0, begin);
    std::fflush(to);
  }
  void Close() {
    if (!rest.empty()) Print("\n");
    close(file);
    file = -1;
  }
};

// One argument of a shell's command line.
std::string Quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Where and as what a rank runs.
struct RankStart {
  int rank = 0;
  std::string host;  // empty: this one
  std::vector<std::pair<std::string, std::string>> variables;
  std::string secret;
};

// What the shell of another host runs. It reads the secret from its standard input, where no list of processes shows
// it, and ends the command when that closes: then this launcher has ended, or the connection.
std::string RemoteScript(const RankStart& start, const std::vector<std::string>& command) {
  char folder[4096] = "";
  if (getcwd(folder, sizeof(folder)) == nullptr) folder[0] = 0;
  std::string out = Cat("read -r WEIR_SECRET; export WEIR_SECRET; cd ", Quoted(folder), " 2>/dev/null; ");
  for (const auto& variable : start.variables) {
    out += Cat("export ", variable.first, "=", Quoted(variable.second), "; ");
  }
  out += "exec 3<&0; ";
  for (const std::string& word : command) out += Cat(Quoted(word), " ");
  out += Cat("</dev/null 3<&- & pid=$!; ",
             "(cat <&3; kill -TERM $pid; sleep 5; kill -KILL $pid) >/dev/null 2>&1 & watcher=$!; ",
             "wait $pid; code=$?; kill $watcher; exit $code");
  return out;
}

class RankLauncher {
 public:
  explicit RankLauncher(const RankLaunch& launch) : launch_(launch), words_(launch.command) {
    sigset_t watched;
    sigemptyset(&watched);
    for (int number : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&watched, number);
    sigprocmask(SIG_BLOCK, &watched, nullptr);
    signals_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~RankLauncher() {
    for (pid_t pid : pids_) {
      if (pid > 0) kill(pid, SIGKILL);
    }
    for (const int input : inputs_) close(input);
    close(signals_);
  }

  Status Start(const RankStart& start) {
    int in[2], out[2], err[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
      return ResourceExhausted("cannot make a pipe: ", std::strerror(errno));
    }
    const pid_t pid = fork();
    if (pid < 0) return ResourceExhausted("cannot start a process: ", std::strerror(errno));
    if (pid == 0) RunChild(start, in[0], out[1], err[1]);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    if (!start.host.empty()) {
      const std::string line = Cat(start.secret, "\n");
      (void)!write(in[1], line.data(), line.size());
      inputs_.push_back(in[1]);
    } else {
      close(in[1]);
    }
    pids_.push_back(pid);
    streams_.push_back({start.rank, out[0], stdout, ""});
    streams_.push_back({start.rank, err[0], stderr, ""});
    return OkStatus();
  }

  int Run() {
    while (HasRunning() || HasOpen()) {
      std::vector<pollfd> files{{signals_, POLLIN, 0}};
      std::vector<Stream*> polled{nullptr};
      for (Stream& stream : streams_) {
        if (stream.file < 0) continue;
        files.push_back({stream.file, POLLIN, 0});
        polled.push_back(&stream);
      }
      poll(files.data(), files.size(), 200);
      if (files[0].revents != 0) TakeSignals();
      for (size_t i = 1; i < files.size(); ++i) {
        if (files[i].revents != 0) Read(*polled[i]);
      }
      Reap();
      if (ending_ && absl::Now() > kill_at_) SendAll(SIGKILL);
      // What a rank's own children still hold open is not waited for.
      if (!HasRunning() && ending_) break;
    }
    return code_;
  }

 private:
  [[noreturn]] void RunChild(const RankStart& start, int in, int out, int err) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    if (!start.host.empty()) {
      dup2(in, STDIN_FILENO);
      const std::string script = RemoteScript(start, words_);
      words_ = launch_.agent;
      words_.push_back(start.host);
      words_.push_back(script);
    } else {
      for (const auto& variable : start.variables) setenv(variable.first.c_str(), variable.second.c_str(), 1);
      setenv("WEIR_SECRET", start.secret.c_str(), 1);
    }
    std::vector<char*> raw;
    for (std::string& word : words_) raw.push_back(word.data());
    raw.push_back(nullptr);
    execvp(raw[0], raw.data());
    std::fprintf(stderr, "cannot run %s: %s\n", raw[0], std::strerror(errno));
    std::fflush(stderr);
    _exit(127);
  }

  void TakeSignals() {
    signalfd_siginfo signal;
    while (read(signals_, &signal, sizeof(signal)) == sizeof(signal)) {
      if (signal.ssi_signo == SIGCHLD) continue;
      SendAll(static_cast<int>(signal.ssi_signo));
      End(128 + static_cast<int>(signal.ssi_signo));
    }
  }

  void Read(Stream& stream) {
    char bytes[65536];
    const ssize_t count = read(stream.file, bytes, sizeof(bytes));
    if (count > 0) return stream.Print(std::string_view(bytes, static_cast<size_t>(count)));
    if (count == 0 || errno != EINTR) stream.Close();
  }

  void Reap() {
    for (size_t rank = 0; rank < pids_.size(); ++rank) {
      int status = 0;
      if (pids_[rank] <= 0 || waitpid(pids_[rank], &status, WNOHANG) != pids_[rank]) continue;
      pids_[rank] = -1;
      const int outcome = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      if (outcome == 0 || ending_) continue;
      std::fprintf(stderr, "weir launch: rank %zu ended with %d; the others are told to end\n", rank, outcome);
      SendAll(SIGTERM);
      End(outcome);
    }
  }

  void End(int code) {
    if (ending_) return;
    ending_ = true;
    code_ = code;
    kill_at_ = absl::Now() + kTimeToEnd;
    for (const int input : inputs_) close(input);  // ends the ranks on other hosts
    inputs_.clear();
  }
  void SendAll(int number) {
    for (pid_t pid : pids_) {
      if (pid > 0) kill(pid, number);
    }
  }
  bool HasRunning() const {
    for (pid_t pid : pids_) {
      if (pid > 0) return true;
    }
    return false;
  }
  bool HasOpen() const {
    for (const Stream& stream : streams_) {
      if (stream.file >= 0) return true;
    }
    return false;
  }

  const RankLaunch& launch_;
  std::vector<std::string> words_;
  std::vector<int> inputs_;  // of the agents of other hosts
  int signals_ = -1;
  std::vector<pid_t> pids_;  // -1: ended
  std::vector<Stream> streams_;
  bool ending_ = false;
  int code_ = 0;
  absl::Time kill_at_ = absl::InfiniteFuture();
};

}  // namespace

StatusOr<int> LaunchRanks(const RankLaunch& launch) {
  std::vector<collective::HostSlots> hosts = launch.hosts;
  if (hosts.empty()) hosts.push_back({"localhost", std::max(launch.ranks, 1)});
  // Names that mean this host are one host, and so are names that come twice.
  std::vector<collective::HostSlots> merged;
  int slots = 0;
  for (const collective::HostSlots& each : hosts) {
    auto same = std::find_if(merged.begin(), merged.end(), [&](const collective::HostSlots& other) {
      return other.host == each.host || (IsThisHost(other.host) && IsThisHost(each.host));
    });
    if (same == merged.end()) {
      merged.push_back(each);
    } else {
      same->slots += each.slots;
    }
    slots += each.slots;
  }
  const int ranks = launch.ranks > 0 ? launch.ranks : slots;
  if (ranks > slots) return InvalidArgument("There are ", slots, " slots on the hosts, too few for ", ranks, " ranks");
  const std::string job = Cat("launch_", HostName(), "_", getpid(), "_", absl::ToUnixNanos(absl::Now()));
  std::string secret;
  for (const char byte : collective::RandomBytes(16))
    secret += Cat(absl::Hex(static_cast<uint8_t>(byte), absl::kZeroPad2));
  std::string address = launch.address;
  if (address.empty()) address = IsThisHost(merged[0].host) ? HostName() : merged[0].host;
  if (address.rfind(':') == address.npos || address.ends_with(']')) {
    const std::vector<int> ports = FreePorts(1);
    if (ports.empty()) return ResourceExhausted("there is no free port");
    if (address.find(':') != address.npos && !address.starts_with('[')) address = Cat("[", address, "]");
    address += Cat(":", ports[0]);
  }
  RankLauncher launcher(launch);
  int rank = 0;
  for (const collective::HostSlots& host : merged) {
    const int local_size = std::min(host.slots, ranks - rank);
    for (int local = 0; local < local_size; ++local, ++rank) {
      RankStart start;
      start.rank = rank;
      start.secret = secret;
      if (!IsThisHost(host.host)) {
        start.host = host.host;
        for (const std::string& variable : launch.variables) {
          if (const char* value = std::getenv(variable.c_str())) start.variables.emplace_back(variable, value);
        }
      }
      start.variables.insert(start.variables.end(), {{"WEIR_RANK", Cat(rank)},
                                                     {"WEIR_SIZE", Cat(ranks)},
                                                     {"WEIR_LOCAL_RANK", Cat(local)},
                                                     {"WEIR_LOCAL_SIZE", Cat(local_size)},
                                                     {"WEIR_HOST", host.host},
                                                     {"WEIR_JOB", job},
                                                     {"WEIR_ADDRESS", address}});
      WEIR_RETURN_IF_ERROR(launcher.Start(start));
    }
  }
  return launcher.Run();
}

}  // namespace weir
