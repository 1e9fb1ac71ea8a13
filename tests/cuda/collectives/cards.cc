#include "tests/cuda/collectives/cards.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "weir/base/strings.h"

namespace weir::gpu_testing {
namespace {

// Functions that the stand-in has beside NCCL's own.
template <typename Function>
Function Find(const char* name) {
  void* library = dlopen(WEIR_CUDA_EMULATOR_FOLDER "/libnccl.so.2", RTLD_LAZY | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  auto* function = reinterpret_cast<Function>(dlsym(library, name));
  EXPECT_NE(function, nullptr) << dlerror();
  return function;
}

}  // namespace

void ChooseCards() {
  unsetenv("WEIR_TEST_GPU");
  setenv("CUDA_EMULATOR_DEVICES", "3", 0);
  ChooseDriver();
}

const std::shared_ptr<Environment>& CardsEnvironment() {
  static const auto* environment = [] {
    ChooseCards();
    EnvironmentOptions options;
    options.gpu.logical_devices = {{64 << 20}, {64 << 20}, {64 << 20, 64 << 20}};
    StatusOr<std::shared_ptr<Environment>> made = MakeEnvironment(options);
    EXPECT_TRUE(made.ok()) << made.status();
    return new std::shared_ptr<Environment>(*made);
  }();
  return *environment;
}

EagerRuntime& CardsRuntime() {
  static auto* runtime = new EagerRuntime(CardsEnvironment());
  return *runtime;
}

int64_t NcclCalls() { return Find<int64_t (*)()>("emulatedNcclCalls")(); }
void HoldNcclCalls(bool hold) { Find<void (*)(int)>("emulatedNcclHold")(hold); }
void FailNcclCalls(int count) { Find<void (*)(int)>("emulatedNcclFail")(count); }
void AwaitHeldNcclCalls(int count) { Find<void (*)(int)>("emulatedNcclAwaitHeld")(count); }

StatusOr<Tensor> RunMember(const MemberCall& call) {
  EagerRuntime& runtime = CardsRuntime();
  const OpSchema* schema = CardsEnvironment()->ops.Find(call.op);
  if (schema == nullptr) return NotFound("There is no op ", call.op);
  EagerOptions options;
  options.cancellation = call.cancellation;
  WEIR_ASSIGN_OR_RETURN(options.device, runtime.FindDevice(Cat("/device:GPU:", call.gpu)));
  WEIR_ASSIGN_OR_RETURN(EagerResult result,
                        runtime.Run(*schema, call.inputs, CompleteAttrs(*schema, call.inputs, call.attrs), options));
  return runtime.ToHost(result.outputs[0]);
}

std::vector<StatusOr<Tensor>> RunMembers(const std::vector<MemberCall>& members) {
  CardsRuntime();
  std::vector<StatusOr<Tensor>> results(members.size(), Internal("not run"));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < members.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = RunMember(members[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

}  // namespace weir::gpu_testing
