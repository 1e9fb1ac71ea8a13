// Staging areas by key: tuples arrive whole or in parts, and leave whole or in parts.
#include <map>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/queue/register.h"
#include "weir/ops/queue/staging.h"
#include "weir/ops/queue/waiting_room.h"

namespace weir {
namespace {

// MapStage and OrderedMapStage differ only in what an unstage without a key may take: the smallest key suits both.
template <bool kOrdered>
class StagingMap : public Resource {
 public:
  static constexpr std::string_view kTypeName = kOrdered ? "OrderedStagingMap" : "StagingMap";
  explicit StagingMap(const StagingSpec& spec) : capacity(spec.capacity), memory_limit(spec.memory_limit) {}
  std::string_view type_name() const override { return kTypeName; }

  const int64_t capacity;
  const int64_t memory_limit;
  const std::shared_ptr<WaitingRoom> room = std::make_shared<WaitingRoom>();

  // The rest under the room's lock. Tensors that have not come, or have gone, have no value.
  std::map<int64_t, TensorTuple> complete;
  std::map<int64_t, TensorTuple> incomplete;
  int64_t bytes = 0;

  // `indices` are ordered and there is one for each of `values`; a whole tuple has `width` tensors.
  std::optional<Status> Put(int64_t key, std::span<const int32_t> indices, const TensorTuple& values, size_t width) {
    int64_t more = BytesOf(values);
    if (memory_limit > 0 && bytes + more > memory_limit) return std::nullopt;
    bool has_room = capacity <= 0 || static_cast<int64_t>(complete.size()) < capacity;
    if (values.size() == width) {
      if (!has_room) return std::nullopt;
      if (complete.emplace(key, values).second) bytes += more;
      return OkStatus();
    }
    TensorTuple known;
    if (auto found = incomplete.find(key); found != incomplete.end()) known = found->second;
    known.resize(width);
    for (size_t i = 0; i < indices.size(); ++i) {
      Tensor& slot = known[indices[i]];
      if (slot.has_value()) {
        return InvalidArgument("The tensor for index '", indices[i], "' for key '", key, "' was already initialized '",
                               width, "'.");
      }
      slot = values[i];
    }
    bool whole = true;
    for (const Tensor& tensor : known) whole &= tensor.has_value();
    if (!whole) {
      incomplete[key] = std::move(known);
      bytes += more;
      return OkStatus();
    }
    if (!has_room) return std::nullopt;
    incomplete.erase(key);
    bytes += more;
    int64_t total = BytesOf(known);
    if (!complete.emplace(key, std::move(known)).second) bytes -= total;
    return OkStatus();
  }

  // Sets the outputs from `first` on to the tensors at `indices` of a tuple, and takes them from it unless `peek`.
  Status Give(KernelContext& ctx, typename std::map<int64_t, TensorTuple>::iterator item,
              std::span<const int32_t> indices, int first, bool peek) {
    TensorTuple& tuple = item->second;
    TensorTuple chosen;
    for (int32_t index : indices) {
      if (index < 0 || index >= static_cast<int64_t>(tuple.size())) {
        return InvalidArgument("Index '", index, "' for key '", item->first, "' was out of bounds '", tuple.size(),
                               "'.");
      }
      if (!tuple[index].has_value()) {
        return InvalidArgument("Tensor at index '", index, "' for key '", item->first, "' has already been removed.");
      }
      chosen.push_back(tuple[index]);
    }
    WEIR_RETURN_IF_ERROR(CheckOutputs(ctx, chosen, first));
    if (!peek) {
      bytes -= BytesOf(chosen);
      for (int32_t index : indices) tuple[index] = Tensor();
      bool empty = true;
      for (const Tensor& tensor : tuple) empty &= !tensor.has_value();
      if (empty) complete.erase(item);
    }
    for (size_t i = 0; i < chosen.size(); ++i) ctx.set_output(first + static_cast<int>(i), std::move(chosen[i]));
    return OkStatus();
  }
};

StatusOr<int64_t> KeyInput(KernelContext& ctx) {
  if (ctx.input(0).num_elements() != 1) {
    return InvalidArgument("key must be an int64 scalar, got shape ", ctx.input(0).shape().ToString());
  }
  return ctx.input(0).scalar<int64_t>();
}

StatusOr<std::vector<int32_t>> IndicesInput(KernelContext& ctx, int i) {
  std::span<const int32_t> span = ctx.input(i).span<int32_t>();
  for (size_t k = 1; k < span.size(); ++k) {
    if (span[k - 1] >= span[k]) return InvalidArgument("Indices are not strictly ordered");
  }
  return std::vector<int32_t>(span.begin(), span.end());
}

template <typename K>
StatusOr<std::unique_ptr<Kernel>> MakeMapKernel(const KernelInit& init) {
  auto kernel = std::make_unique<K>();
  WEIR_ASSIGN_OR_RETURN(kernel->spec, StagingSpecOf(init));
  return kernel;
}

template <typename Map>
class MapStageKernel : public AsyncKernel {
 public:
  StagingSpec spec;
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    if (Status s = Start(ctx, done); !s.ok()) done(std::move(s));
  }

 private:
  // Takes `done` unless it fails.
  Status Start(KernelContext& ctx, Completion& done) {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Map> map, FindStagingArea<Map>(ctx, spec));
    WEIR_ASSIGN_OR_RETURN(int64_t key, KeyInput(ctx));
    WEIR_ASSIGN_OR_RETURN(std::vector<int32_t> indices, IndicesInput(ctx, 1));
    TensorTuple values;
    for (int i = 2; i < ctx.num_inputs(); ++i) values.push_back(ctx.input(i));
    if (indices.size() != values.size()) {
      return InvalidArgument("Got ", values.size(), " values for ", indices.size(), " indices");
    }
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] < 0 || indices[i] >= static_cast<int64_t>(spec.dtypes.size())) {
        return InvalidArgument("Index '", indices[i], "' for key '", key, "' was out of bounds '", spec.dtypes.size(),
                               "'.");
      }
      if (values[i].dtype() != spec.dtypes[indices[i]]) {
        return InvalidArgument("The tensor for index '", indices[i], "' for key '", key, "' is of type ",
                               Name(values[i].dtype()), ", not ", Name(spec.dtypes[indices[i]]));
      }
    }
    WEIR_RETURN_IF_ERROR(CheckMemoryLimit(BytesOf(values), map->memory_limit));
    map->room->Wait(
        ctx.cancellation(), "MapStage operation was cancelled",
        [map, key, indices = std::move(indices), values = std::move(values), width = spec.dtypes.size()] {
          return map->Put(key, indices, values, width);
        },
        [done = std::move(done)](Status status) mutable { done(std::move(status)); });
    return OkStatus();
  }
};

enum class Take { kPeek, kKey, kAny };

template <typename Map, Take kTake>
class MapUnstageKernel : public AsyncKernel {
 public:
  StagingSpec spec;
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    if (Status s = Start(ctx, done); !s.ok()) done(std::move(s));
  }

 private:
  Status Start(KernelContext& ctx, Completion& done) {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Map> map, FindStagingArea<Map>(ctx, spec));
    int64_t key = 0;
    if constexpr (kTake != Take::kAny) {
      WEIR_ASSIGN_OR_RETURN(key, KeyInput(ctx));
    }
    WEIR_ASSIGN_OR_RETURN(std::vector<int32_t> indices, IndicesInput(ctx, kTake == Take::kAny ? 0 : 1));
    map->room->Wait(
        ctx.cancellation(), "MapUnstage operation was cancelled",
        [map, key, indices = std::move(indices), &ctx]() -> std::optional<Status> {
          auto item = kTake == Take::kAny ? map->complete.begin() : map->complete.find(key);
          if (item == map->complete.end()) return std::nullopt;
          if constexpr (kTake == Take::kAny) ctx.set_output(0, Tensor::Scalar(item->first));
          return map->Give(ctx, item, indices, kTake == Take::kAny ? 1 : 0, kTake == Take::kPeek);
        },
        [done = std::move(done)](Status status) mutable { done(std::move(status)); });
    return OkStatus();
  }
};

template <typename Map, bool kIncomplete>
class MapSizeKernel : public Kernel {
 public:
  StagingSpec spec;
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Map> map, FindStagingArea<Map>(ctx, spec));
    size_t size = 0;
    map->room->Look([&] { size = kIncomplete ? map->incomplete.size() : map->complete.size(); });
    ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(size)));
    return OkStatus();
  }
};

template <typename Map>
class MapClearKernel : public Kernel {
 public:
  StagingSpec spec;
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Map> map, FindStagingArea<Map>(ctx, spec));
    std::map<int64_t, TensorTuple> complete;
    std::map<int64_t, TensorTuple> incomplete;
    map->room->Change([&] {
      complete.swap(map->complete);
      incomplete.swap(map->incomplete);
      map->bytes = 0;
    });
    return OkStatus();
  }
};

template <bool kOrdered>
void RegisterMap(KernelRegistry& registry) {
  using Map = StagingMap<kOrdered>;
  const std::string prefix = kOrdered ? "OrderedMap" : "Map";
  registry.Add(KernelBuilder(prefix + "Stage"), MakeMapKernel<MapStageKernel<Map>>);
  registry.Add(KernelBuilder(prefix + "Peek"), MakeMapKernel<MapUnstageKernel<Map, Take::kPeek>>);
  registry.Add(KernelBuilder(prefix + "Unstage"), MakeMapKernel<MapUnstageKernel<Map, Take::kKey>>);
  registry.Add(KernelBuilder(prefix + "UnstageNoKey"), MakeMapKernel<MapUnstageKernel<Map, Take::kAny>>);
  registry.Add(KernelBuilder(prefix + "Size"), MakeMapKernel<MapSizeKernel<Map, false>>);
  registry.Add(KernelBuilder(prefix + "IncompleteSize"), MakeMapKernel<MapSizeKernel<Map, true>>);
  registry.Add(KernelBuilder(prefix + "Clear"), MakeMapKernel<MapClearKernel<Map>>);
}

}  // namespace

void RegisterMapStageKernels(KernelRegistry& registry) {
  RegisterMap<false>(registry);
  RegisterMap<true>(registry);
}

}  // namespace weir
