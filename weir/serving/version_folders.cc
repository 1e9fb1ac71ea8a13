#include "weir/serving/version_folders.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "absl/strings/numbers.h"
#include "weir/io/file_system.h"

namespace weir {

StatusOr<std::map<int64_t, std::string>> ListVersions(const std::string& base_path) {
  WEIR_ASSIGN_OR_RETURN(std::vector<std::string> names, ListFolder(base_path));
  std::sort(names.begin(), names.end());
  std::map<int64_t, std::string> out;
  for (const std::string& name : names) {
    int64_t number = 0;
    const bool is_number =
        !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number || !absl::SimpleAtoi(name, &number)) continue;
    const std::string path = Cat(base_path, base_path.ends_with('/') ? "" : "/", name);
    StatusOr<FileInfo> info = StatFile(path);
    if (info.ok() && info->is_folder) out.try_emplace(number, path);
  }
  return out;
}

std::map<int64_t, std::string> ChooseVersions(const std::map<int64_t, std::string>& found,
                                              const VersionPolicy& policy) {
  std::map<int64_t, std::string> out;
  switch (policy.kind) {
    case VersionPolicy::Kind::kAll:
      return found;
    case VersionPolicy::Kind::kSpecific:
      for (int64_t version : policy.versions) {
        if (auto at = found.find(version); at != found.end()) out.insert(*at);
      }
      return out;
    case VersionPolicy::Kind::kLatest:
      for (auto at = found.rbegin(); at != found.rend() && static_cast<int64_t>(out.size()) < policy.count; ++at) {
        out.insert(*at);
      }
      return out;
  }
  return out;
}

FolderSummary SummarizeFolder(const std::string& path) {
  FolderSummary out;
  StatusOr<std::vector<std::string>> names = ListFolder(path);
  if (!names.ok()) return out;
  std::sort(names->begin(), names->end());
  for (const std::string& name : *names) {
    const std::string file = Cat(path, "/", name);
    StatusOr<FileInfo> info = StatFile(file);
    if (!info.ok()) continue;
    if (info->is_folder) {
      const FolderSummary below = SummarizeFolder(file);
      out.bytes += below.bytes;
      out.fingerprint = absl::HashOf(out.fingerprint, name, below.fingerprint);
    } else {
      out.bytes += static_cast<int64_t>(info->size);
      out.fingerprint = absl::HashOf(out.fingerprint, name, info->size, info->modified_ns);
    }
  }
  return out;
}

}  // namespace weir
