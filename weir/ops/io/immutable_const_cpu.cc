// ImmutableConst: a tensor whose bytes are a file's.
#include "weir/framework/kernel_registry.h"
#include "weir/io/file.h"
#include "weir/ops/io/register.h"

namespace weir {
namespace {

class ImmutableConstKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ImmutableConstKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->file_, init.Attr<std::string>("memory_region_name"));
    WEIR_ASSIGN_OR_RETURN(kernel->dtype_, init.Attr<DType>("dtype"));
    if (kernel->dtype_ == DType::kString) {
      return Unimplemented("Sorry, DT_STRING is not currently supported for ImmutableConstOp.");
    }
    if (!IsPlain(kernel->dtype_)) {
      return InvalidArgument("Resource and variant dtypes are invalid for ImmutableConstOp.");
    }
    WEIR_ASSIGN_OR_RETURN(PartialShape shape, init.Attr<PartialShape>("shape"));
    std::optional<Shape> known = shape.ToShape();
    if (!known) return InvalidArgument("The shape of an ImmutableConst must be known, got ", shape.ToString());
    kernel->shape_ = *known;
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(file_));
    std::optional<int64_t> bytes = CheckedMultiply(shape_.num_elements(), static_cast<int64_t>(SizeOf(dtype_)));
    // Before memory is taken for it.
    if (!bytes || static_cast<uint64_t>(*bytes) > file->size()) {
      return Internal("Region size is too small: ", file->size(), " bytes for a tensor of shape ", shape_.ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape_));
    return file->Read(0, static_cast<size_t>(*bytes), static_cast<char*>(out->raw_data()));
  }

 private:
  std::string file_;
  DType dtype_ = DType::kInvalid;
  Shape shape_;
};

}  // namespace

void RegisterImmutableConstKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ImmutableConst"), MakeKernel<ImmutableConstKernel>);
}

}  // namespace weir
