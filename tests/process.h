// A child process of a test.
#ifndef WEIR_TESTS_PROCESS_H_
#define WEIR_TESTS_PROCESS_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "weir/base/sanitizers.h"
#include "weir/base/strings.h"

namespace weir {

// How often a test does what must leave nothing behind, and how much more memory a process may have then: what its heap
// keeps for itself. Sanitizers are slow, and keep freed memory and notes about all of it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kManyTimes = 1000;
inline constexpr int64_t kSlackKilobytes = 512 << 10;
#else
inline constexpr int kManyTimes = 10'000;
inline constexpr int64_t kSlackKilobytes = 32 << 10;
#endif

// A child process whose standard output is read line by line.
class Process {
 public:
  explicit Process(std::vector<std::string> command) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that crashes leaves no server behind
      dup2(ends[1], STDOUT_FILENO);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    EXPECT_GT(pid_, 0);
    close(ends[1]);
    output_ = fdopen(ends[0], "r");
  }
  ~Process() {
    Signal(SIGKILL);
    Wait();
    fclose(output_);
  }
  // Empty at the end of the output.
  std::string Line() {
    char text[256] = "";
    if (fgets(text, sizeof(text), output_) == nullptr) return "";
    std::string line = text;
    while (line.ends_with('\n')) line.pop_back();
    return line;
  }
  void Signal(int number) {
    if (pid_ > 0) kill(pid_, number);
  }
  // Returns once no thread of it runs: a signal by itself may arrive after what the caller does next.
  void Stop() {
    Signal(SIGSTOP);
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, WUNTRACED), pid_);
    EXPECT_TRUE(WIFSTOPPED(status)) << status;
  }
  int Wait() {
    int status = 0;
    if (pid_ > 0) waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  // A number of /proc/PID/status: "VmRSS" in kB, "Threads".
  int64_t Figure(const std::string& name) const {
    std::ifstream file(Cat("/proc/", pid_, "/status"));
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1));
    }
    return -1;
  }
  int64_t NumDescriptors() const {
    auto all = std::filesystem::directory_iterator(Cat("/proc/", pid_, "/fd"));
    return std::distance(begin(all), end(all));
  }

 private:
  pid_t pid_ = -1;
  FILE* output_ = nullptr;
};

}  // namespace weir

#endif  // WEIR_TESTS_PROCESS_H_
