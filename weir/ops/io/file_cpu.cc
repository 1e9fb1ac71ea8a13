// Whole files: reading, writing, finding them by pattern, and names of shards.
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/io/register.h"

namespace weir {
namespace {

Status FileError(std::string_view path, int error) {
  const std::string message = Cat(path, "; ", std::strerror(error));
  switch (error) {
    case ENOENT:
      return NotFound(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return PermissionDenied(message);
    case EISDIR:
    case ENOTDIR:
    case ENOTEMPTY:
      return FailedPrecondition(message);
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
      return ResourceExhausted(message);
    case EINVAL:
    case ENAMETOOLONG:
      return InvalidArgument(message);
    default:
      return Unknown(message);
  }
}

std::string LocalPath(std::string_view name) {
  constexpr std::string_view kScheme = "file://";
  if (name.starts_with(kScheme)) name.remove_prefix(kScheme.size());
  return std::string(name);
}

StatusOr<std::string> ScalarText(KernelContext& ctx, int input, std::string_view what) {
  const Tensor& tensor = ctx.input(input);
  if (!tensor.shape().IsScalar()) {
    return InvalidArgument("Input ", what, " tensor must be scalar, but had shape: ", tensor.shape().ToString());
  }
  return tensor.scalar<std::string>();
}

// Closes a descriptor at the end of its scope.
class File {
 public:
  File(const std::string& path, int flags) : descriptor_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

class ReadFileKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::string name, ScalarText(ctx, 0, "filename"));
    const std::string path = LocalPath(name);
    File file(path, O_RDONLY);
    if (!file.is_open()) return FileError(name, errno);
    struct stat info;
    if (fstat(file.descriptor(), &info) != 0) return FileError(name, errno);
    if (S_ISDIR(info.st_mode)) return FileError(name, EISDIR);
    std::string contents;
    // The size is a hint: of a pipe or a file that grows it says nothing.
    size_t room = info.st_size > 0 ? static_cast<size_t>(info.st_size) + 1 : size_t{64} << 10;
    while (true) {
      const size_t size = contents.size();
      contents.resize(size + room);
      const ssize_t got = read(file.descriptor(), contents.data() + size, room);
      if (got < 0 && errno != EINTR) return FileError(name, errno);
      contents.resize(size + (got > 0 ? static_cast<size_t>(got) : 0));
      if (got == 0) break;
      room = size_t{64} << 10;
    }
    ctx.set_output(0, Tensor::Scalar(std::move(contents)));
    return OkStatus();
  }
};

class WriteFileKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::string name, ScalarText(ctx, 0, "filename"));
    const Tensor contents = ctx.input(1);
    WEIR_RETURN_IF_ERROR(ScalarText(ctx, 1, "contents").status());
    const std::string path = LocalPath(name);
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::error_code error;
    if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
      std::filesystem::create_directories(folder, error);
      if (error) return FileError(folder.string(), error.value());
    }
    File file(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file.is_open()) return FileError(name, errno);
    std::string_view left = contents.scalar<std::string>();
    while (!left.empty()) {
      const ssize_t put = write(file.descriptor(), left.data(), left.size());
      if (put < 0 && errno != EINTR) return FileError(name, errno);
      if (put > 0) left.remove_prefix(static_cast<size_t>(put));
    }
    return OkStatus();
  }
};

Status AddMatches(const std::string& pattern, std::vector<std::string>& names) {
  glob_t found;
  const int result = glob(LocalPath(pattern).c_str(), GLOB_NOSORT | GLOB_PERIOD, nullptr, &found);
  Status status;
  if (result == GLOB_NOSPACE) status = ResourceExhausted("Out of memory while looking for ", pattern);
  for (size_t i = 0; result == 0 && i < found.gl_pathc; ++i) {
    std::string_view name = found.gl_pathv[i];
    if (name != "." && name != ".." && !name.ends_with("/.") && !name.ends_with("/..")) names.emplace_back(name);
  }
  globfree(&found);
  return status;
}

class MatchingFilesKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor patterns = ctx.input(0);
    if (patterns.rank() > 1) {
      return InvalidArgument("Input patterns tensor must be scalar or vector, but had shape: ",
                             patterns.shape().ToString());
    }
    std::vector<std::string> names;
    for (const std::string& pattern : patterns.span<std::string>()) WEIR_RETURN_IF_ERROR(AddMatches(pattern, names));
    std::sort(names.begin(), names.end());
    ctx.set_output(0, Tensor::Vector<std::string>(names));
    return OkStatus();
  }
};

std::string Number(int64_t number) {
  std::string digits = std::to_string(number);
  return digits.size() < 5 ? std::string(5 - digits.size(), '0') + digits : digits;
}

class ShardedFilenameKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (!ctx.input(i).shape().IsScalar()) {
        return InvalidArgument("input ", i, " must be a scalar, got shape ", ctx.input(i).shape().ToString());
      }
    }
    const bool pattern = ctx.num_inputs() == 2;
    const std::string shard = pattern ? "?????" : Number(ctx.input(1).scalar<int32_t>());
    const int32_t shards = ctx.input(pattern ? 1 : 2).scalar<int32_t>();
    ctx.set_output(0, Tensor::Scalar(Cat(ctx.input(0).scalar<std::string>(), "-", shard, "-of-", Number(shards))));
    return OkStatus();
  }
};

}  // namespace

void RegisterFileKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ReadFile"), MakeKernel<ReadFileKernel>);
  registry.Add(KernelBuilder("WriteFile"), MakeKernel<WriteFileKernel>);
  registry.Add(KernelBuilder("MatchingFiles"), MakeKernel<MatchingFilesKernel>);
  for (const char* op : {"ShardedFilename", "ShardedFilespec"}) {
    registry.Add(KernelBuilder(op), MakeKernel<ShardedFilenameKernel>);
  }
}

}  // namespace weir
