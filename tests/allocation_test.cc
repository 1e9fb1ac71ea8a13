// What a repeated step asks of the system: no memory at all, neither for tensors nor for the engine's own books.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "weir/client/client_session.h"
#include "weir/client/environment.h"
#include "weir/client/operators.h"
#include "weir/client/ops/all_ops.h"
#include "weir/runtime/session.h"

namespace {
std::atomic<int64_t> num_allocations{0};
}

void* operator new(size_t size) {
  num_allocations.fetch_add(1, std::memory_order_relaxed);
  void* out = std::malloc(size > 0 ? size : 1);
  if (out == nullptr) throw std::bad_alloc();
  return out;
}
void* operator new(size_t size, std::align_val_t align) {
  num_allocations.fetch_add(1, std::memory_order_relaxed);
  void* out = std::aligned_alloc(static_cast<size_t>(align),
                                 (size + static_cast<size_t>(align) - 1) & ~(static_cast<size_t>(align) - 1));
  if (out == nullptr) throw std::bad_alloc();
  return out;
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }

namespace weir {
namespace {

class AllocationTest : public testing::Test {
 protected:
  // The most that one of many steps allocates. The first few do not count, nor what a thread needs when it takes part
  // for the first time, which may be late: the best of several rounds is told.
  int64_t PerStep(const std::function<Status()>& step) {
    constexpr int kRounds = 20;
    for (int i = 0; i < 10; ++i) EXPECT_EQ(step(), OkStatus());
    int64_t least = std::numeric_limits<int64_t>::max();
    for (int round = 0; round < kRounds && least > 0; ++round) {
      int64_t most = 0;
      for (int i = 0; i < 100; ++i) {
        const int64_t before = num_allocations.load();
        Status status = step();
        most = std::max(most, num_allocations.load() - before);
        EXPECT_EQ(status, OkStatus());
      }
      least = std::min(least, most);
    }
    return least;
  }

  Scope root_ = Scope::NewRoot();
};

// x goes through additions, a product of matrices, a branch and a reduction.
Output Network(const Scope& scope, Output x) {
  Output y = x;
  for (int i = 0; i < 20; ++i) y = y + x;
  y = ops::Relu(scope, ops::MatMul(scope, y, x));
  return ops::Sum(scope, y * y, 0);
}

TEST_F(AllocationTest, ARepeatedCallableAllocatesNothing) {
  Output x = ops::Placeholder(root_, DType::kFloat);
  Output y = Network(root_, x), twice = x + x;
  auto session = ClientSession::Create(root_).value();
  Session::Callable callable = session->Prepare({x}, {y, twice}).value();
  const std::vector<Tensor> feeds = {Tensor::Zeros(DType::kFloat, Shape({8, 8})).value()};
  std::vector<Tensor> outputs;
  EXPECT_EQ(PerStep([&] { return session->RunPrepared(callable, feeds, &outputs); }), 0);
  EXPECT_EQ(outputs.size(), 2);
}

TEST_F(AllocationTest, ARepeatedRunByNamesAllocatesNothing) {
  Output x = ops::Placeholder(root_, DType::kFloat);
  Output y = Network(root_, x), twice = x + x;
  auto session = ClientSession::Create(root_).value();
  ASSERT_EQ(session->Update(), OkStatus());
  const std::vector<Feed> feeds = {{x.name(), Tensor::Zeros(DType::kFloat, Shape({8, 8})).value()}};
  const std::vector<std::string> fetches = {y.name(), twice.name()};
  std::vector<Tensor> outputs;
  EXPECT_EQ(PerStep([&] { return session->session().Run(feeds, fetches, {}, &outputs); }), 0);
}

}  // namespace
}  // namespace weir
