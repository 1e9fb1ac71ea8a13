#include "weir/serving/shared_tensors.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "weir/client/environment.h"
#include "weir/client/nn/model.h"
#include "weir/resources/variable.h"
#include "weir/serving/served_version.h"

namespace weir {
namespace {

Tensor Filled(float value, int64_t count = 8192) {
  Tensor out = Tensor::Allocate(DType::kFloat, Shape({count})).value();
  std::fill_n(out.data<float>(), count, value);
  return out;
}

TEST(SharedTensorsTest, EqualTensorsBecomeOne) {
  SharedTensors shared;
  const Tensor first = shared.Share(Filled(1));
  const Tensor same = shared.Share(Filled(1));
  EXPECT_TRUE(same.SharesBufferWith(first));
  EXPECT_FALSE(shared.Share(Filled(2)).SharesBufferWith(first));
  const Tensor other_shape = Filled(1).Reshaped(Shape({2, 4096})).value();
  EXPECT_FALSE(shared.Share(other_shape).SharesBufferWith(first));
}

TEST(SharedTensorsTest, ForgetsWhatNobodyHolds) {
  SharedTensors shared;
  const Tensor kept = shared.Share(Filled(1));
  shared.Share(Filled(2));
  EXPECT_EQ(shared.num_tensors(), 2);
  shared.Sweep();
  EXPECT_EQ(shared.num_tensors(), 1);
  EXPECT_TRUE(shared.Share(Filled(1)).SharesBufferWith(kept));
}

TEST(SharedTensorsTest, AVariableThatIsWrittenGetsMemoryOfItsOwn) {
  SharedTensors shared;
  VariableResource a(DType::kFloat), b(DType::kFloat);
  for (VariableResource* variable : {&a, &b}) {
    absl::MutexLock lock(&variable->mu);
    variable->tensor = shared.Share(Filled(1));
  }
  {
    absl::MutexLock lock(&a.mu);
    ASSERT_TRUE(a.MakeWritable(CpuAllocator()).ok());
    a.tensor.data<float>()[0] = 5;
  }
  EXPECT_EQ(a.Read().data<float>()[0], 5);
  EXPECT_EQ(b.Read().data<float>()[0], 1);
}

class SharedVersionsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/shared_versions_" + std::to_string(getpid());
    std::filesystem::remove_all(folder_);
    nn::Model model(nn::Sequential({nn::Dense(512, {.activation = "relu"}), nn::Dense(3)}), {{32}}, /*seed=*/1);
    ASSERT_TRUE(model.Compile({.loss = loss::SparseCategoricalCrossentropy(false)}).ok());
    ASSERT_TRUE(model.Export(folder_).ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<ServedVersion> Load(int64_t version) {
    VersionOptions options;
    options.model = "m";
    options.version = version;
    options.folder = folder_;
    options.environment = DefaultEnvironment();
    options.share = std::make_shared<StepScheduler::Share>();
    options.scheduler = &scheduler_;
    options.metrics = &metrics_;
    options.shared_tensors = &shared_;
    auto loaded = ServedVersion::Load(options);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() ? *std::move(loaded) : nullptr;
  }
  std::vector<float> Answer(ServedVersion& version) {
    const Signature& signature = version.signatures().at("serving_default");
    const auto& step = version.StepFor({signature.inputs.at("input").tensor}, {signature.outputs.at("output").tensor});
    StepScheduler::Job job;
    job.inputs = {Filled(0.5, 32).Reshaped(Shape({1, 32})).value()};
    std::vector<float> out;
    job.done = [&](Status status, std::vector<Tensor> outputs) {
      EXPECT_TRUE(status.ok()) << status;
      if (status.ok()) out.assign(outputs[0].data<float>(), outputs[0].data<float>() + outputs[0].num_elements());
    };
    version.Submit(step, "Predict", std::move(job));
    return out;
  }

  std::string folder_;
  ServingMetrics metrics_;
  StepScheduler scheduler_{1, &metrics_};
  SharedTensors shared_;
};

TEST_F(SharedVersionsTest, TheSecondVersionTakesNoMemoryForEqualWeights) {
  std::unique_ptr<ServedVersion> first = Load(1);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->shared_bytes(), 0);
  const std::vector<float> answer = Answer(*first);
  ASSERT_EQ(answer.size(), 3u);
  std::unique_ptr<ServedVersion> second = Load(2);
  ASSERT_NE(second, nullptr);
  EXPECT_GE(second->shared_bytes(), static_cast<int64_t>(32 * 512 * sizeof(float)));
  EXPECT_EQ(Answer(*second), answer);
  first.reset();
  shared_.Sweep();
  EXPECT_EQ(Answer(*second), answer);
  second.reset();
  shared_.Sweep();
  EXPECT_EQ(shared_.num_tensors(), 0);
}

}  // namespace
}  // namespace weir
