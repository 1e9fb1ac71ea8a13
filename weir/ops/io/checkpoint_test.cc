#include <gtest/gtest.h>

#include <filesystem>

#include "weir/ops/io/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

const std::string kSaver = WEIR_SOURCE_DIR "/tests/fixtures/checkpoint_v2/saver/model.ckpt-7";
const std::string kFirstFormat = WEIR_SOURCE_DIR "/tests/fixtures/checkpoint_v2/format_v1/model.ckpt";

Tensor Strings(std::vector<std::string> values) {
  return Tensor::Vector<std::string>(std::span<const std::string>(values));
}

StatusOr<std::vector<Tensor>> Restore(const std::string& prefix, std::vector<std::string> names,
                                      std::vector<std::string> slices, std::vector<DType> types) {
  KernelRunner run({RegisterIoKernels});
  return run("RestoreV2")
      .Input(Tensor::Scalar(prefix))
      .Input(Strings(names))
      .Input(Strings(slices))
      .Attr("dtypes", types)
      .Run();
}

TEST(RestoreV2, ReadsWholeTensorsAndSlicesOfBothFormats) {
  for (const std::string& prefix : {kSaver, kFirstFormat}) {
    auto out = Restore(prefix, {"integer", "matrix", "by_rows"}, {"", "3 4 1,1:2,2", "7 3 2,3:-"},
                       {DType::kInt32, DType::kFloat, DType::kFloat});
    ASSERT_TRUE(out.ok()) << out.status();
    ExpectTensorEqual((*out)[0], Tensor::FromSpan<int32_t>(std::vector<int32_t>{-1, 2, 3, -4}, Shape({2, 2})));
    ExpectTensorEqual((*out)[1], Tensor::FromSpan<float>(std::vector<float>{1.745f, -0.761f}, Shape({1, 2})));
    ExpectTensorEqual((*out)[2], Tensor::FromSpan<float>(std::vector<float>{-0.083f, -0.627f, -0.044f, -0.477f, -1.314f,
                                                                            0.885f, 0.881f, 1.71f, 0.05f},
                                                         Shape({3, 3})));
  }
}

TEST(RestoreV2, SaysWhatIsWrong) {
  EXPECT_TRUE(absl::IsNotFound(Restore(kSaver, {"nobody"}, {""}, {DType::kFloat}).status()));
  EXPECT_TRUE(absl::IsNotFound(Restore(kSaver + "0", {"matrix"}, {""}, {DType::kFloat}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Restore(kSaver, {"matrix"}, {""}, {DType::kInt32}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Restore(kSaver, {"matrix"}, {"4 4 -:-"}, {DType::kFloat}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Restore(kSaver, {"matrix"}, {"", ""}, {DType::kFloat}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Restore(kSaver, {}, {}, {DType::kFloat}).status()));
}

TEST(SaveV2, WhatIsSavedAndMergedIsRestored) {
  KernelRunner run({RegisterIoKernels});
  std::string folder = testing::TempDir() + "/save_test_temp";
  std::filesystem::remove_all(folder);
  std::string destination = testing::TempDir() + "/save_test";
  Tensor numbers = Tensor::FromSpan<int32_t>(std::vector<int32_t>{1, 2, 3, 4}, Shape({2, 2}));
  std::vector<std::string> parts;
  for (int i = 0; i < 2; ++i) {
    parts.push_back(Cat(folder, "/part-", i));
    auto saved = run("SaveV2")
                     .Input(Tensor::Scalar(parts.back()))
                     .Input(Strings({"split", Cat("text", i)}))
                     .Input(Strings({Cat("4 2 ", 2 * i, ",2:0,2"), ""}))
                     .Inputs({numbers, Tensor::Scalar(Cat("words ", i))})
                     .Attr("dtypes", std::vector<DType>{DType::kInt32, DType::kString})
                     .Run();
    ASSERT_TRUE(saved.ok()) << saved.status();
  }
  auto merged = run("MergeV2Checkpoints").Input(Strings(parts)).Input(Tensor::Scalar(destination)).Run();
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_FALSE(std::filesystem::exists(folder));
  auto out = Restore(destination, {"split", "text1"}, {"", ""}, {DType::kInt32, DType::kString});
  ASSERT_TRUE(out.ok()) << out.status();
  ExpectTensorEqual((*out)[0], Tensor::FromSpan<int32_t>(std::vector<int32_t>{1, 2, 3, 4, 1, 2, 3, 4}, Shape({4, 2})));
  ExpectTensorEqual((*out)[1], Tensor::Scalar("words 1"));
}

TEST(SaveV2, SaysWhatIsWrong) {
  KernelRunner run({RegisterIoKernels});
  auto save = [&](std::string prefix, std::vector<std::string> names, std::vector<std::string> slices) {
    return run("SaveV2")
        .Input(Tensor::Scalar(prefix))
        .Input(Strings(names))
        .Input(Strings(slices))
        .Inputs({Tensor::Scalar(1.f), Tensor::Scalar(2.f)})
        .Attr("dtypes", std::vector<DType>{DType::kFloat, DType::kFloat})
        .Run()
        .status();
  };
  std::string prefix = testing::TempDir() + "/save_test_bad";
  EXPECT_TRUE(absl::IsInvalidArgument(save(prefix, {"a", "a"}, {"", ""})));
  EXPECT_TRUE(absl::IsInvalidArgument(save(prefix, {"a"}, {"", ""})));
  EXPECT_TRUE(absl::IsInvalidArgument(save(prefix, {"a", "b"}, {"", "4 0,2"})));
  EXPECT_TRUE(absl::IsNotFound(save(testing::TempDir() + "/no/such/place/model", {"a", "b"}, {"", ""})));
}

TEST(Restore, ReadsOneTensor) {
  KernelRunner run({RegisterIoKernels});
  auto whole = run("Restore")
                   .Input(Tensor::Scalar(kFirstFormat))
                   .Input(Tensor::Scalar("scalar"))
                   .Attr("dt", DType::kFloat)
                   .Run();
  ASSERT_TRUE(whole.ok()) << whole.status();
  ExpectTensorEqual((*whole)[0], Tensor::Scalar(3.25f));
  auto slice = run("RestoreSlice")
                   .Input(Tensor::Scalar(kFirstFormat))
                   .Input(Tensor::Scalar("integer"))
                   .Input(Tensor::Scalar("2 2 1,1:-"))
                   .Attr("dt", DType::kInt32)
                   .Run();
  ASSERT_TRUE(slice.ok()) << slice.status();
  ExpectTensorEqual((*slice)[0], Tensor::FromSpan<int32_t>(std::vector<int32_t>{3, -4}, Shape({1, 2})));
}

TEST(ShardNames, HaveFiveDigits) {
  KernelRunner run({RegisterIoKernels});
  auto name = run("ShardedFilename")
                  .Input(Tensor::Scalar("a/b"))
                  .Input(Tensor::Scalar<int32_t>(2))
                  .Input(Tensor::Scalar<int32_t>(12))
                  .Run();
  ASSERT_TRUE(name.ok()) << name.status();
  ExpectTensorEqual((*name)[0], Tensor::Scalar("a/b-00002-of-00012"));
  auto pattern = run("ShardedFilespec").Input(Tensor::Scalar("a/b")).Input(Tensor::Scalar<int32_t>(12)).Run();
  ASSERT_TRUE(pattern.ok()) << pattern.status();
  ExpectTensorEqual((*pattern)[0], Tensor::Scalar(Cat("a/b-", std::string(5, '?'), "-of-00012")));
}

}  // namespace
}  // namespace weir
