#include "weir/framework/kernel_registry.h"
#include "weir/ops/data/optional.h"
#include "weir/ops/data/register.h"

namespace weir {
namespace {

Tensor Wrapped(std::shared_ptr<VariantValue> value) { return Tensor::Scalar(Variant(std::move(value))); }

StatusOr<const Optional*> OptionalInput(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  if (!input.shape().IsScalar()) return InvalidArgument("Input must be a scalar variant");
  const Optional* optional = input.scalar<Variant>().get_if<Optional>();
  if (optional == nullptr) return InvalidArgument("Input is not an optional");
  return optional;
}

class OptionalFromValueKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    auto optional = std::make_shared<Optional>();
    optional->components.emplace();
    for (int i = 0; i < ctx.num_inputs(); ++i) optional->components->push_back(ctx.input(i));
    ctx.set_output(0, Wrapped(std::move(optional)));
    return OkStatus();
  }
};

class OptionalNoneKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, Wrapped(std::make_shared<Optional>()));
    return OkStatus();
  }
};

class OptionalHasValueKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const Optional* optional, OptionalInput(ctx));
    ctx.set_output(0, Tensor::Scalar(optional->components.has_value()));
    return OkStatus();
  }
};

class OptionalGetValueKernel : public Kernel {
 public:
  explicit OptionalGetValueKernel(std::vector<PartialShape> shapes) : shapes_(std::move(shapes)) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(std::vector<PartialShape> shapes, init.Attr<std::vector<PartialShape>>("output_shapes"));
    if (static_cast<int>(shapes.size()) != init.num_outputs()) {
      return InvalidArgument("output_types and output_shapes must be same length, got:\noutput_types: ",
                             init.num_outputs(), "\noutput_shapes: ", shapes.size());
    }
    return std::unique_ptr<Kernel>(std::make_unique<OptionalGetValueKernel>(std::move(shapes)));
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const Optional* optional, OptionalInput(ctx));
    if (!optional->components) return InvalidArgument("The given optional does not have a value.");
    const std::vector<Tensor> components = *optional->components;
    if (static_cast<int>(components.size()) != ctx.num_outputs()) {
      return InvalidArgument("The given optional has ", components.size(), " components, expected ", ctx.num_outputs());
    }
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      if (components[i].dtype() != ctx.output_type(i)) {
        return InvalidArgument("The given optional does not match the expected type for component ", i,
                               ". Expected: ", Name(ctx.output_type(i)), ". Actual: ", Name(components[i].dtype()),
                               ".");
      }
      if (!shapes_[i].IsCompatibleWith(components[i].shape())) {
        return InvalidArgument("The given optional does not match the expected shape for component ", i,
                               ". Expected: ", shapes_[i].ToString(), ". Actual: ", components[i].shape().ToString(),
                               ".");
      }
      ctx.set_output(i, components[i]);
    }
    return OkStatus();
  }

 private:
  const std::vector<PartialShape> shapes_;
};

}  // namespace

StatusOr<VariantData> Optional::Encode() const {
  VariantData data{std::string(kTypeName), std::string(1, components ? '\1' : '\0'), {}};
  if (components) data.tensors = *components;
  return data;
}

StatusOr<std::shared_ptr<VariantValue>> Optional::Decode(VariantData data) {
  auto optional = std::make_shared<Optional>();
  if (!data.metadata.empty() && data.metadata[0] != '\0') optional->components = std::move(data.tensors);
  return std::shared_ptr<VariantValue>(std::move(optional));
}

StatusOr<std::shared_ptr<VariantValue>> Optional::ZerosLike(TensorArithmetic& arithmetic) const {
  auto optional = std::make_shared<Optional>();
  if (components) {
    optional->components.emplace();
    for (const Tensor& component : *components) {
      WEIR_ASSIGN_OR_RETURN(Tensor zero, arithmetic.ZerosOf(component));
      optional->components->push_back(std::move(zero));
    }
  }
  return std::shared_ptr<VariantValue>(std::move(optional));
}

StatusOr<std::shared_ptr<VariantValue>> Optional::Add(const VariantValue& other, TensorArithmetic& arithmetic) const {
  const auto* right = dynamic_cast<const Optional*>(&other);
  if (right == nullptr) return InvalidArgument("An optional cannot be added to a ", other.type_name());
  if (components.has_value() != right->components.has_value()) {
    return InvalidArgument("Cannot add optionals because one has a value and the other doesn't.");
  }
  auto optional = std::make_shared<Optional>();
  if (components) {
    if (components->size() != right->components->size()) {
      return InvalidArgument("Cannot add optionals because they have different numbers of components (",
                             components->size(), " vs. ", right->components->size(), ").");
    }
    optional->components.emplace();
    for (size_t i = 0; i < components->size(); ++i) {
      WEIR_ASSIGN_OR_RETURN(Tensor sum, arithmetic.Sum((*components)[i], (*right->components)[i]));
      optional->components->push_back(std::move(sum));
    }
  }
  return std::shared_ptr<VariantValue>(std::move(optional));
}

std::shared_ptr<VariantValue> Optional::WithLocalTensors(std::vector<Tensor> copies) const {
  auto optional = std::make_shared<Optional>();
  if (components) optional->components = std::move(copies);
  return optional;
}

std::string Optional::DebugString() const {
  if (!components) return "OptionalVariant<None>";
  std::string text = "OptionalVariant<Values: (";
  for (const Tensor& component : *components) absl::StrAppend(&text, component.ToString(), ", ");
  return text + ")>";
}

void RegisterOptionalKernels(KernelRegistry& registry) {
  RegisterVariantDecoder(Optional::kTypeName, Optional::Decode);
  registry.Add(KernelBuilder("OptionalFromValue"), MakeKernel<OptionalFromValueKernel>);
  registry.Add(KernelBuilder("OptionalNone"), MakeKernel<OptionalNoneKernel>);
  registry.Add(KernelBuilder("OptionalHasValue"), MakeKernel<OptionalHasValueKernel>);
  registry.Add(KernelBuilder("OptionalGetValue"), MakeKernel<OptionalGetValueKernel>);
}

}  // namespace weir
