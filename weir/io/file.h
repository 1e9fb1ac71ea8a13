// Files as the readers of this folder need them.
#ifndef WEIR_IO_FILE_H_
#define WEIR_IO_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "weir/base/status.h"
#include "weir/io/file_system.h"

namespace weir {

// A file of any file system, read at any place by any number of threads at once.
class RandomAccessFile {
 public:
  // Errors are FileSystem's, with the path.
  static StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path);
  const std::string& path() const { return path_; }
  // Of the file when it was opened.
  uint64_t size() const { return file_->size(); }
  // Exactly `count` bytes; OUT_OF_RANGE if the file does not have them there.
  Status Read(uint64_t offset, size_t count, char* out) const;
  StatusOr<std::string> Read(uint64_t offset, size_t count) const;
  // Up to `count` bytes from `offset` on; fewer only at the end of the file.
  StatusOr<size_t> ReadUpTo(uint64_t offset, size_t count, char* out) const;

 private:
  RandomAccessFile(std::string path, std::unique_ptr<ReadableFile> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  const std::string path_;
  const std::unique_ptr<ReadableFile> file_;
};

// All of a file, also of one whose size is not known before (a pipe).
StatusOr<std::string> ReadFile(const std::string& path);
bool IsFile(const std::string& path);
bool IsFolder(const std::string& path);

}  // namespace weir

#endif  // WEIR_IO_FILE_H_
