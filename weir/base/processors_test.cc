#include "weir/base/processors.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "weir/base/strings.h"
#include "weir/base/thread_pool.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using processors_internal::CpuQuota;

bool WriteFile(const fs::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

// What a machine says about the process's control groups, in a folder.
class Machine {
 public:
  explicit Machine(const std::map<std::string, std::string>& files) {
    static int next = 0;
    root_ = fs::path(::testing::TempDir()) / Cat("machine_", getpid(), "_", next++);
    for (const auto& [name, text] : files) {
      const fs::path path = root_ / name;
      fs::create_directories(path.parent_path());
      EXPECT_TRUE(WriteFile(path, text)) << path;
    }
  }
  ~Machine() { fs::remove_all(root_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  std::string root() const { return root_.string(); }

 private:
  fs::path root_;
};

constexpr char kMountV2[] = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr char kMountV1[] =
    "24 1 0:21 / /proc rw - proc proc rw\n"
    "33 30 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "34 30 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n";

std::optional<double> QuotaOf(const std::map<std::string, std::string>& files) {
  return CpuQuota(Machine(files).root());
}

TEST(CpuQuota, IsThatOfTheGroupInVersionTwo) {
  const std::map<std::string, std::string> files = {{"proc/self/mountinfo", kMountV2},
                                                    {"proc/self/cgroup", "0::/jobs/one\n"},
                                                    {"sys/fs/cgroup/jobs/cpu.max", "max 100000\n"},
                                                    {"sys/fs/cgroup/jobs/one/cpu.max", "150000 100000\n"}};
  EXPECT_EQ(QuotaOf(files), 1.5);
}

TEST(CpuQuota, IsTheSmallestUpTheTree) {
  const std::map<std::string, std::string> files = {{"proc/self/mountinfo", kMountV2},
                                                    {"proc/self/cgroup", "0::/a/b/c\n"},
                                                    {"sys/fs/cgroup/cpu.max", "700000 100000\n"},
                                                    {"sys/fs/cgroup/a/cpu.max", "20000 10000\n"},
                                                    {"sys/fs/cgroup/a/b/c/cpu.max", "400000 100000\n"}};
  EXPECT_EQ(QuotaOf(files), 2);
}

TEST(CpuQuota, IsThatOfTheGroupInVersionOne) {
  std::map<std::string, std::string> files = {
      {"proc/self/mountinfo", kMountV1},
      {"proc/self/cgroup", "5:cpuset:/other\n3:cpu,cpuacct:/jobs/one\n0::/else\n"},
      {"sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "300000\n"},
      {"sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n"},
      {"sys/fs/cgroup/cpu,cpuacct/jobs/one/cpu.cfs_quota_us", "-1\n"},
      {"sys/fs/cgroup/cpu,cpuacct/jobs/one/cpu.cfs_period_us", "100000\n"}};
  EXPECT_EQ(QuotaOf(files), 3);
  files["sys/fs/cgroup/cpu,cpuacct/jobs/one/cpu.cfs_quota_us"] = "50000\n";
  EXPECT_EQ(QuotaOf(files), 0.5);
}

TEST(CpuQuota, OfAContainerIsAtItsMount) {
  // The container's own group is mounted, by the name that the machine has for it.
  const std::map<std::string, std::string> named = {
      {"proc/self/mountinfo", "30 23 0:26 /box/7 /sys/fs/cgroup ro - cgroup2 cgroup rw\n"},
      {"proc/self/cgroup", "0::/box/7/inner\n"},
      {"sys/fs/cgroup/cpu.max", "200000 100000\n"},
      {"sys/fs/cgroup/inner/cpu.max", "300000 100000\n"}};
  EXPECT_EQ(QuotaOf(named), 2);
  // The process was moved to a group that it cannot see.
  std::map<std::string, std::string> outside = named;
  outside["proc/self/cgroup"] = "0::/../9\n";
  EXPECT_EQ(QuotaOf(outside), 2);
}

TEST(CpuQuota, IsAbsentWhereNothingIsLimitedOrUnderstood) {
  EXPECT_EQ(QuotaOf({}), std::nullopt);
  EXPECT_EQ(QuotaOf({{"proc/self/mountinfo", kMountV2}, {"proc/self/cgroup", "0::/\n"}}), std::nullopt);
  for (const char* text :
       {"max 100000\n", "", "100000\n", "-1 100000\n", "0 100000\n", "100000 0\n", "nan nan\n", "x y\n"}) {
    EXPECT_EQ(
        QuotaOf({{"proc/self/mountinfo", kMountV2}, {"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", text}}),
        std::nullopt)
        << text;
  }
  for (const char* text : {"", "\n", "0\n", "0::\n", "::\n", "zero::/\n"}) {
    EXPECT_EQ(QuotaOf({{"proc/self/mountinfo", kMountV1}, {"proc/self/cgroup", text}}), std::nullopt) << text;
  }
  for (const char* text : {"", "-\n", "1 2 3 4 5 6 - cgroup2\n", "- cgroup2 a b c d e f\n"}) {
    EXPECT_EQ(QuotaOf({{"proc/self/mountinfo", text}, {"proc/self/cgroup", "0::/\n"}}), std::nullopt) << text;
  }
}

// What `count()` returns in a child process that has done `prepare` first; -1 if that returns false.
template <typename Prepare, typename Count>
int InChild(Prepare prepare, Count count) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const int result = prepare() ? count() : -1;
    _exit(write(ends[1], &result, sizeof(result)) == sizeof(result) ? 0 : 1);
  }
  int result = -1;
  EXPECT_EQ(read(ends[0], &result, sizeof(result)), sizeof(result));
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  return result;
}

int DefaultPoolSize() { return ThreadPool("test", 0).num_threads(); }

TEST(NumUsableProcessors, FollowsTheAffinityMask) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  cpu_set_t some;
  CPU_ZERO(&some);
  int count = 0;
  const int limit = NumUsableProcessors();
  EXPECT_LE(limit, CPU_COUNT(&all));
  for (int i = 0; i < CPU_SETSIZE && count < limit; ++i) {
    if (!CPU_ISSET(i, &all)) continue;
    CPU_SET(i, &some);
    ++count;
    auto restrict = [&] { return sched_setaffinity(0, sizeof(some), &some) == 0; };
    EXPECT_EQ(InChild(restrict, NumUsableProcessors), count);
    EXPECT_EQ(InChild(restrict, DefaultPoolSize), count);
  }
  EXPECT_EQ(count, limit);
}

// A control group of this machine with a quota of half a processor, if the machine lets us make one.
class RealGroup {
 public:
  RealGroup() {
    for (const char* hierarchy : {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
      const fs::path path = fs::path(hierarchy) / Cat("weir_test_", getpid());
      std::error_code error;
      if (!fs::create_directory(path, error)) continue;
      if ((fs::exists(path / "cpu.max") && WriteFile(path / "cpu.max", "50000 100000")) ||
          (fs::exists(path / "cpu.cfs_quota_us") && WriteFile(path / "cpu.cfs_quota_us", "50000"))) {
        path_ = path;
        return;
      }
      fs::remove(path, error);
    }
  }
  ~RealGroup() {
    if (!path_.empty()) rmdir(path_.c_str());
  }
  bool is_made() const { return !path_.empty(); }
  bool Join() const { return WriteFile(path_ / "cgroup.procs", Cat(getpid())); }

 private:
  fs::path path_;
};

TEST(NumUsableProcessors, FollowsTheQuotaOfARealControlGroup) {
  const RealGroup group;
  if (!group.is_made()) {
    std::printf("no control group can be made here: only what the machine says is read\n");
    EXPECT_GE(CpuQuota("").value_or(1), 0);
    return;
  }
  auto join = [&] { return group.Join(); };
  EXPECT_EQ(InChild(join, NumUsableProcessors), 1);
  EXPECT_EQ(InChild(join, DefaultPoolSize), 1);
  EXPECT_EQ(InChild(join, [] { return CpuQuota("") == 0.5 ? 1 : 0; }), 1);
}

}  // namespace
}  // namespace weir
