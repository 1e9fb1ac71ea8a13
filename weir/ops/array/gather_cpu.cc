// Picking rows by index: Gather, GatherV2, GatherNd.
#include <cstring>

#include "weir/device/cpu/copy_bytes.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/gather.h"
#include "weir/ops/array/register.h"
#include "weir/tensor/copy_elements.h"

namespace weir {
namespace {

using GatherIndexTypes = TypeList<int32_t, int64_t, int16_t>;

// "1,0" for the flat position `i` of a tensor.
std::string Position(const Shape& shape, int64_t i) {
  std::string out;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    out = Cat(i % shape.dim(d), out.empty() ? "" : ",", out);
    i /= shape.dim(d);
  }
  return out;
}

// Clears `n` elements, which may hold values of an older use of the memory.
void ClearElements(DType dtype, char* to, int64_t n) {
  if (IsPlain(dtype)) std::memset(to, 0, n * SizeOf(dtype));
}

// Without a way out of the loop, so that it is one of vectors.
template <typename Index>
bool AreInside(const Index* index, int64_t n, int64_t limit) {
  bool is_outside = false;
  for (int64_t i = 0; i < n; ++i) is_outside |= (index[i] < 0) | (index[i] >= limit);
  return !is_outside;
}

class GatherKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GatherKernel>();
    if (init.HasAttr("batch_dims")) {
      WEIR_ASSIGN_OR_RETURN(kernel->batch_dims_, init.Attr<int64_t>("batch_dims"));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor params = ctx.input(0), indices = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(GatherPlan plan, PlanGather(ctx, batch_dims_));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, plan.shape));
    Status status;
    DispatchDType(indices.dtype(), GatherIndexTypes{},
                  [&](auto tag) { status = Run<typename decltype(tag)::type>(ctx, params, indices, plan, *out); });
    return status;
  }

 private:
  template <typename Index>
  static Status Run(KernelContext& ctx, const Tensor& params, const Tensor& indices, const GatherPlan& plan,
                    Tensor& out) {
    const Index* index = indices.data<Index>();
    const bool all_inside = AreInside(index, indices.num_elements(), plan.limit);
    for (int64_t i = 0; !all_inside && i < indices.num_elements(); ++i) {
      if (index[i] < 0 || index[i] >= plan.limit) {
        const std::string at = indices.rank() > 0 ? Cat("[", Position(indices.shape(), i), "]") : std::string();
        return InvalidArgument("indices", at, " = ", static_cast<int64_t>(index[i]), " is not in [0, ", plan.limit,
                               ")");
      }
    }
    if (out.num_elements() == 0) return OkStatus();
    const DType dtype = params.dtype();
    const int64_t size = static_cast<int64_t>(SizeOf(dtype));
    const bool plain = IsPlain(dtype);
    const char* from = static_cast<const char*>(params.raw_data());
    char* to = static_cast<char*>(out.raw_data());
    const int64_t bytes = plan.inner * size;
    constexpr int64_t kAhead = 8;  // rows that are on their way from memory
    auto rows = [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end;) {  // row = (batch, outer, index)
        const int64_t first = row % plan.count, block = row / plan.count, batch = block / plan.outer;
        const int64_t n = std::min(plan.count - first, end - row);
        const Index* at = index + batch * plan.count + first;
        const char* sources = from + block * plan.limit * bytes;
        for (int64_t i = 0; i < n; ++i, ++row) {
          if (i + kAhead < n) {
            const char* next = sources + at[i + kAhead] * bytes;
            for (int64_t line = 0; line < std::min<int64_t>(bytes, 256); line += 64) __builtin_prefetch(next + line);
          }
          const char* source = sources + at[i] * bytes;
          if (plain) {
            CopyBytes(source, to + row * bytes, bytes);
          } else {
            CopyElements(dtype, source, to + row * bytes, plan.inner);
          }
        }
      }
    };
    const int64_t total = plan.batches * plan.outer * plan.count;
    if (total * bytes < 32768) {
      rows(0, total);
    } else {
      ctx.ParallelFor(total, 5 + bytes * 0.05, rows);
    }
    return OkStatus();
  }

  int64_t batch_dims_ = 0;
};

class GatherNdKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GatherNdKernel>();
    if (init.HasAttr("bad_indices_policy")) {
      WEIR_ASSIGN_OR_RETURN(std::string policy, init.Attr<std::string>("bad_indices_policy"));
      kernel->ignore_bad_ = policy == "IGNORE";
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor params = ctx.input(0), indices = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(Shape shape, GatherNdShape(params.shape(), indices.shape()));
    const int64_t depth = indices.dim(indices.rank() - 1);
    const Shape positions = indices.shape().Slice(0, indices.rank() - 1);
    const int64_t inner = params.shape().Slice(static_cast<int>(depth), params.rank()).num_elements();
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0 && indices.num_elements() == 0) return OkStatus();
    Status status;
    DispatchDType(indices.dtype(), GatherIndexTypes{}, [&](auto tag) {
      using Index = typename decltype(tag)::type;
      const Index* index = indices.data<Index>();
      const int64_t size = static_cast<int64_t>(SizeOf(params.dtype())) * inner;
      const char* from = static_cast<const char*>(params.raw_data());
      char* to = static_cast<char*>(out->raw_data());
      for (int64_t i = 0; i < positions.num_elements(); ++i, index += depth, to += size) {
        int64_t row = 0;
        bool inside = true;
        for (int64_t d = 0; d < depth; ++d) {
          inside = inside && index[d] >= 0 && index[d] < params.dim(static_cast<int>(d));
          row = row * params.dim(static_cast<int>(d)) + (inside ? index[d] : 0);
        }
        if (inside) {
          CopyElements(params.dtype(), from + row * size, to, inner);
        } else if (ignore_bad_) {
          ClearElements(params.dtype(), to, inner);
        } else {
          std::string listed;
          for (int64_t d = 0; d < depth; ++d) listed += Cat(d > 0 ? ", " : "", static_cast<int64_t>(index[d]));
          status = InvalidArgument(
              "indices", depth > 0 && positions.rank() > 0 ? Cat("[", Position(positions, i), "]") : "", " = [", listed,
              "] does not index into param shape ", params.shape().ToString(), ", node name: ", ctx.node_name());
          return;
        }
      }
    });
    return status;
  }

 private:
  bool ignore_bad_ = false;
};

}  // namespace

void RegisterGatherKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Gather").Types("Tindices", GatherIndexTypes{}), MakeKernel<GatherKernel>);
  registry.Add(KernelBuilder("GatherV2").Types("Tindices", GatherIndexTypes{}), MakeKernel<GatherKernel>);
  registry.Add(KernelBuilder("GatherNd").Types("Tindices", GatherIndexTypes{}), MakeKernel<GatherNdKernel>);
}

}  // namespace weir
