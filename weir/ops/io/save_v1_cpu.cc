// Save and SaveSlices: checkpoints of the first format.
#include "weir/framework/kernel_registry.h"
#include "weir/io/checkpoint_v1_writer.h"
#include "weir/ops/io/register.h"

namespace weir {
namespace {

class SaveV1Kernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const bool sliced = ctx.node().schema->name == "SaveSlices";
    const int fixed = sliced ? 3 : 2;
    const int count = ctx.num_inputs() - fixed;
    const Tensor& file = ctx.input(0);
    const Tensor& names = ctx.input(1);
    if (file.num_elements() != 1) {
      return InvalidArgument("Input 0 (filename) must be a string scalar; got a tensor of ", file.num_elements(),
                             "elements");
    }
    for (int i = 1; i < fixed; ++i) {
      if (ctx.input(i).num_elements() == count) continue;
      return InvalidArgument("Got ", ctx.input(i).num_elements(), i == 1 ? " tensor names but " : " slices but ", count,
                             " tensors");
    }
    CheckpointV1Writer writer(file.scalar<std::string>());
    for (int i = 0; i < count; ++i) {
      const Tensor& tensor = ctx.input(fixed + i);
      const std::string& name = names.data<std::string>()[i];
      const std::string spec = sliced ? ctx.input(2).data<std::string>()[i] : std::string();
      WEIR_RETURN_IF_ERROR(Add(writer, name, spec, tensor));
    }
    return writer.Finish();
  }

 private:
  static Status Add(CheckpointV1Writer& writer, const std::string& name, const std::string& spec,
                    const Tensor& tensor) {
    if (spec.empty()) return writer.Add(name, tensor.shape(), TensorSlice::Full(tensor.rank()), tensor);
    WEIR_ASSIGN_OR_RETURN(ShapeAndSlice part, ParseShapeAndSlice(spec));
    WEIR_ASSIGN_OR_RETURN(TensorSlice clipped, part.slice.ClippedTo(part.shape));
    WEIR_ASSIGN_OR_RETURN(Shape shape, clipped.shape());
    if (shape != tensor.shape()) {
      return InvalidArgument("Slice in shape_and_slice specification does not match the shape of the tensor to save: ",
                             spec, ", tensor: ", tensor.shape().ToString());
    }
    return writer.Add(name, part.shape, part.slice, tensor);
  }
};

}  // namespace

void RegisterSaveV1Kernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Save"), MakeKernel<SaveV1Kernel>);
  registry.Add(KernelBuilder("SaveSlices"), MakeKernel<SaveV1Kernel>);
}

}  // namespace weir
