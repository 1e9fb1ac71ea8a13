#include "weir/io/file.h"

namespace weir {

StatusOr<std::unique_ptr<RandomAccessFile>> RandomAccessFile::Open(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, OpenForReading(path));
  return std::unique_ptr<RandomAccessFile>(new RandomAccessFile(path, std::move(file)));
}

StatusOr<size_t> RandomAccessFile::ReadUpTo(uint64_t offset, size_t count, char* out) const {
  return file_->ReadUpTo(offset, count, out);
}

Status RandomAccessFile::Read(uint64_t offset, size_t count, char* out) const {
  WEIR_ASSIGN_OR_RETURN(size_t got, ReadUpTo(offset, count, out));
  if (got < count) return OutOfRange(path_, ": fewer than ", count, " bytes at ", offset);
  return OkStatus();
}

StatusOr<std::string> RandomAccessFile::Read(uint64_t offset, size_t count) const {
  // A wrong count must not cost memory.
  if (offset > size() || count > size() - offset)
    return OutOfRange(path_, ": fewer than ", count, " bytes at ", offset);
  std::string out(count, '\0');
  WEIR_RETURN_IF_ERROR(Read(offset, count, out.data()));
  return out;
}

StatusOr<std::string> ReadFile(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, OpenForReading(path));
  std::string contents;
  // The size is a hint: of a pipe or a file that grows it says nothing.
  constexpr size_t kMore = size_t{64} << 10;
  size_t room = file->size() > 0 ? static_cast<size_t>(file->size()) + 1 : kMore;
  while (true) {
    const size_t size = contents.size();
    contents.resize(size + room);
    WEIR_ASSIGN_OR_RETURN(size_t got, file->ReadUpTo(size, room, contents.data() + size));
    contents.resize(size + got);
    if (got < room) return contents;
    room = kMore;
  }
}

bool IsFile(const std::string& path) {
  StatusOr<FileInfo> info = StatFile(path);
  return info.ok() && !info->is_folder;
}

bool IsFolder(const std::string& path) {
  StatusOr<FileInfo> info = StatFile(path);
  return info.ok() && info->is_folder;
}

}  // namespace weir
