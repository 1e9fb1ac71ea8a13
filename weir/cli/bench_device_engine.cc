#include "weir/cli/bench_device_engine.h"

#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>

#include "absl/synchronization/notification.h"
#include "weir/base/strings.h"
#include "weir/cli/bench_device.h"
#include "weir/client/eager/eager.h"
#include "weir/client/environment.h"

namespace weir {
namespace {

constexpr int kOps = 1000;
constexpr int kCopies = 8, kCopyRounds = 3;  // in a row

using Clock = std::chrono::steady_clock;
double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The host's time for one of kOps operations in a row, without waiting for them, and with the wait for the last.
Status MeasureEager(const char* name, const std::function<EagerTensor()>& op, double seconds) {
  double enqueued = std::numeric_limits<double>::max(), done = enqueued;
  const auto begin = Clock::now();
  do {
    EagerTensor last;
    const auto start = Clock::now();
    for (int i = 0; i < kOps; ++i) last = op();
    enqueued = std::min(enqueued, SecondsSince(start));
    WEIR_RETURN_IF_ERROR(last.value().status());
    done = std::min(done, SecondsSince(start));
  } while (SecondsSince(begin) < seconds);
  std::printf("%-28s %9.2f us of the host an operation, %9.2f us until done\n", name, enqueued / kOps * 1e6,
              done / kOps * 1e6);
  std::fflush(stdout);
  return OkStatus();
}

// Starts kCopies copies and waits for all of them.
Status CopyAll(const std::function<void(Device::CopyDone)>& copy) {
  absl::Mutex mu;
  int left = kCopies;
  Status status;
  for (int i = 0; i < kCopies; ++i) {
    copy([&](const StatusOr<Tensor>& copied) {
      absl::MutexLock lock(&mu);
      status.Update(copied.status());
      --left;
    });
  }
  absl::MutexLock lock(&mu);
  mu.Await(absl::Condition(
      +[](int* count) { return *count == 0; }, &left));
  return status;
}

Status MeasureCopies(Device& device, int64_t bytes, bool pinned) {
  WEIR_ASSIGN_OR_RETURN(
      Tensor host, Tensor::Allocate(DType::kUInt8, Shape({bytes}), pinned ? device.host_allocator() : CpuAllocator()));
  std::fill_n(host.data<uint8_t>(), bytes, uint8_t{1});
  WEIR_ASSIGN_OR_RETURN(const Tensor there, CopyFromHostNow(device, host));
  WEIR_RETURN_IF_ERROR(device.Await());
  double to = std::numeric_limits<double>::max(), from = to;
  for (int round = 0; round < kCopyRounds; ++round) {
    auto start = Clock::now();
    WEIR_RETURN_IF_ERROR(CopyAll([&](Device::CopyDone done) { device.CopyFromHost(host, nullptr, std::move(done)); }));
    WEIR_RETURN_IF_ERROR(device.Await());
    to = std::min(to, SecondsSince(start));
    start = Clock::now();
    WEIR_RETURN_IF_ERROR(CopyAll([&](Device::CopyDone done) { device.CopyToHost(there, nullptr, std::move(done)); }));
    from = std::min(from, SecondsSince(start));
  }
  const double gigabytes = static_cast<double>(bytes * kCopies) * 1e-9;
  std::printf("%-28s %9.2f GB/s to the device, %9.2f GB/s from it\n",
              Cat("copy_", bytes >> 20, "MiB_", pinned ? "pinned" : "pageable").c_str(), gigabytes / to,
              gigabytes / from);
  std::fflush(stdout);
  return OkStatus();
}

}  // namespace

Status BenchDeviceEngine(const std::string& name, double seconds) {
  WEIR_ASSIGN_OR_RETURN(Device * device, FindDevice(*DefaultEnvironment(), name));
  const eager::OnDevice scope(Cat("/device:", name));
  const EagerTensor vector = eager::Fill(eager::Constant({1024}), eager::Constant(1.0f));
  const EagerTensor matrix = eager::Fill(eager::Constant({64, 64}), eager::Constant(0.01f));
  WEIR_RETURN_IF_ERROR(vector.status());
  WEIR_RETURN_IF_ERROR(matrix.status());
  WEIR_RETURN_IF_ERROR(MeasureEager(
      "eager_add_1024", [&] { return eager::AddV2(vector, vector); }, seconds));
  WEIR_RETURN_IF_ERROR(MeasureEager(
      "eager_relu_1024", [&] { return eager::Relu(vector); }, seconds));
  WEIR_RETURN_IF_ERROR(MeasureEager(
      "eager_matmul_64", [&] { return eager::MatMul(matrix, matrix); }, seconds));
  if (device->is_host()) return OkStatus();
  for (const int64_t megabytes : {1, 64, 256}) {
    for (const bool pinned : {true, false}) {
      WEIR_RETURN_IF_ERROR(MeasureCopies(*device, megabytes << 20, pinned));
    }
  }
  return OkStatus();
}

}  // namespace weir
