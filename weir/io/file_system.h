// File systems: what a path means.
//
// A path "scheme://rest" belongs to the file system registered for the scheme; "file://rest" and plain paths are files
// of this machine. All reading and writing on behalf of graphs goes through here, so that a server can confine them to
// one folder, tests can let writes fail, and users can add a store of their own.
#ifndef WEIR_IO_FILE_SYSTEM_H_
#define WEIR_IO_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/status.h"

namespace weir {

// Read at any place, by any number of threads at once.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  // When it was opened.
  virtual uint64_t size() const = 0;
  // Up to `count` bytes from `offset` on; fewer only at the end of the file.
  virtual StatusOr<size_t> ReadUpTo(uint64_t offset, size_t count, char* out) const = 0;
};

// Written from one thread at a time. What was not flushed may be lost if Close is not called.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual Status Append(std::string_view bytes) = 0;
  virtual Status Flush() = 0;  // others who open the file see it
  virtual Status Sync() = 0;   // and it survives a power cut
  virtual Status Close() = 0;
};

struct FileInfo {
  uint64_t size = 0;
  bool is_folder = false;
  int64_t modified_ns = 0;  // since 1970
};

enum class WriteMode { kReplace, kAppend };

// Thread-safe. Paths are as the user wrote them, without the scheme. Errors carry the path and the code that
// TensorFlow gives: NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION (a folder where a file should be, or the other
// way round), RESOURCE_EXHAUSTED (no space).
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual StatusOr<std::unique_ptr<ReadableFile>> OpenForReading(const std::string& path) = 0;
  virtual StatusOr<std::unique_ptr<WritableFile>> OpenForWriting(const std::string& path, WriteMode mode) = 0;
  virtual StatusOr<FileInfo> Stat(const std::string& path) = 0;
  virtual StatusOr<std::vector<std::string>> List(const std::string& folder) = 0;  // names, in no order
  virtual Status MakeFolders(const std::string& path) = 0;                         // with those above; may exist
  virtual Status Rename(const std::string& from, const std::string& to) = 0;       // replaces `to`
  virtual Status RemoveFile(const std::string& path) = 0;
  virtual Status RemoveFolder(const std::string& path) = 0;  // an empty one
};

// The file systems of the process. "file" is there from the beginning. ALREADY_EXISTS if the scheme is taken.
Status RegisterFileSystem(std::string scheme, std::shared_ptr<FileSystem> system);

// From now on paths of this machine mean files below `root`: relative ones begin there, and those that lead out of it,
// by "..", by a symbolic link or by being absolute, are PERMISSION_DENIED. NOT_FOUND if there is no such folder.
Status ConfineFiles(const std::string& root);

// The functions of FileSystem for a path with or without a scheme. UNIMPLEMENTED if nobody registered the scheme.
StatusOr<std::unique_ptr<ReadableFile>> OpenForReading(const std::string& path);
StatusOr<std::unique_ptr<WritableFile>> OpenForWriting(const std::string& path, WriteMode mode = WriteMode::kReplace);
StatusOr<FileInfo> StatFile(const std::string& path);
StatusOr<std::vector<std::string>> ListFolder(const std::string& path);
Status MakeFolders(const std::string& path);
// UNIMPLEMENTED between two file systems.
Status RenameFile(const std::string& from, const std::string& to);
Status RemoveFile(const std::string& path);
Status RemoveFolder(const std::string& path);

// A whole file. The writer makes the folder if it is missing.
Status WriteWholeFile(const std::string& path, std::string_view bytes);
// All paths that match a pattern of the shell ("*", "?", "[a-z]"; they do not match '/'), in order, with the pattern's
// scheme.
StatusOr<std::vector<std::string>> MatchFiles(const std::string& pattern);
// The part before the last '/'; of what has none the scheme, or nothing.
std::string FolderOf(std::string_view path);

// What a system call's errno means, in TensorFlow's code and words: "path; No such file or directory".
Status FileError(std::string_view path, int error);

// The files of this machine, confined to a folder unless `root` is empty.
std::shared_ptr<FileSystem> MakeLocalFileSystem(std::string root = "");
// Files in memory; they live as long as it does.
std::shared_ptr<FileSystem> MakeMemoryFileSystem();

}  // namespace weir

#endif  // WEIR_IO_FILE_SYSTEM_H_
