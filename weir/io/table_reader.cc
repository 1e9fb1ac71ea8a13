#include "weir/io/table_reader.h"

#include <snappy.h>

#include <algorithm>

#include "weir/base/varint.h"
#include "weir/io/coding.h"
#include "weir/io/crc32c.h"
#include "weir/io/format_versions.h"

namespace weir {
namespace {

constexpr size_t kFooterBytes = 48;
constexpr size_t kMagicOffset = 40;
constexpr size_t kTrailerBytes = 5;  // kind of compression, checksum
constexpr char kRaw = 0;
constexpr char kSnappy = 1;
// Snappy copies at most 64 bytes for a tag of two or three: what claims to grow more is damaged.
constexpr size_t kMaxSnappyGrowth = 64;

// The visitor's own word for "enough".
Status Stop() { return Cancelled("stop"); }

}  // namespace

StatusOr<std::unique_ptr<TableReader>> TableReader::Open(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  auto table = std::unique_ptr<TableReader>(new TableReader(std::move(file)));
  WEIR_RETURN_IF_ERROR(table->ReadIndex());
  return table;
}

bool TableReader::TakeHandle(std::string_view* bytes, BlockHandle* handle) {
  return TakeVarint(bytes, &handle->offset) && TakeVarint(bytes, &handle->size);
}

Status TableReader::ReadIndex() {
  if (file_->size() < kFooterBytes) return Damaged("file is too short to be an sstable");
  WEIR_ASSIGN_OR_RETURN(std::string footer, file_->Read(file_->size() - kFooterBytes, kFooterBytes));
  if (DecodeFixed64(footer.data() + kMagicOffset) != kTableMagic) return Damaged("not an sstable (bad magic number)");
  std::string_view handles(footer.data(), kMagicOffset);
  BlockHandle metaindex, index;
  if (!TakeHandle(&handles, &metaindex) || !TakeHandle(&handles, &index)) return Damaged("bad block handle");
  WEIR_ASSIGN_OR_RETURN(std::string block, ReadBlock(index));
  return ForEachInBlock(block, [this](std::string_view key, std::string_view value) {
    IndexEntry entry{std::string(key), {}};
    if (!TakeHandle(&value, &entry.block)) return Damaged("bad block handle");
    index_.push_back(std::move(entry));
    return OkStatus();
  });
}

StatusOr<std::string> TableReader::ReadBlock(const BlockHandle& handle) const {
  uint64_t size = file_->size();
  if (size < kTrailerBytes || handle.size > size - kTrailerBytes ||
      handle.offset > size - kTrailerBytes - handle.size) {
    return Damaged("truncated block read");
  }
  WEIR_ASSIGN_OR_RETURN(std::string block, file_->Read(handle.offset, handle.size + kTrailerBytes));
  uint32_t stored = UnmaskCrc(DecodeFixed32(block.data() + handle.size + 1));
  if (stored != Crc32c({block.data(), handle.size + 1})) return Damaged("block checksum mismatch");
  char kind = block[handle.size];
  block.resize(handle.size);
  if (kind == kRaw) return block;
  if (kind != kSnappy) return Damaged("bad block type");
  size_t length;
  std::string out;
  if (!snappy::GetUncompressedLength(block.data(), block.size(), &length) || length > block.size() * kMaxSnappyGrowth ||
      !snappy::Uncompress(block.data(), block.size(), &out)) {
    return Damaged("corrupted compressed block contents");
  }
  return out;
}

Status TableReader::ForEachInBlock(std::string_view block, const Visitor& visit) const {
  if (block.size() < 4) return Damaged("bad block contents");
  uint64_t restarts = DecodeFixed32(block.data() + block.size() - 4);
  if (restarts > (block.size() - 4) / 4) return Damaged("bad block contents");
  std::string_view entries = block.substr(0, block.size() - 4 - restarts * 4);
  std::string key;
  while (!entries.empty()) {
    uint32_t shared, unshared, value_bytes;
    if (!TakeVarint(&entries, &shared) || !TakeVarint(&entries, &unshared) || !TakeVarint(&entries, &value_bytes) ||
        shared > key.size() || static_cast<uint64_t>(unshared) + value_bytes > entries.size()) {
      return Damaged("bad entry in block");
    }
    key.resize(shared);
    key.append(entries.substr(0, unshared));
    std::string_view value = entries.substr(unshared, value_bytes);
    entries.remove_prefix(static_cast<size_t>(unshared) + value_bytes);
    WEIR_RETURN_IF_ERROR(visit(key, value));
  }
  return OkStatus();
}

StatusOr<std::optional<std::string>> TableReader::Find(std::string_view key) const {
  auto entry = std::partition_point(index_.begin(), index_.end(),
                                    [&](const IndexEntry& candidate) { return candidate.last_key < key; });
  std::optional<std::string> found;
  if (entry == index_.end()) return found;
  WEIR_ASSIGN_OR_RETURN(std::string block, ReadBlock(entry->block));
  Status status = ForEachInBlock(block, [&](std::string_view candidate, std::string_view value) {
    if (candidate < key) return OkStatus();
    if (candidate == key) found = std::string(value);
    return Stop();
  });
  if (!status.ok() && !absl::IsCancelled(status)) return status;
  return found;
}

Status TableReader::ForEach(const Visitor& visit) const {
  for (const IndexEntry& entry : index_) {
    WEIR_ASSIGN_OR_RETURN(std::string block, ReadBlock(entry.block));
    WEIR_RETURN_IF_ERROR(ForEachInBlock(block, visit));
  }
  return OkStatus();
}

bool IsTable(const std::string& path) {
  StatusOr<std::unique_ptr<RandomAccessFile>> file = RandomAccessFile::Open(path);
  if (!file.ok() || (*file)->size() < kFooterBytes) return false;
  StatusOr<std::string> magic = (*file)->Read((*file)->size() - 8, 8);
  return magic.ok() && DecodeFixed64(magic->data()) == kTableMagic;
}

}  // namespace weir
