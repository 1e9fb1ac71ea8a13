// Queues and barriers through their kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/ops/queue/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

using testing::HasSubstr;
using Tensors = std::vector<Tensor>;

Attribute Shapes(std::vector<PartialShape> shapes) {
  AttrList list;
  list.shape = std::move(shapes);
  return Attribute(std::move(list));
}

Tensor I32(int32_t value) { return Tensor::Scalar(value); }

class QueueKernelsTest : public testing::Test {
 protected:
  KernelCall Node(std::string_view op, std::string_view name = "q") {
    KernelCall call = run_(op);
    call.Name(name).Attr("component_types", std::vector<DType>{DType::kInt32}).Attr("shapes", Shapes({Shape()}));
    return call;
  }
  StatusOr<Tensors> Enqueue(const Tensor& handle, Tensors values, bool many = false) {
    return run_(many ? "QueueEnqueueManyV2" : "QueueEnqueueV2").Input(handle).Inputs(std::move(values)).Run();
  }
  KernelCall Dequeue(const Tensor& handle, std::string_view op = "QueueDequeueV2",
                     std::vector<DType> types = {DType::kInt32}) {
    KernelCall call = run_(op);
    call.Attr("component_types", std::move(types)).Input(handle);
    return call;
  }
  int32_t Size(const Tensor& handle) { return (*run_("QueueSizeV2").Input(handle).Run())[0].scalar<int32_t>(); }

  KernelRunner run_{RegisterQueueKernels};
};

TEST_F(QueueKernelsTest, ShuffleQueueDrawsAsTensorFlow) {
  PreparedKernel node = *Node("RandomShuffleQueueV2")
                             .Attr("capacity", 20)
                             .Attr("min_after_dequeue", 3)
                             .Attr("seed", 87654321)
                             .Attr("seed2", 42)
                             .Prepare();
  Tensor handle = (*node.Run({}))[0];
  Tensor range = Tensor::Vector<int32_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  ASSERT_TRUE(Enqueue(handle, {range}, true).ok());
  for (int32_t expected : {8, 5, 3}) ExpectTensorEqual((*Dequeue(handle).Run())[0], I32(expected));
  ExpectTensorEqual((*Dequeue(handle, "QueueDequeueManyV2").Input(I32(4)).Run())[0],
                    Tensor::Vector<int32_t>({7, 10, 1, 0}));
  EXPECT_EQ(Size(handle), 5);
  ASSERT_TRUE(run_("QueueCloseV2").Input(handle).Run().ok());
  ExpectTensorEqual((*Dequeue(handle, "QueueDequeueUpToV2").Input(I32(9)).Run())[0],
                    Tensor::Vector<int32_t>({9, 6, 4, 11, 2}));
  EXPECT_EQ(Dequeue(handle).Run().status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(QueueKernelsTest, SignatureMustMatchTheQueue) {
  PreparedKernel node = *Node("FIFOQueueV2").Prepare();
  Tensor handle = (*node.Run({}))[0];
  EXPECT_EQ(Enqueue(handle, {Tensor::Scalar(1.0f)}).status(),
            InvalidArgument("Signature mismatch, have: resource, float-> expected: resource, int32->"));
  EXPECT_EQ(Dequeue(handle, "QueueDequeueV2", {DType::kFloat}).Run().status(),
            InvalidArgument("Signature mismatch, have: resource->float expected: resource->int32"));
  EXPECT_EQ(Dequeue(handle, "QueueDequeueManyV2").Input(I32(-1)).Run().status(),
            InvalidArgument("DequeueManyOp requested -1 < 0 elements"));
  EXPECT_EQ(Dequeue(handle).Attr("timeout_ms", 5).Run().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(QueueKernelsTest, NodesShareAQueueByName) {
  PreparedKernel first = *Node("FIFOQueueV2").Attr("shared_name", "shr").Prepare();
  Tensor handle = (*first.Run({}))[0];
  ASSERT_TRUE(Enqueue(handle, {I32(7)}).ok());
  PreparedKernel second = *Node("FIFOQueueV2", "r").Attr("shared_name", "shr").Prepare();
  EXPECT_EQ(Size((*second.Run({}))[0]), 1);
  auto why = [&](KernelCall call) { return Message(call.Attr("shared_name", "shr").Run().status()); };
  EXPECT_EQ(why(Node("FIFOQueueV2").Attr("capacity", 3)),
            "Shared queue 'shr' has capacity 2147483647 but requested capacity was 3");
  EXPECT_EQ(why(Node("FIFOQueueV2").Attr("component_types", std::vector<DType>{DType::kFloat})),
            "Shared queue 'shr' has component types int32 but requested component types were float");
  EXPECT_EQ(why(Node("FIFOQueueV2").Attr("shapes", Shapes({}))),
            "Shared queue 'shr' has component shapes [[]] but requested component shapes were []");
  EXPECT_EQ(why(Node("PaddingFIFOQueueV2")), "Expected FIFOQueue, found PaddingFIFOQueueV2");
}

TEST_F(QueueKernelsTest, QueueWithoutANameDiesWithItsNode) {
  Tensor handle;
  {
    PreparedKernel node = *Node("FIFOQueueV2").Prepare();
    handle = (*node.Run({}))[0];
    EXPECT_EQ(Size(handle), 0);
  }
  EXPECT_EQ(run_("QueueSizeV2").Input(handle).Run().status().code(), absl::StatusCode::kNotFound);
}

TEST_F(QueueKernelsTest, ClearedContainerGetsANewQueue) {
  PreparedKernel node = *Node("FIFOQueueV2").Attr("container", "box").Attr("shared_name", "a").Prepare();
  ASSERT_TRUE(Enqueue((*node.Run({}))[0], {I32(1)}).ok());
  EXPECT_EQ(Size((*node.Run({}))[0]), 1);
  run_.device().resources().ClearContainer("box");
  EXPECT_EQ(Size((*node.Run({}))[0]), 0);
}

TEST_F(QueueKernelsTest, WrongSpecsAreRefused) {
  auto why = [](KernelCall call) { return Message(call.Run().status()); };
  EXPECT_EQ(why(Node("RandomShuffleQueueV2").Attr("capacity", 5).Attr("min_after_dequeue", 5)),
            "min_after_dequeue 5 must be < capacity 5");
  EXPECT_EQ(why(Node("PaddingFIFOQueueV2").Attr("shapes", Shapes({PartialShape()}))),
            "shape <unknown> must have known rank.");
  EXPECT_EQ(why(Node("FIFOQueueV2").Attr("shapes", Shapes({PartialShape({-1})}))), "Shape [?] is not fully defined");
}

TEST_F(QueueKernelsTest, OldHandlesAreStringPairs) {
  PreparedKernel node = *Node("FIFOQueue", "old").Attr("shared_name", "o").Prepare();
  std::vector<Slot> slots;
  ASSERT_TRUE(node.RunSlots({}, slots).ok());
  RefPtr<RefCell> handle = slots[0].ref;
  ASSERT_TRUE(handle);
  ASSERT_TRUE(run_("QueueEnqueue").RefInput(handle).Input(I32(5)).Run().ok());
  ExpectTensorEqual((*run_("QueueSize").RefInput(handle).Run())[0], I32(1));
  KernelCall dequeue = run_("QueueDequeue");
  dequeue.Attr("component_types", std::vector<DType>{DType::kInt32}).RefInput(handle);
  ExpectTensorEqual((*dequeue.Run())[0], I32(5));
  ExpectTensorEqual((*run_("QueueIsClosed").RefInput(handle).Run())[0], Tensor::Scalar(false));
}

TEST_F(QueueKernelsTest, WaitingDequeueEndsByCancellation) {
  PreparedKernel node = *Node("FIFOQueueV2").Prepare();
  Tensor handle = (*node.Run({}))[0];
  Status status;
  bool ended = false;
  auto cancellation = Dequeue(handle).RunAsync([&](Status s, std::vector<Slot>) {
    status = std::move(s);
    ended = true;
  });
  EXPECT_FALSE(ended);
  cancellation->StartCancel();
  EXPECT_TRUE(ended);
  EXPECT_EQ(status, Cancelled("Dequeue operation was cancelled"));
  ASSERT_TRUE(Enqueue(handle, {I32(3)}).ok());
  EXPECT_EQ(Size(handle), 1);
}

class BarrierTest : public testing::Test {
 protected:
  BarrierTest()
      : node_(*run_("Barrier")
                   .Name("b")
                   .Attr("shared_name", "b")
                   .Attr("component_types", std::vector<DType>{DType::kFloat, DType::kInt32})
                   .Attr("shapes", Shapes({Shape(), Shape({2})}))
                   .Prepare()) {
    std::vector<Slot> slots;
    EXPECT_TRUE(node_.RunSlots({}, slots).ok());
    handle_ = slots[0].ref;
  }
  Status Insert(int component, std::initializer_list<std::string> keys, Tensor values) {
    return run_("BarrierInsertMany")
        .Attr("component_index", component)
        .RefInput(handle_)
        .Input(Tensor::Vector<std::string>(keys))
        .Input(std::move(values))
        .Run()
        .status();
  }
  KernelCall Take(int32_t count, bool allow_small_batch = false) {
    KernelCall call = run_("BarrierTakeMany");
    call.Attr("component_types", std::vector<DType>{DType::kFloat, DType::kInt32})
        .Attr("allow_small_batch", allow_small_batch)
        .RefInput(handle_)
        .Input(I32(count));
    return call;
  }
  Status Close(bool cancel = false) {
    return run_("BarrierClose").Attr("cancel_pending_enqueues", cancel).RefInput(handle_).Run().status();
  }
  int32_t Size(std::string_view op) { return (*run_(op).RefInput(handle_).Run())[0].scalar<int32_t>(); }

  KernelRunner run_{RegisterQueueKernels};
  PreparedKernel node_;
  RefPtr<RefCell> handle_;
};

TEST_F(BarrierTest, GivesElementsWhoseComponentsAllCame) {
  ASSERT_TRUE(Insert(0, {"a", "b"}, Tensor::Vector<float>({1, 2})).ok());
  EXPECT_EQ(Size("BarrierIncompleteSize"), 2);
  ASSERT_TRUE(Insert(1, {"b", "c"}, TensorOf<int32_t>({2, 2}, {1, 2, 3, 4})).ok());
  EXPECT_EQ(Size("BarrierReadySize"), 1);
  EXPECT_EQ(Size("BarrierIncompleteSize"), 2);
  auto taken = Take(1).Run();
  ASSERT_TRUE(taken.ok()) << taken.status();
  ExpectTensorEqual((*taken)[0], Tensor::Vector<int64_t>({std::numeric_limits<int64_t>::min()}));
  ExpectTensorEqual((*taken)[1], Tensor::Vector<std::string>({"b"}));
  ExpectTensorEqual((*taken)[2], Tensor::Vector<float>({2}));
  ExpectTensorEqual((*taken)[3], TensorOf<int32_t>({1, 2}, {1, 2}));
  EXPECT_EQ(Insert(0, {"a"}, Tensor::Vector<float>({9})),
            InvalidArgument("Key a already has a value for component 0 in barrier b"));
  EXPECT_EQ(Insert(5, {"a"}, Tensor::Vector<float>({9})),
            InvalidArgument("The component ID is out of range 5 > num_components (= 2)"));
  EXPECT_FALSE(Insert(0, {"x", "y"}, Tensor::Vector<float>({9})).ok());
}

TEST_F(BarrierTest, ClosedBarrierLetsIncompleteElementsFinish) {
  ASSERT_TRUE(Insert(0, {"a"}, Tensor::Vector<float>({1})).ok());
  ASSERT_TRUE(Close().ok());
  EXPECT_THAT(Message(Insert(0, {"new"}, Tensor::Vector<float>({1}))),
              HasSubstr("is closed, but attempted to insert a brand new key: new."));
  EXPECT_EQ(Take(2).Run().status(),
            OutOfRange("Barrier 'b' is closed and has insufficient elements (requested 2, total size 1)"));
  ASSERT_TRUE(Insert(1, {"a"}, TensorOf<int32_t>({1, 2}, {5, 5})).ok());
  EXPECT_TRUE(Take(3, /*allow_small_batch=*/true).Run().ok());
  EXPECT_EQ(Take(1).Run().status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(Close(), Cancelled("Barrier 'b' is already closed."));
  EXPECT_TRUE(Close(/*cancel=*/true).ok());
  EXPECT_EQ(Close(), Cancelled("Barrier 'b' is already closed."));
}

TEST_F(BarrierTest, CloseEndsATakeThatCannotBeServed) {
  Status status;
  auto cancellation = Take(3).RunAsync([&](Status s, std::vector<Slot>) { status = std::move(s); });
  ASSERT_TRUE(Close().ok());
  EXPECT_EQ(
      status,
      OutOfRange("PriorityQueue 'b_queue' is closed and has insufficient elements (requested 3, current size 0)"));
}

}  // namespace
}  // namespace weir
