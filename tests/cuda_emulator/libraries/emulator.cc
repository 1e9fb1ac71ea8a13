#include "tests/cuda_emulator/libraries/emulator.h"

#include <dlfcn.h>

#include <memory>
#include <mutex>
#include <vector>

namespace weir::cuda_emulator {
namespace {

using HostAddressFunction = void* (*)(unsigned long long);
using EnqueueFunction = int (*)(void*, void (*)(void*), void*);
using IsCapturingFunction = int (*)(void*, int*);
using Work = std::function<void()>;

struct Driver {
  HostAddressFunction host_address = nullptr;
  EnqueueFunction enqueue = nullptr;
  IsCapturingFunction is_capturing = nullptr;
};

// The driver that the process has loaded already, or a test's own two functions.
const Driver& LoadedDriver() {
  static const Driver driver = [] {
    void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) library = RTLD_DEFAULT;
    return Driver{reinterpret_cast<HostAddressFunction>(dlsym(library, "cuEmulatorHostAddress")),
                  reinterpret_cast<EnqueueFunction>(dlsym(library, "cuEmulatorEnqueue")),
                  reinterpret_cast<IsCapturingFunction>(dlsym(library, "cuStreamIsCapturing"))};
  }();
  return driver;
}

}  // namespace

void* HostAddress(const void* device_pointer) {
  const Driver& driver = LoadedDriver();
  if (driver.host_address == nullptr || device_pointer == nullptr) return nullptr;
  return driver.host_address(reinterpret_cast<unsigned long long>(device_pointer));
}

bool Enqueue(void* stream, Work work) {
  const Driver& driver = LoadedDriver();
  if (driver.enqueue == nullptr) return false;
  int capturing = 0;
  if (driver.is_capturing != nullptr) driver.is_capturing(stream, &capturing);
  if (capturing != 0) {
    // The graph may run the work any number of times.
    static std::mutex mutex;
    static std::vector<std::unique_ptr<Work>>& captured = *new std::vector<std::unique_ptr<Work>>;
    std::lock_guard<std::mutex> lock(mutex);
    captured.push_back(std::make_unique<Work>(std::move(work)));
    return driver.enqueue(
               stream, [](void* data) { (*static_cast<Work*>(data))(); }, captured.back().get()) == 0;
  }
  auto owned = std::make_unique<Work>(std::move(work));
  auto run = [](void* data) { (*std::unique_ptr<Work>(static_cast<Work*>(data)))(); };
  if (driver.enqueue(stream, run, owned.get()) != 0) return false;
  owned.release();
  return true;
}

}  // namespace weir::cuda_emulator
