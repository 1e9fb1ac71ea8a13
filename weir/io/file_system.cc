#include "weir/io/file_system.h"

#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "absl/synchronization/mutex.h"

namespace weir {
namespace {

struct Systems {
  absl::Mutex mu;
  std::map<std::string, std::shared_ptr<FileSystem>, std::less<>> by_scheme ABSL_GUARDED_BY(mu) = {
      {"file", MakeLocalFileSystem()}};
};

Systems& AllSystems() {
  static auto* systems = new Systems;  // lives as long as the process
  return *systems;
}

struct Located {
  std::shared_ptr<FileSystem> system;
  std::string path;    // without the scheme
  std::string prefix;  // the scheme with "://", as it was written
};

StatusOr<Located> Locate(const std::string& path) {
  constexpr std::string_view kMark = "://";
  size_t mark = path.find(kMark);
  // A scheme is a word; other paths may well hold the mark.
  bool has_scheme = mark != path.npos && mark > 0 &&
                    std::all_of(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(mark),
                                [](unsigned char c) { return std::isalnum(c) || c == '+' || c == '-' || c == '.'; });
  std::string_view scheme = has_scheme ? std::string_view(path).substr(0, mark) : "file";
  Located out;
  out.prefix = has_scheme ? path.substr(0, mark + kMark.size()) : "";
  out.path = path.substr(out.prefix.size());
  Systems& systems = AllSystems();
  absl::MutexLock lock(&systems.mu);
  auto found = systems.by_scheme.find(scheme);
  if (found == systems.by_scheme.end()) {
    return Unimplemented("File system scheme '", scheme, "' not implemented (file: '", path, "')");
  }
  out.system = found->second;
  return out;
}

bool HasWildcard(std::string_view text) { return text.find_first_of("*?[\\") != text.npos; }

// Adds what matches `pattern` from its component at `begin` on, below `folder`, which is what matched before that.
void AddMatches(FileSystem& system, const std::string& folder, std::string_view pattern,
                std::vector<std::string>* found) {
  size_t slash = pattern.find('/');
  const std::string component(pattern.substr(0, slash));
  const bool last = slash == pattern.npos;
  auto go_on = [&](const std::string& path) {
    if (last) {
      if (system.Stat(path).ok()) found->push_back(path);
    } else {
      AddMatches(system, path + "/", pattern.substr(slash + 1), found);
    }
  };
  if (component.empty() || !HasWildcard(component)) return go_on(folder + component);
  StatusOr<std::vector<std::string>> names = system.List(folder.empty() ? "." : folder);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (fnmatch(component.c_str(), name.c_str(), 0) != 0) continue;
    if (!last) {
      StatusOr<FileInfo> info = system.Stat(folder + name);
      if (!info.ok() || !info->is_folder) continue;
    }
    go_on(folder + name);
  }
}

}  // namespace

Status RegisterFileSystem(std::string scheme, std::shared_ptr<FileSystem> system) {
  Systems& systems = AllSystems();
  absl::MutexLock lock(&systems.mu);
  if (!systems.by_scheme.emplace(scheme, std::move(system)).second) {
    return AlreadyExists("There is a file system for scheme '", scheme, "' already");
  }
  return OkStatus();
}

Status ConfineFiles(const std::string& root) {
  std::shared_ptr<FileSystem> open_system = MakeLocalFileSystem();
  WEIR_ASSIGN_OR_RETURN(FileInfo info, open_system->Stat(root));
  if (!info.is_folder) return FailedPrecondition(root, " is not a folder");
  Systems& systems = AllSystems();
  absl::MutexLock lock(&systems.mu);
  systems.by_scheme["file"] = MakeLocalFileSystem(root);
  return OkStatus();
}

StatusOr<std::unique_ptr<ReadableFile>> OpenForReading(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(Located file, Locate(path));
  return file.system->OpenForReading(file.path);
}

StatusOr<std::unique_ptr<WritableFile>> OpenForWriting(const std::string& path, WriteMode mode) {
  WEIR_ASSIGN_OR_RETURN(Located file, Locate(path));
  return file.system->OpenForWriting(file.path, mode);
}

StatusOr<FileInfo> StatFile(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(Located file, Locate(path));
  return file.system->Stat(file.path);
}

StatusOr<std::vector<std::string>> ListFolder(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(Located file, Locate(path));
  return file.system->List(file.path);
}

Status MakeFolders(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(Located file, Locate(path));
  return file.system->MakeFolders(file.path);
}

Status RenameFile(const std::string& from, const std::string& to) {
  WEIR_ASSIGN_OR_RETURN(Located old_file, Locate(from));
  WEIR_ASSIGN_OR_RETURN(Located new_file, Locate(to));
  if (old_file.system != new_file.system) {
    return Unimplemented("Renaming ", from, " to ", to, " not implemented: they are in different file systems");
  }
  return old_file.system->Rename(old_file.path, new_file.path);
}

Status RemoveFile(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(Located file, Locate(path));
  return file.system->RemoveFile(file.path);
}

Status RemoveFolder(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(Located file, Locate(path));
  return file.system->RemoveFolder(file.path);
}

Status WriteWholeFile(const std::string& path, std::string_view bytes) {
  WEIR_ASSIGN_OR_RETURN(Located place, Locate(path));
  if (std::string folder = FolderOf(place.path); !folder.empty()) {
    WEIR_RETURN_IF_ERROR(place.system->MakeFolders(folder));
  }
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file,
                        place.system->OpenForWriting(place.path, WriteMode::kReplace));
  WEIR_RETURN_IF_ERROR(file->Append(bytes));
  return file->Close();
}

StatusOr<std::vector<std::string>> MatchFiles(const std::string& pattern) {
  WEIR_ASSIGN_OR_RETURN(Located place, Locate(pattern));
  std::vector<std::string> found;
  // An absolute pattern begins at "/".
  const bool absolute = place.path.starts_with('/');
  AddMatches(*place.system, absolute ? "/" : "", std::string_view(place.path).substr(absolute ? 1 : 0), &found);
  std::sort(found.begin(), found.end());
  if (!place.prefix.empty() && place.prefix != "file://") {
    for (std::string& path : found) path = Cat(place.prefix, path);
  }
  return found;
}

std::string FolderOf(std::string_view path) {
  size_t mark = path.find("://");
  size_t begin = mark == path.npos ? 0 : mark + 3;
  size_t slash = path.rfind('/');
  if (slash == path.npos || slash < begin) return std::string(path.substr(0, begin));
  return std::string(path.substr(0, std::max(slash, begin + (slash == begin ? 1 : 0))));
}

Status FileError(std::string_view path, int error) {
  const std::string text = Cat(path, "; ", std::strerror(error));
  switch (error) {
    case ENOENT:
      return NotFound(text);
    case EACCES:
    case EPERM:
    case EROFS:
      return PermissionDenied(text);
    case EISDIR:
    case ENOTDIR:
    case ENOTEMPTY:
      return FailedPrecondition(text);
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
      return ResourceExhausted(text);
    case EINVAL:
    case ENAMETOOLONG:
      return InvalidArgument(text);
    default:
      return Unknown(text);
  }
}

}  // namespace weir
