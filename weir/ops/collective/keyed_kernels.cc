// Collectives whose group and instance are named by keys: by attributes in the first version, by inputs in the second.
#include "weir/framework/kernel_registry.h"
#include "weir/ops/collective/collective_kernel.h"
#include "weir/ops/collective/register.h"

namespace weir {
namespace {

using ReduceTypes = TypeList<BFloat16, float, Half, double, int32_t, int64_t>;
using GatherTypes = TypeList<float, Half, double, int32_t, int64_t>;
using BroadcastTypes = TypeList<bool, float, Half, double, int32_t, int64_t>;

enum class Role { kPlain, kSource, kReceiver };

// What a kernel knows before its first run.
struct KeyedNode {
  CollectiveSpec spec;
  Role role = Role::kPlain;
  absl::Duration timeout;
};

Status ReadNode(const KernelInit& init, CollectiveKind kind, Role role, KeyedNode* out) {
  KeyedNode& node = *out;
  node.role = role;
  node.spec.kind = kind;
  node.spec.is_source = role == Role::kSource;
  WEIR_ASSIGN_OR_RETURN(node.spec.dtype, init.Attr<DType>("T"));
  WEIR_ASSIGN_OR_RETURN(node.timeout, CollectiveTimeout(init));
  if (init.HasAttr("merge_op")) {
    WEIR_ASSIGN_OR_RETURN(std::string merge, init.Attr<std::string>("merge_op"));
    WEIR_ASSIGN_OR_RETURN(node.spec.merge, ParseMergeOp(merge));
    WEIR_ASSIGN_OR_RETURN(std::string final_op, init.Attr<std::string>("final_op"));
    node.spec.divide = final_op == "Div";
  }
  if (init.HasAttr("max_subdivs_per_device")) {
    WEIR_ASSIGN_OR_RETURN(int64_t subdivs, init.Attr<int64_t>("max_subdivs_per_device"));
    node.spec.max_subdivs = static_cast<int>(subdivs);
  }
  return OkStatus();
}

// The value and its shape; a receiver's shape is known already.
void TakeValue(KernelContext& ctx, const KeyedNode& node, CollectiveCall* call) {
  call->spec = node.spec;
  call->timeout = node.timeout;
  if (node.role == Role::kReceiver) return;
  call->input = ctx.input(0);
  call->spec.shape = call->input.shape();
}

class AttrKeysKernel : public AsyncKernel {
 public:
  template <CollectiveKind kKind, Role kRole>
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<AttrKeysKernel>();
    WEIR_RETURN_IF_ERROR(ReadNode(init, kKind, kRole, &kernel->node_));
    for (auto [name, field] : {std::pair("group_size", &kernel->group_size_),
                               {"group_key", &kernel->group_key_},
                               {"instance_key", &kernel->instance_key_}}) {
      WEIR_ASSIGN_OR_RETURN(int64_t value, init.Attr<int64_t>(name));
      *field = static_cast<int32_t>(value);
    }
    if (kernel->group_size_ < 1) {
      return InvalidArgument("group_size must be positive, but is ", kernel->group_size_);
    }
    if (init.HasAttr("subdiv_offsets")) {
      WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> offsets, init.Attr<std::vector<int64_t>>("subdiv_offsets"));
      kernel->node_.spec.subdiv_offsets.assign(offsets.begin(), offsets.end());
      kernel->node_.spec.max_subdivs = 0;  // if there are none
    }
    if (kRole == Role::kReceiver) {
      WEIR_ASSIGN_OR_RETURN(PartialShape shape, init.Attr<PartialShape>("shape"));
      std::optional<Shape> whole = shape.ToShape();
      if (!whole.has_value()) {
        return InvalidArgument("The shape of what a broadcast brings must be known, but is ", shape.ToString());
      }
      kernel->node_.spec.shape = *whole;
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  void ComputeAsync(KernelContext& ctx, Completion done) override {
    CollectiveCall call;
    call.group_size = group_size_;
    call.group_key = group_key_;
    call.instance_key = instance_key_;
    TakeValue(ctx, node_, &call);
    StartCollective(ctx, std::move(call), std::move(done));
  }

 private:
  KeyedNode node_;
  int32_t group_size_ = 0;
  int32_t group_key_ = 0;
  int32_t instance_key_ = 0;
};

StatusOr<Shape> ShapeInput(const Tensor& shape) {
  if (shape.rank() != 1) return InvalidArgument("A shape must be a vector, but has shape ", shape.shape().ToString());
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    dims.push_back(shape.dtype() == DType::kInt32 ? shape.data<int32_t>()[i] : shape.data<int64_t>()[i]);
  }
  return Shape::Make(dims);
}

class InputKeysKernel : public AsyncKernel {
 public:
  template <CollectiveKind kKind, Role kRole>
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<InputKeysKernel>();
    WEIR_RETURN_IF_ERROR(ReadNode(init, kKind, kRole, &kernel->node_));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  void ComputeAsync(KernelContext& ctx, Completion done) override {
    CollectiveCall call;
    if (Status status = Read(ctx, &call); !status.ok()) return done(status);
    StartCollective(ctx, std::move(call), std::move(done));
  }

 private:
  Status Read(KernelContext& ctx, CollectiveCall* call) const {
    TakeValue(ctx, node_, call);
    const int first = node_.role == Role::kReceiver ? 0 : 1;
    WEIR_ASSIGN_OR_RETURN(call->group_size, ScalarInput(ctx, first, "group_size"));
    WEIR_ASSIGN_OR_RETURN(call->group_key, ScalarInput(ctx, first + 1, "group_key"));
    WEIR_ASSIGN_OR_RETURN(call->instance_key, ScalarInput(ctx, first + 2, "instance_key"));
    if (call->group_size < 1) return InvalidArgument("group_size must be positive, but is ", call->group_size);
    if (node_.role == Role::kReceiver) {
      WEIR_ASSIGN_OR_RETURN(call->spec.shape, ShapeInput(ctx.input(first + 3)));
    }
    if (node_.spec.kind == CollectiveKind::kGather && call->spec.shape.rank() < 1) {
      return InvalidArgument("A gather needs an input of rank 1 or more, not a scalar");
    }
    return OkStatus();
  }

  KeyedNode node_;
};

template <CollectiveKind kKind, Role kRole = Role::kPlain, typename... Ts>
void Add(KernelRegistry& registry, std::string_view name, TypeList<Ts...> types, bool has_first) {
  if (has_first) {
    registry.Add(KernelBuilder(name).Types("T", types), AttrKeysKernel::Make<kKind, kRole>);
  }
  KernelBuilder builder(Cat(name, "V2"));
  std::move(builder).Types("T", types);
  for (const char* key : {"group_size", "group_key", "instance_key"}) std::move(builder).HostMemory(key);
  if (kRole == Role::kReceiver) std::move(builder).HostMemory("shape");
  registry.Add(std::move(builder), InputKeysKernel::Make<kKind, kRole>);
}

}  // namespace

void RegisterKeyedCollectiveKernels(KernelRegistry& registry) {
  using Kind = CollectiveKind;
  Add<Kind::kReduce>(registry, "CollectiveReduce", ReduceTypes{}, true);
  Add<Kind::kGather>(registry, "CollectiveGather", GatherTypes{}, true);
  Add<Kind::kBroadcast, Role::kSource>(registry, "CollectiveBcastSend", BroadcastTypes{}, true);
  Add<Kind::kBroadcast, Role::kReceiver>(registry, "CollectiveBcastRecv", BroadcastTypes{}, true);
  Add<Kind::kAllToAll>(registry, "CollectiveAllToAll", ReduceTypes{}, false);
  Add<Kind::kReduceScatter>(registry, "CollectiveReduceScatter", ReduceTypes{}, false);
}

}  // namespace weir
