// The processes of one job, on this host or others: starts them, prints their output, and waits for them.
#ifndef WEIR_CLI_JOB_PROCESSES_H_
#define WEIR_CLI_JOB_PROCESSES_H_

#include <poll.h>
#include <sys/types.h>

#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "weir/base/status.h"

namespace weir {

// The time between SIGTERM and SIGKILL.
inline constexpr absl::Duration kTimeToEnd = absl::Seconds(5);

std::string HostName();
// Whether a name refers to the host that this process runs on.
bool IsThisHost(const std::string& host);

struct ProcessStart {
  int number = 0;    // of the process in its job; never reused
  std::string host;  // empty: this one
  std::vector<std::pair<std::string, std::string>> variables;
  std::string secret;  // passed as WEIR_SECRET
};

// Handles SIGINT, SIGTERM and SIGCHLD of this process. Processes that still run at the end are killed.
class JobProcesses {
 public:
  // `agent` starts a command on another host: it is called with the host and a command line for its shell.
  JobProcesses(std::vector<std::string> agent, std::vector<std::string> command);
  ~JobProcesses();
  JobProcesses(const JobProcesses&) = delete;
  JobProcesses& operator=(const JobProcesses&) = delete;

  Status Start(const ProcessStart& start);

  struct Ended {
    int number = 0;
    int outcome = 0;  // exit code, or 128 plus the signal
  };
  // Waits briefly for output, signals, ends, or one of `files`. Returns the processes that have ended. Each line of
  // output is printed with the prefix "[number] ".
  std::vector<Ended> Wait(std::vector<pollfd>* files = nullptr);
  // SIGINT or SIGTERM, which all processes received, too; 0 if there was none.
  int signal() const { return signal_; }

  void Send(int number, int signal);
  void SendAll(int signal);
  // Ends the processes on other hosts by closing the input of their agents.
  void CloseInputs();
  int num_running() const { return static_cast<int>(running_.size()); }
  bool HasOpenStreams() const;

 private:
  struct Running {
    pid_t pid;
    int input;  // of the agent for another host, else -1
  };
  struct Stream {
    int number;
    int file;
    FILE* to;
    std::string rest;  // an incomplete last line

    void Print(std::string_view bytes);
    void Close();
  };
  [[noreturn]] void RunChild(const ProcessStart& start, int in, int out, int err);
  void TakeSignals();
  void Read(Stream& stream);

  const std::vector<std::string> agent_;
  std::vector<std::string> command_;
  int signals_ = -1;
  int signal_ = 0;
  std::map<int, Running> running_;  // by number
  std::vector<Stream> streams_;
};

}  // namespace weir

#endif  // WEIR_CLI_JOB_PROCESSES_H_
