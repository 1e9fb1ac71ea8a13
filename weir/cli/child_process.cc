#include "weir/cli/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "weir/base/free_ports.h"

namespace weir {
namespace {

// This process's environment with `variables` added, or in place of what had their names.
std::vector<std::string> MakeEnvironment(const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view own = *entry;
    const bool is_replaced = std::ranges::any_of(
        variables, [&](const auto& variable) { return own.substr(0, own.find('=')) == variable.first; });
    if (!is_replaced) out.emplace_back(own);
  }
  for (const auto& [name, value] : variables) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, const Options& options) {
  int to[2] = {-1, -1}, from[2] = {-1, -1};
  if (options.pipes && (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)) return;
  // Made before the fork: what allocates memory is not safe in the child of a process with threads.
  std::vector<std::string> words = command, variables = MakeEnvironment(options.variables);
  const std::vector<char*> raw = Pointers(words), environment = Pointers(variables);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (options.pipes) {
      dup2(to[0], STDIN_FILENO);
      dup2(from[1], STDOUT_FILENO);
    }
    execvpe(raw[0], raw.data(), environment.data());
    std::fprintf(stderr, "weir: cannot run %s\n", raw[0]);
    _exit(127);
  }
  if (!options.pipes) return;
  close(to[0]);
  close(from[1]);
  in_ = fdopen(to[1], "w");
  out_ = fdopen(from[0], "r");
}

ChildProcess::~ChildProcess() {
  Signal(SIGKILL);
  Wait();
  if (in_ != nullptr) fclose(in_);
  if (out_ != nullptr) fclose(out_);
}

void ChildProcess::Signal(int number) {
  if (pid_ > 0) kill(pid_, number);
}

int ChildProcess::Wait() {
  if (pid_ <= 0) return 0;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void ChildProcess::WriteLine(const std::string& line) {
  fputs(line.c_str(), in_);
  fputc('\n', in_);
  fflush(in_);
}

StatusOr<std::string> ChildProcess::ReadLine() {
  std::string line;
  for (int c = fgetc(out_); c != '\n'; c = fgetc(out_)) {
    if (c == EOF) return Unavailable("process ", pid_, " has ended");
    line.push_back(static_cast<char>(c));
  }
  return line;
}

std::vector<std::string> FreeAddresses(int count) {
  std::vector<std::string> out;
  for (int port : FreePorts(count)) out.push_back(Cat("127.0.0.1:", port));
  return out;
}

}  // namespace weir
