// The files of this machine.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "weir/io/file_system.h"

namespace weir {
namespace {

class LocalReadableFile : public ReadableFile {
 public:
  LocalReadableFile(std::string path, int descriptor, uint64_t size)
      : path_(std::move(path)), descriptor_(descriptor), size_(size) {}
  ~LocalReadableFile() override { close(descriptor_); }
  uint64_t size() const override { return size_; }

  StatusOr<size_t> ReadUpTo(uint64_t offset, size_t count, char* out) const override {
    size_t done = 0;
    // A file offset is signed; beyond its range there is nothing to read.
    if (offset > static_cast<uint64_t>(INT64_MAX) - count) return done;
    while (done < count) {
      ssize_t got = pread(descriptor_, out + done, count - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == ESPIPE) got = read(descriptor_, out + done, count - done);  // a pipe is read as it comes
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return FileError(path_, errno);
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

 private:
  const std::string path_;
  const int descriptor_;
  const uint64_t size_;
};

class LocalWritableFile : public WritableFile {
 public:
  LocalWritableFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  ~LocalWritableFile() override { Close().IgnoreError(); }

  Status Append(std::string_view bytes) override {
    if (descriptor_ < 0) return FailedPrecondition(path_, " is closed");
    // Small pieces are gathered, large ones go straight to the file.
    if (buffer_.size() + bytes.size() <= kBuffer) {
      buffer_.append(bytes);
      return OkStatus();
    }
    WEIR_RETURN_IF_ERROR(Flush());
    if (bytes.size() <= kBuffer / 2) {
      buffer_.append(bytes);
      return OkStatus();
    }
    return Write(bytes);
  }

  Status Flush() override {
    if (buffer_.empty()) return OkStatus();
    Status status = Write(buffer_);
    buffer_.clear();
    return status;
  }

  Status Sync() override {
    WEIR_RETURN_IF_ERROR(Flush());
    return descriptor_ >= 0 && fsync(descriptor_) != 0 ? FileError(path_, errno) : OkStatus();
  }

  Status Close() override {
    if (descriptor_ < 0) return OkStatus();
    Status status = Flush();
    if (close(std::exchange(descriptor_, -1)) != 0 && status.ok()) status = FileError(path_, errno);
    return status;
  }

 private:
  static constexpr size_t kBuffer = 64 << 10;

  Status Write(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t put = write(descriptor_, bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return FileError(path_, errno);
      bytes.remove_prefix(static_cast<size_t>(put));
    }
    return OkStatus();
  }

  const std::string path_;
  int descriptor_;
  std::string buffer_;
};

class LocalFileSystem : public FileSystem {
 public:
  explicit LocalFileSystem(std::string root) {
    std::error_code error;
    if (!root.empty()) root_ = std::filesystem::canonical(root, error);
  }

  StatusOr<std::unique_ptr<ReadableFile>> OpenForReading(const std::string& path) override {
    WEIR_ASSIGN_OR_RETURN(std::string place, Resolve(path));
    int descriptor = open(place.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return FileError(path, errno);
    struct stat info;
    int error = fstat(descriptor, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : 0;
    if (error != 0) {
      close(descriptor);
      return FileError(path, error);
    }
    return std::unique_ptr<ReadableFile>(
        std::make_unique<LocalReadableFile>(path, descriptor, static_cast<uint64_t>(info.st_size)));
  }

  StatusOr<std::unique_ptr<WritableFile>> OpenForWriting(const std::string& path, WriteMode mode) override {
    WEIR_ASSIGN_OR_RETURN(std::string place, Resolve(path));
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (mode == WriteMode::kAppend ? O_APPEND : O_TRUNC);
    int descriptor = open(place.c_str(), flags, 0666);
    if (descriptor < 0) return FileError(path, errno);
    return std::unique_ptr<WritableFile>(std::make_unique<LocalWritableFile>(path, descriptor));
  }

  StatusOr<FileInfo> Stat(const std::string& path) override {
    WEIR_ASSIGN_OR_RETURN(std::string place, Resolve(path));
    struct stat info;
    if (stat(place.c_str(), &info) != 0) return FileError(path, errno);
    FileInfo out;
    out.size = static_cast<uint64_t>(info.st_size);
    out.is_folder = S_ISDIR(info.st_mode);
    out.modified_ns = info.st_mtim.tv_sec * int64_t{1'000'000'000} + info.st_mtim.tv_nsec;
    return out;
  }

  StatusOr<std::vector<std::string>> List(const std::string& folder) override {
    WEIR_ASSIGN_OR_RETURN(std::string place, Resolve(folder));
    std::unique_ptr<DIR, int (*)(DIR*)> open_folder(opendir(place.c_str()), closedir);
    if (open_folder == nullptr) return FileError(folder, errno);
    std::vector<std::string> names;
    while (const dirent* entry = readdir(open_folder.get())) {
      std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    return names;
  }

  Status MakeFolders(const std::string& path) override {
    WEIR_ASSIGN_OR_RETURN(std::string place, Resolve(path));
    std::error_code error;
    std::filesystem::create_directories(place, error);
    return error ? FileError(path, error.value()) : OkStatus();
  }

  Status Rename(const std::string& from, const std::string& to) override {
    WEIR_ASSIGN_OR_RETURN(std::string old_place, Resolve(from));
    WEIR_ASSIGN_OR_RETURN(std::string new_place, Resolve(to));
    return rename(old_place.c_str(), new_place.c_str()) != 0 ? FileError(Cat(from, " to ", to), errno) : OkStatus();
  }

  Status RemoveFile(const std::string& path) override {
    WEIR_ASSIGN_OR_RETURN(std::string place, Resolve(path));
    return unlink(place.c_str()) != 0 ? FileError(path, errno) : OkStatus();
  }

  Status RemoveFolder(const std::string& path) override {
    WEIR_ASSIGN_OR_RETURN(std::string place, Resolve(path));
    return rmdir(place.c_str()) != 0 ? FileError(path, errno) : OkStatus();
  }

 private:
  // Where the path really is. Links are followed first, so that one that leads out is seen.
  StatusOr<std::string> Resolve(const std::string& path) const {
    if (path.find('\0') != path.npos) return InvalidArgument("A path holds a zero byte: ", path.c_str());
    if (root_.empty()) return path;
    std::error_code error;
    std::filesystem::path place = std::filesystem::weakly_canonical(root_ / path, error);
    if (error) return FileError(path, error.value());
    auto [end, unused] = std::mismatch(root_.begin(), root_.end(), place.begin(), place.end());
    if (end != root_.end()) return PermissionDenied(path, " is outside of ", root_.string());
    return place.string();
  }

  std::filesystem::path root_;  // absolute, without links; empty: none
};

}  // namespace

std::shared_ptr<FileSystem> MakeLocalFileSystem(std::string root) {
  return std::make_shared<LocalFileSystem>(std::move(root));
}

}  // namespace weir
