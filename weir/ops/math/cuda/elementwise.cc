// Elementwise operations on GPUs: every one is a program of one step (device/cuda/elementwise_source.h).
#include "weir/device/cuda/elementwise.h"

#include <cstring>

#include "absl/container/inlined_vector.h"
#include "weir/device/cpu/broadcast.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/math/cuda/elementwise_operations.h"

namespace weir::cuda {
namespace {

// How the shapes of the operands must fit each other.
enum class Shapes {
  kBroadcast,
  kSameCount,  // and the result has the first one's
};

class ElementwiseKernel : public Kernel {
 public:
  ElementwiseKernel(ElementwiseProgram program, Shapes shapes) : function_(std::move(program)), shapes_(shapes) {}

  // `operation` names the struct in device code.
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init, std::string operation, Shapes shapes,
                                                const char* include = "elementwise.cuh") {
    ElementwiseProgram program;
    ElementwiseStep step{std::move(operation), {}, init.input_type(0), init.output_type(0)};
    for (int i = 0; i < init.num_inputs(); ++i) {
      program.inputs.push_back(init.input_type(i));
      step.operands.push_back(i);
    }
    program.outputs = {init.num_inputs()};
    program.include = Cat("weir/device/cuda/device_code/", include);
    program.steps = {std::move(step)};
    auto kernel = std::make_unique<ElementwiseKernel>(std::move(program), shapes);
    if (init.HasAttr("incompatible_shape_error")) {
      WEIR_ASSIGN_OR_RETURN(kernel->incompatible_shape_error_, init.Attr<bool>("incompatible_shape_error"));
      kernel->value_if_incompatible_ = init.schema().name == "NotEqual";
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    absl::InlinedVector<ElementwiseOperand, 3> inputs;
    absl::InlinedVector<int, 3> candidates;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      inputs.emplace_back(ctx.input(i));
      candidates.push_back(i);
    }
    Shape shape = inputs[0].shape;
    for (size_t i = 1; i < inputs.size(); ++i) {
      const Shape& other = inputs[i].shape;
      if (shapes_ == Shapes::kSameCount) {
        if (shape.num_elements() != other.num_elements()) {
          return InvalidArgument("The two arguments to a cwise op must have same number of elements, got ",
                                 shape.num_elements(), " and ", other.num_elements());
        }
        continue;
      }
      StatusOr<Shape> common = BroadcastShape(shape, other);
      if (!common.ok() && !incompatible_shape_error_) return Incompatible(ctx);
      WEIR_RETURN_IF_ERROR(common.status());
      shape = *std::move(common);
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocateOutput(candidates, 0, shape));
    Tensor* const outputs[] = {out};
    return function_.Run(ctx, inputs, shape, outputs);
  }

 private:
  // Operands that cannot be equal, as old graphs ask for it.
  Status Incompatible(KernelContext& ctx) const {
    const bool value = value_if_incompatible_;
    WEIR_ASSIGN_OR_RETURN(Tensor made, Upload(ctx, &value, sizeof(value)));
    WEIR_ASSIGN_OR_RETURN(Tensor out, made.Bitcast(DType::kBool, Shape()));
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }

  const ElementwiseFunction function_;
  const Shapes shapes_;
  bool incompatible_shape_error_ = true;
  bool value_if_incompatible_ = false;
};

KernelFactory Elementwise(std::string operation, Shapes shapes = Shapes::kBroadcast,
                          const char* include = "elementwise.cuh") {
  return [operation = std::move(operation), shapes, include](const KernelInit& init) {
    return ElementwiseKernel::Make(init, operation, shapes, include);
  };
}

// An operation with a float attribute: the number's bits are a template argument.
KernelFactory WithAttribute(std::string operation, std::string attr, Shapes shapes) {
  return [=](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
    WEIR_ASSIGN_OR_RETURN(float value, init.Attr<float>(attr));
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return ElementwiseKernel::Make(init, Cat(operation, "<", bits, "u>"), shapes);
  };
}

StatusOr<std::unique_ptr<Kernel>> MakeCast(const KernelInit& init) {
  WEIR_ASSIGN_OR_RETURN(bool truncate, init.Attr<bool>("Truncate"));
  return ElementwiseKernel::Make(init, Cat(truncate ? "CutCast<" : "Cast<", DeviceTypeName(init.output_type(0)), ">"),
                                 Shapes::kBroadcast);
}

// Of the types that device code has: others are cast on the host.
void RegisterCast(GpuRegistry& registry) {
  const auto found = registry.table().find("Cast");
  if (found == registry.table().end()) return;
  for (const GpuCombination& combination : found->second) {
    KernelEntry entry;
    entry.op = "Cast";
    entry.device_type = kDeviceType;
    entry.constraints = combination.types;
    entry.factory = MakeCast;
    bool has_types = true;
    for (KernelEntry::Constraint& constraint : entry.constraints) {
      std::erase_if(constraint.types, [](DType dtype) { return !IsBuilt(dtype) || DeviceTypeName(dtype).empty(); });
      has_types &= !constraint.types.empty();
    }
    if (has_types) registry.kernels().Register(std::move(entry));
  }
}

}  // namespace

void RegisterElementwiseKernels(GpuRegistry& registry) {
  for (const ElementwiseOperation& operation : ElementwiseOperations()) {
    registry.Add(
        operation.op,
        Elementwise(operation.name, operation.broadcasts ? Shapes::kBroadcast : Shapes::kSameCount, operation.include));
  }
  registry.Add("SelectV2", Elementwise("Select3"));
  RegisterCast(registry);
  registry.Add("LeakyRelu", WithAttribute("LeakyRelu", "alpha", Shapes::kBroadcast));
  registry.Add("LeakyReluGrad", WithAttribute("LeakyReluGrad", "alpha", Shapes::kSameCount));
  registry.Add("ApproximateEqual", WithAttribute("ApproximateEqual", "tolerance", Shapes::kSameCount));
}

}  // namespace weir::cuda
