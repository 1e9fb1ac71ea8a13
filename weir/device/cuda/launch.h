// How kernels of GPU operations give their work to the device.
//
//   WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
//   return LaunchOver(ctx, {"weir/ops/math/cuda/sign.cu", Cat("Sign<", DeviceTypeName(x.dtype()), ">")},
//   x.num_elements(),
//                     Address(x), Address(*out), x.num_elements());
//
// calls the kernel template Sign of that source with one thread for about every element. Arguments are passed by value
// and must have exactly the sizes of the kernel's parameters: DeviceAddress for pointers, int64_t for `long long`,
// int32_t for `int`, float, double, or a plain struct that both sides declare alike.
#ifndef WEIR_DEVICE_CUDA_LAUNCH_H_
#define WEIR_DEVICE_CUDA_LAUNCH_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "weir/device/cuda/cuda_device.h"
#include "weir/framework/kernel_registry.h"

namespace weir::cuda {

// A kernel of embedded device code: the file and an expression that names the instantiation.
struct DeviceFunction {
  std::string_view source;
  std::string name;
};

struct LaunchShape {
  unsigned grid = 1, grid_y = 1, grid_z = 1;
  unsigned block = 256, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
};

inline constexpr unsigned kBlockThreads = 256;

// The type's name in device code: "float", "half", "long long", "complex64".
std::string_view DeviceTypeName(DType dtype);

inline CudaDevice& DeviceOf(const KernelContext& ctx) { return static_cast<CudaDevice&>(ctx.device()); }
inline CudaRun& RunOf(const KernelContext& ctx) { return static_cast<CudaRun&>(*ctx.step().device_run); }

// The compiled function; made on first use.
StatusOr<FunctionHandle> Find(const KernelContext& ctx, const DeviceFunction& function);
// The same for generated text (program_cache.h).
StatusOr<FunctionHandle> FindGenerated(const KernelContext& ctx, std::string_view path, std::string_view text,
                                       std::string_view name);

// Enqueues a call; `arguments` are pointers to the values. With $WEIR_CUDA_DEBUG=1 waits for it, so that the error of a
// faulty kernel names its node.
Status LaunchFunction(const KernelContext& ctx, FunctionHandle function, const LaunchShape& shape, void** arguments);

template <typename... Args>
Status Launch(const KernelContext& ctx, const DeviceFunction& function, const LaunchShape& shape, const Args&... args) {
  static_assert((std::is_trivially_copyable_v<Args> && ...));
  WEIR_ASSIGN_OR_RETURN(FunctionHandle found, Find(ctx, function));
  std::array<void*, sizeof...(Args) + 1> pointers{const_cast<void*>(static_cast<const void*>(&args))..., nullptr};
  return LaunchFunction(ctx, found, shape, pointers.data());
}

// A grid for `n` elements that its threads share in a loop with the grid's size as its stride.
LaunchShape ShapeFor(const KernelContext& ctx, int64_t n);

// Launch with ShapeFor(n); nothing to do if n is 0.
template <typename... Args>
Status LaunchOver(const KernelContext& ctx, const DeviceFunction& function, int64_t n, const Args&... args) {
  if (n == 0) return OkStatus();
  return Launch(ctx, function, ShapeFor(ctx, n), args...);
}

// The address of a word that device code makes other than 0 to fail the step with `status`; null if that is OK.
StatusOr<DeviceAddress> ErrorFlag(const KernelContext& ctx, Status status);

// In the compute stream, in order with kernels.
Status CopyOnDevice(const KernelContext& ctx, DeviceAddress to, DeviceAddress from, size_t bytes);
// Fills a variable's new memory, because somebody holds the old one. A recording cannot let variables move.
Status CopyVariable(const KernelContext& ctx, const Tensor& from, const Tensor& to);
Status FillZero(const KernelContext& ctx, DeviceAddress to, size_t bytes);
// Values of the host as a tensor of the device, for kernels with more parameters than fit a launch.
StatusOr<Tensor> Upload(KernelContext& ctx, const void* values, size_t bytes);
template <typename T>
StatusOr<Tensor> Upload(KernelContext& ctx, const std::vector<T>& values) {
  return Upload(ctx, values.data(), values.size() * sizeof(T));
}

// Brings a tensor to the host and goes on in `then`, from another thread: for asynchronous kernels whose output's shape
// depends on values.
void ReadBack(const KernelContext& ctx, const Tensor& tensor, std::function<void(StatusOr<Tensor>)> then);

// A word in memory that both sides see: if a kernel makes it other than 0, the step fails with `status` of this node.
StatusOr<DeviceAddress> ErrorWord(KernelContext& ctx, const Status& status);

// The same for kernels that end there: `done` gets the error of the copy, or what `then` returns.
void FinishWith(const KernelContext& ctx, const Tensor& tensor, Completion done,
                std::function<Status(const Tensor& host)> then);

// KernelBuilder(op).Device("GPU").
KernelBuilder OnGpu(std::string_view op);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_LAUNCH_H_
