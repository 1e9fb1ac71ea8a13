#include "far_kernels.h"

#include <algorithm>

#include "far_device.h"

namespace far {
namespace {

using weir::DType;
using weir::InvalidArgument;
using weir::Kernel;
using weir::KernelBuilder;
using weir::KernelContext;
using weir::KernelInit;
using weir::OkStatus;
using weir::Shape;
using weir::Status;
using weir::StatusOr;
using weir::Tensor;

FarDevice& DeviceOf(KernelContext& ctx) { return static_cast<FarDevice&>(ctx.device()); }
FarRun& RunOf(KernelContext& ctx) { return static_cast<FarRun&>(*ctx.step().device_run); }

// Where the stream finds the elements.
template <typename T>
T* Open(FarDevice& device, const Tensor& tensor) {
  return reinterpret_cast<T*>(device.memory().Open(tensor));
}

// Elementwise over one input. Every kernel here checks and allocates now, and computes later, in the stream.
template <float (*kFunction)(float)>
class Unary : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, input.shape()));
    FarDevice& device = DeviceOf(ctx);
    RunOf(ctx).Enqueue([&device, input, output = *output] {
      const float* x = Open<const float>(device, input);
      std::transform(x, x + input.num_elements(), Open<float>(device, output), kFunction);
      return OkStatus();
    });
    return OkStatus();
  }
};

// Elementwise over two inputs of one shape, or one of them a single value.
template <typename Out, Out (*kFunction)(float, float)>
class Binary : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor a = ctx.input(0), b = ctx.input(1);
    if (a.shape() != b.shape() && a.rank() != 0 && b.rank() != 0) {
      return InvalidArgument("The far device wants equal shapes or a scalar, not ", a.shape().ToString(), " and ",
                             b.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, a.rank() != 0 ? a.shape() : b.shape()));
    FarDevice& device = DeviceOf(ctx);
    RunOf(ctx).Enqueue([&device, a, b, output = *output] {
      const float *x = Open<const float>(device, a), *y = Open<const float>(device, b);
      Out* z = Open<Out>(device, output);
      const bool one_a = a.rank() == 0, one_b = b.rank() == 0;
      for (int64_t i = 0; i < output.num_elements(); ++i) z[i] = kFunction(x[one_a ? 0 : i], y[one_b ? 0 : i]);
      return OkStatus();
    });
    return OkStatus();
  }
};

class MatMul : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<MatMul>();
    WEIR_ASSIGN_OR_RETURN(kernel->transpose_a_, init.Attr<bool>("transpose_a"));
    WEIR_ASSIGN_OR_RETURN(kernel->transpose_b_, init.Attr<bool>("transpose_b"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor a = ctx.input(0), b = ctx.input(1);
    if (a.rank() != 2 || b.rank() != 2) return InvalidArgument("MatMul needs two matrices");
    const int64_t rows = a.dim(transpose_a_ ? 1 : 0), depth = a.dim(transpose_a_ ? 0 : 1);
    const int64_t columns = b.dim(transpose_b_ ? 0 : 1);
    if (b.dim(transpose_b_ ? 1 : 0) != depth) {
      return InvalidArgument("Matrix size-incompatible: In[0]: ", a.shape().ToString(),
                             ", In[1]: ", b.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, Shape({rows, columns})));
    FarDevice& device = DeviceOf(ctx);
    const int64_t a_row = transpose_a_ ? 1 : depth, a_step = transpose_a_ ? rows : 1;
    const int64_t b_step = transpose_b_ ? 1 : columns, b_column = transpose_b_ ? depth : 1;
    RunOf(ctx).Enqueue([=, &device, output = *output] {
      const float *x = Open<const float>(device, a), *y = Open<const float>(device, b);
      float* z = Open<float>(device, output);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          float sum = 0;
          for (int64_t k = 0; k < depth; ++k) sum += x[i * a_row + k * a_step] * y[k * b_step + j * b_column];
          z[i * columns + j] = sum;
        }
      }
      return OkStatus();
    });
    return OkStatus();
  }

 private:
  bool transpose_a_ = false;
  bool transpose_b_ = false;
};

// The sum of all elements: the axes, which the host reads, must be all of them.
class Sum : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<Sum>();
    WEIR_ASSIGN_OR_RETURN(kernel->keep_dims_, init.Attr<bool>("keep_dims"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    std::vector<bool> seen(input.rank(), false);
    for (int32_t axis : ctx.input(1).span<int32_t>()) {
      if (axis < 0) axis += input.rank();
      if (axis < 0 || axis >= input.rank()) return InvalidArgument("Invalid reduction dimension ", axis);
      seen[axis] = true;
    }
    if (std::find(seen.begin(), seen.end(), false) != seen.end()) {
      return weir::Unimplemented("The far device sums over all axes or none");
    }
    const std::vector<int64_t> ones(keep_dims_ ? input.rank() : 0, 1);
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(ones));
    WEIR_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
    FarDevice& device = DeviceOf(ctx);
    RunOf(ctx).Enqueue([&device, input, output = *output] {
      const float* x = Open<const float>(device, input);
      double sum = 0;
      for (int64_t i = 0; i < input.num_elements(); ++i) sum += x[i];
      *Open<float>(device, output) = static_cast<float>(sum);
      return OkStatus();
    });
    return OkStatus();
  }

 private:
  bool keep_dims_ = false;
};

// A shape is known here, without the device: the output is in the host's memory.
class ShapeOf : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Shape& shape = ctx.input(0).shape();
    WEIR_ASSIGN_OR_RETURN(Tensor output, ctx.AllocateHost(DType::kInt32, Shape({shape.rank()})));
    for (int i = 0; i < shape.rank(); ++i) output.data<int32_t>()[i] = static_cast<int32_t>(shape.dim(i));
    ctx.set_output(0, std::move(output));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

// Fails over there if an element is not finite, as a device does whose errors come late.
class CheckNumerics : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CheckNumerics>();
    WEIR_ASSIGN_OR_RETURN(kernel->message_, init.Attr<std::string>("message"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    FarDevice& device = DeviceOf(ctx);
    RunOf(ctx).Enqueue([&device, input, text = weir::Cat(message_, " : Tensor had Inf or NaN values")]() -> Status {
      const float* x = Open<const float>(device, input);
      bool finite = std::all_of(x, x + input.num_elements(), [](float each) { return each - each == 0; });
      return finite ? OkStatus() : InvalidArgument(text);
    });
    ctx.set_output(0, input);
    return OkStatus();
  }

 private:
  std::string message_;
};

float Negative(float x) { return -x; }
float Squared(float x) { return x * x; }
float Rectified(float x) { return x > 0 ? x : 0; }
float Plus(float x, float y) { return x + y; }
float Minus(float x, float y) { return x - y; }
float Times(float x, float y) { return x * y; }
bool IsLess(float x, float y) { return x < y; }

KernelBuilder On(std::string_view op) { return KernelBuilder(op).Device("FAR").Types("T", {DType::kFloat}); }

}  // namespace

void RegisterFarKernels(weir::KernelRegistry& registry) {
  using weir::MakeKernel;
  registry.Add(On("Neg"), MakeKernel<Unary<Negative>>);
  registry.Add(On("Square"), MakeKernel<Unary<Squared>>);
  registry.Add(On("Relu"), MakeKernel<Unary<Rectified>>);
  registry.Add(On("AddV2"), MakeKernel<Binary<float, Plus>>);
  registry.Add(On("Sub"), MakeKernel<Binary<float, Minus>>);
  registry.Add(On("Mul"), MakeKernel<Binary<float, Times>>);
  registry.Add(On("Less"), MakeKernel<Binary<bool, IsLess>>);
  registry.Add(On("MatMul"), MakeKernel<MatMul>);
  registry.Add(On("CheckNumerics"), MakeKernel<CheckNumerics>);
  registry.Add(On("Sum").Types("Tidx", {DType::kInt32}).HostMemory("reduction_indices"), MakeKernel<Sum>);
  registry.Add(On("Shape").Types("out_type", {DType::kInt32}).HostMemory("output"), MakeKernel<ShapeOf>);
}

}  // namespace far
