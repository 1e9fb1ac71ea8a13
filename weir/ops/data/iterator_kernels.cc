// Iterators: how steps make, name, advance, save and delete them.
#include "weir/framework/call_kernel.h"
#include "weir/framework/kernel_registry.h"
#include "weir/framework/resource_node.h"
#include "weir/ops/data/background.h"
#include "weir/ops/data/iterator_resource.h"
#include "weir/ops/data/optional.h"
#include "weir/ops/data/register.h"
#include "weir/proto/tensor.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

StatusOr<ElementSpec> SpecOf(const KernelInit& init) {
  ElementSpec spec;
  WEIR_ASSIGN_OR_RETURN(spec.types, init.Attr<std::vector<DType>>("output_types"));
  WEIR_ASSIGN_OR_RETURN(spec.shapes, init.Attr<std::vector<PartialShape>>("output_shapes"));
  if (spec.types.size() != spec.shapes.size()) {
    return InvalidArgument("output_types and output_shapes must be same length, got:\noutput_types: ",
                           spec.types.size(), "\noutput_shapes: ", spec.shapes.size());
  }
  return spec;
}

Status CheckFits(const ElementSpec& expected, const ElementSpec& received) {
  WEIR_RETURN_IF_ERROR(CheckTypesMatch(expected.types, received.types));
  return CheckShapesCompatible(expected.shapes, received.shapes);
}

// Iterator and IteratorV2.
class IteratorHandleKernel : public ResourceNodeKernel {
 public:
  IteratorHandleKernel(const KernelInit& init, ResourceKey key, ElementSpec spec)
      : ResourceNodeKernel(init, std::move(key), IteratorResource::kTypeName), spec_(std::move(spec)) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(ResourceKey key, NodeResourceKey(init, /*use_node_name=*/false));
    WEIR_ASSIGN_OR_RETURN(ElementSpec spec, SpecOf(init));
    return std::unique_ptr<Kernel>(std::make_unique<IteratorHandleKernel>(init, std::move(key), std::move(spec)));
  }

 private:
  StatusOr<std::shared_ptr<Resource>> Create(KernelContext& ctx) override {
    return std::shared_ptr<Resource>(std::make_shared<IteratorResource>(spec_));
  }
  Status Verify(const Resource& resource) override {
    return CheckFits(spec_, static_cast<const IteratorResource&>(resource).spec());
  }
  const ElementSpec spec_;
};

// What deletes an anonymous iterator; nothing but the handle knows it.
class IteratorDeleter : public VariantValue {
 public:
  std::string_view type_name() const override { return "tensorflow::ResourceDeleter"; }
};

// AnonymousIterator, V2 and V3: a new iterator each time. That of V3 lives as long as its handle.
class AnonymousIteratorKernel : public Kernel {
 public:
  AnonymousIteratorKernel(ElementSpec spec, bool counted) : spec_(std::move(spec)), counted_(counted) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(ElementSpec spec, SpecOf(init));
    const bool counted = init.schema().name == "AnonymousIteratorV3";
    return std::unique_ptr<Kernel>(std::make_unique<AnonymousIteratorKernel>(std::move(spec), counted));
  }
  Status Compute(KernelContext& ctx) override {
    auto resource = std::make_shared<IteratorResource>(spec_);
    ResourceKey key;
    key.container = ctx.resources().default_container();
    key.name = Cat("AnonymousIterator", ResourceManager::NextUniqueId());
    ResourceHandle handle = MakeResourceHandle(ctx.device(), key, IteratorResource::kTypeName);
    if (counted_) {
      handle.resource = std::move(resource);
    } else {
      WEIR_RETURN_IF_ERROR(ctx.resources().Create(key.container, key.name, std::move(resource)));
    }
    ctx.set_output(0, HandleTensor(std::move(handle)));
    if (ctx.num_outputs() > 1) {
      ctx.set_output(1, Tensor::Scalar(Variant(std::shared_ptr<VariantValue>(std::make_shared<IteratorDeleter>()))));
    }
    return OkStatus();
  }

 private:
  const ElementSpec spec_;
  const bool counted_;
};

class MakeIteratorKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(DatasetPtr dataset, DatasetFromTensor(ctx.input(0)));
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<IteratorResource> iterator, LookUpResource<IteratorResource>(ctx, 1));
    WEIR_ASSIGN_OR_RETURN(WalkSetup setup, WalkSetup::From(ctx));
    return iterator->Start(std::move(dataset), std::move(setup));
  }
};

// An iterator over the dataset that a function makes, at the first use.
class OneShotIteratorKernel : public AsyncKernel {
 public:
  OneShotIteratorKernel(const KernelInit& init, FunctionAttr factory, ResourceKey key, ElementSpec spec)
      : factory_(std::move(factory)),
        key_(std::move(key)),
        spec_(std::move(spec)),
        resources_(init.device()->shared_resources()) {}
  ~OneShotIteratorKernel() override {
    if (key_.is_private) {
      resources_->Delete(key_.container, IteratorResource::kTypeName, key_.name).IgnoreError();
    }
  }
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(FunctionAttr factory, init.Attr<FunctionAttr>("dataset_factory"));
    WEIR_ASSIGN_OR_RETURN(ResourceKey key, NodeResourceKey(init, /*use_node_name=*/false));
    WEIR_ASSIGN_OR_RETURN(ElementSpec spec, SpecOf(init));
    return std::unique_ptr<Kernel>(
        std::make_unique<OneShotIteratorKernel>(init, std::move(factory), std::move(key), std::move(spec)));
  }

  void ComputeAsync(KernelContext& ctx, Completion done) override {
    {
      absl::MutexLock lock(&mu_);
      // Not started yet, or not successfully, or its container was cleared.
      if (resource_.expired()) {
        waiting_.push_back({&ctx, std::move(done)});
        if (starting_) return;
        starting_ = true;
      }
    }
    if (done) return done(Output(ctx, OkStatus()));
    factory_.Run(ctx.step(), {}, [this, &ctx](Status status, Element results) {
      if (status.ok()) status = Start(ctx, results);
      std::vector<Waiting> waiting;
      {
        absl::MutexLock lock(&mu_);
        starting_ = false;
        waiting.swap(waiting_);
      }
      for (Waiting& one : waiting) one.done(Output(*one.ctx, status));
    });
  }

 private:
  struct Waiting {
    KernelContext* ctx;
    Completion done;
  };
  Status Start(KernelContext& ctx, const Element& results) {
    if (results.size() != 1 || results[0].dtype() != DType::kVariant || !results[0].shape().IsScalar()) {
      return InvalidArgument("The `dataset_factory` function must return a single scalar of dtype DT_VARIANT.");
    }
    WEIR_ASSIGN_OR_RETURN(DatasetPtr dataset, DatasetFromTensor(results[0]));
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<IteratorResource> resource,
                          ctx.resources().LookUpOrCreate<IteratorResource>(
                              key_.container, key_.name, [this]() -> StatusOr<std::shared_ptr<IteratorResource>> {
                                return std::make_shared<IteratorResource>(spec_);
                              }));
    WEIR_RETURN_IF_ERROR(CheckFits(spec_, resource->spec()));
    WEIR_ASSIGN_OR_RETURN(WalkSetup setup, WalkSetup::From(ctx));
    WEIR_RETURN_IF_ERROR(resource->Start(std::move(dataset), std::move(setup)));
    absl::MutexLock lock(&mu_);
    resource_ = resource;
    return OkStatus();
  }
  Status Output(KernelContext& ctx, Status status) {
    if (status.ok()) {
      ctx.set_output(0, HandleTensor(MakeResourceHandle(ctx.device(), key_, IteratorResource::kTypeName)));
    }
    return status;
  }

  LazyFunction factory_;
  const ResourceKey key_;
  const ElementSpec spec_;
  const std::shared_ptr<ResourceManager> resources_;
  absl::Mutex mu_;
  bool starting_ ABSL_GUARDED_BY(mu_) = false;
  std::weak_ptr<IteratorResource> resource_ ABSL_GUARDED_BY(mu_);
  std::vector<Waiting> waiting_ ABSL_GUARDED_BY(mu_);
};

class GetNextKernel : public AsyncKernel {
 public:
  explicit GetNextKernel(ElementSpec spec) : spec_(std::move(spec)) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(ElementSpec spec, SpecOf(init));
    return std::unique_ptr<Kernel>(std::make_unique<GetNextKernel>(std::move(spec)));
  }
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    StatusOr<std::shared_ptr<Walk>> walk = FindWalk(ctx);
    if (!walk.ok()) return done(walk.status());
    auto finish = std::make_shared<Completion>(std::move(done));
    (*walk)->GetNext(ctx.cancellation(), [this, walk = *walk, &ctx, finish](Status status, Element element, bool end) {
      if (status.ok()) status = Deliver(ctx, std::move(element), end);
      (*finish)(std::move(status));
    });
  }

 protected:
  virtual Status Deliver(KernelContext& ctx, Element element, bool end) {
    if (end) return OutOfRange("End of sequence");
    WEIR_RETURN_IF_ERROR(CheckElement(spec_, element));
    return SetOutputs(ctx, std::move(element));
  }
  const ElementSpec spec_;

 private:
  StatusOr<std::shared_ptr<Walk>> FindWalk(KernelContext& ctx) {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<IteratorResource> iterator, LookUpResource<IteratorResource>(ctx, 0));
    return iterator->walk("GetNext");
  }
};

class GetNextAsOptionalKernel : public GetNextKernel {
 public:
  using GetNextKernel::GetNextKernel;
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(ElementSpec spec, SpecOf(init));
    return std::unique_ptr<Kernel>(std::make_unique<GetNextAsOptionalKernel>(std::move(spec)));
  }

 private:
  Status Deliver(KernelContext& ctx, Element element, bool end) override {
    auto optional = std::make_shared<Optional>();
    if (!end) {
      WEIR_RETURN_IF_ERROR(CheckElement(spec_, element));
      optional->components = std::move(element);
    }
    ctx.set_output(0, Tensor::Scalar(Variant(std::static_pointer_cast<VariantValue>(std::move(optional)))));
    return OkStatus();
  }
};

class IteratorToStringHandleKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<IteratorResource> iterator, LookUpResource<IteratorResource>(ctx, 0));
    WEIR_ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleInput(ctx, 0));
    ResourceHandleProto proto;
    ToProto(*handle, &proto);
    ctx.set_output(0, Tensor::Scalar(proto.SerializeAsString()));
    return OkStatus();
  }
};

class IteratorFromStringHandleKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<IteratorFromStringHandleKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->spec_.types, init.Attr<std::vector<DType>>("output_types"));
    WEIR_ASSIGN_OR_RETURN(kernel->spec_.shapes, init.Attr<std::vector<PartialShape>>("output_shapes"));
    const ElementSpec& spec = kernel->spec_;
    if (!spec.types.empty() && !spec.shapes.empty() && spec.types.size() != spec.shapes.size()) {
      return InvalidArgument("If both 'output_types' and 'output_shapes' are set, they must have the same length.");
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor& text = ctx.input(0);
    if (!text.shape().IsScalar()) return InvalidArgument("string_handle must be a scalar");
    ResourceHandleProto proto;
    if (!proto.ParseFromString(text.scalar<std::string>())) {
      return InvalidArgument("Could not parse string_handle as a valid ResourceHandle");
    }
    WEIR_ASSIGN_OR_RETURN(ResourceHandle handle, FromProto(proto));
    if (handle.device != ctx.device().name()) {
      return InvalidArgument("Attempted create an iterator on device \"", ctx.device().name(),
                             "\" from handle defined on device \"", handle.device, "\"");
    }
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<IteratorResource> iterator,
                          ctx.resources().LookUp<IteratorResource>(handle.container, handle.name));
    if (!spec_.types.empty()) WEIR_RETURN_IF_ERROR(CheckTypesMatch(spec_.types, iterator->spec().types));
    if (!spec_.shapes.empty()) WEIR_RETURN_IF_ERROR(CheckShapesCompatible(spec_.shapes, iterator->spec().shapes));
    ctx.set_output(0, HandleTensor(std::move(handle)));
    return OkStatus();
  }

 private:
  ElementSpec spec_;
};

class SerializeIteratorKernel : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    auto iterator = LookUpResource<IteratorResource>(ctx, 0);
    if (!iterator.ok()) return done(iterator.status());
    auto walk = (*iterator)->walk("Save");
    if (!walk.ok()) return done(walk.status());
    auto finish = std::make_shared<Completion>(std::move(done));
    (*walk)->Save(ctx.cancellation(), [walk = *walk, &ctx, finish](StatusOr<Tensor> position) {
      if (position.ok()) ctx.set_output(0, *std::move(position));
      (*finish)(position.status());
    });
  }
};

class DeserializeIteratorKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<IteratorResource> iterator, LookUpResource<IteratorResource>(ctx, 0));
    const Tensor& position = ctx.input(1);
    const IteratorState* state =
        position.num_elements() == 1 ? position.data<Variant>()[0].get_if<IteratorState>() : nullptr;
    if (state == nullptr) return InvalidArgument("The tensor holds no position of an iterator");
    return iterator->Restore(*state);
  }
};

class DeleteIteratorKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleInput(ctx, 0));
    // The iterator may have been deleted by its container's reset.
    return ctx.resources().Delete(handle->container, IteratorResource::kTypeName, handle->name);
  }
};

class IteratorGetDeviceKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar(ctx.device().name()));
    return OkStatus();
  }
};

}  // namespace

void RegisterIteratorKernels(KernelRegistry& registry) {
  RegisterVariantDecoder(IteratorState::kTypeName, IteratorState::Decode);
  for (const char* op : {"Iterator", "IteratorV2"}) registry.Add(KernelBuilder(op), MakeKernel<IteratorHandleKernel>);
  for (const char* op : {"AnonymousIterator", "AnonymousIteratorV2", "AnonymousIteratorV3"}) {
    registry.Add(KernelBuilder(op), MakeKernel<AnonymousIteratorKernel>);
  }
  for (const char* op : {"IteratorGetNext", "IteratorGetNextSync"}) {
    registry.Add(KernelBuilder(op), MakeKernel<GetNextKernel>);
  }
  for (const char* op : {"IteratorFromStringHandle", "IteratorFromStringHandleV2"}) {
    registry.Add(KernelBuilder(op), MakeKernel<IteratorFromStringHandleKernel>);
  }
  for (const char* op : {"IteratorGetDevice", "ExperimentalIteratorGetDevice"}) {
    registry.Add(KernelBuilder(op), MakeKernel<IteratorGetDeviceKernel>);
  }
  registry.Add(KernelBuilder("MakeIterator"), MakeKernel<MakeIteratorKernel>);
  registry.Add(KernelBuilder("OneShotIterator"), MakeKernel<OneShotIteratorKernel>);
  registry.Add(KernelBuilder("IteratorGetNextAsOptional"), MakeKernel<GetNextAsOptionalKernel>);
  registry.Add(KernelBuilder("IteratorToStringHandle"), MakeKernel<IteratorToStringHandleKernel>);
  registry.Add(KernelBuilder("SerializeIterator"), MakeKernel<SerializeIteratorKernel>);
  registry.Add(KernelBuilder("DeserializeIterator"), MakeKernel<DeserializeIteratorKernel>);
  registry.Add(KernelBuilder("DeleteIterator"), MakeKernel<DeleteIteratorKernel>);
}

}  // namespace weir
