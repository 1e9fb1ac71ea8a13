#include "driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace cuda_emulator {
namespace {

int64_t NumberFrom(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoll(text, nullptr, 10);
}

// The devices that CUDA_VISIBLE_DEVICES leaves, in its order: numbers or UUIDs, up to the first that is none.
std::vector<int> VisibleDevices(int count) {
  std::vector<int> devices;
  const char* setting = std::getenv("CUDA_VISIBLE_DEVICES");
  if (setting == nullptr) {
    for (int i = 0; i < count; ++i) devices.push_back(i);
    return devices;
  }
  std::string_view rest = setting;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string name(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
    int number = -1;
    if (name.starts_with("GPU-")) {
      for (int i = 0; i < count; ++i) {
        char uuid[48];
        std::snprintf(uuid, sizeof(uuid), "GPU-656d756c-6174-6564-2d67-70752d3030%02x", i);
        if (std::string_view(uuid).starts_with(name)) number = i;
      }
    } else {
      char* end = nullptr;
      number = static_cast<int>(std::strtol(name.c_str(), &end, 10));
      if (end == name.c_str()) number = -1;
    }
    if (number < 0 || number >= count) break;
    if (std::count(devices.begin(), devices.end(), number) != 0) return {};
    devices.push_back(number);
  }
  return devices;
}

thread_local std::vector<Context*> context_stack;

}  // namespace

Driver& Driver::Get() {
  static Driver* const driver = new Driver();
  return *driver;
}

void Driver::Initialize() {
  static std::once_flag once;
  std::call_once(once, [this] {
    const uint64_t limit = static_cast<uint64_t>(NumberFrom("CUDA_EMULATOR_MEMORY_MB", 2048)) << 20;
    for (int number : VisibleDevices(static_cast<int>(NumberFrom("CUDA_EMULATOR_DEVICES", 1)))) {
      devices.push_back(std::make_unique<Device>(number, limit));
      devices.back()->ordinal = static_cast<int>(devices.size()) - 1;
      devices.back()->context.device = devices.back().get();
    }
    is_initialized = true;
  });
}

Device* Driver::FindDevice(int ordinal) {
  return ordinal >= 0 && ordinal < static_cast<int>(devices.size()) ? devices[ordinal].get() : nullptr;
}

Context* Driver::FindContext(CUcontext handle) {
  for (const auto& device : devices) {
    if (reinterpret_cast<CUcontext>(&device->context) == handle) return &device->context;
  }
  return nullptr;
}

Device* Driver::OwnerOf(uint64_t address) {
  for (const auto& device : devices) {
    if (device->context.uses > 0 && device->memory().Contains(address)) return device.get();
  }
  return nullptr;
}

char* Driver::Locate(uint64_t address, size_t size) {
  if (Device* device = OwnerOf(address)) return device->memory().Storage(address, size);
  return reinterpret_cast<char*>(address);
}

DeviceMemory& Device::memory() {
  std::call_once(made_, [this] { memory_ = std::make_unique<DeviceMemory>(memory_limit); });
  return *memory_;
}

MemoryView Device::View() {
  DeviceMemory& own = memory();
  MemoryView view;
  view.base = own.base();
  view.span = own.span();
  view.storage = own.storage();
  view.valid = own.valid();
  view.owner = &context;
  view.resolve = [](const void* owner, uint64_t address, size_t size) -> char* {
    Driver& driver = Driver::Get();
    if (driver.host_memory.Find(reinterpret_cast<const void*>(address), size)) return reinterpret_cast<char*>(address);
    Device* peer = driver.OwnerOf(address);
    if (peer == nullptr) return nullptr;
    Context* context = static_cast<Context*>(const_cast<void*>(owner));
    {
      std::lock_guard lock(context->mutex);
      if (context->peers.count(&peer->context) == 0) return nullptr;
    }
    return peer->memory().Storage(address, size);
  };
  return view;
}

bool HostMemory::Add(void* address, Block block) {
  std::lock_guard lock(mutex_);
  const uintptr_t begin = reinterpret_cast<uintptr_t>(address);
  auto next = blocks_.lower_bound(begin);
  if (next != blocks_.end() && next->first < begin + block.size) return false;
  if (next != blocks_.begin() && std::prev(next)->first + std::prev(next)->second.size > begin) return false;
  blocks_[begin] = block;
  return true;
}

std::optional<HostMemory::Block> HostMemory::Remove(void* address, bool is_allocated) {
  std::lock_guard lock(mutex_);
  auto found = blocks_.find(reinterpret_cast<uintptr_t>(address));
  if (found == blocks_.end() || found->second.is_allocated != is_allocated) return std::nullopt;
  const Block block = found->second;
  blocks_.erase(found);
  return block;
}

std::optional<std::pair<void*, HostMemory::Block>> HostMemory::Find(const void* address, size_t size) const {
  std::shared_lock lock(mutex_);
  const uintptr_t begin = reinterpret_cast<uintptr_t>(address);
  auto found = blocks_.upper_bound(begin);
  if (found == blocks_.begin()) return std::nullopt;
  --found;
  if (begin - found->first + size > found->second.size || begin - found->first >= found->second.size)
    return std::nullopt;
  return std::make_pair(reinterpret_cast<void*>(found->first), found->second);
}

void Context::Poison(int code, const std::string& message) {
  int none = 0;
  if (!error.compare_exchange_strong(none, code)) return;
  std::fprintf(stderr, "cuda_emulator: %s\n", message.c_str());
}

CUresult Context::Synchronize() {
  std::vector<std::shared_ptr<Stream>> all;
  {
    std::lock_guard lock(mutex);
    all.assign(streams.begin(), streams.end());
    if (default_stream) all.push_back(default_stream);
  }
  for (const auto& stream : all) stream->WaitFor(stream->Submitted());
  return status();
}

std::shared_ptr<Stream> Context::NewStream(unsigned flags, int priority) {
  auto stream = std::make_shared<Stream>();
  stream->context = this;
  stream->flags = flags;
  stream->priority = priority;
  std::lock_guard lock(mutex);
  streams.insert(stream);
  return stream;
}

void Context::Destroy() {
  Synchronize();
  Driver& driver = Driver::Get();
  auto mine = [this](const auto& object) { return object.context == this; };
  {
    std::lock_guard lock(driver.function_mutex);
    std::erase_if(driver.functions, [this](const void* handle) {
      return static_cast<const FunctionHandle*>(handle)->module->context == this;
    });
  }
  driver.modules.RemoveIf(mine);
  driver.events.RemoveIf(mine);
  driver.graphs.RemoveIf(mine);
  driver.executions.RemoveIf([this](const GraphExecution& each) { return each.graph.context == this; });
  driver.streams.RemoveIf(mine);
  std::set<std::shared_ptr<Stream>> closing;
  {
    std::lock_guard lock(mutex);
    closing.swap(streams);
    if (default_stream) closing.insert(std::move(default_stream));
    default_stream = nullptr;
    peers.clear();
  }
  for (const auto& stream : closing) {
    std::lock_guard lock(stream->mutex);
    stream->is_closing = true;
    stream->changed.notify_all();
  }
  device->memory().FreeAll();
  error = 0;
}

Context* CurrentContext() { return context_stack.empty() ? nullptr : context_stack.back(); }

CUresult SetCurrentContext(Context* context) {
  if (!context_stack.empty()) context_stack.pop_back();
  if (context != nullptr) context_stack.push_back(context);
  return CUDA_SUCCESS;
}

void PushCurrentContext(Context* context) { context_stack.push_back(context); }

Context* PopCurrentContext() {
  if (context_stack.empty()) return nullptr;
  Context* context = context_stack.back();
  context_stack.pop_back();
  return context;
}

bool& InHostFunction() {
  thread_local bool in_host_function = false;
  return in_host_function;
}

CUresult EnterContext(Context** context) {
  if (!Driver::Get().is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  if (InHostFunction()) return CUDA_ERROR_NOT_PERMITTED;
  *context = CurrentContext();
  if (*context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if ((*context)->uses == 0) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return (*context)->status();
}

}  // namespace cuda_emulator
