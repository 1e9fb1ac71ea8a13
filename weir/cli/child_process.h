// Processes of this and other programs that a command starts.
#ifndef WEIR_CLI_CHILD_PROCESS_H_
#define WEIR_CLI_CHILD_PROCESS_H_

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/status.h"

namespace weir {

// The process ends with this object, and with this process, however that ends.
class ChildProcess {
 public:
  struct Options {
    std::vector<std::pair<std::string, std::string>> variables;  // added to the environment
    bool pipes = true;                                           // false: shares standard input and output
  };
  // The first word is a path, or a name to look up; "/proc/self/exe" is this program.
  ChildProcess(const std::vector<std::string>& command, const Options& options);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int number);
  // Waits for the end; returns the exit code, or 128 plus the signal number.
  int Wait();
  // Another caller has already waited for the process.
  void MarkEnded() { pid_ = -1; }

  // REQUIRES: pipes.
  void WriteLine(const std::string& line);
  StatusOr<std::string> ReadLine();  // UNAVAILABLE at the end

 private:
  pid_t pid_ = -1;
  FILE* in_ = nullptr;
  FILE* out_ = nullptr;
};

// Addresses of this machine that nobody listens on (base/free_ports.h).
std::vector<std::string> FreeAddresses(int count);

}  // namespace weir

#endif  // WEIR_CLI_CHILD_PROCESS_H_
