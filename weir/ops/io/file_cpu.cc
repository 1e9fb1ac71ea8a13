// Whole files: reading, writing, finding them by pattern, and names of shards.
#include <algorithm>

#include "weir/framework/kernel_registry.h"
#include "weir/io/file.h"
#include "weir/ops/io/register.h"

namespace weir {
namespace {

StatusOr<std::string> ScalarText(KernelContext& ctx, int input, std::string_view what) {
  const Tensor& tensor = ctx.input(input);
  if (!tensor.shape().IsScalar()) {
    return InvalidArgument("Input ", what, " tensor must be scalar, but had shape: ", tensor.shape().ToString());
  }
  return tensor.scalar<std::string>();
}

class ReadFileKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::string name, ScalarText(ctx, 0, "filename"));
    WEIR_ASSIGN_OR_RETURN(std::string contents, ReadFile(name));
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
    return WriteWholeFile(name, contents.scalar<std::string>());
  }
};

class MatchingFilesKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor patterns = ctx.input(0);
    if (patterns.rank() > 1) {
      return InvalidArgument("Input patterns tensor must be scalar or vector, but had shape: ",
                             patterns.shape().ToString());
    }
    std::vector<std::string> names;
    for (const std::string& pattern : patterns.span<std::string>()) {
      WEIR_ASSIGN_OR_RETURN(std::vector<std::string> found, MatchFiles(pattern));
      names.insert(names.end(), found.begin(), found.end());
    }
    std::sort(names.begin(), names.end());
    ctx.set_output(0, Tensor::Vector<std::string>(names));
    return OkStatus();
  }
};

std::string Number(int64_t number) {
  const std::string digits = std::to_string(number < 0 ? -number : number), sign = number < 0 ? "-" : "";
  const size_t given = sign.size() + digits.size();
  return sign + std::string(given < 5 ? 5 - given : 0, '0') + digits;
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
