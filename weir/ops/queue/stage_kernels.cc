#include <deque>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/queue/register.h"
#include "weir/ops/queue/staging.h"
#include "weir/ops/queue/waiting_room.h"

namespace weir {

StatusOr<StagingSpec> StagingSpecOf(const KernelInit& init) {
  StagingSpec spec;
  WEIR_ASSIGN_OR_RETURN(spec.container, init.Attr<std::string>("container"));
  WEIR_ASSIGN_OR_RETURN(spec.name, init.Attr<std::string>("shared_name"));
  if (spec.name.empty()) spec.name = init.node_name();
  WEIR_ASSIGN_OR_RETURN(spec.capacity, init.Attr<int64_t>("capacity"));
  WEIR_ASSIGN_OR_RETURN(spec.memory_limit, init.Attr<int64_t>("memory_limit"));
  WEIR_ASSIGN_OR_RETURN(spec.dtypes, init.Attr<std::vector<DType>>("dtypes"));
  return spec;
}

int64_t BytesOf(const TensorTuple& tuple) {
  int64_t bytes = 0;
  for (const Tensor& tensor : tuple) bytes += static_cast<int64_t>(tensor.total_bytes());
  return bytes;
}

Status CheckMemoryLimit(int64_t bytes, int64_t memory_limit) {
  if (memory_limit <= 0 || bytes <= memory_limit) return OkStatus();
  return ResourceExhausted("Attempted to insert tensors with combined size of '", bytes,
                           "' bytes into Staging Area with a memory limit of '", memory_limit, "'.");
}

Status CheckOutputs(KernelContext& ctx, const TensorTuple& tuple, int first) {
  int count = ctx.num_outputs() - first;
  if (static_cast<int>(tuple.size()) != count) {
    return InvalidArgument("Mismatch stage/unstage: ", tuple.size(), " vs. ", count);
  }
  for (int i = 0; i < count; ++i) {
    if (tuple[i].dtype() != ctx.output_type(first + i)) {
      return InvalidArgument("Output ", first + i, " of type ", Name(tuple[i].dtype()),
                             " does not match declared output type ", Name(ctx.output_type(first + i)));
    }
  }
  return OkStatus();
}

namespace {

class StagingArea : public Resource {
 public:
  static constexpr std::string_view kTypeName = "StagingArea";
  explicit StagingArea(const StagingSpec& spec) : capacity(spec.capacity), memory_limit(spec.memory_limit) {}
  std::string_view type_name() const override { return kTypeName; }

  bool HasRoom(int64_t more_bytes) const {
    return (capacity <= 0 || static_cast<int64_t>(tuples.size()) < capacity) &&
           (memory_limit <= 0 || bytes + more_bytes <= memory_limit);
  }

  const int64_t capacity;
  const int64_t memory_limit;
  const std::shared_ptr<WaitingRoom> room = std::make_shared<WaitingRoom>();
  // Under the room's lock.
  std::deque<TensorTuple> tuples;
  int64_t bytes = 0;
};

using AreaPtr = std::shared_ptr<StagingArea>;

template <typename K>
StatusOr<std::unique_ptr<Kernel>> MakeStageKernel(const KernelInit& init) {
  auto kernel = std::make_unique<K>();
  WEIR_ASSIGN_OR_RETURN(kernel->spec, StagingSpecOf(init));
  return kernel;
}

class StageKernel : public AsyncKernel {
 public:
  StagingSpec spec;
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    auto found = FindStagingArea<StagingArea>(ctx, spec);
    if (!found.ok()) return done(found.status());
    TensorTuple tuple;
    for (int i = 0; i < ctx.num_inputs(); ++i) tuple.push_back(ctx.input(i));
    int64_t bytes = BytesOf(tuple);
    if (Status s = CheckMemoryLimit(bytes, (*found)->memory_limit); !s.ok()) return done(s);
    (*found)->room->Wait(
        ctx.cancellation(), "Stage operation was cancelled",
        [area = *found, tuple = std::move(tuple), bytes]() mutable -> std::optional<Status> {
          if (!area->HasRoom(bytes)) return std::nullopt;
          area->tuples.push_back(std::move(tuple));
          area->bytes += bytes;
          return OkStatus();
        },
        [done = std::move(done)](Status status) mutable { done(std::move(status)); });
  }
};

// Unstage takes the first tuple; StagePeek copies the one at an index.
template <bool kPeek>
class UnstageKernel : public AsyncKernel {
 public:
  StagingSpec spec;
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    auto found = FindStagingArea<StagingArea>(ctx, spec);
    if (!found.ok()) return done(found.status());
    int32_t index = 0;
    if constexpr (kPeek) {
      if (ctx.input(0).num_elements() != 1) return done(InvalidArgument("index must be a scalar"));
      index = ctx.input(0).scalar<int32_t>();
      if (index < 0) return done(InvalidArgument("index ", index, " must be >= 0"));
    }
    (*found)->room->Wait(
        ctx.cancellation(), "Unstage operation was cancelled",
        [area = *found, index, &ctx]() -> std::optional<Status> {
          if (index >= static_cast<int64_t>(area->tuples.size())) return std::nullopt;
          TensorTuple& tuple = area->tuples[index];
          if (Status s = CheckOutputs(ctx, tuple, 0); !s.ok()) return s;
          for (size_t i = 0; i < tuple.size(); ++i) ctx.set_output(static_cast<int>(i), tuple[i]);
          if constexpr (!kPeek) {
            area->bytes -= BytesOf(tuple);
            area->tuples.pop_front();
          }
          return OkStatus();
        },
        [done = std::move(done)](Status status) mutable { done(std::move(status)); });
  }
};

class StageSizeKernel : public Kernel {
 public:
  StagingSpec spec;
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(AreaPtr area, FindStagingArea<StagingArea>(ctx, spec));
    int32_t size = 0;
    area->room->Look([&] { size = static_cast<int32_t>(area->tuples.size()); });
    ctx.set_output(0, Tensor::Scalar(size));
    return OkStatus();
  }
};

class StageClearKernel : public Kernel {
 public:
  StagingSpec spec;
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(AreaPtr area, FindStagingArea<StagingArea>(ctx, spec));
    std::deque<TensorTuple> doomed;
    area->room->Change([&] {
      doomed.swap(area->tuples);
      area->bytes = 0;
    });
    return OkStatus();
  }
};

}  // namespace

void RegisterStageKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Stage"), MakeStageKernel<StageKernel>);
  registry.Add(KernelBuilder("Unstage"), MakeStageKernel<UnstageKernel<false>>);
  registry.Add(KernelBuilder("StagePeek"), MakeStageKernel<UnstageKernel<true>>);
  registry.Add(KernelBuilder("StageSize"), MakeStageKernel<StageSizeKernel>);
  registry.Add(KernelBuilder("StageClear"), MakeStageKernel<StageClearKernel>);
}

}  // namespace weir
