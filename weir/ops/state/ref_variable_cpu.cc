// Ref variables and temporary ones: nodes that make the memory behind ref edges.
#include "weir/device/cpu/kernel_arithmetic.h"
#include "weir/framework/resource_node.h"
#include "weir/ops/state/register.h"
#include "weir/ops/state/update_variable.h"

namespace weir {
namespace {

// Holds the cell by its name, so that every session and graph that names the variable sees the same memory.
class RefVariable : public Resource {
 public:
  static constexpr std::string_view kTypeName = "N10tensorflow9LegacyVarE";
  explicit RefVariable(RefPtr<RefCell> cell) : cell_(std::move(cell)) {}
  std::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override {
    absl::ReaderMutexLock lock(&cell_->mu);
    return Cat(Name(cell_->dtype), "/",
               cell_->tensor.has_value() ? cell_->tensor.shape().ToString() : std::string("<uninitialized>"));
  }
  int64_t MemoryUsed() const override {
    absl::ReaderMutexLock lock(&cell_->mu);
    return static_cast<int64_t>(cell_->tensor.total_bytes());
  }
  const RefPtr<RefCell>& cell() const { return cell_; }

 private:
  RefPtr<RefCell> cell_;
};

class TemporaryVariableResource : public RefVariable {
 public:
  static constexpr std::string_view kTypeName = "N10tensorflow19TemporaryVariableOp6TmpVarE";
  using RefVariable::RefVariable;
  std::string_view type_name() const override { return kTypeName; }
};

RefPtr<RefCell> MakeCell(std::string_view name, DType dtype, PartialShape shape) {
  RefPtr<RefCell> cell = MakeRef<RefCell>();
  cell->dtype = dtype;
  cell->name = name;
  cell->shape = std::move(shape);
  return cell;
}

class VariableKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<VariableKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->key_, NodeResourceKey(init, /*use_node_name=*/true));
    WEIR_ASSIGN_OR_RETURN(kernel->shape_, init.Attr<PartialShape>("shape"));
    WEIR_ASSIGN_OR_RETURN(kernel->dtype_, init.Attr<DType>("dtype"));
    kernel->node_name_ = init.node_name();
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    absl::MutexLock lock(&mu_);
    if (!cell_) {
      WEIR_ASSIGN_OR_RETURN(auto variable,
                            ctx.resources().LookUpOrCreate<RefVariable>(
                                key_.container, key_.name, [&]() -> StatusOr<std::shared_ptr<RefVariable>> {
                                  return std::make_shared<RefVariable>(MakeCell(node_name_, dtype_, shape_));
                                }));
      if (variable->cell()->dtype != dtype_) {
        return InvalidArgument("Variable ", key_.name, " is of type ", Name(variable->cell()->dtype), ", not ",
                               Name(dtype_));
      }
      cell_ = variable->cell();
    }
    ctx.set_output_ref(0, cell_);
    return OkStatus();
  }
  bool is_expensive() const override { return false; }

 private:
  ResourceKey key_;
  std::string node_name_;
  PartialShape shape_;
  DType dtype_ = DType::kInvalid;
  absl::Mutex mu_;
  RefPtr<RefCell> cell_ ABSL_GUARDED_BY(mu_);
};

// Unique in its step, frame and iteration.
StatusOr<std::string> TemporaryName(const KernelContext& ctx, std::string_view name) {
  if (ctx.step().step_resources == nullptr) return Internal("A step without resources cannot hold temporary variables");
  return Cat(name, "/frame:", ctx.frame_id(), "/iter:", ctx.iteration());
}

class TemporaryVariableKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<TemporaryVariableKernel>();
    WEIR_ASSIGN_OR_RETURN(PartialShape shape, init.Attr<PartialShape>("shape"));
    std::optional<Shape> full = shape.ToShape();
    if (!full) return InvalidArgument("The shape of a temporary variable must be known, got ", shape.ToString());
    kernel->shape_ = *full;
    WEIR_ASSIGN_OR_RETURN(kernel->dtype_, init.Attr<DType>("dtype"));
    WEIR_ASSIGN_OR_RETURN(kernel->name_, init.Attr<std::string>("var_name"));
    if (kernel->name_.empty()) kernel->name_ = init.node_name();
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::string name, TemporaryName(ctx, name_));
    WEIR_ASSIGN_OR_RETURN(Tensor memory, KernelArithmetic(ctx).Zeros(dtype_, shape_));
    RefPtr<RefCell> cell = MakeCell(ctx.node_name(), dtype_, shape_);
    {
      absl::MutexLock lock(&cell->mu);
      cell->tensor = std::move(memory);
    }
    WEIR_RETURN_IF_ERROR(
        ctx.step().step_resources->Create("", name, std::make_shared<TemporaryVariableResource>(cell)));
    ctx.set_output_ref(0, std::move(cell));
    return OkStatus();
  }

 private:
  Shape shape_;
  DType dtype_ = DType::kInvalid;
  std::string name_;
};

class DestroyTemporaryVariableKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<DestroyTemporaryVariableKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->name_, init.Attr<std::string>("var_name"));
    if (kernel->name_.empty()) return InvalidArgument("Missing var_name attribute");
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    Tensor value;
    {
      RefCell& cell = ctx.ref_input(0);
      absl::MutexLock lock(&cell.mu);
      value = cell.tensor;
    }
    WEIR_ASSIGN_OR_RETURN(std::string name, TemporaryName(ctx, name_));
    WEIR_RETURN_IF_ERROR(ctx.step().step_resources->Delete("", TemporaryVariableResource::kTypeName, name));
    ctx.set_output(0, std::move(value));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }

 private:
  std::string name_;
};

class IsVariableInitializedKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    RefCell& cell = ctx.ref_input(0);
    absl::ReaderMutexLock lock(&cell.mu);
    ctx.set_output(0, Tensor::Scalar(cell.tensor.has_value()));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

}  // namespace

void RegisterRefVariableKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Variable"), MakeKernel<VariableKernel>);
  registry.Add(KernelBuilder("VariableV2"), MakeKernel<VariableKernel>);
  registry.Add(KernelBuilder("TemporaryVariable"), MakeKernel<TemporaryVariableKernel>);
  registry.Add(KernelBuilder("DestroyTemporaryVariable"), MakeKernel<DestroyTemporaryVariableKernel>);
  registry.Add(KernelBuilder("IsVariableInitialized"), MakeKernel<IsVariableInitializedKernel>);
}

}  // namespace weir
