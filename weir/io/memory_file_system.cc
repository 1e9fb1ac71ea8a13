// Files in memory.
#include <cerrno>
#include <map>
#include <set>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "weir/io/file_system.h"

namespace weir {
namespace {

struct Contents {
  absl::Mutex mu;
  std::string bytes ABSL_GUARDED_BY(mu);
  int64_t modified_ns ABSL_GUARDED_BY(mu) = absl::GetCurrentTimeNanos();
};

class MemoryReadableFile : public ReadableFile {
 public:
  explicit MemoryReadableFile(std::shared_ptr<Contents> contents) : contents_(std::move(contents)) {
    absl::MutexLock lock(&contents_->mu);
    size_ = contents_->bytes.size();
  }
  uint64_t size() const override { return size_; }
  StatusOr<size_t> ReadUpTo(uint64_t offset, size_t count, char* out) const override {
    absl::MutexLock lock(&contents_->mu);
    if (offset >= contents_->bytes.size()) return size_t{0};
    return contents_->bytes.copy(out, count, offset);
  }

 private:
  const std::shared_ptr<Contents> contents_;
  uint64_t size_;
};

class MemoryWritableFile : public WritableFile {
 public:
  explicit MemoryWritableFile(std::shared_ptr<Contents> contents) : contents_(std::move(contents)) {}
  Status Append(std::string_view bytes) override {
    if (closed_) return FailedPrecondition("The file is closed");
    absl::MutexLock lock(&contents_->mu);
    contents_->bytes.append(bytes);
    contents_->modified_ns = absl::GetCurrentTimeNanos();
    return OkStatus();
  }
  Status Flush() override { return OkStatus(); }
  Status Sync() override { return OkStatus(); }
  Status Close() override {
    closed_ = true;
    return OkStatus();
  }

 private:
  const std::shared_ptr<Contents> contents_;
  bool closed_ = false;
};

// "a//b/" and "/a/b" are "a/b".
std::string Normal(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    size_t slash = path.find('/');
    std::string_view part = path.substr(0, slash);
    if (!part.empty() && part != ".") out += Cat(out.empty() ? "" : "/", part);
    path.remove_prefix(slash == path.npos ? path.size() : slash + 1);
  }
  return out;
}

class MemoryFileSystem : public FileSystem {
 public:
  StatusOr<std::unique_ptr<ReadableFile>> OpenForReading(const std::string& path) override {
    absl::MutexLock lock(&mu_);
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Contents> contents, Find(path));
    return std::unique_ptr<ReadableFile>(std::make_unique<MemoryReadableFile>(std::move(contents)));
  }

  StatusOr<std::unique_ptr<WritableFile>> OpenForWriting(const std::string& path, WriteMode mode) override {
    const std::string name = Normal(path);
    absl::MutexLock lock(&mu_);
    if (folders_.contains(name)) return FileError(path, EISDIR);
    if (!folders_.contains(Normal(FolderOf(name)))) return FileError(path, ENOENT);
    std::shared_ptr<Contents>& contents = files_[name];
    // Who reads the old contents goes on reading them.
    if (contents == nullptr || mode == WriteMode::kReplace) contents = std::make_shared<Contents>();
    return std::unique_ptr<WritableFile>(std::make_unique<MemoryWritableFile>(contents));
  }

  StatusOr<FileInfo> Stat(const std::string& path) override {
    absl::MutexLock lock(&mu_);
    if (folders_.contains(Normal(path))) return FileInfo{.is_folder = true};
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Contents> contents, Find(path));
    absl::MutexLock contents_lock(&contents->mu);
    return FileInfo{.size = contents->bytes.size(), .modified_ns = contents->modified_ns};
  }

  StatusOr<std::vector<std::string>> List(const std::string& folder) override {
    const std::string name = Normal(folder);
    absl::MutexLock lock(&mu_);
    if (!folders_.contains(name)) return FileError(folder, files_.contains(name) ? ENOTDIR : ENOENT);
    std::vector<std::string> names;
    auto add = [&](const std::string& path) {
      if (!path.empty() && Normal(FolderOf(path)) == name) names.push_back(path.substr(path.rfind('/') + 1));
    };
    for (const auto& [path, contents] : files_) add(path);
    for (const std::string& path : folders_) add(path);
    return names;
  }

  Status MakeFolders(const std::string& path) override {
    absl::MutexLock lock(&mu_);
    for (std::string name = Normal(path); !name.empty(); name = Normal(FolderOf(name))) {
      if (files_.contains(name)) return FileError(path, ENOTDIR);
      folders_.insert(name);
    }
    return OkStatus();
  }

  Status Rename(const std::string& from, const std::string& to) override {
    absl::MutexLock lock(&mu_);
    auto found = files_.find(Normal(from));
    if (found == files_.end()) return FileError(Cat(from, " to ", to), ENOENT);
    if (folders_.contains(Normal(to))) return FileError(Cat(from, " to ", to), EISDIR);
    std::shared_ptr<Contents> contents = std::move(found->second);
    files_.erase(found);
    files_[Normal(to)] = std::move(contents);
    return OkStatus();
  }

  Status RemoveFile(const std::string& path) override {
    absl::MutexLock lock(&mu_);
    if (files_.erase(Normal(path)) == 0) return FileError(path, folders_.contains(Normal(path)) ? EISDIR : ENOENT);
    return OkStatus();
  }

  Status RemoveFolder(const std::string& path) override {
    WEIR_ASSIGN_OR_RETURN(std::vector<std::string> names, List(path));
    if (!names.empty()) return FileError(path, ENOTEMPTY);
    absl::MutexLock lock(&mu_);
    if (!Normal(path).empty()) folders_.erase(Normal(path));
    return OkStatus();
  }

 private:
  StatusOr<std::shared_ptr<Contents>> Find(const std::string& path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const std::string name = Normal(path);
    auto found = files_.find(name);
    if (found == files_.end()) return FileError(path, folders_.contains(name) ? EISDIR : ENOENT);
    return found->second;
  }

  absl::Mutex mu_;
  std::map<std::string, std::shared_ptr<Contents>> files_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> folders_ ABSL_GUARDED_BY(mu_) = {""};
};

}  // namespace

std::shared_ptr<FileSystem> MakeMemoryFileSystem() { return std::make_shared<MemoryFileSystem>(); }

}  // namespace weir
