// Sorted tables in LevelDB's layout: the index of a checkpoint, and all of a checkpoint of the first format
// (docs/formats/checkpoint.md).
#ifndef WEIR_IO_TABLE_READER_H_
#define WEIR_IO_TABLE_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/status.h"
#include "weir/io/file.h"

namespace weir {

// Any number of threads at once. Damage of any kind is DATA_LOSS and names the file.
class TableReader {
 public:
  static StatusOr<std::unique_ptr<TableReader>> Open(const std::string& path);

  // The value of a key; nothing if it is not there.
  StatusOr<std::optional<std::string>> Find(std::string_view key) const;
  // Every entry in order; ends at the first error of `visit`.
  using Visitor = std::function<Status(std::string_view key, std::string_view value)>;
  Status ForEach(const Visitor& visit) const;

  const std::string& path() const { return file_->path(); }
  uint64_t file_bytes() const { return file_->size(); }

 private:
  struct BlockHandle {
    uint64_t offset = 0;
    uint64_t size = 0;
  };
  struct IndexEntry {
    std::string last_key;  // not below any key of the block
    BlockHandle block;
  };

  explicit TableReader(std::unique_ptr<RandomAccessFile> file) : file_(std::move(file)) {}
  static bool TakeHandle(std::string_view* bytes, BlockHandle* handle);
  StatusOr<std::string> ReadBlock(const BlockHandle& handle) const;
  Status ForEachInBlock(std::string_view block, const Visitor& visit) const;
  Status ReadIndex();
  template <typename... Args>
  Status Damaged(const Args&... args) const {
    return DataLoss(file_->path(), ": ", args...);
  }

  std::unique_ptr<RandomAccessFile> file_;
  std::vector<IndexEntry> index_;
};

// True if a file ends as tables do.
bool IsTable(const std::string& path);

}  // namespace weir

#endif  // WEIR_IO_TABLE_READER_H_
