#include "weir/client/gpu_devices.h"

#ifdef WEIR_HAS_CUDA
#include <algorithm>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
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
#include "weir/passes/fuse_attention.h"
#include "weir/passes/fuse_column_sums.h"
#include "weir/passes/fuse_cross_entropy.h"
#include "weir/passes/merge_updates.h"
#include "weir/passes/mixed_precision.h"
#include "weir/passes/move_reshapes.h"
#include "weir/passes/pack_attention.h"
#endif

namespace weir {

#ifndef WEIR_HAS_CUDA

Status AddGpuDevices(Environment*, const GpuOptions&) { return OkStatus(); }
bool AllowsTensorFloat32() { return false; }
void AllowTensorFloat32(bool) {}
std::vector<GpuCard> ListGpuCards() { return {}; }
bool IsBuiltWithGpus() { return false; }
void SetGpuTensorFloat32(bool) {}
bool ForgetGpuPeak(Device&) { return false; }
int GpuCardOf(const Device&) { return -1; }
StatusOr<dlpack::ManagedTensor*> GpuToDLPack(const Tensor& tensor, Device&) { return ToDLPack(tensor); }
StatusOr<Tensor> GpuFromDLPack(dlpack::ManagedTensor* managed, const DeviceSet&) { return FromDLPack(managed); }
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
StatusOr<std::vector<int> > VisibleCards(const GpuOptions& options, int count) {
  const std::string& list = options.visible_devices;
  std::vector<int> cards;
  for (int i = 0; list.empty() && i < count; ++i) cards.push_back(i);
  const std::vector<std::string> items = absl::StrSplit(list, ',', absl::SkipWhitespace());
  for (const std::string& item : items) {
    int number = 0;
    if (!absl::SimpleAtoi(item, &number)) {
      return InvalidArgument("Could not parse entry in 'visible_device_list': '", item,
                             "'. visible_device_list = ", list);
    }
    if (number < 0 || number >= count) {
      return InvalidArgument("'visible_device_list' listed an invalid Device id '", number,
                             "' but visible device count is ", count);
    }
    if (std::ranges::find(cards, number) != cards.end()) {
      return InvalidArgument("visible_device_list contained a duplicate entry: ", list);
    }
    cards.push_back(number);
  }
  if (options.max_devices >= 0 && std::ssize(cards) > options.max_devices) cards.resize(options.max_devices);
  if (cards.size() < options.logical_devices.size()) {
    return Unknown("Not enough GPUs to create virtual devices. num_gpus_to_use: ", cards.size(),
                   " #virtual_devices: ", options.logical_devices.size());
  }
  return cards;
}

// Whether a node may be in a generated program whose values have types of their own.
bool Mixes(const Node& node) {
  if (node.Attr<bool>("Truncate").value_or(false) || !node.Attr<bool>("incompatible_shape_error").value_or(true)) {
    return false;
  }
  std::vector<DType> operands;
  for (size_t i = 0; i < node.inputs.size(); ++i) operands.push_back(BaseType(node.input_type(static_cast<int>(i))));
  return cuda::FitsFusedProgram(node.op(), operands, node.output_type(0));
}

// Whether the kernels of _Attention are faster than products and a softmax. Those of 16 bits keep no scores; others do,
// for a batch at a time, which is better only if all scores together would leave the caches.
bool AttentionPays(DType dtype, const AttentionExtent& extent) {
  if (dtype != DType::kFloat) return extent.size > 0 && extent.size % 16 == 0 && extent.size <= 128;
  if (extent.heads < 0 || extent.queries < 0 || extent.keys < 0) return false;
  return extent.heads * extent.queries * extent.keys >= int64_t{1} << 20;
}

// What is done to a GPU's part of a graph.
void RegisterGpuRewrites(DeviceRewrites& rewrites) {
  // Before types change: then it is one node that does.
  rewrites.Add(std::string(cuda::kDeviceType), "fuse attention",
               [](RewriteContext& context, const DeviceRewriteOptions& options) -> Status {
                 if (!options.fusion || !options.has_kernel("_Attention")) return OkStatus();
                 const DType mixed = options.mixed_precision;
                 return FuseAttention(context, {.pays = [mixed](DType dtype, const AttentionExtent& extent) {
                                        return AttentionPays(mixed == DType::kInvalid ? dtype : mixed, extent);
                                      }});
               });
  rewrites.Add(std::string(cuda::kDeviceType), "mix precisions", MixPrecision);
  rewrites.Add(std::string(cuda::kDeviceType), "pack attention",
               [](RewriteContext& context, const DeviceRewriteOptions& options) -> Status {
                 return options.fusion && options.has_kernel("_PackedAttention") ? PackAttention(context) : OkStatus();
               });
  static const auto* const types =
      new std::vector<DType>{DType::kFloat, DType::kHalf, DType::kBFloat16};  // of fused operations
  rewrites.Add(std::string(cuda::kDeviceType), "fuse contractions and norms",
               [](RewriteContext& context, const DeviceRewriteOptions& options) -> Status {
                 if (!options.fusion) return OkStatus();
                 WEIR_RETURN_IF_ERROR(FuseContractions(context, *types));
                 context.EndPass();
                 return FuseNorms(context, *types);
               });
  rewrites.Add(std::string(cuda::kDeviceType), "fuse cross entropy",
               [](RewriteContext& context, const DeviceRewriteOptions& options) -> Status {
                 return options.fusion && options.has_kernel("_SparseCrossEntropy") ? FuseCrossEntropy(context)
                                                                                    : OkStatus();
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
                 WEIR_RETURN_IF_ERROR(MoveReshapes(context));
                 context.EndPass();
                 auto has_loop = [](std::string_view op) {
                   const cuda::ElementwiseOperation* known = cuda::FindElementwiseOperation(op);
                   return op == "AddN" || !cuda::RowOperation(op).empty() ||
                          (known != nullptr && std::string_view(known->include) == "elementwise.cuh");
                 };
                 WEIR_RETURN_IF_ERROR(
                     FuseElementwise(context, {.rows = true, .types = *types, .has_loop = has_loop, .mixes = Mixes}));
                 context.EndPass();
                 return FuseColumnSums(context);
               });
}

// The logical devices of the visible card with the number `place`; `index` numbers all of them.
StatusOr<std::vector<std::shared_ptr<cuda::CudaDevice> > > MakeDevices(const std::string& task_name, int card,
                                                                       size_t place, int index,
                                                                       const GpuOptions& options) {
  WEIR_ASSIGN_OR_RETURN(cuda::Gpu * gpu, cuda::Gpu::Get(card));
  std::vector<int64_t> limits = {0};
  if (place < options.logical_devices.size() && !options.logical_devices[place].empty()) {
    limits = options.logical_devices[place];
  }
  std::vector<int> priorities;
  if (place < options.priorities.size()) priorities = options.priorities[place];
  std::vector<std::shared_ptr<cuda::CudaDevice> > devices;
  for (size_t i = 0; i < limits.size(); ++i) {
    if (limits[i] < 0) return InvalidArgument("A logical GPU cannot have a memory limit of ", limits[i], " bytes");
    cuda::LogicalGpu logical{.gpu = card, .memory_limit = static_cast<size_t>(limits[i]), .grow = options.allow_growth};
    if (i < priorities.size()) logical.priority = priorities[i];
    if (limits[i] == 0 && options.memory_fraction > 0) {
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
  WEIR_ASSIGN_OR_RETURN(std::vector<int> cards, VisibleCards(options, count));
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
    auto devices = MakeDevices(environment->task_name, cards[i], i, index, options);
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
std::vector<GpuCard> ListGpuCards() {
  std::vector<GpuCard> cards;
  const int count = IsSwitchedOff() ? 0 : cuda::Gpu::Count();
  for (int i = 0; i < count; ++i) {
    StatusOr<cuda::GpuFacts> facts = cuda::Gpu::Facts(i);
    if (!facts.ok()) continue;
    cards.push_back(
        {facts->name, facts->major, facts->minor, facts->pci_bus_id, static_cast<int64_t>(facts->total_memory)});
  }
  return cards;
}

bool IsBuiltWithGpus() { return true; }
void SetGpuTensorFloat32(bool allowed) { cuda::SetTensorFloat32(allowed); }

bool ForgetGpuPeak(Device& device) {
  auto* pool = dynamic_cast<cuda::MemoryPool*>(device.allocator());
  if (pool != nullptr) pool->ForgetPeak();
  return pool != nullptr;
}

int GpuCardOf(const Device& device) {
  const auto* gpu = dynamic_cast<const cuda::CudaDevice*>(&device);
  return gpu != nullptr ? gpu->gpu().number() : -1;
}

StatusOr<dlpack::ManagedTensor*> GpuToDLPack(const Tensor& tensor, Device& device) {
  auto* gpu = dynamic_cast<cuda::CudaDevice*>(&device);
  if (gpu == nullptr) return ToDLPack(tensor);
  // Its reader has streams of its own, which know nothing of ours.
  WEIR_RETURN_IF_ERROR(gpu->Await());
  return ToDLPack(tensor, {dlpack::kCuda, gpu->gpu().number()});
}

StatusOr<Tensor> GpuFromDLPack(dlpack::ManagedTensor* managed, const DeviceSet& devices) {
  for (const auto& device : devices.devices()) {
    auto* gpu = dynamic_cast<cuda::CudaDevice*>(device.get());
    if (gpu == nullptr || gpu->gpu().number() != managed->array.device.device_id) continue;
    cuda::UseContext(gpu->gpu().context());
    WEIR_RETURN_IF_CUDA_ERROR(cuda::Driver().CtxSynchronize(), "waiting for who filled a tensor");
    auto when_idle = [device](const std::function<void()>& release) {
      static_cast<cuda::CudaDevice&>(*device).parts().compute->WhenDone([release](const Status&) { release(); });
    };
    return FromDLPack(managed, {.memory = device->allocator(), .when_idle = when_idle});
  }
  return NotFound("There is no device for the GPU ", managed->array.device.device_id, " of a DLPack tensor");
}

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
