#include "weir/base/processors.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "weir/base/strings.h"

namespace weir {
namespace {

// 0 if the system does not say.
int ProcessorsInMask() {
  // The kernel refuses a mask smaller than its own, whose size it does not tell.
  constexpr int kMostProcessors = 1 << 20;
  for (int processors = 1024; processors <= kMostProcessors; processors *= 2) {
    cpu_set_t* mask = CPU_ALLOC(processors);
    if (mask == nullptr) return 0;
    const size_t bytes = CPU_ALLOC_SIZE(processors);
    const bool is_known = sched_getaffinity(0, bytes, mask) == 0;
    const int count = is_known ? CPU_COUNT_S(bytes, mask) : 0;
    CPU_FREE(mask);
    if (is_known) return count;
  }
  return 0;
}

std::vector<std::string> ReadLines(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// Absent for "max" and -1, which mean no limit.
std::optional<double> ReadNumber(const std::string& text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value) || value <= 0) return std::nullopt;
  return value;
}

std::optional<double> QuotaOf(const std::string& folder, bool is_v2) {
  std::optional<double> quota, period;
  if (is_v2) {  // "150000 100000"
    const std::vector<std::string> lines = ReadLines(folder + "/cpu.max");
    if (lines.empty()) return std::nullopt;
    const std::vector<std::string> words = absl::StrSplit(lines[0], ' ', absl::SkipWhitespace());
    if (words.size() != 2) return std::nullopt;
    quota = ReadNumber(words[0]);
    period = ReadNumber(words[1]);
  } else {
    const std::vector<std::string> quotas = ReadLines(folder + "/cpu.cfs_quota_us");
    const std::vector<std::string> periods = ReadLines(folder + "/cpu.cfs_period_us");
    if (quotas.empty() || periods.empty()) return std::nullopt;
    quota = ReadNumber(quotas[0]);
    period = ReadNumber(periods[0]);
  }
  if (!quota.has_value() || !period.has_value()) return std::nullopt;
  return *quota / *period;
}

// Where a hierarchy of control groups is mounted, and which of its groups that is the root of.
struct Mount {
  std::string root, point;
  bool is_v2;
};

bool Contains(const std::string& list, std::string_view word) {
  const std::vector<std::string> words = absl::StrSplit(list, ',');
  return std::ranges::find(words, word) != words.end();
}

// A line is "36 35 98:0 /root /point rw,noatime shared:1 - cgroup2 source options" (proc_pid_mountinfo(5)).
std::vector<Mount> CpuMounts(const std::string& path) {
  std::vector<Mount> mounts;
  for (const std::string& line : ReadLines(path)) {
    const std::vector<std::string> fields = absl::StrSplit(line, ' ');
    const auto separator = std::ranges::find(fields, "-");
    if (fields.size() < 7 || fields.end() - separator < 4) continue;
    const std::string &type = separator[1], &options = separator[3];
    const bool is_v2 = type == "cgroup2";
    if (!is_v2 && !(type == "cgroup" && Contains(options, "cpu"))) continue;
    mounts.push_back({fields[3], fields[4], is_v2});
  }
  return mounts;
}

// The process's group in a hierarchy, as an absolute path. A line is "0::/group" for v2, "4:cpu,cpuacct:/group" for v1.
std::optional<std::string> GroupOf(const std::vector<std::string>& groups, bool is_v2) {
  for (const std::string& line : groups) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    if (is_v2 ? fields[0] == "0" && fields[1].empty() : Contains(fields[1], "cpu")) return fields[2];
  }
  return std::nullopt;
}

// The part of `group` below the mount's root; empty where the group is not below it, as seen from some containers.
std::string Below(const Mount& mount, std::string_view group) {
  const std::string_view root = mount.root == "/" ? "" : std::string_view(mount.root);
  if (!group.starts_with(root)) return "";
  group.remove_prefix(root.size());
  if (!group.starts_with('/') || group.find("/..") != group.npos) return "";
  while (group.ends_with('/')) group.remove_suffix(1);
  return std::string(group);
}

}  // namespace

namespace processors_internal {

std::optional<double> CpuQuota(const std::string& root) {
  const std::vector<std::string> groups = ReadLines(root + "/proc/self/cgroup");
  std::optional<double> smallest;
  for (const Mount& mount : CpuMounts(root + "/proc/self/mountinfo")) {
    const std::optional<std::string> group = GroupOf(groups, mount.is_v2);
    if (!group.has_value()) continue;
    std::string below = Below(mount, *group);
    while (true) {
      const std::optional<double> quota = QuotaOf(Cat(root, mount.point, below), mount.is_v2);
      if (quota.has_value()) smallest = std::min(smallest.value_or(*quota), *quota);
      if (below.empty()) break;
      below.resize(below.rfind('/'));
    }
  }
  return smallest;
}

}  // namespace processors_internal

int NumUsableProcessors() {
  int count = ProcessorsInMask();
  if (count == 0) count = static_cast<int>(std::thread::hardware_concurrency());
  const std::optional<double> quota = processors_internal::CpuQuota("");
  if (quota.has_value()) count = static_cast<int>(std::min<double>(count, std::ceil(*quota)));
  return std::max(1, count);
}

}  // namespace weir
