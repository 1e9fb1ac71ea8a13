#include "weir/device/cuda/nccl.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/cuda/gpu_fixture.h"
#include "weir/device/cuda/cuda_device.h"
#include "weir/testing/tensor_matchers.h"

namespace weir::gpu_testing {
namespace {

Tensor OnDevice(cuda::CudaDevice& device, const Tensor& host) {
  Tensor copy = Tensor::Allocate(host.dtype(), host.shape(), device.allocator()).value();
  cuda::UseContext(device.gpu().context());
  const cuda::StreamHandle stream = device.parts().compute->handle();
  EXPECT_EQ(cuda::Driver().MemcpyHtoDAsync(cuda::Address(copy), host.raw_data(), host.num_bytes(), stream), 0);
  EXPECT_TRUE(device.parts().compute->Synchronize().ok());
  return copy;
}
Tensor ToHost(cuda::CudaDevice& device, const Tensor& tensor) {
  Tensor copy = Tensor::Allocate(tensor.dtype(), tensor.shape()).value();
  cuda::UseContext(device.gpu().context());
  cuda::CudaStream& stream = *device.parts().compute;
  EXPECT_EQ(cuda::Driver().MemcpyDtoHAsync(copy.raw_data(), cuda::Address(tensor), tensor.num_bytes(), stream.handle()),
            0);
  EXPECT_TRUE(stream.Synchronize().ok());
  return copy;
}

// NCCL wants a card for each rank, and the machine may have only one; tests/cuda/collectives has more ranks.
TEST(Nccl, ARankByItselfReducesGathersAndExchanges) {
  GpuEnvironment();
  auto& device = static_cast<cuda::CudaDevice&>(*Runtime().FindDevice("/device:GPU:0").value());
  const StatusOr<std::string> id = cuda::NcclCommunicator::MakeId();
  ASSERT_TRUE(id.ok()) << id.status();
  auto group = cuda::NcclCommunicator::Join(device.gpu().context(), *id, 1, 0);
  ASSERT_TRUE(group.ok()) << group.status();
  cuda::CudaStream& stream = *device.parts().compute;
  const Tensor values = Tensor::Vector<float>({1, 2});
  const Tensor in = OnDevice(device, values);
  const std::vector<int64_t> both = {2};
  auto expect = [&](const auto& call) {
    const Tensor out = OnDevice(device, Tensor::Vector<float>({0, 0}));
    const Status status = call(cuda::Address(in), cuda::Address(out));
    ASSERT_TRUE(status.ok()) << status;
    ExpectTensorEqual(ToHost(device, out), values);
  };
  expect([&](auto from, auto to) { return (*group)->AllReduce(stream, DType::kFloat, cuda::kNcclSum, from, to, 2); });
  expect([&](auto from, auto to) { return (*group)->AllGather(stream, DType::kFloat, from, to, 2); });
  expect([&](auto from, auto to) { return (*group)->AllGatherV(stream, DType::kFloat, from, to, both); });
  expect([&](auto from, auto to) { return (*group)->Broadcast(stream, DType::kFloat, 0, from, to, 2); });
  expect(
      [&](auto from, auto to) { return (*group)->ReduceScatter(stream, DType::kFloat, cuda::kNcclMax, from, to, 2); });
  expect([&](auto from, auto to) { return (*group)->Exchange(stream, DType::kFloat, from, both, to, both); });
  EXPECT_TRUE((*group)->AsyncStatus().ok());
  EXPECT_EQ(
      (*group)->AllReduce(stream, DType::kComplex64, cuda::kNcclSum, cuda::Address(in), cuda::Address(in), 1).code(),
      absl::StatusCode::kUnimplemented);
}

TEST(Nccl, JoiningIsGivenUpWhenTheAlarmSaysSo) {
  GpuEnvironment();
  auto& device = static_cast<cuda::CudaDevice&>(*Runtime().FindDevice("/device:GPU:0").value());
  const StatusOr<std::string> id = cuda::NcclCommunicator::MakeId();
  ASSERT_TRUE(id.ok()) << id.status();
  int asked = 0;
  auto group = cuda::NcclCommunicator::Join(device.gpu().context(), *id, 2, 0, [&asked] {
    return ++asked < 3 ? OkStatus() : DeadlineExceeded("rank 1 never comes");
  });
  EXPECT_EQ(group.status().code(), absl::StatusCode::kDeadlineExceeded) << group.status();
}

}  // namespace
}  // namespace weir::gpu_testing
