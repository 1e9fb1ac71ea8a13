#include "weir/client/gpu_devices.h"

#ifdef WEIR_HAS_CUDA
#include <cstdlib>

#include "weir/base/logging.h"
#include "weir/device/cpu/rewrites/fuse_contractions.h"
#include "weir/device/cpu/rewrites/fuse_elementwise.h"
#include "weir/device/cpu/rewrites/fuse_norms.h"
#include "weir/device/cuda/blas.h"
#include "weir/device/cuda/cuda_device.h"
#include "weir/device/cuda/row_source.h"
#include "weir/device/cuda/shared_libraries.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/math/cuda/elementwise_operations.h"
#include "weir/ops/train/cuda/update_rules.h"
#include "weir/passes/merge_updates.h"
#include "weir/passes/mixed_precision.h"
#endif

namespace weir {

#ifndef WEIR_HAS_CUDA

Status AddGpuDevices(Environment*, const GpuOptions&) { return OkStatus(); }
bool AllowsTensorFloat32() { return false; }
void AllowTensorFloat32(bool) {}
std::vector<GpuLibrary> FindGpuLibraries() { return {}; }
StatusOr<std::string> GpuDriverVersion() { return NotFound("This weir was built without support for GPUs"); }

#else

namespace {

bool IsSwitchedOff() {
  const char* value = std::getenv("WEIR_CUDA");
  const std::string_view text = value == nullptr ? "" : value;
  return text == "off" || text == "OFF" || text == "0";
}

// The cards that the options choose.
StatusOr<std::vector<int> > VisibleCards(const std::string& list, int count) {
  std::vector<int> cards;
  if (list.empty()) {
    for (int i = 0; i < count; ++i) cards.push_back(i);
    return cards;
  }
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string item = list.substr(begin, end - begin);
    char* rest = nullptr;
    const long number = std::strtol(item.c_str(), &rest, 10);
    if (item.empty() || *rest != '\0' || number < 0 || number >= count) {
      return InvalidArgument("'visible_device_list' listed an invalid GPU id '", item, "' but visible device count is ",
                             count);
    }
    cards.push_back(static_cast<int>(number));
    begin = end + 1;
  }
  return cards;
}

// What is done to a GPU's part of a graph.
void RegisterGpuRewrites(DeviceRewrites& rewrites) {
  rewrites.Add(std::string(cuda::kDeviceType), "mix precisions", MixPrecision);
  static const auto* const types =
      new std::vector<DType>{DType::kFloat, DType::kHalf, DType::kBFloat16};  // of fused operations
  rewrites.Add(std::string(cuda::kDeviceType), "fuse contractions and norms",
               [](RewriteContext& context, const DeviceRewriteOptions& options) -> Status {
                 if (!options.fusion) return OkStatus();
                 WEIR_RETURN_IF_ERROR(FuseContractions(context, *types));
                 context.EndPass();
                 return FuseNorms(context, *types);
               });
  rewrites.Add(std::string(cuda::kDeviceType), "merge updates",
               [](RewriteContext& context, const DeviceRewriteOptions& options) -> Status {
                 if (!options.fusion) return OkStatus();
                 return MergeUpdates(context, {.has_rule = [](std::string_view op) {
                                       return op.starts_with("Resource") && cuda::FindUpdateRule(op) != nullptr;
                                     }});
               });
  rewrites.Add(std::string(cuda::kDeviceType), "fuse elementwise operations",
               [](RewriteContext& context, const DeviceRewriteOptions& options) -> Status {
                 if (!options.fusion) return OkStatus();
                 auto has_loop = [](std::string_view op) {
                   const cuda::ElementwiseOperation* known = cuda::FindElementwiseOperation(op);
                   return op == "AddN" || !cuda::RowOperation(op).empty() ||
                          (known != nullptr && std::string_view(known->include) == "elementwise.cuh");
                 };
                 return FuseElementwise(context, {.rows = true, .types = *types, .has_loop = has_loop});
               });
}

// The logical devices of one card; `index` numbers all of them.
StatusOr<std::vector<std::shared_ptr<cuda::CudaDevice> > > MakeDevices(const std::string& task_name, int card,
                                                                       int index, const std::vector<int64_t>& limits,
                                                                       const GpuOptions& options) {
  WEIR_ASSIGN_OR_RETURN(cuda::Gpu * gpu, cuda::Gpu::Get(card));
  std::vector<std::shared_ptr<cuda::CudaDevice> > devices;
  for (int64_t limit : limits) {
    if (limit < 0) return InvalidArgument("A logical GPU cannot have a memory limit of ", limit, " bytes");
    cuda::LogicalGpu logical{.gpu = card, .memory_limit = static_cast<size_t>(limit), .grow = options.allow_growth};
    if (limit == 0 && options.memory_fraction > 0) {
      logical.memory_limit = static_cast<size_t>(options.memory_fraction * static_cast<double>(gpu->total_memory()));
    }
    WEIR_ASSIGN_OR_RETURN(devices.emplace_back(), cuda::CudaDevice::Make(task_name, index++, logical));
  }
  return devices;
}

}  // namespace

Status AddGpuDevices(Environment* environment, const GpuOptions& options) {
  if (!options.enabled || IsSwitchedOff()) return OkStatus();
  const int count = cuda::Gpu::Count();
  if (count == 0) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(std::vector<int> cards, VisibleCards(options.visible_devices, count));
  if (cards.empty()) return OkStatus();
  // Nobody who did not ask for a GPU is to suffer from one that cannot be used.
  const bool is_asked_for = !options.visible_devices.empty() || !options.logical_devices.empty();
  if (Status nvrtc = cuda::OpenCudaLibrary(cuda::CudaLibrary::kNvrtc).status(); !nvrtc.ok()) {
    if (is_asked_for) return nvrtc;
    WEIR_LOG(WARNING) << "The GPUs of this machine are not used: " << Message(nvrtc);
    return OkStatus();
  }
  int index = 0;
  for (size_t i = 0; i < cards.size(); ++i) {
    std::vector<int64_t> limits = {0};
    if (i < options.logical_devices.size() && !options.logical_devices[i].empty()) limits = options.logical_devices[i];
    auto devices = MakeDevices(environment->task_name, cards[i], index, limits, options);
    if (!devices.ok() && is_asked_for) return devices.status();
    if (!devices.ok()) {
      WEIR_LOG(WARNING) << "GPU " << cards[i] << " is not used: " << Message(devices.status());
      continue;
    }
    index += static_cast<int>(devices->size());
    for (auto& device : *devices) environment->devices.Add(std::move(device));
  }
  if (index == 0) return OkStatus();
  cuda::RegisterGpuKernels(environment->ops, environment->kernels);
  RegisterGpuRewrites(environment->rewrites);
  return OkStatus();
}

bool AllowsTensorFloat32() { return cuda::AllowsTensorFloat32(); }
void AllowTensorFloat32(bool allowed) { cuda::SetTensorFloat32(allowed); }

std::vector<GpuLibrary> FindGpuLibraries() {
  std::vector<GpuLibrary> libraries;
  for (int i = 0; i < cuda::kNumCudaLibraries; ++i) {
    const auto library = static_cast<cuda::CudaLibrary>(i);
    StatusOr<void*> opened = cuda::OpenCudaLibrary(library);
    libraries.push_back({std::string(cuda::Name(library)), opened.ok() ? cuda::CudaLibraryFile(library) : "",
                         opened.ok() ? "" : Message(opened.status())});
  }
  return libraries;
}

StatusOr<std::string> GpuDriverVersion() {
  WEIR_ASSIGN_OR_RETURN(const cuda::DriverFunctions* driver, cuda::LoadDriver());
  int version = 0;
  WEIR_RETURN_IF_CUDA_ERROR(driver->DriverGetVersion(&version), "asking the driver for its version");
  return Cat(version / 1000, ".", version % 1000 / 10);
}

#endif

}  // namespace weir
