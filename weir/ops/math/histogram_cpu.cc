// Counting: Bincount, DenseBincount, Bucketize, HistogramFixedWidth.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/framework/scratch.h"
#include "weir/ops/math/kernel_shapes.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

// Adds weights (or ones) of values in [0, size) to bins; `binary` only marks them.
template <typename T>
void Count(const Dims& values, int64_t begin, int64_t end, const T* weights, bool binary, int64_t size, T* bins) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t bin = values[i];
    if (bin >= size) continue;
    if (binary) {
      bins[bin] = T(1);
    } else {
      ComputeType<T> weight = weights != nullptr ? Widen(weights[i]) : ComputeType<T>(1);
      bins[bin] = static_cast<T>(WrapAdd(Widen(bins[bin]), weight));
    }
  }
}

// Bincount is DenseBincount of a flat input.
class BincountKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<BincountKernel>();
    kernel->flat_ = init.schema().name == "Bincount";
    if (init.HasAttr("binary_output")) {
      WEIR_ASSIGN_OR_RETURN(kernel->binary_, init.Attr<bool>("binary_output"));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0), weights = ctx.input(2);
    WEIR_ASSIGN_OR_RETURN(BincountSizes sizes, CheckBincount(ctx, flat_));
    WEIR_ASSIGN_OR_RETURN(Dims values, IntElements(x, "input"));
    for (int64_t value : values) {
      if (value < 0) return InvalidArgument("Input arr must be non-negative!");
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, sizes.shape));
    std::memset(out->raw_data(), 0, out->num_bytes());
    DispatchDType(out->dtype(), NumberTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* weight = weights.num_elements() > 0 ? weights.data<T>() : nullptr;
      for (int64_t row = 0; row < sizes.rows; ++row) {
        Count(values, row * sizes.width, (row + 1) * sizes.width, weight, binary_, sizes.size,
              out->data<T>() + row * sizes.size);
      }
    });
    return OkStatus();
  }

 private:
  bool flat_ = false;
  bool binary_ = false;
};

class BucketizeKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<BucketizeKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->boundaries_, init.Attr<std::vector<float>>("boundaries"));
    if (!std::is_sorted(kernel->boundaries_.begin(), kernel->boundaries_.end())) {
      return InvalidArgument("Expected sorted boundaries");
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    DispatchDType(x.dtype(), TypeList<int32_t, int64_t, float, double>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        auto above = std::upper_bound(boundaries_.begin(), boundaries_.end(), x.data<T>()[i]);
        out->data<int32_t>()[i] = static_cast<int32_t>(above - boundaries_.begin());
      }
    });
    return OkStatus();
  }

 private:
  std::vector<float> boundaries_;
};

class HistogramFixedWidthKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor values = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(HistogramSizes sizes, CheckHistogram(ctx));
    const int64_t bins = sizes.bins;
    const double low = sizes.low, high = sizes.high;
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(Dims{bins}));
    WEIR_RETURN_IF_ERROR(CheckScratch(bins, sizeof(int64_t)));
    std::vector<int64_t> counts;
    Status status;
    DispatchDType(values.dtype(), RealTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      counts.resize(bins);
      const double step = (high - low) / static_cast<double>(bins);
      for (int64_t i = 0; i < values.num_elements(); ++i) {
        const double x = static_cast<double>(Widen(values.data<T>()[i]));
        if (x != x) {
          status = InvalidArgument("Histogram values must not contain NaN");
          return;
        }
        const double at = std::clamp((x - low) / step, 0.0, static_cast<double>(bins - 1));
        ++counts[static_cast<int64_t>(at)];
      }
    });
    WEIR_RETURN_IF_ERROR(status);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    DispatchDType(out->dtype(), IndexTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < bins; ++i) out->data<T>()[i] = static_cast<T>(counts[i]);
    });
    return OkStatus();
  }
};

}  // namespace

void RegisterHistogramKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Bincount").Types("T", NumberTypes{}), MakeKernel<BincountKernel>);
  registry.Add(KernelBuilder("DenseBincount").Types("T", NumberTypes{}), MakeKernel<BincountKernel>);
  registry.Add(KernelBuilder("Bucketize").Types("T", TypeList<int32_t, int64_t, float, double>{}),
               MakeKernel<BucketizeKernel>);
  registry.Add(KernelBuilder("HistogramFixedWidth").Types("T", RealTypes{}), MakeKernel<HistogramFixedWidthKernel>);
}

}  // namespace weir
