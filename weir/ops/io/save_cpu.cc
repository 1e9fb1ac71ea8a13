#include <set>

#include "weir/framework/kernel_registry.h"
#include "weir/io/bundle_writer.h"
#include "weir/io/file_system.h"
#include "weir/ops/io/register.h"

namespace weir {
namespace {

class SaveV2Kernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    constexpr int kFixedInputs = 3;
    const Tensor& prefix = ctx.input(0);
    const Tensor& names = ctx.input(1);
    const Tensor& slices = ctx.input(2);
    int count = ctx.num_inputs() - kFixedInputs;
    if (prefix.num_elements() != 1) {
      return InvalidArgument("Input prefix should be a scalar tensor, got ", prefix.num_elements(), " elements");
    }
    if (!names.shape().IsVector() || !slices.shape().IsVector() || names.num_elements() != count ||
        slices.num_elements() != count) {
      return InvalidArgument("tensor_names and shape_and_slices should be vectors of ", count, " elements, got ",
                             names.shape().ToString(), " and ", slices.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<BundleWriter> writer, BundleWriter::Create(prefix.scalar<std::string>()));
    for (int i = 0; i < count; ++i) {
      const std::string& name = names.data<std::string>()[i];
      const std::string& spec = slices.data<std::string>()[i];
      const Tensor& tensor = ctx.input(kFixedInputs + i);
      if (spec.empty()) {
        WEIR_RETURN_IF_ERROR(writer->Add(name, tensor));
        continue;
      }
      WEIR_ASSIGN_OR_RETURN(ShapeAndSlice part, ParseShapeAndSlice(spec));
      WEIR_RETURN_IF_ERROR(writer->AddSlice(name, part.shape, part.slice, tensor));
    }
    return writer->Finish();
  }
};

class MergeV2CheckpointsKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<MergeV2CheckpointsKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->delete_old_dirs_, init.Attr<bool>("delete_old_dirs"));
    WEIR_ASSIGN_OR_RETURN(kernel->allow_missing_, init.Attr<bool>("allow_missing_files"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    if (!ctx.input(0).shape().IsVector() || !ctx.input(1).shape().IsScalar()) {
      return InvalidArgument("checkpoint_prefixes should be a vector and destination_prefix a scalar, got ",
                             ctx.input(0).shape().ToString(), " and ", ctx.input(1).shape().ToString());
    }
    std::span<const std::string> prefixes = ctx.input(0).span<std::string>();
    const std::string& destination = ctx.input(1).scalar<std::string>();
    WEIR_RETURN_IF_ERROR(MergeBundles(prefixes, destination, allow_missing_));
    if (!delete_old_dirs_) return OkStatus();
    const std::string kept = FolderOf(destination);
    std::set<std::string> folders;
    for (const std::string& prefix : prefixes) folders.insert(FolderOf(prefix));
    // Only what the merge emptied: a folder with anything else in it stays.
    for (const std::string& folder : folders) {
      if (folder != kept && !folder.empty()) RemoveFolder(folder).IgnoreError();
    }
    return OkStatus();
  }

 private:
  bool delete_old_dirs_ = true;
  bool allow_missing_ = false;
};

}  // namespace

void RegisterSaveKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("SaveV2"), MakeKernel<SaveV2Kernel>);
  registry.Add(KernelBuilder("MergeV2Checkpoints"), MakeKernel<MergeV2CheckpointsKernel>);
}

}  // namespace weir
