#include "weir/io/faulty_file_system.h"

#include <algorithm>
#include <cerrno>

#include "absl/synchronization/mutex.h"

namespace weir {

struct FaultyFileSystem::State {
  absl::Mutex mu;
  Faults faults ABSL_GUARDED_BY(mu);

  Faults Get() {
    absl::MutexLock lock(&mu);
    return faults;
  }
  // How many of `bytes` still fit; they are taken.
  size_t TakeSpace(size_t bytes) {
    absl::MutexLock lock(&mu);
    if (faults.space < 0) return bytes;
    size_t fits = std::min(bytes, static_cast<size_t>(faults.space));
    faults.space -= static_cast<int64_t>(fits);
    return fits;
  }
  bool TakeRead() {
    absl::MutexLock lock(&mu);
    if (faults.reads > 0)
      --faults.reads;
    else if (faults.reads == 0)
      return false;
    return true;
  }
};

namespace {

class FaultyReadableFile : public ReadableFile {
 public:
  FaultyReadableFile(std::string path, std::unique_ptr<ReadableFile> file,
                     std::shared_ptr<FaultyFileSystem::State> state)
      : path_(std::move(path)), file_(std::move(file)), state_(std::move(state)) {}
  uint64_t size() const override { return file_->size(); }
  StatusOr<size_t> ReadUpTo(uint64_t offset, size_t count, char* out) const override {
    if (!state_->TakeRead()) return FileError(path_, EIO);
    return file_->ReadUpTo(offset, count, out);
  }

 private:
  const std::string path_;
  const std::unique_ptr<ReadableFile> file_;
  const std::shared_ptr<FaultyFileSystem::State> state_;
};

class FaultyWritableFile : public WritableFile {
 public:
  FaultyWritableFile(std::string path, std::unique_ptr<WritableFile> file,
                     std::shared_ptr<FaultyFileSystem::State> state)
      : path_(std::move(path)), file_(std::move(file)), state_(std::move(state)) {}
  Status Append(std::string_view bytes) override {
    size_t fits = state_->TakeSpace(bytes.size());
    WEIR_RETURN_IF_ERROR(file_->Append(bytes.substr(0, fits)));
    return fits < bytes.size() ? FileError(path_, ENOSPC) : OkStatus();
  }
  Status Flush() override { return file_->Flush(); }
  Status Sync() override { return file_->Sync(); }
  Status Close() override {
    WEIR_RETURN_IF_ERROR(file_->Close());
    return state_->Get().close ? FileError(path_, EIO) : OkStatus();
  }

 private:
  const std::string path_;
  const std::unique_ptr<WritableFile> file_;
  const std::shared_ptr<FaultyFileSystem::State> state_;
};

}  // namespace

FaultyFileSystem::FaultyFileSystem(std::shared_ptr<FileSystem> base)
    : base_(std::move(base)), state_(std::make_shared<State>()) {}
FaultyFileSystem::~FaultyFileSystem() = default;

void FaultyFileSystem::SetFaults(const Faults& faults) {
  absl::MutexLock lock(&state_->mu);
  state_->faults = faults;
}

StatusOr<std::unique_ptr<ReadableFile>> FaultyFileSystem::OpenForReading(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, base_->OpenForReading(path));
  return std::unique_ptr<ReadableFile>(std::make_unique<FaultyReadableFile>(path, std::move(file), state_));
}

StatusOr<std::unique_ptr<WritableFile>> FaultyFileSystem::OpenForWriting(const std::string& path, WriteMode mode) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, base_->OpenForWriting(path, mode));
  return std::unique_ptr<WritableFile>(std::make_unique<FaultyWritableFile>(path, std::move(file), state_));
}

Status FaultyFileSystem::Rename(const std::string& from, const std::string& to) {
  if (state_->Get().rename) return FileError(Cat(from, " to ", to), EIO);
  return base_->Rename(from, to);
}

}  // namespace weir
