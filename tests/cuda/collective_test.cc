// Collectives between the logical GPUs of one process: results as between hosts, tensors that stay on the devices.
#include <gtest/gtest.h>

#include <thread>

#include "tests/cuda/gpu_fixture.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir::gpu_testing {
namespace {

Tensor Int(int32_t value) { return Tensor::Scalar(value); }

// One member's call: an op with the keys after its value.
struct Member {
  std::string device;
  std::string op;
  std::vector<Tensor> inputs;
  Attrs attrs;
};

// All members at once, each in a thread of its own; their results.
std::vector<StatusOr<std::vector<Tensor>>> RunAll(const std::vector<Member>& members) {
  std::vector<StatusOr<std::vector<Tensor>>> results(members.size(), Internal("not run"));
  GpuEnvironment();
  std::vector<std::thread> threads;
  for (size_t i = 0; i < members.size(); ++i) {
    threads.emplace_back(
        [&, i] { results[i] = RunOn(members[i].device, members[i].op, members[i].inputs, members[i].attrs); });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

Attrs Reduction(std::string_view merge, std::string_view final_op) {
  return {{"merge_op", Attribute(merge)}, {"final_op", Attribute(final_op)}};
}

// Both GPUs call the op with values of their own.
void ExpectResults(const std::string& op, const Attrs& attrs, const std::vector<Tensor>& values,
                   const std::vector<Tensor>& expected, int key) {
  std::vector<Member> members;
  for (size_t i = 0; i < values.size(); ++i) {
    members.push_back({Cat("/device:GPU:", i), op, {values[i], Int(2), Int(key), Int(key)}, attrs});
  }
  auto results = RunAll(members);
  for (size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(results[i].ok()) << op << ": " << results[i].status();
    ExpectTensorNear((*results[i])[0], expected[i]);
  }
}

TEST(GpuCollectives, SumsOfTwoGpus) {
  const Tensor a = Random(DType::kFloat, {1000}, 1), b = Random(DType::kFloat, {1000}, 2);
  Tensor mean = Tensor::Allocate(DType::kFloat, Shape({1000})).value();
  for (int i = 0; i < 1000; ++i) mean.data<float>()[i] = (a.data<float>()[i] + b.data<float>()[i]) / 2;
  ExpectResults("CollectiveReduceV2", Reduction("Add", "Div"), {a, b}, {mean, mean}, 11);
}

TEST(GpuCollectives, OtherReductionsAndTypes) {
  ExpectResults("CollectiveReduceV2", Reduction("Max", "Id"),
                {Tensor::Vector<int64_t>({1, 5}), Tensor::Vector<int64_t>({4, 2})},
                {Tensor::Vector<int64_t>({4, 5}), Tensor::Vector<int64_t>({4, 5})}, 21);
  ExpectResults("CollectiveReduceV2", Reduction("Mul", "Id"),
                {Tensor::Vector<Half>({Half(2.0f)}), Tensor::Vector<Half>({Half(3.0f)})},
                {Tensor::Vector<Half>({Half(6.0f)}), Tensor::Vector<Half>({Half(6.0f)})}, 22);
  ExpectResults("CollectiveReduceV2", Reduction("Min", "Id"),
                {Tensor::Vector<double>({1.0, 5.0}), Tensor::Vector<double>({4.0, 2.0})},
                {Tensor::Vector<double>({1.0, 2.0}), Tensor::Vector<double>({1.0, 2.0})}, 23);
}

TEST(GpuCollectives, GathersScattersAndExchanges) {
  const Tensor a = Tensor::Vector<float>({1, 2}), b = Tensor::Vector<float>({3, 4});
  const Tensor both = Tensor::Vector<float>({1, 2, 3, 4});
  ExpectResults("CollectiveGatherV2", {}, {a, b}, {both, both}, 31);
  ExpectResults("CollectiveReduceScatterV2", Reduction("Add", "Id"), {a, b},
                {Tensor::Vector<float>({4}), Tensor::Vector<float>({6})}, 32);
  ExpectResults("CollectiveAllToAllV2", {}, {a, b}, {Tensor::Vector<float>({1, 3}), Tensor::Vector<float>({2, 4})}, 33);
}

TEST(GpuCollectives, BroadcastsFromOneGpuToTheOther) {
  const Tensor value = Tensor::Vector<float>({7, 8, 9});
  auto results = RunAll({{"/device:GPU:0", "CollectiveBcastSendV2", {value, Int(2), Int(41), Int(41)}, {}},
                         {"/device:GPU:1",
                          "CollectiveBcastRecvV2",
                          {Int(2), Int(41), Int(41), Tensor::Vector<int32_t>({3})},
                          {{"T", Attribute(DType::kFloat)}}}});
  for (auto& result : results) {
    ASSERT_TRUE(result.ok()) << result.status();
    ExpectTensorEqual((*result)[0], value);
  }
}

TEST(GpuCollectives, MirroredTrainingKeepsItsReplicasAlike) {
  Environment& environment = *GpuEnvironment();
  distribute::Strategy strategy = distribute::Mirrored({}, &environment);
  ASSERT_EQ(strategy.devices.size(), 2u);
  Scope root = Scope::NewRoot(GpuEnvironment());
  Output x = ops::Placeholder(root, DType::kFloat, {.shape = {-1}});
  std::vector<Output> values = distribute::Run(root, strategy, [&](const Scope& scope, int replica) {
    return ops::Mul(scope, x, Constant(scope, static_cast<float>(replica + 1)));
  });
  Output mean = distribute::Reduce(root, strategy, distribute::Reduction::kMean, values);
  auto session = ClientSession::Create(root);
  ASSERT_TRUE(session.ok()) << session.status();
  auto out = (*session)->Run({{x, Tensor::Vector<float>({2, 4})}}, {mean});
  ASSERT_TRUE(out.ok()) << out.status();
  ExpectTensorNear((*out)[0], Tensor::Vector<float>({3, 6}));
}

}  // namespace
}  // namespace weir::gpu_testing
