// Padding with a constant or with the tensor's own mirror image.
#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/kernel_shapes.h"
#include "weir/ops/array/paddings.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

class PadKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Paddings paddings, ReadPaddings(ctx.input(1), x.shape()));
    bool none = true;
    for (const Padding& p : paddings) {
      if (p.before < 0 || p.after < 0)
        return InvalidArgument("Paddings must be non-negative: ", p.before, " ", p.after);
      none = none && p.before == 0 && p.after == 0;
    }
    Tensor value;
    if (ctx.num_inputs() == 3) {
      value = ctx.input(2);
      if (!value.shape().IsScalar()) {
        return InvalidArgument("constant_values must be a scalar. Found: ", value.shape().ToString());
      }
    }
    if (none) {
      ctx.set_output(0, x);
      return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(Shape shape, PaddedShape(x.shape(), paddings));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (value.has_value()) {
      WEIR_RETURN_IF_ERROR(FillElements(ctx, x.dtype(), value.raw_data(), out->raw_data(), out->num_elements()));
    } else {
      WEIR_RETURN_IF_ERROR(ClearElements(ctx, *out));
    }
    const Dims strides = DenseStrides(shape.dims());
    int64_t offset = 0;
    for (int d = 0; d < x.rank(); ++d) offset += paddings[d].before * strides[d];
    char* to = static_cast<char*>(out->raw_data()) + offset * static_cast<int64_t>(SizeOf(x.dtype()));
    WEIR_RETURN_IF_ERROR(
        StridedCopy(ctx, x.dtype(), x.shape().dims(), x.raw_data(), DenseStrides(x.shape().dims()), to, strides));
    return OkStatus();
  }
};

class MirrorKernel : public Kernel {
 public:
  template <typename K>
  static StatusOr<std::unique_ptr<Kernel>> MakeMode(const KernelInit& init) {
    auto kernel = std::make_unique<K>();
    WEIR_ASSIGN_OR_RETURN(std::string mode, init.Attr<std::string>("mode"));
    kernel->skip_ = mode == "REFLECT" ? 1 : 0;
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

 protected:
  // Calls body(padded offset, inner offset) for every element of the padded shape.
  template <typename Body>
  void ForEach(const MirrorSizes& sizes, Body&& body) const {
    const auto& [padded, inner, before] = sizes;
    const int rank = padded.rank();
    const Dims strides = DenseStrides(inner.dims());
    std::vector<std::vector<int64_t>> maps(rank);  // where each index of a dimension comes from
    for (int d = 0; d < rank; ++d) {
      const int64_t size = inner.dim(d);
      for (int64_t i = 0; i < padded.dim(d); ++i) {
        int64_t at = i - before[d];
        if (at < 0) at = -at - 1 + skip_;
        if (at >= size) at = 2 * size - 1 - at - skip_;
        maps[d].push_back(at * strides[d]);
      }
    }
    Dims index(rank, 0);
    for (int64_t i = 0; i < padded.num_elements(); ++i) {
      int64_t from = 0;
      for (int d = 0; d < rank; ++d) from += maps[d][index[d]];
      body(i, from);
      for (int d = rank - 1; d >= 0 && ++index[d] == padded.dim(d); --d) index[d] = 0;
    }
  }

  int64_t skip_ = 0;  // 1: the border itself is not repeated
};

class MirrorPadKernel : public MirrorKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) { return MakeMode<MirrorPadKernel>(init); }
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(MirrorSizes sizes, CheckMirrorPad(ctx, skip_));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, sizes.padded));
    const char* from = static_cast<const char*>(x.raw_data());
    char* to = static_cast<char*>(out->raw_data());
    const int64_t size = static_cast<int64_t>(SizeOf(x.dtype()));
    ForEach(sizes, [&](int64_t i, int64_t source) { CopyElements(x.dtype(), from + source * size, to + i * size, 1); });
    return OkStatus();
  }
};

// Folds the padding back: each inner element gets the sum of its images.
class MirrorPadGradKernel : public MirrorKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) { return MakeMode<MirrorPadGradKernel>(init); }
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(MirrorSizes sizes, CheckMirrorPadGrad(ctx, skip_));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, sizes.inner));
    DispatchDType(x.dtype(), NumberTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::vector<ComputeType<T>> sums(sizes.inner.num_elements(), ComputeType<T>(0));
      const T* from = x.data<T>();
      ForEach(sizes, [&](int64_t i, int64_t target) { sums[target] = WrapAdd(sums[target], Widen(from[i])); });
      for (size_t i = 0; i < sums.size(); ++i) out->data<T>()[i] = static_cast<T>(sums[i]);
    });
    return OkStatus();
  }
};

}  // namespace

void RegisterPadKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Pad").Types("Tpaddings", IndexTypes{}), MakeKernel<PadKernel>);
  registry.Add(KernelBuilder("PadV2").Types("Tpaddings", IndexTypes{}), MakeKernel<PadKernel>);
  registry.Add(KernelBuilder("MirrorPad"), MakeKernel<MirrorPadKernel>);
  registry.Add(KernelBuilder("MirrorPadGrad").Types("T", NumberTypes{}), MakeKernel<MirrorPadGradKernel>);
}

}  // namespace weir
