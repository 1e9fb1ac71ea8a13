// Runs made-up nodes of every op that has a CPU kernel: whatever the attributes and inputs are, a step must end in a
// result or a Status, its shapes must be those that were inferred, and a gradient must have its input's shape.
//
//   op_fuzz [--op NAME]... [--seed N] [--runs M] [--length L] [--seconds S] [--no-fork] [--dump FILE]
//
// A run is a chain of cases of one op, made from its seed alone: cases whose outcome is new in the chain are mutated
// further, so that chains work their way through an op's checks. The cases run in a child process; one that dies or
// hangs is reported with its op, seed and inputs, and the next child goes on behind it. `--dump` writes cases of plain
// values and what came out as records, for scripts/compare_with_tensorflow.
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "tests/op_fuzz/run_case.h"
#include "weir/base/export.h"
#include "weir/base/logging.h"
#include "weir/base/sanitizers.h"
#include "weir/client/environment.h"
#include "weir/io/record_writer.h"
#include "weir/runtime/execution_plan.h"

// An allocation beyond this is a finding: kernels have an allocator that says no, and sizes must be checked before.
extern "C" WEIR_PUBLIC const char* __asan_default_options() {
  return "max_allocation_size_mb=3000:hard_rss_limit_mb=6000:detect_leaks=0:handle_abort=1:detect_stack_use_after_"
         "return=0";
}
extern "C" WEIR_PUBLIC const char* __ubsan_default_options() { return "print_stacktrace=1"; }

namespace weir::op_fuzz {
namespace {

using Clock = std::chrono::steady_clock;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr int64_t kTensorBytes = int64_t{1} << 29;
constexpr rlim_t kAddressSpace = rlim_t{16} << 30;  // where no sanitizer needs more

struct Flags {
  std::vector<std::string> ops;
  int64_t seed = 1;
  int64_t runs = 1;
  int64_t length = 40;
  int64_t seconds = 0;  // 0: `runs` seeds; else seeds go on until the time is over
  int64_t deadline_ms = kSanitized ? 100 : 30;
  int64_t patience_s = kSanitized ? 60 : 20;  // for one case
  bool fork = true;
  std::string dump;
};

// What the child is at, for the parent to read after its death.
struct Progress {
  std::atomic<int64_t> op;
  std::atomic<int64_t> seed;
  std::atomic<int64_t> cases;
  std::atomic<int64_t> succeeded;
  std::atomic<int64_t> complaints;
  std::atomic<bool> done;
  char text[1 << 15];
};

uint64_t SeedOf(std::string_view op, int64_t seed) {
  uint64_t hash = 1469598103934665603u;
  for (char c : op) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash ^ (static_cast<uint64_t>(seed) * 0x9e3779b97f4a7c15u);
}

// Two messages that differ in numbers alone are the same outcome.
std::string Kind(const Status& status) {
  std::string out = Cat(static_cast<int>(status.code()));
  for (char c : status.message().substr(0, 160)) {
    if (c < '0' || c > '9') out += c;
  }
  return out;
}

void RunChain(const OpSchema& schema, int64_t seed, const Flags& flags, CaseRunner& runner,
              const CaseGenerator& generator, Progress& progress, RecordWriter* dump) {
  Chance chance(SeedOf(schema.name, seed));
  std::set<std::string> seen;
  std::vector<OpCase> kept;
  for (int64_t i = 0; i < flags.length; ++i) {
    OpCase node;
    if (kept.empty() || chance.Percent(30)) {
      node = generator.Fresh(chance);
    } else {
      const size_t last = kept.size() - 1;
      node = generator.Mutated(chance.Percent(50) ? kept[last] : chance.OneOf(kept), chance);
    }
    const std::string text = node.ToString();
    std::snprintf(progress.text, sizeof(progress.text), "case %lld of the chain: %s", static_cast<long long>(i),
                  text.c_str());
    if (!flags.fork) std::printf("%s\n", progress.text), std::fflush(stdout);
    ++progress.cases;
    Outcome outcome = runner.Run(node);
    if (!flags.fork) std::printf("  -> %s %s\n", outcome.status.ToString().c_str(), outcome.complaint.c_str());
    if (outcome.status.ok()) ++progress.succeeded;
    if (dump != nullptr) {
      const std::string question = runner.Question(node, outcome);
      if (!question.empty()) dump->Write(question).IgnoreError();
      dump->Flush().IgnoreError();
    }
    if (!outcome.complaint.empty()) {
      ++progress.complaints;
      std::printf("WRONG --op %s --seed %lld: %s\n  %s\n", schema.name.c_str(), static_cast<long long>(seed),
                  outcome.complaint.c_str(), progress.text);
      std::fflush(stdout);
      return;
    }
    if (seen.insert(Kind(outcome.status)).second || (outcome.status.ok() && chance.Percent(30)))
      kept.push_back(std::move(node));
  }
}

std::vector<const OpSchema*> OpsToRun(const Environment& environment, const Flags& flags) {
  std::vector<const OpSchema*> out;
  for (const OpSchema* schema : environment.ops.All()) {
    if (!flags.ops.empty() && std::find(flags.ops.begin(), flags.ops.end(), schema->name) == flags.ops.end()) continue;
    if (environment.kernels.All(schema->name).empty() && !IsExecutorNative(*schema)) continue;
    out.push_back(schema);
  }
  return out;
}

void LimitMemory() {
  SetCpuMemoryLimit(kTensorBytes);
  if (kSanitized) return;  // which reserves more than that
  const rlimit limit = {kAddressSpace, kAddressSpace};
  setrlimit(RLIMIT_AS, &limit);
}

// Goes on from (op, seed) of `progress` to the last op and seed.
void RunAll(std::shared_ptr<Environment> environment, const std::vector<const OpSchema*>& ops, const Flags& flags,
            Clock::time_point end, Progress& progress, RecordWriter* dump) {
  CaseRunner runner(environment, absl::Milliseconds(flags.deadline_ms));
  for (; flags.seconds > 0 ? Clock::now() < end : progress.seed < flags.seed + flags.runs; ++progress.seed) {
    for (; progress.op < static_cast<int64_t>(ops.size()); ++progress.op) {
      if (flags.seconds > 0 && Clock::now() >= end) break;
      const OpSchema& schema = *ops[static_cast<size_t>(progress.op.load())];
      RunChain(schema, progress.seed, flags, runner, CaseGenerator(schema, environment->kernels), progress, dump);
    }
    progress.op = 0;
  }
  progress.done = true;
}

// Waits for the child; kills it if a case takes too long. The way it ended.
std::string Await(pid_t child, const Flags& flags, const Progress& progress) {
  int64_t seen = -1;
  Clock::time_point since = Clock::now();
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      if (progress.done) return "";
      return WIFSIGNALED(status) ? Cat("died of signal ", WTERMSIG(status)) : Cat("exited with ", WEXITSTATUS(status));
    }
    if (progress.cases != seen || progress.done) {
      seen = progress.cases;
      since = Clock::now();
    } else if (Clock::now() - since > std::chrono::seconds(flags.patience_s)) {
      kill(child, SIGABRT);
      waitpid(child, &status, 0);
      return Cat("a case took longer than ", flags.patience_s, " s");
    }
    usleep(5000);
  }
}

std::string TailOf(const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  // The top of a sanitizer's report says most.
  const size_t report = std::min(text.find("ERROR: AddressSanitizer"), text.find("runtime error:"));
  if (report != text.npos) text.erase(0, report < 120 ? 0 : report - 120);
  return text.substr(0, 6000);
}

int Fuzz(const Flags& flags) {
  SetMinLogLevel(LogLevel::NONE);
  const std::string folder = std::filesystem::temp_directory_path() / Cat("weir_op_fuzz_", getpid());
  const std::string log = folder + ".log";
  std::filesystem::create_directories(folder);
  std::unique_ptr<RecordWriter> dump;
  if (!flags.dump.empty()) {  // opened before files are confined; children write on where the one before them stopped
    auto writer = RecordWriter::Create(flags.dump);
    if (!writer.ok()) return std::fprintf(stderr, "%s\n", writer.status().ToString().c_str()), 2;
    dump = *std::move(writer);
  }
  EnvironmentOptions options;
  options.file_root = folder;
  auto environment = MakeEnvironment(options);
  if (!environment.ok()) {
    std::fprintf(stderr, "%s\n", environment.status().ToString().c_str());
    return 2;
  }
  const std::vector<const OpSchema*> ops = OpsToRun(**environment, flags);
  void* shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED || ops.empty()) return 2;
  auto* progress = new (shared) Progress{};
  progress->seed = flags.seed;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(flags.seconds);
  int failures = 0;
  while (!progress->done) {
    if (!flags.fork) {
      LimitMemory();
      RunAll(*environment, ops, flags, end, *progress, dump.get());
      break;
    }
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      if (std::freopen(log.c_str(), "w", stderr) == nullptr) _exit(3);
      LimitMemory();
      RunAll(*environment, ops, flags, end, *progress, dump.get());
      _exit(0);
    }
    const std::string death = Await(child, flags, *progress);
    if (death.empty()) break;
    ++failures;
    const int64_t at = std::min<int64_t>(progress->op, static_cast<int64_t>(ops.size()) - 1);
    std::printf("FAILED --op %s --seed %lld: %s\n  %s\n%s\n", ops[static_cast<size_t>(at)]->name.c_str(),
                static_cast<long long>(progress->seed), death.c_str(), progress->text, TailOf(log).c_str());
    std::fflush(stdout);
    if (++progress->op >= static_cast<int64_t>(ops.size())) {
      progress->op = 0;
      if (++progress->seed >= flags.seed + flags.runs && flags.seconds == 0) break;
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  std::filesystem::remove(log, ignored);
  std::printf("%zu ops, %lld cases, %lld of them with a result, %d died, %lld wrong\n", ops.size(),
              static_cast<long long>(progress->cases), static_cast<long long>(progress->succeeded), failures,
              static_cast<long long>(progress->complaints));
  return failures > 0 || progress->complaints > 0 ? 1 : 0;
}

int Main(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    int64_t* number = flag == "--seed"          ? &flags.seed
                      : flag == "--runs"        ? &flags.runs
                      : flag == "--length"      ? &flags.length
                      : flag == "--seconds"     ? &flags.seconds
                      : flag == "--deadline_ms" ? &flags.deadline_ms
                      : flag == "--patience_s"  ? &flags.patience_s
                                                : nullptr;
    if (flag == "--no-fork") {
      flags.fork = false;
    } else if (flag == "--dump" && !value.empty()) {
      flags.dump = value;
      ++i;
    } else if (flag == "--op" && !value.empty()) {
      flags.ops.push_back(value);
      ++i;
    } else if (number != nullptr && absl::SimpleAtoi(value, number)) {
      ++i;
    } else {
      std::fprintf(
          stderr,
          "usage: op_fuzz [--op NAME]... [--seed N] [--runs M] [--length L] [--seconds S] [--no-fork] [--dump FILE]\n");
      return 2;
    }
  }
  return Fuzz(flags);
}

}  // namespace
}  // namespace weir::op_fuzz

int main(int argc, char** argv) { return weir::op_fuzz::Main(argc, argv); }
