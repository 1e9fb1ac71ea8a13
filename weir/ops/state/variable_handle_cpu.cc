// Handles of resource variables, and what can be asked of them without the value.
#include "weir/framework/resource_node.h"
#include "weir/ops/state/register.h"
#include "weir/resources/variable.h"

namespace weir {
namespace {

// The shared_name by which clients ask for a variable that only its handle can reach.
constexpr std::string_view kAnonymousName = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";

ResourceHandle VariableHandle(const Device& device, const ResourceKey& key, DType dtype, const PartialShape& shape) {
  ResourceHandle handle = MakeResourceHandle(device, key, VariableResource::kTypeName);
  handle.dtypes_and_shapes.push_back({dtype, shape});
  return handle;
}

class VarHandleKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<VarHandleKernel>();
    WEIR_ASSIGN_OR_RETURN(ResourceKey key, NodeResourceKey(init, /*use_node_name=*/true));
    WEIR_ASSIGN_OR_RETURN(kernel->dtype_, init.Attr<DType>("dtype"));
    WEIR_ASSIGN_OR_RETURN(PartialShape shape, init.Attr<PartialShape>("shape"));
    kernel->is_anonymous_ = key.name == kAnonymousName;
    kernel->prototype_ = VariableHandle(*init.device(), key, kernel->dtype_, shape);
    if (!kernel->is_anonymous_) kernel->handle_ = HandleTensor(kernel->prototype_);
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    if (!is_anonymous_) {
      ctx.set_output(0, handle_);
      return OkStatus();
    }
    ResourceHandle handle = prototype_;
    handle.name = Cat("_AnonymousVar", ResourceManager::NextUniqueId());
    handle.resource = std::make_shared<VariableResource>(dtype_);
    ctx.set_output(0, HandleTensor(std::move(handle)));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }

 private:
  bool is_anonymous_ = false;
  DType dtype_ = DType::kInvalid;
  ResourceHandle prototype_;
  Tensor handle_;
};

class VarHandlesKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<VarHandlesKernel>();
    WEIR_ASSIGN_OR_RETURN(auto containers, init.Attr<std::vector<std::string>>("containers"));
    WEIR_ASSIGN_OR_RETURN(auto names, init.Attr<std::vector<std::string>>("shared_names"));
    WEIR_ASSIGN_OR_RETURN(auto dtypes, init.Attr<std::vector<DType>>("dtypes"));
    WEIR_ASSIGN_OR_RETURN(auto shapes, init.Attr<std::vector<PartialShape>>("shapes"));
    if (init.device() == nullptr) return Internal("_VarHandlesOp needs a device");
    size_t count = static_cast<size_t>(init.num_outputs());
    if (containers.size() != count || names.size() != count || dtypes.size() != count || shapes.size() != count) {
      return InvalidArgument("containers, shared_names, dtypes and shapes must have ", count, " elements each");
    }
    for (size_t i = 0; i < count; ++i) {
      ResourceKey key{containers[i], names[i]};
      if (key.container.empty()) key.container = init.device()->resources().default_container();
      kernel->handles_.push_back(HandleTensor(VariableHandle(*init.device(), key, dtypes[i], shapes[i])));
    }
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    for (size_t i = 0; i < handles_.size(); ++i) ctx.set_output(static_cast<int>(i), handles_[i]);
    return OkStatus();
  }
  bool is_expensive() const override { return false; }

 private:
  std::vector<Tensor> handles_;
};

class VarIsInitializedKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    auto variable = LookUpResource<VariableResource>(ctx, 0);
    ctx.set_output(0, Tensor::Scalar(variable.ok() && (*variable)->Read().has_value()));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

class VariableShapeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<VariableResource> variable, LookUpResource<VariableResource>(ctx, 0));
    Tensor value = variable->Read();
    if (!value.has_value()) {
      const ResourceHandle& handle = ctx.input(0).scalar<ResourceHandle>();
      return UninitializedVariable(handle.container, handle.name);
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({value.rank()})));
    for (int i = 0; i < value.rank(); ++i) {
      if (out->dtype() == DType::kInt64) {
        out->data<int64_t>()[i] = value.dim(i);
      } else if (value.dim(i) <= std::numeric_limits<int32_t>::max()) {
        out->data<int32_t>()[i] = static_cast<int32_t>(value.dim(i));
      } else {
        return InvalidArgument("VariableShape output with type int32 cannot represent dimension ", value.dim(i));
      }
    }
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

class DestroyResourceKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<DestroyResourceKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->ignore_lookup_error_, init.Attr<bool>("ignore_lookup_error"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleInput(ctx, 0));
    if (handle->resource != nullptr) return OkStatus();  // dies with its last handle
    Status status = ctx.resources().Delete(handle->container, handle->type_name, handle->name);
    return ignore_lookup_error_ && absl::IsNotFound(status) ? OkStatus() : status;
  }
  bool is_expensive() const override { return false; }

 private:
  bool ignore_lookup_error_ = true;
};

// Reads never copy here, so there is nothing to turn off.
class DisableCopyOnReadKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override { return LookUpResource<VariableResource>(ctx, 0).status(); }
  bool is_expensive() const override { return false; }
};

}  // namespace

void RegisterVariableHandleKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("VarHandleOp"), MakeKernel<VarHandleKernel>);
  registry.Add(KernelBuilder("_VarHandlesOp"), MakeKernel<VarHandlesKernel>);
  registry.Add(KernelBuilder("VarIsInitializedOp"), MakeKernel<VarIsInitializedKernel>);
  registry.Add(KernelBuilder("VariableShape"), MakeKernel<VariableShapeKernel>);
  registry.Add(KernelBuilder("DestroyResourceOp"), MakeKernel<DestroyResourceKernel>);
  registry.Add(KernelBuilder("DisableCopyOnRead"), MakeKernel<DisableCopyOnReadKernel>);
}

}  // namespace weir
