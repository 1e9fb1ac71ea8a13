// A file system that fails on purpose, for tests of what happens then.
#ifndef WEIR_IO_FAULTY_FILE_SYSTEM_H_
#define WEIR_IO_FAULTY_FILE_SYSTEM_H_

#include <memory>

#include "weir/io/file_system.h"

namespace weir {

// What goes wrong. Counts are of everything that happens from the moment of SetFaults on.
struct Faults {
  int64_t space = -1;   // bytes that fit: the write that needs more puts what fits and fails with ENOSPC; -1: any
  int64_t reads = -1;   // calls that succeed before each fails with EIO; -1: all
  bool rename = false;  // fails with EIO
  bool close = false;   // fails with EIO, as a network's file system does that wrote late
};

// Thread-safe. Files and all other work are the `base`'s.
class FaultyFileSystem : public FileSystem {
 public:
  explicit FaultyFileSystem(std::shared_ptr<FileSystem> base);
  ~FaultyFileSystem() override;
  void SetFaults(const Faults& faults);

  StatusOr<std::unique_ptr<ReadableFile>> OpenForReading(const std::string& path) override;
  StatusOr<std::unique_ptr<WritableFile>> OpenForWriting(const std::string& path, WriteMode mode) override;
  StatusOr<FileInfo> Stat(const std::string& path) override { return base_->Stat(path); }
  StatusOr<std::vector<std::string>> List(const std::string& folder) override { return base_->List(folder); }
  Status MakeFolders(const std::string& path) override { return base_->MakeFolders(path); }
  Status Rename(const std::string& from, const std::string& to) override;
  Status RemoveFile(const std::string& path) override { return base_->RemoveFile(path); }
  Status RemoveFolder(const std::string& path) override { return base_->RemoveFolder(path); }

  struct State;  // shared with open files

 private:
  const std::shared_ptr<FileSystem> base_;
  const std::shared_ptr<State> state_;
};

}  // namespace weir

#endif  // WEIR_IO_FAULTY_FILE_SYSTEM_H_
