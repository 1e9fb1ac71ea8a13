#include "weir/device/cpu/arithmetic.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/image/register.h"
#include "weir/ops/image/resize_geometry.h"
#include "weir/tensor/copy_elements.h"

namespace weir {
namespace {

class ResizeNearestKernel : public ResizeKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor image = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(ResizeGeometry g, ReadResizeGeometry(ctx, placing.align_corners));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, g.out_shape()));
    if (out->num_elements() == 0) return OkStatus();
    const auto rows = NearestPlaces(g.out_height, g.in_height, g.height_scale, placing);
    const auto columns = NearestPlaces(g.out_width, g.in_width, g.width_scale, placing);
    ctx.ParallelFor(g.batch * g.out_height, static_cast<double>(g.out_width * g.channels),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t line = begin; line < end; ++line) {
                        const int64_t in_line = line / g.out_height * g.in_height + rows[line % g.out_height];
                        for (int64_t x = 0; x < g.out_width; ++x) {
                          CopyElements(image, (in_line * g.in_width + columns[x]) * g.channels, *out,
                                       (line * g.out_width + x) * g.channels, g.channels);
                        }
                      }
                    });
    return OkStatus();
  }
};

using GradTypes = TypeList<uint8_t, int8_t, int32_t, Half, float, double, BFloat16>;

class ResizeNearestGradKernel : public ResizeKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor gradients = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Shape source, ReadSourceShape(gradients.shape(), ctx.input(1)));
    WEIR_ASSIGN_OR_RETURN(ResizeGeometry g, ReadGradientGeometry(gradients.shape(), source, placing.align_corners));
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(ctx.output_type(0), source));
    if (out.num_elements() == 0) {  // no picture, of whatever size
      ctx.set_output(0, std::move(out));
      return OkStatus();
    }
    const auto rows = NearestPlaces(g.out_height, g.in_height, g.height_scale, placing);
    const auto columns = NearestPlaces(g.out_width, g.in_width, g.width_scale, placing);
    DispatchDType(out.dtype(), GradTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = gradients.data<T>();
      for (int64_t line = 0; line < g.batch * g.out_height; ++line) {
        const int64_t in_line = line / g.out_height * g.in_height + rows[line % g.out_height];
        for (int64_t x = 0; x < g.out_width; ++x, from += g.channels) {
          T* pixel = out.data<T>() + (in_line * g.in_width + columns[x]) * g.channels;
          for (int64_t c = 0; c < g.channels; ++c) pixel[c] = static_cast<T>(Widen(pixel[c]) + Widen(from[c]));
        }
      }
    });
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterResizeNearestKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ResizeNearestNeighbor"), MakeResizeKernel<ResizeNearestKernel>);
  registry.Add(KernelBuilder("ResizeNearestNeighborGrad").Types("T", GradTypes{}),
               MakeResizeKernel<ResizeNearestGradKernel>);
}

}  // namespace weir
