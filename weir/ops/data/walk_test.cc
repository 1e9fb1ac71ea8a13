// Walks over datasets: waiting, cancelling, deleting.
#include <gtest/gtest.h>

#include <atomic>

#include "absl/synchronization/notification.h"
#include "weir/device/cpu/cpu_device.h"
#include "weir/ops/data/iterator_resource.h"
#include "weir/ops/data/parallel_map.h"
#include "weir/ops/data/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

// 0, 1, 2 ... up to `count`; waits for a permit before each element, as a slow source would.
class GatedDataset : public Dataset {
 public:
  struct Gate {
    absl::Mutex mu;
    int permits ABSL_GUARDED_BY(mu) = 0;
    int waiting ABSL_GUARDED_BY(mu) = 0;
    void Allow(int n) {
      absl::MutexLock lock(&mu);
      permits += n;
    }
    void AwaitWaiting(int n) {
      absl::MutexLock lock(&mu);
      auto enough = [this, n]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return waiting >= n; };
      mu.Await(absl::Condition(&enough));
    }
  };
  explicit GatedDataset(int64_t count) : Dataset({{DType::kInt64}, {PartialShape(Shape())}}), count_(count) {}
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    return IteratorPtr(std::make_unique<Iterator>(this, gate));
  }
  bool MayWait() const override { return true; }
  const std::shared_ptr<Gate> gate = std::make_shared<Gate>();

 private:
  class Iterator : public DatasetIterator {
   public:
    Iterator(const GatedDataset* dataset, std::shared_ptr<Gate> gate)
        : count_(dataset->count_), gate_(std::move(gate)) {}
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      if (next_ >= count_) {
        *end = true;
        return OkStatus();
      }
      std::atomic<bool> cancelled = false;
      auto token = ctx.cancellation->Register([&] {
        absl::MutexLock lock(&gate_->mu);
        cancelled = true;
      });
      if (token == CancellationManager::kNoToken) return ctx.cancellation->reason();
      {
        absl::MutexLock lock(&gate_->mu);
        ++gate_->waiting;
        auto may_go = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_->mu) { return cancelled.load() || gate_->permits > 0; };
        gate_->mu.Await(absl::Condition(&may_go));
        --gate_->waiting;
        if (!cancelled) --gate_->permits;
      }
      ctx.cancellation->Deregister(token);
      if (cancelled) return ctx.cancellation->reason();
      out->push_back(Tensor::Scalar(next_++));
      return OkStatus();
    }
    Status Save(IteratorContext&, StateWriter state) override {
      state.PutInt("next", next_);
      return OkStatus();
    }
    Status Restore(IteratorContext&, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(next_, state.GetInt("next"));
      return OkStatus();
    }

   private:
    const int64_t count_;
    const std::shared_ptr<Gate> gate_;
    int64_t next_ = 0;
  };
  const int64_t count_;
};

// One request of a step.
struct Request {
  CancellationManager step;
  absl::Notification done;
  Status status;
  Element element;
  bool end = false;

  void Start(Walk& walk) {
    walk.GetNext(step, [this](Status s, Element e, bool at_end) {
      status = std::move(s);
      element = std::move(e);
      end = at_end;
      done.Notify();
    });
  }
  int64_t Await() {
    done.WaitForNotification();
    EXPECT_EQ(status, OkStatus());
    return element.empty() ? -1 : element[0].scalar<int64_t>();
  }
};

class WalkTest : public testing::Test {
 protected:
  std::unique_ptr<Walk> Start(DatasetPtr dataset) {
    WalkSetup setup;
    setup.device = device_.get();
    auto walk = Walk::Start(std::move(dataset), setup);
    EXPECT_EQ(walk.status(), OkStatus());
    return *std::move(walk);
  }
  // A dataset from a kernel: `op` over `input` and more tensors.
  DatasetPtr Over(std::string_view op, const DatasetPtr& input, std::vector<Tensor> more, std::string options = "") {
    KernelCall call = run_(op);
    if (!options.empty()) call.Attr("serialized_options", std::move(options));
    call.Input(DatasetTensor(input)).Inputs(std::move(more));
    AttrList shapes;
    shapes.shape = {PartialShape::Unknown()};
    call.Attr("output_types", std::vector<DType>{DType::kInt64}).Attr("output_shapes", Attribute(std::move(shapes)));
    auto out = call.Run();
    EXPECT_EQ(out.status(), OkStatus());
    return *DatasetFromTensor((*out)[0]);
  }
  std::shared_ptr<Device> device_ = MakeCpuDevice();
  KernelRunner run_{RegisterDataKernels};
};

TEST_F(WalkTest, AStepThatIsCancelledLeavesAtOnceAndTheNextGetsItsElement) {
  auto dataset = std::make_shared<GatedDataset>(10);
  auto walk = Start(dataset);
  Request first, second;
  first.Start(*walk);
  dataset->gate->AwaitWaiting(1);
  first.step.StartCancel();
  first.done.WaitForNotification();
  EXPECT_EQ(first.status.code(), absl::StatusCode::kCancelled);
  dataset->gate->Allow(1);
  second.Start(*walk);
  EXPECT_EQ(second.Await(), 0);
}

TEST_F(WalkTest, ACancelledStepGetsNothing) {
  auto walk = Start(std::make_shared<GatedDataset>(10));
  Request request;
  request.step.StartCancel();
  request.Start(*walk);
  request.done.WaitForNotification();
  EXPECT_EQ(request.status.code(), absl::StatusCode::kCancelled);
}

TEST_F(WalkTest, RequestsAreServedInTheirOrder) {
  auto dataset = std::make_shared<GatedDataset>(2);
  auto walk = Start(dataset);
  std::vector<Request> requests(3);
  for (Request& request : requests) request.Start(*walk);
  dataset->gate->Allow(2);
  EXPECT_EQ(requests[0].Await(), 0);
  EXPECT_EQ(requests[1].Await(), 1);
  EXPECT_EQ(requests[2].Await(), -1);
  EXPECT_TRUE(requests[2].end);
}

TEST_F(WalkTest, DeletingItEndsWhoWaits) {
  auto dataset = std::make_shared<GatedDataset>(10);
  auto walk = Start(dataset);
  std::vector<Request> requests(3);
  for (Request& request : requests) request.Start(*walk);
  dataset->gate->AwaitWaiting(1);
  walk = nullptr;
  for (Request& request : requests) {
    request.done.WaitForNotification();
    EXPECT_EQ(request.status.code(), absl::StatusCode::kCancelled);
  }
}

TEST_F(WalkTest, ItMayBeDeletedByItsOwnAnswer) {
  auto dataset = std::make_shared<GatedDataset>(10);
  std::shared_ptr<Walk> walk = Start(dataset);
  CancellationManager step;
  absl::Notification done;
  walk->GetNext(step, [&, held = walk](Status, Element, bool) mutable {
    held = nullptr;
    walk = nullptr;
    done.Notify();
  });
  dataset->gate->Allow(1);
  done.WaitForNotification();
}

TEST_F(WalkTest, DeletingAPrefetchWhoseInputWaitsDoesNotHang) {
  auto gated = std::make_shared<GatedDataset>(10);
  auto walk = Start(Over("PrefetchDataset", Over("PrefetchDataset", gated, {Tensor::Scalar<int64_t>(2)}),
                         {Tensor::Scalar<int64_t>(3)}));
  Request request;
  request.Start(*walk);
  gated->gate->AwaitWaiting(1);
  walk = nullptr;
  request.done.WaitForNotification();
  EXPECT_EQ(request.status.code(), absl::StatusCode::kCancelled);
}

TEST_F(WalkTest, PrefetchStopsWhenItsBufferIsFull) {
  auto gated = std::make_shared<GatedDataset>(100);
  auto walk = Start(Over("PrefetchDataset", gated, {Tensor::Scalar<int64_t>(3)}));
  gated->gate->Allow(50);
  Request request;
  request.Start(*walk);
  EXPECT_EQ(request.Await(), 0);
  walk = nullptr;  // joins the thread
  absl::MutexLock lock(&gated->gate->mu);
  EXPECT_GE(gated->gate->permits, 50 - 1 - 3 - 1);
}

// What may wait is read ahead by itself, unless the pipeline's options forbid it.
TEST_F(WalkTest, OptionsForbidReadingAhead) {
  // autotune_options.enabled, optimization_options.inject_prefetch and .apply_default_optimizations: false.
  const std::string forbidding[] = {std::string("\x3a\x02\x08\x00", 4), std::string("\x1a\x03\x98\x01\x00", 5),
                                    std::string("\x1a\x02\x08\x00", 4)};
  for (const std::string& options : forbidding) {
    auto gated = std::make_shared<GatedDataset>(100);
    auto walk = Start(Over("OptionsDataset", gated, {}, options));
    gated->gate->Allow(50);
    Request request;
    request.Start(*walk);
    EXPECT_EQ(request.Await(), 0);
    walk = nullptr;
    absl::MutexLock lock(&gated->gate->mu);
    EXPECT_EQ(gated->gate->permits, 49);
  }
  auto gated = std::make_shared<GatedDataset>(100);
  auto walk = Start(Over("OptionsDataset", gated, {}, "\xff"));
  Request request;
  request.Start(*walk);
  gated->gate->Allow(1);
  EXPECT_EQ(request.Await(), 0);
  gated->gate->AwaitWaiting(1);  // for the next one, unasked
}

TEST_F(WalkTest, ThePositionOfAPrefetchIsWhatWasTaken) {
  auto gated = std::make_shared<GatedDataset>(100);
  DatasetPtr dataset = Over("PrefetchDataset", gated, {Tensor::Scalar<int64_t>(4)});
  auto walk = Start(dataset);
  gated->gate->Allow(100);
  for (int64_t i = 0; i < 3; ++i) {
    Request request;
    request.Start(*walk);
    EXPECT_EQ(request.Await(), i);
  }
  CancellationManager step;
  absl::Notification saved;
  Tensor position;
  walk->Save(step, [&](StatusOr<Tensor> tensor) {
    ASSERT_EQ(tensor.status(), OkStatus());
    position = *std::move(tensor);
    saved.Notify();
  });
  saved.WaitForNotification();
  WalkSetup setup;
  setup.device = device_.get();
  auto again = Walk::Start(dataset, setup, position.scalar<Variant>().get_if<IteratorState>());
  ASSERT_EQ(again.status(), OkStatus());
  for (int64_t i = 3; i < 20; ++i) {
    Request request;
    request.Start(**again);
    EXPECT_EQ(request.Await(), i);
  }
}

ElementFunctionFactory Squares(std::shared_ptr<std::atomic<int>> at_once, std::shared_ptr<std::atomic<int>> most) {
  return [=](IteratorContext&) -> StatusOr<ElementFunction> {
    return ElementFunction([=](IteratorContext&, Element element, int64_t, Element* out, bool* keep) -> Status {
      const int now = ++*at_once;
      int seen = most->load();
      while (now > seen && !most->compare_exchange_weak(seen, now)) {
      }
      const int64_t x = element[0].scalar<int64_t>();
      --*at_once;
      if (x == 7) return InvalidArgument("seven");
      *keep = x % 2 == 1;
      out->push_back(Tensor::Scalar(x * x));
      return OkStatus();
    });
  };
}

TEST_F(WalkTest, ParallelMapKeepsTheOrderAndItsLimit) {
  auto gated = std::make_shared<GatedDataset>(40);
  gated->gate->Allow(1000);
  auto at_once = std::make_shared<std::atomic<int>>(0), most = std::make_shared<std::atomic<int>>(0);
  ParallelMapOptions options;
  options.num_parallel_calls = 3;
  auto walk = Start(MakeParallelMapDataset(gated->spec(), gated, Squares(at_once, most), options));
  for (int64_t x = 1; x < 40; x += 2) {
    Request request;
    request.Start(*walk);
    request.done.WaitForNotification();
    if (x == 7) {
      EXPECT_EQ(request.status.code(), absl::StatusCode::kInvalidArgument);
    } else {
      ASSERT_EQ(request.status, OkStatus());
      EXPECT_EQ(request.element[0].scalar<int64_t>(), x * x);
    }
  }
  EXPECT_LE(most->load(), 3);
  Request last;
  last.Start(*walk);
  last.done.WaitForNotification();
  EXPECT_TRUE(last.end);
}

TEST_F(WalkTest, DeletingAParallelMapWhoseInputWaitsDoesNotHang) {
  auto gated = std::make_shared<GatedDataset>(40);
  auto at_once = std::make_shared<std::atomic<int>>(0);
  ParallelMapOptions options;
  options.num_parallel_calls = -1;
  auto walk = Start(MakeParallelMapDataset(gated->spec(), gated, Squares(at_once, at_once), options));
  Request request;
  request.Start(*walk);
  gated->gate->Allow(1);
  gated->gate->AwaitWaiting(1);
  walk = nullptr;
  request.done.WaitForNotification();
  EXPECT_EQ(request.status.code(), absl::StatusCode::kCancelled);
}

TEST_F(WalkTest, StopsWhenItsResourceGoes) {
  auto gated = std::make_shared<GatedDataset>(40);
  auto resource = std::make_shared<IteratorResource>(gated->spec());
  EXPECT_EQ(resource->walk("GetNext").status().code(), absl::StatusCode::kFailedPrecondition);
  WalkSetup setup;
  setup.device = device_.get();
  ASSERT_EQ(resource->Start(gated, setup), OkStatus());
  auto walk = resource->walk("GetNext");
  ASSERT_EQ(walk.status(), OkStatus());
  Request request;
  request.Start(**walk);
  gated->gate->AwaitWaiting(1);
  resource = nullptr;
  request.done.WaitForNotification();
  EXPECT_EQ(request.status.code(), absl::StatusCode::kCancelled);
}

TEST_F(WalkTest, ADatasetOfOtherTypesIsRefused) {
  IteratorResource resource({{DType::kFloat}, {PartialShape(Shape())}});
  EXPECT_EQ(resource.Start(std::make_shared<GatedDataset>(1), {}),
            InvalidArgument("Data type mismatch at component 0: expected float but got int64."));
}

TEST(IteratorStateTest, ComesBackFromItsBytes) {
  auto state = std::make_shared<IteratorState>();
  StateWriter writer(state.get());
  writer.PutInt("a", 5);
  writer.Child("b").PutElements("c", {{Tensor::Scalar(1.5f), Tensor::Scalar("x")}, {}});
  writer.PutStatus("d", NotFound("gone"));
  auto data = state->Encode();
  ASSERT_EQ(data.status(), OkStatus());
  auto back = IteratorState::Decode(*data);
  ASSERT_EQ(back.status(), OkStatus());
  StateReader reader(static_cast<const IteratorState*>(back->get()));
  EXPECT_EQ(*reader.GetInt("a"), 5);
  auto elements = reader.Child("b").GetElements("c");
  ASSERT_EQ(elements.status(), OkStatus());
  ASSERT_EQ(elements->size(), 2u);
  ExpectTensorEqual((*elements)[0][1], Tensor::Scalar("x"));
  EXPECT_EQ(*reader.GetStatus("d"), NotFound("gone"));
  EXPECT_FALSE(reader.GetInt("none").ok());
  EXPECT_FALSE(reader.GetCount("a", 4).ok());
  data->tensors.pop_back();
  EXPECT_FALSE(IteratorState::Decode(*data).ok());
}

}  // namespace
}  // namespace weir
