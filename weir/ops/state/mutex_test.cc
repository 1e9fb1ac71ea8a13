#include "weir/ops/state/variable_fixture.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

class MutexTest : public VariableTest {
 protected:
  struct Attempt {
    absl::Mutex mu;
    bool done ABSL_GUARDED_BY(mu) = false;
    Status status ABSL_GUARDED_BY(mu);
    Tensor lock ABSL_GUARDED_BY(mu);
    std::shared_ptr<CancellationManager> cancellation;

    bool IsDone() {
      absl::MutexLock guard(&mu);
      return done;
    }
    Status Wait() {
      absl::MutexLock guard(&mu);
      mu.Await(absl::Condition(&done));
      return status;
    }
    void Drop() {
      Tensor dropped;
      absl::MutexLock guard(&mu);
      dropped = std::exchange(lock, Tensor());
    }
  };

  std::shared_ptr<Attempt> Lock() {
    auto attempt = std::make_shared<Attempt>();
    attempt->cancellation = run("MutexLock").Input(mutex).RunAsync([attempt](Status status, std::vector<Slot> outputs) {
      absl::MutexLock guard(&attempt->mu);
      attempt->done = true;
      attempt->status = std::move(status);
      if (!outputs.empty()) attempt->lock = std::move(outputs[0].tensor);
    });
    return attempt;
  }

  Tensor mutex = (*run("MutexV2").Name("m").Run())[0];
};

TEST_F(MutexTest, LockIsHeldUntilTheVariantIsGone) {
  auto first = Lock();
  ASSERT_EQ(first->Wait(), OkStatus());
  auto second = Lock();
  auto third = Lock();
  EXPECT_FALSE(second->IsDone());
  first->Drop();
  EXPECT_EQ(second->Wait(), OkStatus());
  EXPECT_FALSE(third->IsDone());
  second->Drop();
  EXPECT_EQ(third->Wait(), OkStatus());
}

TEST_F(MutexTest, CancelledWaitEndsAndNeverGetsTheLock) {
  auto first = Lock();
  ASSERT_EQ(first->Wait(), OkStatus());
  auto second = Lock();
  auto third = Lock();
  second->cancellation->StartCancel(Cancelled("enough"));
  EXPECT_EQ(second->Wait(), Cancelled("enough"));
  first->Drop();
  EXPECT_EQ(third->Wait(), OkStatus());
}

TEST_F(MutexTest, ConsumeTakesOnlyLocks) {
  auto first = Lock();
  ASSERT_EQ(first->Wait(), OkStatus());
  Tensor lock;
  {
    absl::MutexLock guard(&first->mu);
    lock = std::exchange(first->lock, Tensor());
  }
  EXPECT_EQ(run("ConsumeMutexLock").Input(std::move(lock)).Run().status(), OkStatus());
  EXPECT_EQ(Lock()->Wait(), OkStatus());
  EXPECT_EQ(run("ConsumeMutexLock").Input(Tensor::Scalar<Variant>(Variant())).Run().status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(VariableTest, SessionTensorsStayUntilDeleted) {
  Tensor value = Tensor::Vector<float>({1, 2});
  auto handle = run("GetSessionHandle").Name("h").Input(value).Run();
  ASSERT_TRUE(handle.ok()) << handle.status();
  EXPECT_THAT((*handle)[0].scalar<std::string>(), testing::MatchesRegex("h;[0-9]+;.*device:CPU:0"));
  auto get = [&](DType dtype) { return run("GetSessionTensor").Input((*handle)[0]).Attr("dtype", dtype).Run(); };
  ExpectTensorEqual((*get(DType::kFloat))[0], value);
  EXPECT_EQ(get(DType::kInt32).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(run("DeleteSessionTensor").Input((*handle)[0]).Run().status(), OkStatus());
  ExpectError(get(DType::kFloat).status(), absl::StatusCode::kInvalidArgument, "is not in the session store.");
  ExpectError(run("DeleteSessionTensor").Input(Tensor::Scalar("qq")).Run().status(), absl::StatusCode::kInvalidArgument,
              "Failed to delete a tensor with handle 'qq' in the session store.");
  auto resource = run("GetSessionHandleV2").Name("h").Input(value).Run();
  ASSERT_TRUE(resource.ok()) << resource.status();
  ExpectTensorEqual((*run("GetSessionTensor")
                          .Input(Tensor::Scalar((*resource)[0].scalar<ResourceHandle>().name))
                          .Attr("dtype", DType::kFloat)
                          .Run())[0],
                    value);
}

}  // namespace
}  // namespace weir
