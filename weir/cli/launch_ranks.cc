#include "weir/cli/launch_ranks.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "weir/base/strings.h"

namespace weir {
namespace {

constexpr absl::Duration kTimeToEnd = absl::Seconds(5);

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

class RankLauncher {
 public:
  explicit RankLauncher(const std::vector<std::string>& command) : words_(command) {
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
    close(signals_);
  }

  Status Start(int rank, int size, const std::string& job) {
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
      return ResourceExhausted("cannot make a pipe: ", std::strerror(errno));
    }
    const pid_t pid = fork();
    if (pid < 0) return ResourceExhausted("cannot start a process: ", std::strerror(errno));
    if (pid == 0) RunChild(rank, size, job, out[1], err[1]);
    close(out[1]);
    close(err[1]);
    pids_.push_back(pid);
    streams_.push_back({rank, out[0], stdout, ""});
    streams_.push_back({rank, err[0], stderr, ""});
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
  [[noreturn]] void RunChild(int rank, int size, const std::string& job, int out, int err) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    for (const char* name : {"WEIR_RANK", "WEIR_LOCAL_RANK"}) setenv(name, Cat(rank).c_str(), 1);
    for (const char* name : {"WEIR_SIZE", "WEIR_LOCAL_SIZE"}) setenv(name, Cat(size).c_str(), 1);
    setenv("WEIR_JOB", job.c_str(), 1);
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

  std::vector<std::string> words_;
  int signals_ = -1;
  std::vector<pid_t> pids_;  // -1: ended
  std::vector<Stream> streams_;
  bool ending_ = false;
  int code_ = 0;
  absl::Time kill_at_ = absl::InfiniteFuture();
};

}  // namespace

StatusOr<int> LaunchRanks(int ranks, const std::vector<std::string>& command) {
  const std::string job = Cat("launch_", getpid(), "_", absl::ToUnixNanos(absl::Now()));
  RankLauncher launcher(command);
  for (int rank = 0; rank < ranks; ++rank) WEIR_RETURN_IF_ERROR(launcher.Start(rank, ranks, job));
  return launcher.Run();
}

}  // namespace weir
