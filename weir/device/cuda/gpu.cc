#include "weir/device/cuda/gpu.h"

#include <fstream>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/synchronization/mutex.h"
#include "weir/base/strings.h"

namespace weir::cuda {
namespace {

class PinnedMemory : public MemorySource {
 public:
  explicit PinnedMemory(ContextHandle context) : context_(context) {}
  void* Take(size_t bytes) override {
    UseContext(context_);
    void* memory = nullptr;
    if (Driver().MemHostAlloc(&memory, bytes, kMemHostPortable | kMemHostDeviceMap) != kSuccess) return nullptr;
    return memory;
  }
  void Give(void* region, size_t) override {
    UseContext(context_);
    Driver().MemFreeHost(region);
  }

 private:
  const ContextHandle context_;
};

// As the kernel has it; 0 where it does not know.
int NumaNodeOf(std::string bus) {
  for (char& c : bus) c = absl::ascii_tolower(c);
  std::ifstream file(Cat("/sys/bus/pci/devices/", bus, "/numa_node"));
  int node = 0;
  return file >> node && node > 0 ? node : 0;
}

}  // namespace

int Gpu::Count() {
  StatusOr<const DriverFunctions*> driver = LoadDriver();
  int count = 0;
  if (!driver.ok() || (*driver)->DeviceGetCount(&count) != kSuccess) return 0;
  return count;
}

StatusOr<Gpu*> Gpu::Get(int number) {
  static absl::Mutex mu;
  static auto* gpus = new std::map<int, std::unique_ptr<Gpu>>;  // never destroyed: threads may still compute
  absl::MutexLock lock(&mu);
  if (auto found = gpus->find(number); found != gpus->end()) return found->second.get();
  WEIR_RETURN_IF_ERROR(LoadDriver().status());
  if (number < 0 || number >= Count()) return NotFound("There is no GPU ", number, "; the driver shows ", Count());
  std::unique_ptr<Gpu> gpu(new Gpu);
  WEIR_RETURN_IF_ERROR(gpu->Start(number));
  return gpus->emplace(number, std::move(gpu)).first->second.get();
}

StatusOr<GpuFacts> Gpu::Facts(int number) {
  WEIR_ASSIGN_OR_RETURN(const DriverFunctions* driver, LoadDriver());
  GpuFacts facts;
  Ordinal ordinal = 0;
  WEIR_RETURN_IF_CUDA_ERROR(driver->DeviceGet(&ordinal, number), "finding a GPU");
  char text[256] = {};
  WEIR_RETURN_IF_CUDA_ERROR(driver->DeviceGetName(text, sizeof(text) - 1, ordinal), "asking a GPU for its name");
  facts.name = text;
  char bus[64] = {};
  WEIR_RETURN_IF_CUDA_ERROR(driver->DeviceGetPciBusId(bus, sizeof(bus) - 1, ordinal), "asking a GPU for its bus");
  facts.pci_bus_id = bus;
  WEIR_RETURN_IF_CUDA_ERROR(driver->DeviceTotalMem(&facts.total_memory, ordinal), "asking a GPU for its memory");
  const std::pair<int, int*> attributes[] = {{kComputeCapabilityMajor, &facts.major},
                                             {kComputeCapabilityMinor, &facts.minor},
                                             {kMultiprocessorCount, &facts.multiprocessors},
                                             {kMaxSharedMemoryPerBlockOptin, &facts.max_shared_bytes}};
  for (auto [attribute, value] : attributes) {
    WEIR_RETURN_IF_CUDA_ERROR(driver->DeviceGetAttribute(value, attribute, ordinal), "asking a GPU for an attribute");
  }
  facts.numa_node = NumaNodeOf(facts.pci_bus_id);
  return facts;
}

Status Gpu::Start(int number) {
  const DriverFunctions& driver = Driver();
  number_ = number;
  WEIR_ASSIGN_OR_RETURN(facts_, Facts(number));
  Ordinal ordinal = 0;
  WEIR_RETURN_IF_CUDA_ERROR(driver.DeviceGet(&ordinal, number), "finding a GPU");
  WEIR_RETURN_IF_CUDA_ERROR(driver.DevicePrimaryCtxRetain(&context_, ordinal),
                            Cat("starting GPU ", number, " (", facts_.name, ")"));
  pinned_ = std::make_unique<MemoryPool>(std::make_shared<PinnedMemory>(context_),
                                         MemoryPoolOptions{.name = "pinned", .host_memory = true});
  programs_ = std::make_unique<ProgramCache>(context_, compute_capability());
  return OkStatus();
}

std::string Gpu::Description() const {
  return Cat("device: ", number_, ", name: ", facts_.name, ", pci bus id: ", facts_.pci_bus_id,
             ", compute capability: ", facts_.major, ".", facts_.minor);
}

}  // namespace weir::cuda
