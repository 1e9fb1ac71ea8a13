#include "weir/framework/kernel_registry.h"
#include "weir/framework/resource_node.h"
#include "weir/ops/queue/queue_kinds.h"
#include "weir/ops/queue/register.h"
#include "weir/ops/queue/step_resource.h"

namespace weir {
namespace {

class QueueHandleKernel : public ResourceNodeKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    QueueSpec spec;
    std::string_view op = init.schema().name;
    if (op.ends_with("V2")) op.remove_suffix(2);
    spec.kind = op;
    WEIR_ASSIGN_OR_RETURN(spec.capacity, init.Attr<int64_t>("capacity"));
    WEIR_ASSIGN_OR_RETURN(spec.types, init.Attr<std::vector<DType>>("component_types"));
    WEIR_ASSIGN_OR_RETURN(spec.shapes, init.Attr<std::vector<PartialShape>>("shapes"));
    if (op == "RandomShuffleQueue") {
      WEIR_ASSIGN_OR_RETURN(spec.min_after_dequeue, init.Attr<int64_t>("min_after_dequeue"));
      WEIR_ASSIGN_OR_RETURN(spec.seed, init.Attr<int64_t>("seed"));
      WEIR_ASSIGN_OR_RETURN(spec.seed2, init.Attr<int64_t>("seed2"));
    }
    WEIR_RETURN_IF_ERROR(NormalizeQueueSpec(spec));
    WEIR_ASSIGN_OR_RETURN(ResourceKey key, NodeResourceKey(init, /*use_node_name=*/false));
    return std::make_unique<QueueHandleKernel>(init, std::move(key), std::move(spec));
  }
  QueueHandleKernel(const KernelInit& init, ResourceKey key, QueueSpec spec)
      : ResourceNodeKernel(init, std::move(key), Queue::kTypeName), spec_(std::move(spec)) {}

 protected:
  StatusOr<std::shared_ptr<Resource>> Create(KernelContext&) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Queue> queue, MakeQueue(key().name, spec_));
    return queue;
  }
  Status Verify(const Resource& resource) override { return static_cast<const Queue&>(resource).CheckSameSpec(spec_); }

 private:
  const QueueSpec spec_;
};

// The string pair for a queue's resource handle.
class FakeQueueKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleInput(ctx, 0));
    ctx.set_output_ref(0, MakeRefHandle(handle->container, handle->name));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

}  // namespace

void RegisterQueueHandleKernels(KernelRegistry& registry) {
  for (const char* op : {"FIFOQueue", "FIFOQueueV2", "RandomShuffleQueue", "RandomShuffleQueueV2", "PaddingFIFOQueue",
                         "PaddingFIFOQueueV2", "PriorityQueue", "PriorityQueueV2"}) {
    registry.Add(KernelBuilder(op), MakeKernel<QueueHandleKernel>);
  }
  registry.Add(KernelBuilder("FakeQueue"), MakeKernel<FakeQueueKernel>);
}

}  // namespace weir
