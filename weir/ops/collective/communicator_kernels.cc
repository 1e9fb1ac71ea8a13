// Communicators: groups with ranks that the program gives, and the collectives over them. CollectiveAssignGroupV2 picks
// one of several groups.
#include <atomic>

#include "weir/framework/kernel_registry.h"
#include "weir/framework/resource_node.h"
#include "weir/ops/collective/collective_kernel.h"
#include "weir/ops/collective/register.h"

namespace weir {
namespace {

using ReduceTypes = TypeList<BFloat16, float, Half, double, int32_t, int64_t>;
constexpr std::string_view kContainer = "collective_op_group";

class Communicator : public Resource {
 public:
  static constexpr std::string_view kTypeName = "weir::Communicator";
  Communicator(int32_t group_key, int32_t group_size, int32_t rank, absl::Duration timeout)
      : group_key(group_key), group_size(group_size), rank(rank), timeout(timeout) {}
  std::string_view type_name() const override { return kTypeName; }

  const int32_t group_key;
  const int32_t group_size;
  const int32_t rank;
  const absl::Duration timeout;
  std::atomic<int32_t> next_instance{0};  // collectives are told apart by their order, the same at every member
};

class InitializeCommunicatorKernel : public AsyncKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<InitializeCommunicatorKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->timeout_, CollectiveTimeout(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  void ComputeAsync(KernelContext& ctx, Completion done) override {
    GroupJoin join;
    auto read = [&]() -> Status {
      WEIR_ASSIGN_OR_RETURN(join.key, ScalarInput(ctx, 0, "group_key"));
      WEIR_ASSIGN_OR_RETURN(join.member.user_rank, ScalarInput(ctx, 1, "rank"));
      WEIR_ASSIGN_OR_RETURN(join.size, ScalarInput(ctx, 2, "group_size"));
      if (join.size < 1) return InvalidArgument("group_size must be positive, but is ", join.size);
      if (join.member.user_rank < 0 || join.member.user_rank >= join.size) {
        return InvalidArgument("A communicator of ", join.size, " has no rank ", join.member.user_rank);
      }
      return OkStatus();
    };
    if (Status status = read(); !status.ok()) return done(status);
    const DeviceInfo& device = ctx.device().info();
    join.member.device = device.name;
    join.member.device_type = device.device_type;
    join.member.incarnation = device.incarnation;
    auto domain = CollectiveDomain::Of(device);
    const absl::Duration timeout = timeout_ > absl::ZeroDuration() ? timeout_ : domain->options().timeout;
    join.deadline = std::min(absl::Now() + timeout, ctx.step().deadline - absl::Milliseconds(500));
    auto completion = std::make_shared<Completion>(std::move(done));
    domain->ResolveGroup(join, ctx.step().cancellation, [this, &ctx, join, completion](StatusOr<GroupPtr> group) {
      if (!group.ok()) return (*completion)(group.status());
      (*completion)(Publish(ctx, join));
    });
  }

 private:
  // A communicator that is there already stays: its members count their collectives from its beginning.
  Status Publish(KernelContext& ctx, const GroupJoin& join) {
    const ResourceKey key{std::string(kContainer), Cat(join.key, ":r", join.member.user_rank), false};
    auto found = ctx.resources().LookUpOrCreate<Communicator>(
        key.container, key.name, [&]() -> StatusOr<std::shared_ptr<Communicator>> {
          return std::make_shared<Communicator>(join.key, join.size, join.member.user_rank, timeout_);
        });
    if (!found.ok()) return found.status();
    if ((*found)->group_size != join.size) {
      return InvalidArgument("The communicator ", join.key, " has ", (*found)->group_size, " members, not ", join.size);
    }
    ctx.set_output(0, HandleTensor(MakeResourceHandle(ctx.device(), key, Communicator::kTypeName)));
    return OkStatus();
  }

  absl::Duration timeout_;
};

class CommunicatorCollectiveKernel : public AsyncKernel {
 public:
  template <CollectiveKind kKind>
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CommunicatorCollectiveKernel>();
    kernel->spec_.kind = kKind;
    WEIR_ASSIGN_OR_RETURN(kernel->spec_.dtype, init.Attr<DType>("T"));
    WEIR_ASSIGN_OR_RETURN(kernel->timeout_, CollectiveTimeout(init));
    if (init.HasAttr("reduction")) {
      WEIR_ASSIGN_OR_RETURN(std::string reduction, init.Attr<std::string>("reduction"));
      WEIR_ASSIGN_OR_RETURN(kernel->spec_.merge, ParseMergeOp(reduction));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  void ComputeAsync(KernelContext& ctx, Completion done) override {
    auto communicator = LookUpResource<Communicator>(ctx, 1);
    if (!communicator.ok()) return done(communicator.status());
    if (ctx.input(2).num_elements() > 0) {
      return done(InvalidArgument("A group_assignment is not supported: make a communicator for each group"));
    }
    CollectiveCall call;
    call.group_key = (*communicator)->group_key;
    call.group_size = (*communicator)->group_size;
    call.user_rank = (*communicator)->rank;
    call.instance_key = (*communicator)->next_instance.fetch_add(1);
    call.timeout = timeout_ > absl::ZeroDuration() ? timeout_ : (*communicator)->timeout;
    call.spec = spec_;
    call.input = ctx.input(0);
    call.spec.shape = call.input.shape();
    StartCollective(ctx, std::move(call), std::move(done));
  }

 private:
  CollectiveSpec spec_;
  absl::Duration timeout_;
};

class AssignGroupKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& groups = ctx.input(0);
    if (groups.rank() != 2) {
      return InvalidArgument("group_assignment must be a matrix, but has shape ", groups.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(const int32_t device, ScalarInput(ctx, 1, "device_index"));
    WEIR_ASSIGN_OR_RETURN(const int32_t base, ScalarInput(ctx, 2, "base_key"));
    const int64_t count = groups.num_elements();
    const int32_t size = static_cast<int32_t>(groups.dim(1));
    const auto entries = groups.span<int32_t>();
    int64_t found = -1;
    for (int64_t i = 0; i < count; ++i) {
      if (entries[i] < 0 || entries[i] >= count) {
        return InvalidArgument("group_assignment names the device ", entries[i], ", but there are ", count);
      }
      if (entries[i] == device) found = i / size;
    }
    if (found < 0) return InvalidArgument("The device ", device, " is in none of the groups of group_assignment");
    const int32_t key = static_cast<int32_t>(base + found);
    if (key == 0) return InvalidArgument("A group key must not be 0: choose another base_key than ", base);
    ctx.set_output(0, Tensor::Scalar<int32_t>(size));
    ctx.set_output(1, Tensor::Scalar<int32_t>(key));
    return OkStatus();
  }
};

}  // namespace

void RegisterCommunicatorKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("CollectiveInitializeCommunicator")
                   .HostMemory("group_key")
                   .HostMemory("rank")
                   .HostMemory("group_size"),
               MakeKernel<InitializeCommunicatorKernel>);
  registry.Add(KernelBuilder("CollectiveReduceV3").Types("T", ReduceTypes{}).HostMemory("group_assignment"),
               CommunicatorCollectiveKernel::Make<CollectiveKind::kReduce>);
  registry.Add(KernelBuilder("CollectiveAllToAllV3").Types("T", ReduceTypes{}).HostMemory("group_assignment"),
               CommunicatorCollectiveKernel::Make<CollectiveKind::kAllToAll>);
  registry.Add(KernelBuilder("CollectiveAssignGroupV2")
                   .HostMemory("group_assignment")
                   .HostMemory("device_index")
                   .HostMemory("base_key"),
               MakeKernel<AssignGroupKernel>);
}

}  // namespace weir
