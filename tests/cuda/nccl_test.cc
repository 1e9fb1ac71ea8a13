#include "weir/device/cuda/nccl.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/cuda/gpu_fixture.h"
#include "weir/device/cuda/cuda_device.h"
#include "weir/testing/tensor_matchers.h"

namespace weir::gpu_testing {
namespace {

// NCCL wants a card for each rank; the emulated one takes two logical devices of one card.
int Ranks() { return IsEmulated() ? 2 : 1; }

// Runs body(rank, device, communicator, stream) for all ranks at once and waits for their streams.
template <typename Body>
void ForRanks(Body body) {
  const StatusOr<std::string> id = cuda::NcclCommunicator::MakeId();
  ASSERT_TRUE(id.ok()) << id.status();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < Ranks(); ++rank) {
    threads.emplace_back([&, rank] {
      auto& device = static_cast<cuda::CudaDevice&>(*Runtime().FindDevice(Cat("/device:GPU:", rank)).value());
      auto communicator = cuda::NcclCommunicator::Join(device.gpu().context(), *id, Ranks(), rank);
      ASSERT_TRUE(communicator.ok()) << communicator.status();
      cuda::CudaStream& stream = *device.parts().compute;
      body(rank, device, **communicator, stream);
      EXPECT_TRUE(stream.Synchronize().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

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

TEST(Nccl, RanksReduceGatherAndBroadcast) {
  GpuEnvironment();
  const bool two = Ranks() == 2;
  ForRanks([&](int rank, cuda::CudaDevice& device, cuda::NcclCommunicator& group, cuda::CudaStream& stream) {
    const float own = static_cast<float>(rank);
    const Tensor in = OnDevice(device, Tensor::Vector<float>({own + 1, own + 2}));
    const Tensor out = OnDevice(device, Tensor::Vector<float>({0, 0, 0, 0}));
    auto at = [&](const Tensor& tensor) { return cuda::Address(tensor); };
    ASSERT_TRUE(group.AllReduce(stream, DType::kFloat, cuda::kNcclSum, at(in), at(out), 2).ok());
    ExpectTensorEqual(ToHost(device, out), Tensor::Vector<float>({two ? 3.f : 1.f, two ? 5.f : 2.f, 0, 0}));
    ASSERT_TRUE(group.AllReduce(stream, DType::kFloat, cuda::kNcclMax, at(in), at(out), 2).ok());
    ExpectTensorEqual(ToHost(device, out), Tensor::Vector<float>({two ? 2.f : 1.f, two ? 3.f : 2.f, 0, 0}));
    ASSERT_TRUE(group.AllGather(stream, DType::kFloat, at(in), at(out), 2).ok());
    ExpectTensorEqual(ToHost(device, out), Tensor::Vector<float>({1, 2, two ? 2.f : 0.f, two ? 3.f : 0.f}));
    ASSERT_TRUE(group.Broadcast(stream, DType::kFloat, Ranks() - 1, at(in), at(out), 2).ok());
    ExpectTensorEqual(ToHost(device, out),
                      Tensor::Vector<float>({two ? 2.f : 1.f, two ? 3.f : 2.f, two ? 2.f : 0.f, two ? 3.f : 0.f}));
    EXPECT_TRUE(group.AsyncStatus().ok());
    if (!two) return;
    ASSERT_TRUE(group.ReduceScatter(stream, DType::kFloat, cuda::kNcclSum, at(in), at(out), 1).ok());
    EXPECT_EQ(ToHost(device, out).data<float>()[0], rank == 0 ? 3 : 5);
    ASSERT_TRUE(group.AllToAll(stream, DType::kFloat, at(in), at(out), 1).ok());
    // Rank 0's second element, and rank 1's first.
    EXPECT_EQ(ToHost(device, out).data<float>()[1 - rank], 2);
    EXPECT_EQ(group.AllReduce(stream, DType::kComplex64, cuda::kNcclSum, at(in), at(out), 1).code(),
              absl::StatusCode::kUnimplemented);
  });
}

TEST(Nccl, AnAbortedGroupEndsItsWork) {
  GpuEnvironment();
  ForRanks([&](int rank, cuda::CudaDevice& device, cuda::NcclCommunicator& group, cuda::CudaStream& stream) {
    const Tensor in = OnDevice(device, Tensor::Vector<float>({1}));
    if (rank != 0) return;  // and never comes
    ASSERT_TRUE(group.AllReduce(stream, DType::kFloat, cuda::kNcclSum, cuda::Address(in), cuda::Address(in), 1).ok());
    group.Abort();
    EXPECT_TRUE(stream.Synchronize().ok());
    EXPECT_EQ(group.AsyncStatus().code(), absl::StatusCode::kAborted);
  });
}

}  // namespace
}  // namespace weir::gpu_testing
