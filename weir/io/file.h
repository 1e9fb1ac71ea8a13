// Files as the readers of this folder need them.
#ifndef WEIR_IO_FILE_H_
#define WEIR_IO_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "weir/base/status.h"

namespace weir {

// A file that is read at any place, by any number of threads at once.
class RandomAccessFile {
 public:
  // NOT_FOUND or PERMISSION_DENIED with the path; INVALID_ARGUMENT for a folder.
  static StatusOr<std::unique_ptr<RandomAccessFile>> Open(const std::string& path);
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  const std::string& path() const { return path_; }
  // Of the file when it was opened.
  uint64_t size() const { return size_; }
  // Exactly `count` bytes; OUT_OF_RANGE if the file does not have them there.
  Status Read(uint64_t offset, size_t count, char* out) const;
  StatusOr<std::string> Read(uint64_t offset, size_t count) const;
  // Up to `count` bytes from `offset` on; fewer only at the end of the file.
  StatusOr<size_t> ReadUpTo(uint64_t offset, size_t count, char* out) const;

 private:
  RandomAccessFile(std::string path, int descriptor, uint64_t size)
      : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

  std::string path_;
  int descriptor_;
  uint64_t size_;
};

// All of a file.
StatusOr<std::string> ReadFile(const std::string& path);
bool IsFile(const std::string& path);
bool IsFolder(const std::string& path);

}  // namespace weir

#endif  // WEIR_IO_FILE_H_
