#include "weir/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weir {
namespace {

Status FileError(const std::string& path, int error) {
  std::string text = Cat(path, "; ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return NotFound(text);
  if (error == EACCES || error == EPERM) return PermissionDenied(text);
  return Unknown(text);
}

}  // namespace

StatusOr<std::unique_ptr<RandomAccessFile>> RandomAccessFile::Open(const std::string& path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return FileError(path, errno);
  struct stat info;
  if (fstat(descriptor, &info) != 0) {
    int error = errno;
    close(descriptor);
    return FileError(path, error);
  }
  if (S_ISDIR(info.st_mode)) {
    close(descriptor);
    return InvalidArgument(path, " is a folder");
  }
  return std::unique_ptr<RandomAccessFile>(new RandomAccessFile(path, descriptor, static_cast<uint64_t>(info.st_size)));
}

RandomAccessFile::~RandomAccessFile() { close(descriptor_); }

StatusOr<size_t> RandomAccessFile::ReadUpTo(uint64_t offset, size_t count, char* out) const {
  size_t done = 0;
  // A file offset is signed; beyond its range there is nothing to read.
  if (offset > static_cast<uint64_t>(INT64_MAX) - count) return done;
  while (done < count) {
    ssize_t got = pread(descriptor_, out + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(path_, errno);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

Status RandomAccessFile::Read(uint64_t offset, size_t count, char* out) const {
  WEIR_ASSIGN_OR_RETURN(size_t got, ReadUpTo(offset, count, out));
  if (got < count) return OutOfRange(path_, ": fewer than ", count, " bytes at ", offset);
  return OkStatus();
}

StatusOr<std::string> RandomAccessFile::Read(uint64_t offset, size_t count) const {
  // A wrong count must not cost memory.
  if (offset > size_ || count > size_ - offset) return OutOfRange(path_, ": fewer than ", count, " bytes at ", offset);
  std::string out(count, '\0');
  WEIR_RETURN_IF_ERROR(Read(offset, count, out.data()));
  return out;
}

StatusOr<std::string> ReadFile(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  return file->Read(0, file->size());
}

bool IsFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

bool IsFolder(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace weir
