#include "weir/cli/job_processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "weir/base/strings.h"

namespace weir {
namespace {

constexpr int kMomentMs = 200;

// One argument of a shell's command line.
std::string Quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// What the shell of another host runs. It reads the secret from its standard input, where no list of processes shows
// it, and ends the command when that closes: then this launcher has ended, or the connection.
std::string RemoteScript(const ProcessStart& start, const std::vector<std::string>& command) {
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

}  // namespace

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

bool IsThisHost(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == "::1" || host == HostName();
}

void JobProcesses::Stream::Print(std::string_view bytes) {
  rest += bytes;
  size_t begin = 0;
  for (size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n', begin)) {
    std::fprintf(to, "[%d] %.*s\n", number, static_cast<int>(end - begin), rest.data() + begin);
    begin = end + 1;
  }
  rest.erase(0, begin);
  std::fflush(to);
}

void JobProcesses::Stream::Close() {
  if (!rest.empty()) Print("\n");
  close(file);
  file = -1;
}

JobProcesses::JobProcesses(std::vector<std::string> agent, std::vector<std::string> command)
    : agent_(std::move(agent)), command_(std::move(command)) {
  sigset_t watched;
  sigemptyset(&watched);
  for (int number : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&watched, number);
  sigprocmask(SIG_BLOCK, &watched, nullptr);
  signals_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
}

JobProcesses::~JobProcesses() {
  SendAll(SIGKILL);
  CloseInputs();
  close(signals_);
}

Status JobProcesses::Start(const ProcessStart& start) {
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
  Running running{pid, -1};
  if (!start.host.empty()) {
    const std::string line = Cat(start.secret, "\n");
    (void)!write(in[1], line.data(), line.size());
    running.input = in[1];
  } else {
    close(in[1]);
  }
  running_[start.number] = running;
  streams_.push_back({start.number, out[0], stdout, ""});
  streams_.push_back({start.number, err[0], stderr, ""});
  return OkStatus();
}

void JobProcesses::RunChild(const ProcessStart& start, int in, int out, int err) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  std::vector<std::string> words = command_;
  if (!start.host.empty()) {
    dup2(in, STDIN_FILENO);
    words = agent_;
    words.push_back(start.host);
    words.push_back(RemoteScript(start, command_));
  } else {
    for (const auto& variable : start.variables) setenv(variable.first.c_str(), variable.second.c_str(), 1);
    setenv("WEIR_SECRET", start.secret.c_str(), 1);
  }
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  execvp(raw[0], raw.data());
  std::fprintf(stderr, "cannot run %s: %s\n", raw[0], std::strerror(errno));
  std::fflush(stderr);
  _exit(127);
}

std::vector<JobProcesses::Ended> JobProcesses::Wait(std::vector<pollfd>* files) {
  std::vector<pollfd> polled{{signals_, POLLIN, 0}};
  std::vector<Stream*> open{nullptr};
  for (Stream& stream : streams_) {
    polled.push_back({stream.file, POLLIN, 0});
    open.push_back(&stream);
  }
  if (files != nullptr) polled.insert(polled.end(), files->begin(), files->end());
  poll(polled.data(), polled.size(), kMomentMs);
  if (polled[0].revents != 0) TakeSignals();
  for (size_t i = 1; i < open.size(); ++i) {
    if (polled[i].revents != 0) Read(*open[i]);
  }
  if (files != nullptr) std::copy(polled.begin() + static_cast<int64_t>(open.size()), polled.end(), files->begin());
  std::erase_if(streams_, [](const Stream& stream) { return stream.file < 0; });

  std::vector<Ended> ended;
  for (auto each = running_.begin(); each != running_.end();) {
    int status = 0;
    if (waitpid(each->second.pid, &status, WNOHANG) != each->second.pid) {
      ++each;
      continue;
    }
    ended.push_back({each->first, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)});
    if (each->second.input >= 0) close(each->second.input);
    each = running_.erase(each);
  }
  return ended;
}

void JobProcesses::TakeSignals() {
  signalfd_siginfo taken;
  while (read(signals_, &taken, sizeof(taken)) == sizeof(taken)) {
    if (taken.ssi_signo == SIGCHLD) continue;
    signal_ = static_cast<int>(taken.ssi_signo);
    SendAll(signal_);
  }
}

void JobProcesses::Read(Stream& stream) {
  char bytes[65536];
  const ssize_t count = read(stream.file, bytes, sizeof(bytes));
  if (count > 0) return stream.Print(std::string_view(bytes, static_cast<size_t>(count)));
  if (count == 0 || errno != EINTR) stream.Close();
}

void JobProcesses::Send(int number, int signal) {
  if (auto found = running_.find(number); found != running_.end()) kill(found->second.pid, signal);
}

void JobProcesses::SendAll(int signal) {
  for (const auto& each : running_) kill(each.second.pid, signal);
}

void JobProcesses::CloseInputs() {
  for (auto& each : running_) {
    if (each.second.input >= 0) close(std::exchange(each.second.input, -1));
  }
}

bool JobProcesses::HasOpenStreams() const { return !streams_.empty(); }

}  // namespace weir
