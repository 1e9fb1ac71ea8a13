// SparseSegmentSum, Mean and SqrtN: rows of a dense tensor chosen by index and summed by sorted segment.
#include <algorithm>
#include <cmath>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/sparse/register.h"
#include "weir/ops/sparse/sparse_input.h"
#include "weir/ops/sparse/sparse_segments.h"

namespace weir {
namespace {

enum class Combiner { kSum, kMean, kSqrtN };

double Scale(Combiner combiner, int64_t count) {
  if (combiner == Combiner::kSum || count == 0) return 1;
  return combiner == Combiner::kMean ? 1.0 / static_cast<double>(count) : 1.0 / std::sqrt(static_cast<double>(count));
}

// Indices and segments as vectors of one length.
struct Rows {
  Dims indices, segments;

  static StatusOr<Rows> Read(KernelContext& ctx) {
    const Tensor &indices = ctx.input(1), &segments = ctx.input(2);
    WEIR_RETURN_IF_ERROR(CheckSparseSegments(ctx));
    Rows rows;
    WEIR_ASSIGN_OR_RETURN(rows.indices, IntElements(indices, "indices"));
    WEIR_ASSIGN_OR_RETURN(rows.segments, IntElements(segments, "segment_ids"));
    return rows;
  }
};

template <Combiner kCombiner>
class SparseSegmentKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor data = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Rows rows, Rows::Read(ctx));
    WEIR_ASSIGN_OR_RETURN(int64_t num_segments,
                          SparseSegmentCount(ctx, rows.segments.empty() ? -1 : rows.segments.back()));
    for (size_t i = 0; i < rows.segments.size(); ++i) {
      if (rows.segments[i] < 0) return InvalidArgument("segment ids must be >= 0");
      if (i > 0 && rows.segments[i] < rows.segments[i - 1]) return InvalidArgument("segment ids are not increasing");
      if (rows.indices[i] < 0 || rows.indices[i] >= data.dim(0)) {
        return InvalidArgument("Bad: indices[", i, "] == ", rows.indices[i], " out of range [0, ", data.dim(0), ")");
      }
    }
    Shape shape = data.shape();
    WEIR_RETURN_IF_ERROR(shape.SetDim(0, num_segments));
    const int64_t row = shape.Slice(1, shape.rank()).num_elements();
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(data.dtype(), shape));
    DispatchDType(data.dtype(), RealTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using C = ComputeType<T>;
      std::vector<C> sum(row);
      for (size_t begin = 0, end; begin < rows.segments.size(); begin = end) {
        std::fill(sum.begin(), sum.end(), C(0));
        for (end = begin; end < rows.segments.size() && rows.segments[end] == rows.segments[begin]; ++end) {
          const T* from = data.data<T>() + rows.indices[end] * row;
          for (int64_t k = 0; k < row; ++k) sum[k] = WrapAdd(sum[k], Widen(from[k]));
        }
        T* to = out.data<T>() + rows.segments[begin] * row;
        const double scale = Scale(kCombiner, static_cast<int64_t>(end - begin));
        for (int64_t k = 0; k < row; ++k) {
          to[k] = kCombiner == Combiner::kSum ? static_cast<T>(sum[k]) : static_cast<T>(static_cast<C>(sum[k] * scale));
        }
      }
    });
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }
};

// With kUnique only the rows that some index names, and which they are.
template <Combiner kCombiner, bool kUnique>
class SparseSegmentGradKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor grad = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(int64_t size, CheckSparseSegmentGrad(ctx));
    WEIR_ASSIGN_OR_RETURN(Rows rows, Rows::Read(ctx));
    std::vector<int64_t> counts(grad.dim(0), 0);
    for (size_t i = 0; i < rows.indices.size(); ++i) {
      if (rows.indices[i] < 0 || rows.indices[i] >= size) {
        return InvalidArgument("Index ", rows.indices[i], " out of range [0, ", size, ").");
      }
      if (rows.segments[i] < 0 || rows.segments[i] >= grad.dim(0)) {
        return InvalidArgument("Segment id ", rows.segments[i], " out of range [0, ", grad.dim(0), ").");
      }
      ++counts[rows.segments[i]];
    }
    if constexpr (kUnique) {
      Dims unique = rows.indices;
      std::sort(unique.begin(), unique.end());
      unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
      for (int64_t& index : rows.indices)
        index = std::lower_bound(unique.begin(), unique.end(), index) - unique.begin();
      size = static_cast<int64_t>(unique.size());
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(1, Shape({size})));
      DispatchDType(out->dtype(), IndexTypes{}, [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (int64_t i = 0; i < size; ++i) out->data<T>()[i] = static_cast<T>(unique[i]);
      });
    }
    Shape shape = grad.shape();
    WEIR_RETURN_IF_ERROR(shape.SetDim(0, size));
    const int64_t row = shape.Slice(1, shape.rank()).num_elements();
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(grad.dtype(), shape));
    DispatchDType(grad.dtype(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using C = ComputeType<T>;
      for (size_t i = 0; i < rows.indices.size(); ++i) {
        const C scale = static_cast<C>(Scale(kCombiner, counts[rows.segments[i]]));
        const T* from = grad.data<T>() + rows.segments[i] * row;
        T* to = out.data<T>() + rows.indices[i] * row;
        for (int64_t k = 0; k < row; ++k) to[k] = static_cast<T>(Widen(to[k]) + Widen(from[k]) * scale);
      }
    });
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }
};

template <Combiner kCombiner>
void RegisterCombiner(KernelRegistry& registry, std::string_view name) {
  const std::string op = Cat("SparseSegment", name);
  for (const char* suffix : {"", "WithNumSegments"}) {
    if constexpr (kCombiner == Combiner::kSum) {
      registry.Add(KernelBuilder(op + suffix).Types("T", RealTypes{}), MakeKernel<SparseSegmentKernel<kCombiner>>);
    } else {
      registry.Add(KernelBuilder(op + suffix).Types("T", FloatTypes{}), MakeKernel<SparseSegmentKernel<kCombiner>>);
    }
  }
  registry.Add(KernelBuilder(op + "Grad").Types("T", FloatTypes{}),
               MakeKernel<SparseSegmentGradKernel<kCombiner, false>>);
  registry.Add(KernelBuilder(op + "GradV2").Types("T", FloatTypes{}),
               MakeKernel<SparseSegmentGradKernel<kCombiner, true>>);
}

}  // namespace

void RegisterSparseSegmentKernels(KernelRegistry& registry) {
  RegisterCombiner<Combiner::kSum>(registry, "Sum");
  RegisterCombiner<Combiner::kMean>(registry, "Mean");
  RegisterCombiner<Combiner::kSqrtN>(registry, "SqrtN");
}

}  // namespace weir
