#include "weir/cli/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "weir/base/free_ports.h"

namespace weir {

ChildProcess::ChildProcess(const std::vector<std::string>& command, const Options& options) {
  int to[2] = {-1, -1}, from[2] = {-1, -1};
  if (options.pipes && (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)) return;
  std::vector<std::string> words = command;
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
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
    for (const auto& [name, value] : options.variables) setenv(name.c_str(), value.c_str(), 1);
    execvp(raw[0], raw.data());
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
