// FFT, IFFT, RFFT and IRFFT over the last one, two or three dimensions.
#include <array>

#include "weir/ops/audio/fft_sizes.h"
#include "weir/ops/audio/fourier.h"
#include "weir/ops/audio/register.h"

namespace weir {
namespace {

using Complex = std::complex<double>;

// A batch of complex arrays with up to three axes.
struct Grid {
  int64_t batch = 1;
  std::array<int64_t, 3> size = {1, 1, 1};
  std::vector<Complex> data;

  int64_t count() const { return size[0] * size[1] * size[2]; }
};

// Transforms along one axis.
void Transform(const KernelContext& ctx, Grid& grid, int axis, bool inverse) {
  const int64_t n = grid.size[axis];
  if (n <= 1 || grid.data.empty()) return;
  const FourierTransform transform(n);
  int64_t stride = 1;
  for (int i = axis + 1; i < 3; ++i) stride *= grid.size[i];
  const double cost = 20.0 * static_cast<double>(n);
  ctx.ParallelFor(static_cast<int64_t>(grid.data.size()) / n, cost, [&](int64_t begin, int64_t end) {
    std::vector<Complex> line(static_cast<size_t>(n));
    for (int64_t i = begin; i < end; ++i) {
      Complex* first = grid.data.data() + i / stride * stride * n + i % stride;
      for (int64_t k = 0; k < n; ++k) line[k] = first[k * stride];
      transform.Run(line, inverse);
      for (int64_t k = 0; k < n; ++k) first[k * stride] = line[k];
    }
  });
}

using Kind = FftKind;

class FftKernel : public Kernel {
 public:
  explicit FftKernel(Kind kind) : kind_(kind) {}

  Status Compute(KernelContext& ctx) override {
    const Shape& in = ctx.input(0).shape();
    WEIR_ASSIGN_OR_RETURN(const FftSizes sizes, SizesOfFft(ctx, kind_));
    const Shape& out_shape = sizes.output;
    Grid grid;  // of the whole transform
    grid.batch = sizes.batch;
    grid.size = sizes.transform;
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, out_shape));
    if (out_shape.num_elements() == 0) return OkStatus();
    if (in.num_elements() == 0) {
      std::fill_n(static_cast<char*>(out->raw_data()), out->num_bytes(), char{0});
      return OkStatus();
    }
    grid.data.assign(static_cast<size_t>(grid.batch * grid.count()), Complex(0));
    Read(ctx.input(0), sizes.input, grid);
    // The last axis of an inverse is half there: the rest is its mirror, which the other axes must come before.
    for (int axis = 3 - kind_.axes; axis < 2; ++axis) Transform(ctx, grid, axis, kind_.inverse);
    if (kind_.real && kind_.inverse) Mirror(grid);
    Transform(ctx, grid, 2, kind_.inverse);
    Write(grid, *out, out_shape.dim(in.rank() - 1));
    return OkStatus();
  }

 private:
  // The part of the input that the transform covers.
  void Read(const Tensor& input, const std::array<int64_t, 3>& from, Grid& grid) const {
    const int64_t last = kind_.real && kind_.inverse ? grid.size[2] / 2 + 1 : grid.size[2];
    DispatchDType(input.dtype(), TypeList<float, double, std::complex<float>, std::complex<double>>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t b = 0; b < grid.batch; ++b) {
        for (int64_t i = 0; i < grid.size[0] * grid.size[1]; ++i) {
          const int64_t x = i / grid.size[1], y = i % grid.size[1];
          const T* row = input.data<T>() + ((b * from[0] + x) * from[1] + y) * from[2];
          Complex* to = grid.data.data() + (b * grid.size[0] * grid.size[1] + i) * grid.size[2];
          for (int64_t z = 0; z < last; ++z) to[z] = static_cast<Complex>(row[z]);
        }
      }
    });
  }
  // Fills the second half of each row so that its transform is real.
  static void Mirror(Grid& grid) {
    const int64_t n = grid.size[2];
    for (int64_t row = 0; row < static_cast<int64_t>(grid.data.size()) / n; ++row) {
      Complex* x = grid.data.data() + row * n;
      x[0] = x[0].real();
      if (n % 2 == 0) x[n / 2] = x[n / 2].real();
      for (int64_t k = n / 2 + 1; k < n; ++k) x[k] = std::conj(x[n - k]);
    }
  }
  void Write(const Grid& grid, Tensor& out, int64_t last) const {
    const double scale = kind_.inverse ? 1.0 / static_cast<double>(grid.count()) : 1.0;
    DispatchDType(out.dtype(), TypeList<float, double, std::complex<float>, std::complex<double>>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < out.num_elements(); ++i) {
        const Complex value = grid.data[i / last * grid.size[2] + i % last] * scale;
        if constexpr (std::is_floating_point_v<T>) {
          out.data<T>()[i] = static_cast<T>(value.real());
        } else {
          out.data<T>()[i] = static_cast<T>(value);
        }
      }
    });
  }

  const Kind kind_;
};

}  // namespace

void RegisterFftKernels(KernelRegistry& registry) {
  for (int axes = 1; axes <= 3; ++axes) {
    const std::string suffix = axes == 1 ? "" : Cat(axes, "D");
    for (bool inverse : {false, true}) {
      for (bool real : {false, true}) {
        const std::string op = Cat(inverse ? "I" : "", real ? "R" : "", "FFT", suffix);
        const Kind kind{axes, inverse, real};
        registry.Add(KernelBuilder(op), [kind](const KernelInit&) -> StatusOr<std::unique_ptr<Kernel>> {
          return std::make_unique<FftKernel>(kind);
        });
      }
    }
  }
}

}  // namespace weir
