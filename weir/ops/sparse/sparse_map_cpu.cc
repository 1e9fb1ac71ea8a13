// Sparse tensors kept between steps, by number.
#include <algorithm>

#include "weir/framework/kernel_registry.h"
#include "weir/framework/resource_node.h"
#include "weir/ops/sparse/register.h"
#include "weir/ops/sparse/sparse_input.h"
#include "weir/tensor/copy_elements.h"

namespace weir {
namespace {

// Thread-safe.
class SparseTensorsMap : public Resource {
 public:
  static constexpr std::string_view kTypeName = "N10tensorflow16SparseTensorsMapE";
  std::string_view type_name() const override { return kTypeName; }

  int64_t Add(SparseInput tensor) {
    absl::MutexLock lock(&mu_);
    tensors_.emplace(next_, std::move(tensor));
    return next_++;
  }
  // Removes what it gives.
  StatusOr<SparseInput> Take(int64_t handle) {
    absl::MutexLock lock(&mu_);
    auto found = tensors_.find(handle);
    if (found == tensors_.end()) return InvalidArgument("Unable to find SparseTensor: ", handle, " in map");
    SparseInput out = std::move(found->second);
    tensors_.erase(found);
    return out;
  }

 private:
  absl::Mutex mu_;
  int64_t next_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<int64_t, SparseInput> tensors_ ABSL_GUARDED_BY(mu_);
};

class MapKernel : public Kernel {
 protected:
  Status Init(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(key_, NodeResourceKey(init, /*use_node_name=*/true));
    return OkStatus();
  }
  StatusOr<std::shared_ptr<SparseTensorsMap>> Map(KernelContext& ctx) const {
    return ctx.resources().LookUpOrCreate<SparseTensorsMap>(key_.container, key_.name, [] {
      return StatusOr<std::shared_ptr<SparseTensorsMap>>(std::make_shared<SparseTensorsMap>());
    });
  }

 private:
  ResourceKey key_;
};

class AddSparseKernel : public MapKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<AddSparseKernel>();
    WEIR_RETURN_IF_ERROR(kernel->Init(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(SparseInput input, ReadSparse(ctx, 0));
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<SparseTensorsMap> map, Map(ctx));
    ctx.set_output(0, Tensor::Scalar<int64_t>(map->Add(std::move(input))));
    return OkStatus();
  }
};

class AddManySparseKernel : public MapKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<AddManySparseKernel>();
    WEIR_RETURN_IF_ERROR(kernel->Init(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(SparseInput input, ReadSparse(ctx, 0));
    const int rank = input.rank();
    if (rank <= 1) return InvalidArgument("Rank of input SparseTensor should be > 1, but saw rank: ", rank);
    const int64_t batch = input.shape.dim(0);
    std::vector<std::vector<int64_t>> rows;
    if (batch > input.count() * 64 + (1 << 20)) {
      return InvalidArgument("A batch of ", batch, " sparse tensors with ", input.count(), " values is too large");
    }
    rows.resize(static_cast<size_t>(batch));
    for (int64_t i = 0; i < input.count(); ++i) rows[input.index(i)[0]].push_back(i);
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<SparseTensorsMap> map, Map(ctx));
    WEIR_ASSIGN_OR_RETURN(Tensor * handles, ctx.AllocateOutput(0, Shape({batch})));
    for (int64_t b = 0; b < batch; ++b) {
      std::vector<int64_t> indices;
      for (int64_t row : rows[b]) indices.insert(indices.end(), input.index(row) + 1, input.index(row) + rank);
      SparseInput part;
      part.shape = input.shape.Slice(1, rank);
      WEIR_ASSIGN_OR_RETURN(part.indices, IndexMatrix(indices, static_cast<int64_t>(rows[b].size()), rank - 1));
      WEIR_ASSIGN_OR_RETURN(part.values, TakeRows(input.values, rows[b]));
      handles->data<int64_t>()[b] = map->Add(std::move(part));
    }
    return OkStatus();
  }
};

class TakeManySparseKernel : public MapKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<TakeManySparseKernel>();
    WEIR_RETURN_IF_ERROR(kernel->Init(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor handles = ctx.input(0);
    if (!handles.shape().IsVector()) {
      return InvalidArgument("sparse_handles should be a vector but received shape ", handles.shape().ToString());
    }
    if (handles.num_elements() == 0) {
      return InvalidArgument("Must have at least 1 serialized SparseTensor, but input matrix has 0 rows");
    }
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<SparseTensorsMap> map, Map(ctx));
    std::vector<SparseInput> parts;
    for (int64_t handle : handles.span<int64_t>()) {
      WEIR_ASSIGN_OR_RETURN(parts.emplace_back(), map->Take(handle));
      const SparseInput& part = parts.back();
      if (part.values.dtype() != ctx.output_type(1)) {
        return InvalidArgument("Requested SparseTensor of type ", Name(ctx.output_type(1)), " but SparseTensor[",
                               parts.size() - 1, "].values.dtype() == ", Name(part.values.dtype()));
      }
      if (part.rank() != parts[0].rank()) {
        return InvalidArgument("Inconsistent rank across SparseTensors: rank prior to SparseTensor[", parts.size() - 1,
                               "] was: ", parts[0].rank(), " but rank of SparseTensor[", parts.size() - 1,
                               "] is: ", part.rank());
      }
    }
    return Join(ctx, parts);
  }

 private:
  static Status Join(KernelContext& ctx, const std::vector<SparseInput>& parts) {
    const int rank = parts.empty() ? 0 : parts[0].rank();
    std::vector<int64_t> dims(static_cast<size_t>(rank) + 1, 0);
    dims[0] = static_cast<int64_t>(parts.size());
    int64_t count = 0;
    for (const SparseInput& part : parts) {
      count += part.count();
      for (int d = 0; d < rank; ++d) dims[d + 1] = std::max(dims[d + 1], part.shape.dim(d));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape({count, rank + 1})));
    WEIR_ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, Shape({count})));
    int64_t* at = indices->data<int64_t>();
    int64_t row = 0;
    for (size_t b = 0; b < parts.size(); ++b) {
      for (int64_t i = 0; i < parts[b].count(); ++i) {
        *at++ = static_cast<int64_t>(b);
        at = std::copy_n(parts[b].index(i), rank, at);
      }
      CopyElements(parts[b].values, 0, *values, row, parts[b].count());
      row += parts[b].count();
    }
    ctx.set_output(2, Tensor::Vector<int64_t>(std::span<const int64_t>(dims)));
    return OkStatus();
  }
};

}  // namespace

void RegisterSparseMapKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("AddSparseToTensorsMap"), MakeKernel<AddSparseKernel>);
  registry.Add(KernelBuilder("AddManySparseToTensorsMap"), MakeKernel<AddManySparseKernel>);
  registry.Add(KernelBuilder("TakeManySparseFromTensorsMap"), MakeKernel<TakeManySparseKernel>);
}

}  // namespace weir
