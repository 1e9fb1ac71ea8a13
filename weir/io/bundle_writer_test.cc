#include "weir/io/bundle_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "weir/io/checkpoint_reader.h"
#include "weir/io/file.h"

namespace weir {
namespace {

const std::string kWrittenByTensorFlow = WEIR_SOURCE_DIR "/tests/fixtures/checkpoint_v2/";

std::string Folder(const std::string& name) {
  std::string out = testing::TempDir() + "/" + std::to_string(getpid()) + "_" + name;
  std::filesystem::remove_all(out);
  return out;
}

TEST(BundleWriter, WritesTheBytesThatTensorFlowWrites) {
  // TensorFlow put the tensors into the file in the order of their offsets, which for this one is that of names.
  auto reader = CheckpointReader::Open(kWrittenByTensorFlow + "sharded/model");
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::string folder = Folder("sharded_again");
  std::filesystem::create_directory(folder);
  std::vector<std::string> parts = {folder + "/temp/part-00000-of-00002", folder + "/temp/part-00001-of-00002"};
  std::filesystem::create_directory(folder + "/temp");
  auto first = BundleWriter::Create(parts[0]);
  auto second = BundleWriter::Create(parts[1]);
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE((*first)->Add("first", (*reader)->Read("first").value()).ok());
  ASSERT_TRUE((*second)->Add("second", (*reader)->Read("second").value()).ok());
  ASSERT_TRUE((*second)->Add("third", (*reader)->Read("third").value()).ok());
  ASSERT_TRUE((*first)->Finish().ok());
  ASSERT_TRUE((*second)->Finish().ok());
  ASSERT_EQ(MergeBundles(parts, folder + "/model"), OkStatus());
  for (const char* suffix : {".index", ".data-00000-of-00002", ".data-00001-of-00002"}) {
    EXPECT_EQ(ReadFile(folder + "/model" + suffix).value(),
              ReadFile(kWrittenByTensorFlow + "sharded/model" + suffix).value())
        << suffix;
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder + "/temp"));
}

TEST(BundleWriter, WhatWasWrittenIsRead) {
  std::string prefix = Folder("again") + "/model";
  auto reader = CheckpointReader::Open(kWrittenByTensorFlow + "saver/model.ckpt-7");
  ASSERT_TRUE(reader.ok()) << reader.status();
  auto writer = BundleWriter::Create(prefix);
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (const auto& [name, info] : (*reader)->tensors()) {
    if (info.slices.empty()) {
      ASSERT_EQ((*writer)->Add(name, (*reader)->Read(name).value()), OkStatus());
    }
    for (const TensorSlice& slice : info.slices) {
      ASSERT_EQ((*writer)->AddSlice(name, info.shape, slice, (*reader)->ReadSlice(name, slice).value()), OkStatus());
    }
  }
  ASSERT_EQ((*writer)->Finish(), OkStatus());
  auto again = CheckpointReader::Open(prefix);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->tensors().size(), (*reader)->tensors().size());
  for (const auto& [name, info] : (*reader)->tensors()) {
    auto value = (*again)->Read(name);
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(value->ToString(1000), (*reader)->Read(name)->ToString(1000));
    EXPECT_EQ((*again)->Find(name).value()->slices.size(), info.slices.size());
  }
}

TEST(BundleWriter, ManyNamesTakeManyBlocks) {
  std::string prefix = Folder("many") + "/model";
  auto writer = BundleWriter::Create(prefix);
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (int i = 0; i < 20000; ++i) {
    ASSERT_TRUE((*writer)->Add(Cat("a/rather/long/name/of/a/variable/", i * 7919 % 20000), Tensor::Scalar(i)).ok());
  }
  ASSERT_EQ((*writer)->Finish(), OkStatus());
  auto reader = CheckpointReader::Open(prefix);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->tensors().size(), 20000u);
  EXPECT_EQ((*reader)->Read("a/rather/long/name/of/a/variable/7919")->scalar<int32_t>(), 1);
}

TEST(BundleWriter, RefusesWhatCannotBe) {
  std::string folder = Folder("refused");
  {
    auto writer = BundleWriter::Create(folder + "/model");
    ASSERT_TRUE(writer.ok()) << writer.status();
    EXPECT_TRUE((*writer)->Add("x", Tensor::Scalar(1.f)).ok());
    EXPECT_TRUE(absl::IsInvalidArgument((*writer)->Add("x", Tensor::Scalar(1.f))));
    EXPECT_TRUE(absl::IsInvalidArgument((*writer)->Add("", Tensor::Scalar(1.f))));
    TensorSlice slice = TensorSlice::Parse("0,2").value();
    EXPECT_TRUE(absl::IsInvalidArgument((*writer)->AddSlice("y", Shape({4}), slice, Tensor::Vector<float>({1}))));
    EXPECT_TRUE(absl::IsInvalidArgument((*writer)->AddSlice("y", Shape({1}), slice, Tensor::Vector<float>({1, 2}))));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));  // never finished
  EXPECT_TRUE(absl::IsNotFound(BundleWriter::Create(folder + "/no/such/model").status()));
  std::vector<std::string> missing = {folder + "/nothing"};
  EXPECT_TRUE(absl::IsNotFound(MergeBundles(missing, folder + "/model")));
  EXPECT_TRUE(absl::IsNotFound(MergeBundles(missing, folder + "/model", true)));
}

}  // namespace
}  // namespace weir
