#include "weir/device/cuda/launch.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace weir::cuda {
namespace {

bool IsDebugging() {
  static const bool is_debugging = [] {
    const char* value = std::getenv("WEIR_CUDA_DEBUG");
    return value != nullptr && std::string_view(value) != "0" && *value != '\0';
  }();
  return is_debugging;
}

constexpr unsigned kBlocksPerMultiprocessor = 8;
constexpr size_t kPlainSharedBytes = 48 << 10;  // more must be asked for

}  // namespace

std::string_view DeviceTypeName(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return "float";
    case DType::kDouble:
      return "double";
    case DType::kHalf:
      return "half";
    case DType::kBFloat16:
      return "bfloat16";
    case DType::kInt4:
      return "tiny_int";
    case DType::kUInt4:
      return "tiny_uint";
    case DType::kInt8:
    case DType::kQInt8:
      return "int8";
    case DType::kUInt8:
    case DType::kQUInt8:
      return "uint8";
    case DType::kInt16:
    case DType::kQInt16:
      return "int16";
    case DType::kUInt16:
    case DType::kQUInt16:
      return "uint16";
    case DType::kInt32:
    case DType::kQInt32:
      return "int32";
    case DType::kUInt32:
      return "uint32";
    case DType::kInt64:
      return "int64";
    case DType::kUInt64:
      return "uint64";
    case DType::kBool:
      return "bool";
    case DType::kComplex64:
      return "complex64";
    case DType::kComplex128:
      return "complex128";
    default:
      return "";
  }
}

StatusOr<FunctionHandle> Find(const KernelContext& ctx, const DeviceFunction& function) {
  return DeviceOf(ctx).gpu().programs().Get(function.source, function.name);
}

StatusOr<FunctionHandle> FindGenerated(const KernelContext& ctx, std::string_view path, std::string_view text,
                                       std::string_view name) {
  return DeviceOf(ctx).gpu().programs().GetGenerated(path, text, name);
}

Status LaunchFunction(const KernelContext& ctx, FunctionHandle function, const LaunchShape& shape, void** arguments) {
  CudaRun& run = RunOf(ctx);
  WEIR_RETURN_IF_ERROR(run.parts().health());
  UseContext(run.stream().context());
  if (shape.shared_bytes > kPlainSharedBytes) {
    WEIR_RETURN_IF_CUDA_ERROR(
        Driver().FuncSetAttribute(function, kFunctionMaxDynamicSharedBytes, static_cast<int>(shape.shared_bytes)),
        "asking for shared memory");
  }
  const Result result =
      Driver().LaunchKernel(function, shape.grid, shape.grid_y, shape.grid_z, shape.block, shape.block_y, shape.block_z,
                            shape.shared_bytes, run.stream().handle(), arguments, nullptr);
  run.NoteWork();
  WEIR_RETURN_IF_CUDA_ERROR(result, Cat("launching a kernel of ", ctx.node().schema->name));
  if (IsDebugging()) [[unlikely]] {
    Status status = run.stream().Synchronize();
    if (!status.ok()) run.parts().Poison(status);
    return status;
  }
  return OkStatus();
}

LaunchShape ShapeFor(const KernelContext& ctx, int64_t n) {
  const int64_t blocks = (n + kBlockThreads - 1) / kBlockThreads;
  const int64_t most = int64_t{DeviceOf(ctx).gpu().multiprocessors()} * kBlocksPerMultiprocessor;
  return {.grid = static_cast<unsigned>(std::clamp<int64_t>(blocks, 1, most)), .block = kBlockThreads};
}

StatusOr<DeviceAddress> ErrorFlag(const KernelContext& ctx, Status status) {
  if (status.ok()) return DeviceAddress{0};
  WEIR_ASSIGN_OR_RETURN(unsigned* word, RunOf(ctx).ErrorWord(std::move(status)));
  return reinterpret_cast<DeviceAddress>(word);
}

Status CopyOnDevice(const KernelContext& ctx, DeviceAddress to, DeviceAddress from, size_t bytes) {
  if (bytes == 0 || to == from) return OkStatus();
  CudaRun& run = RunOf(ctx);
  WEIR_RETURN_IF_ERROR(run.parts().health());
  UseContext(run.stream().context());
  run.NoteWork();
  return CheckDriver(Driver().MemcpyDtoDAsync(to, from, bytes, run.stream().handle()), "copying on the GPU");
}

Status CopyVariable(const KernelContext& ctx, const Tensor& from, const Tensor& to) {
  if (RunOf(ctx).is_recording()) return Unimplemented("A recording cannot copy a variable that is being read");
  return CopyOnDevice(ctx, Address(to), Address(from), from.num_bytes());
}

Status FillZero(const KernelContext& ctx, DeviceAddress to, size_t bytes) {
  if (bytes == 0) return OkStatus();
  CudaRun& run = RunOf(ctx);
  WEIR_RETURN_IF_ERROR(run.parts().health());
  UseContext(run.stream().context());
  run.NoteWork();
  return CheckDriver(Driver().MemsetD8Async(to, 0, bytes, run.stream().handle()), "filling memory of the GPU");
}

StatusOr<Tensor> Upload(KernelContext& ctx, const void* values, size_t bytes) {
  CudaRun& run = RunOf(ctx);
  WEIR_RETURN_IF_ERROR(run.parts().health());
  const Shape shape({static_cast<int64_t>(bytes)});
  WEIR_ASSIGN_OR_RETURN(Tensor device, ctx.AllocateTemp(DType::kUInt8, shape));
  if (bytes == 0) return device;
  WEIR_ASSIGN_OR_RETURN(Tensor pinned, ctx.AllocateHost(DType::kUInt8, shape));
  std::memcpy(pinned.raw_data(), values, bytes);
  UseContext(run.stream().context());
  run.NoteWork();
  WEIR_RETURN_IF_CUDA_ERROR(Driver().MemcpyHtoDAsync(Address(device), pinned.raw_data(), bytes, run.stream().handle()),
                            "copying to the GPU");
  run.Hold({std::move(pinned)});
  return device;
}

void ReadBack(const KernelContext& ctx, const Tensor& tensor, std::function<void(StatusOr<Tensor>)> then) {
  // The stream's thread must not be kept: what follows may allocate and launch.
  auto runner = ctx.step().runner;
  ctx.device().CopyToHost(tensor, ctx.step().device_run, [runner, then = std::move(then)](StatusOr<Tensor> host) {
    if (!runner) return then(std::move(host));
    runner([then, host = std::move(host)]() mutable { then(std::move(host)); });
  });
}

StatusOr<DeviceAddress> ErrorWord(KernelContext& ctx, const Status& status) {
  // As the executor names the node of an error that a kernel returns.
  WEIR_ASSIGN_OR_RETURN(unsigned* word,
                        RunOf(ctx).ErrorWord(Annotate(status, "", Cat("\n\t [[{{node ", ctx.node_name(), "}}]]"))));
  return reinterpret_cast<DeviceAddress>(word);
}

void FinishWith(const KernelContext& ctx, const Tensor& tensor, Completion done,
                std::function<Status(const Tensor& host)> then) {
  auto shared = std::make_shared<Completion>(std::move(done));
  ReadBack(ctx, tensor, [shared, then = std::move(then)](StatusOr<Tensor> host) {
    (*shared)(host.ok() ? then(*host) : host.status());
  });
}

KernelBuilder OnGpu(std::string_view op) { return KernelBuilder(op).Device(kDeviceType); }

}  // namespace weir::cuda
