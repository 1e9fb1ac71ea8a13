// Streams work off their queues by themselves; events, captures and graphs order them.
#include <atomic>
#include <cstring>
#include <thread>

#include "emulated_gpu.h"

namespace cuda_emulator {
namespace {

constexpr char kKernels[] = R"(
extern "C" __global__ void add(int* x, int value) { *x += value; }
extern "C" __global__ void scale(int* x, int value) { *x *= value; }
extern "C" __global__ void copy(int* to, const int* from) { *to = *from; }
extern "C" __global__ void wait_for(volatile int* flag) { while (*flag == 0) {} }
)";

class StreamTest : public EmulatedGpuTest {
 protected:
  void SetUp() override {
    EmulatedGpuTest::SetUp();
    module_ = std::make_unique<LoadedModule>(kKernels);
    ASSERT_CU(cuMemHostAlloc(reinterpret_cast<void**>(&flag_), sizeof(int), 0));
    *flag_ = 0;
    for (CUstream& stream : streams_) ASSERT_CU(cuStreamCreate(&stream, 1));
  }
  void TearDown() override {
    module_ = nullptr;
    EmulatedGpuTest::TearDown();
  }

  // Holds a stream up until Go.
  void Hold(CUstream stream) {
    ASSERT_CU(module_->Launch("wait_for", 1, 1, 0, stream, reinterpret_cast<CUdeviceptr>(flag_)));
  }
  void Go() { std::atomic_ref<int>(*flag_).store(1); }

  std::unique_ptr<LoadedModule> module_;
  int* flag_ = nullptr;
  CUstream streams_[3] = {};
};

TEST_F(StreamTest, CallsReturnBeforeTheWorkIsDone) {
  Buffer<int> x(std::vector<int>{1});
  Hold(streams_[0]);
  ASSERT_CU(module_->Launch("add", 1, 1, 0, streams_[0], x, 5));
  EXPECT_CU_ERROR(cuStreamQuery(streams_[0]), CUDA_ERROR_NOT_READY);
  EXPECT_CU(cuStreamQuery(streams_[1]));
  EXPECT_EQ(x.Read()[0], 1);
  Go();
  ASSERT_CU(cuStreamSynchronize(streams_[0]));
  EXPECT_CU(cuStreamQuery(streams_[0]));
  EXPECT_EQ(x.Read()[0], 6);
}

TEST_F(StreamTest, OneStreamKeepsItsOrder) {
  Buffer<int> x(std::vector<int>{1});
  Hold(streams_[0]);
  for (int i = 0; i < 10; ++i) {
    ASSERT_CU(module_->Launch("add", 1, 1, 0, streams_[0], x, i));
    ASSERT_CU(module_->Launch("scale", 1, 1, 0, streams_[0], x, 2));
  }
  Go();
  ASSERT_CU(cuStreamSynchronize(streams_[0]));
  int expected = 1;
  for (int i = 0; i < 10; ++i) expected = (expected + i) * 2;
  EXPECT_EQ(x.Read()[0], expected);
}

TEST_F(StreamTest, StreamsAreNotOrderedUnlessByEvents) {
  Buffer<int> x(std::vector<int>{1}), y(std::vector<int>{0}), z(std::vector<int>{0});
  CUevent event = nullptr;
  ASSERT_CU(cuEventCreate(&event, 0));
  Hold(streams_[0]);
  ASSERT_CU(module_->Launch("add", 1, 1, 0, streams_[0], x, 41));
  ASSERT_CU(cuEventRecord(event, streams_[0]));
  ASSERT_CU(cuStreamWaitEvent(streams_[1], event, 0));
  ASSERT_CU(module_->Launch("copy", 1, 1, 0, streams_[1], y, x));
  ASSERT_CU(module_->Launch("copy", 1, 1, 0, streams_[2], z, x));
  ASSERT_CU(cuStreamSynchronize(streams_[2]));
  EXPECT_CU_ERROR(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(z.Read()[0], 1);
  Go();
  ASSERT_CU(cuEventSynchronize(event));
  EXPECT_CU(cuEventQuery(event));
  ASSERT_CU(cuStreamSynchronize(streams_[1]));
  EXPECT_EQ(y.Read()[0], 42);
  ASSERT_CU(cuEventDestroy_v2(event));
  EXPECT_CU_ERROR(cuEventDestroy_v2(event), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(StreamTest, TheDefaultStreamWaitsForBlockingOnes) {
  CUstream blocking = nullptr;
  ASSERT_CU(cuStreamCreate(&blocking, 0));
  Buffer<int> x(std::vector<int>{1});
  Hold(blocking);
  ASSERT_CU(module_->Launch("add", 1, 1, 0, blocking, x, 2));
  ASSERT_CU(module_->Launch("scale", 1, 1, 0, nullptr, x, 10));
  ASSERT_CU(module_->Launch("add", 1, 1, 0, blocking, x, 3));
  EXPECT_CU_ERROR(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  Go();
  ASSERT_CU(cuCtxSynchronize());
  EXPECT_EQ(x.Read()[0], 33);
}

TEST_F(StreamTest, CopiesFromPinnedMemoryReadLate) {
  int* pinned = nullptr;
  ASSERT_CU(cuMemHostAlloc(reinterpret_cast<void**>(&pinned), sizeof(int), 0));
  int pageable = 5;
  *pinned = 5;
  Buffer<int> x(1), y(1);
  Hold(streams_[0]);
  ASSERT_CU(cuMemcpyHtoDAsync_v2(x.address(), pinned, sizeof(int), streams_[0]));
  ASSERT_CU(cuMemcpyHtoDAsync_v2(y.address(), &pageable, sizeof(int), streams_[0]));
  *pinned = 6;
  pageable = 6;
  Go();
  ASSERT_CU(cuStreamSynchronize(streams_[0]));
  EXPECT_EQ(x.Read()[0], 6);
  EXPECT_EQ(y.Read()[0], 5);
  ASSERT_CU(cuMemFreeHost(pinned));
}

TEST_F(StreamTest, HostFunctionsRunInOrderAndMayNotCall) {
  struct Seen {
    CUresult result = CUDA_SUCCESS;
    int value = 0;
    int* from = nullptr;
  } seen;
  ASSERT_CU(cuMemHostAlloc(reinterpret_cast<void**>(&seen.from), sizeof(int), 0));
  *seen.from = 1;
  Hold(streams_[0]);
  ASSERT_CU(module_->Launch("add", 1, 1, 0, streams_[0], reinterpret_cast<CUdeviceptr>(seen.from), 6));
  ASSERT_CU(cuLaunchHostFunc(
      streams_[0],
      [](void* data) {
        Seen& seen = *static_cast<Seen*>(data);
        seen.value = *seen.from;
        CUdeviceptr address = 0;
        seen.result = cuMemAlloc_v2(&address, 4);
      },
      &seen));
  EXPECT_EQ(seen.value, 0);
  Go();
  ASSERT_CU(cuStreamSynchronize(streams_[0]));
  EXPECT_EQ(seen.value, 7);
  EXPECT_EQ(seen.result, CUDA_ERROR_NOT_PERMITTED);
}

TEST_F(StreamTest, DestroyedStreamsFinishTheirWork) {
  Buffer<int> x(std::vector<int>{1});
  CUevent event = nullptr;
  ASSERT_CU(cuEventCreate(&event, 2));
  Hold(streams_[0]);
  ASSERT_CU(module_->Launch("add", 1, 1, 0, streams_[0], x, 5));
  ASSERT_CU(cuEventRecord(event, streams_[0]));
  ASSERT_CU(cuStreamDestroy_v2(streams_[0]));
  EXPECT_CU_ERROR(cuStreamSynchronize(streams_[0]), CUDA_ERROR_INVALID_HANDLE);
  Go();
  ASSERT_CU(cuEventSynchronize(event));
  EXPECT_EQ(x.Read()[0], 6);
}

TEST_F(StreamTest, EventsMeasureTime) {
  CUevent begin = nullptr, end = nullptr, untimed = nullptr;
  ASSERT_CU(cuEventCreate(&begin, 0));
  ASSERT_CU(cuEventCreate(&end, 0));
  ASSERT_CU(cuEventCreate(&untimed, 2));
  ASSERT_CU(cuEventRecord(begin, streams_[0]));
  Hold(streams_[0]);
  ASSERT_CU(cuEventRecord(end, streams_[0]));
  float time = -1;
  EXPECT_CU_ERROR(cuEventElapsedTime_v2(&time, begin, end), CUDA_ERROR_NOT_READY);
  Go();
  ASSERT_CU(cuEventSynchronize(end));
  ASSERT_CU(cuEventElapsedTime_v2(&time, begin, end));
  EXPECT_GT(time, 0);
  EXPECT_CU_ERROR(cuEventElapsedTime_v2(&time, begin, untimed), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(StreamTest, GraphsReplayWhatWasCaptured) {
  Buffer<int> x(std::vector<int>{1}), y(std::vector<int>{0});
  CUevent fork = nullptr, join = nullptr;
  ASSERT_CU(cuEventCreate(&fork, 2));
  ASSERT_CU(cuEventCreate(&join, 2));
  ASSERT_CU(cuStreamBeginCapture_v2(streams_[0], 1));
  int status = -1;
  ASSERT_CU(cuStreamIsCapturing(streams_[0], &status));
  EXPECT_EQ(status, 1);
  ASSERT_CU(module_->Launch("add", 1, 1, 0, streams_[0], x, 1));
  ASSERT_CU(cuEventRecord(fork, streams_[0]));
  ASSERT_CU(cuStreamWaitEvent(streams_[1], fork, 0));
  ASSERT_CU(module_->Launch("copy", 1, 1, 0, streams_[1], y, x));
  ASSERT_CU(cuEventRecord(join, streams_[1]));
  ASSERT_CU(cuStreamWaitEvent(streams_[0], join, 0));
  ASSERT_CU(module_->Launch("scale", 1, 1, 0, streams_[0], x, 3));
  CUgraph graph = nullptr;
  ASSERT_CU(cuStreamEndCapture(streams_[0], &graph));
  ASSERT_CU(cuStreamIsCapturing(streams_[1], &status));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(x.Read()[0], 1);
  size_t nodes = 0;
  ASSERT_CU(cuGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 3);
  CUgraphExec execution = nullptr;
  ASSERT_CU(cuGraphInstantiateWithFlags(&execution, graph, 0));
  ASSERT_CU(cuGraphDestroy(graph));
  for (int i = 0; i < 3; ++i) ASSERT_CU(cuGraphLaunch(execution, streams_[2]));
  ASSERT_CU(cuStreamSynchronize(streams_[2]));
  EXPECT_EQ(x.Read()[0], ((2 * 3 + 1) * 3 + 1) * 3);
  EXPECT_EQ(y.Read()[0], (2 * 3 + 1) * 3 + 1);
  ASSERT_CU(cuGraphExecDestroy(execution));
}

TEST_F(StreamTest, GraphsAreUpdated) {
  Buffer<int> x(std::vector<int>{1});
  auto capture = [&](int value, int launches) {
    CUgraph graph = nullptr;
    EXPECT_CU(cuStreamBeginCapture_v2(streams_[0], 2));
    for (int i = 0; i < launches; ++i) EXPECT_CU(module_->Launch("add", 1, 1, 0, streams_[0], x, value));
    EXPECT_CU(cuStreamEndCapture(streams_[0], &graph));
    return graph;
  };
  CUgraphExec execution = nullptr;
  ASSERT_CU(cuGraphInstantiateWithFlags(&execution, capture(10, 2), 0));
  ASSERT_CU(cuGraphLaunch(execution, streams_[0]));
  CUgraphExecUpdateResultInfo info;
  ASSERT_CU(cuGraphExecUpdate_v2(execution, capture(100, 2), &info));
  ASSERT_CU(cuGraphLaunch(execution, streams_[0]));
  ASSERT_CU(cuStreamSynchronize(streams_[0]));
  EXPECT_EQ(x.Read()[0], 221);
  EXPECT_CU_ERROR(cuGraphExecUpdate_v2(execution, capture(1, 3), &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_NE(info.result, 0);
}

TEST_F(StreamTest, CapturesRefuseWhatCanNotBeCaptured) {
  CUgraph graph = nullptr;
  // Waiting for the stream.
  ASSERT_CU(cuStreamBeginCapture_v2(streams_[0], 1));
  EXPECT_CU_ERROR(cuStreamSynchronize(streams_[0]), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_CU_ERROR(cuStreamEndCapture(streams_[0], &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  // Allocating, in the thread that captures.
  ASSERT_CU(cuStreamBeginCapture_v2(streams_[0], 1));
  CUdeviceptr address = 0;
  EXPECT_CU_ERROR(cuMemAlloc_v2(&address, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_CU_ERROR(cuStreamEndCapture(streams_[0], &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  // Work of another stream that is not joined.
  CUevent event = nullptr;
  ASSERT_CU(cuEventCreate(&event, 2));
  Buffer<int> x(std::vector<int>{1});
  ASSERT_CU(cuStreamBeginCapture_v2(streams_[0], 2));
  ASSERT_CU(cuEventRecord(event, streams_[0]));
  ASSERT_CU(cuStreamWaitEvent(streams_[1], event, 0));
  ASSERT_CU(module_->Launch("add", 1, 1, 0, streams_[1], x, 1));
  EXPECT_CU_ERROR(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_CU_ERROR(cuStreamEndCapture(streams_[0], &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  // An event from outside.
  ASSERT_CU(cuEventRecord(event, streams_[2]));
  ASSERT_CU(cuStreamBeginCapture_v2(streams_[0], 2));
  EXPECT_CU_ERROR(cuStreamWaitEvent(streams_[0], event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_CU_ERROR(cuStreamEndCapture(streams_[0], &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_CU_ERROR(cuStreamEndCapture(streams_[0], &graph), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_CU_ERROR(cuStreamBeginCapture_v2(nullptr, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

TEST_F(StreamTest, GraphsRunIndependentNodesInAnUnexpectedOrder) {
  // Two streams of a capture that are not ordered: the later one runs first, so that a missing wait shows.
  Buffer<int> x(std::vector<int>{1});
  CUevent fork = nullptr, join = nullptr;
  ASSERT_CU(cuEventCreate(&fork, 2));
  ASSERT_CU(cuEventCreate(&join, 2));
  ASSERT_CU(cuStreamBeginCapture_v2(streams_[0], 2));
  ASSERT_CU(cuEventRecord(fork, streams_[0]));
  ASSERT_CU(cuStreamWaitEvent(streams_[1], fork, 0));
  ASSERT_CU(module_->Launch("add", 1, 1, 0, streams_[0], x, 5));
  ASSERT_CU(module_->Launch("scale", 1, 1, 0, streams_[1], x, 10));
  ASSERT_CU(cuEventRecord(join, streams_[1]));
  ASSERT_CU(cuStreamWaitEvent(streams_[0], join, 0));
  CUgraph graph = nullptr;
  ASSERT_CU(cuStreamEndCapture(streams_[0], &graph));
  CUgraphExec execution = nullptr;
  ASSERT_CU(cuGraphInstantiateWithFlags(&execution, graph, 0));
  ASSERT_CU(cuGraphLaunch(execution, streams_[0]));
  ASSERT_CU(cuStreamSynchronize(streams_[0]));
  EXPECT_EQ(x.Read()[0], 15);
}

}  // namespace
}  // namespace cuda_emulator
