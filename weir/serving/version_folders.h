// The version folders of a model.
#ifndef WEIR_SERVING_VERSION_FOLDERS_H_
#define WEIR_SERVING_VERSION_FOLDERS_H_

#include <cstdint>
#include <map>
#include <string>

#include "weir/serving/config.h"

namespace weir {

// The numeric subfolders, by number. Fails if the folder cannot be read.
StatusOr<std::map<int64_t, std::string>> ListVersions(const std::string& base_path);
// The versions among `found` that the policy selects.
std::map<int64_t, std::string> ChooseVersions(const std::map<int64_t, std::string>& found, const VersionPolicy& policy);

struct FolderSummary {
  int64_t bytes = 0;
  uint64_t fingerprint = 0;  // of the names, sizes and times of all files
};
FolderSummary SummarizeFolder(const std::string& path);

}  // namespace weir

#endif  // WEIR_SERVING_VERSION_FOLDERS_H_
